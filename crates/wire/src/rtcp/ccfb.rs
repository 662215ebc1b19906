//! Congestion control feedback (RFC 8888): for each packet whether it came, when, and how it was marked.
//!
//! `num_reports` is the number of metric blocks, which is how erratum 8166 reads the range.

use super::feedback::{self, Kind};
use super::{Packet, emit_header, packet_type};
use crate::bytes::{fits, padded, put_u16, put_u32, room, take, u16_at, u32_at};
use crate::{Error, List, NtpShort, Record};
use seaway_units::{Ecn, TimeDelta};

/// Most metric blocks of one stream (RFC 8888 section 3.1).
pub const MAX_REPORTS: usize = 16_384;

const KIND: Kind =
    Kind { packet_type: packet_type::RTPFB, format: feedback::CCFB, name: "congestion control feedback" };

mod field {
    pub(super) const SENDER_SSRC: usize = 4;
    /// There is no media SSRC: the first stream begins here.
    pub(super) const STREAMS: usize = 8;
    /// Of the report timestamp at the end.
    pub(super) const TIMESTAMP_LEN: usize = 4;
    // Within a stream:
    pub(super) const SSRC: usize = 0;
    pub(super) const BEGIN: usize = 4;
    pub(super) const COUNT: usize = 6;
    pub(super) const METRICS: usize = 8;
}

/// A feedback packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ccfb<'a> {
    /// SSRC of the reporter.
    pub sender_ssrc: u32,
    /// When the report was made, on the clock of the reporter's sender reports. Arrivals count back from it.
    pub report_timestamp: NtpShort,
    streams: &'a [u8],
}

/// The part of a feedback packet about one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamReport<'a> {
    /// The stream.
    pub ssrc: u32,
    /// Sequence number of the first metric; the others follow modulo 2^16.
    pub begin_sequence: u16,
    /// One for each sequence number.
    pub metrics: List<'a, Metric>,
}

/// What became of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// It had not come when the report was made.
    #[default]
    Missing,
    /// It came.
    Received {
        /// Its mark; congestion experienced where any copy had it, else that of the first copy.
        ecn: Ecn,
        /// When it came.
        arrival: ArrivalOffset,
    },
}

/// How long before the report timestamp a packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalOffset(u16);

impl ArrivalOffset {
    /// Longer ago than 8189/1024 s.
    pub const OVER_RANGE: Self = Self(0x1FFE);
    /// Unknown, or after the report timestamp.
    pub const UNKNOWN: Self = Self(0x1FFF);

    const MAX: u16 = 0x1FFD;
    const PER_SECOND: i64 = 1024;

    /// A packet that came `before` the report timestamp, rounded to the nearest 1/1024 s.
    pub fn from_span(before: TimeDelta) -> Self {
        if before.is_negative() {
            return Self::UNKNOWN;
        }
        let scaled = before.as_nanos().saturating_mul(Self::PER_SECOND);
        if scaled > i64::from(Self::MAX) * 1_000_000_000 {
            return Self::OVER_RANGE;
        }
        Self(((scaled + 500_000_000) / 1_000_000_000) as u16)
    }

    /// The span before the report timestamp, where it is known and in range.
    pub fn to_span(self) -> Option<TimeDelta> {
        let nanos = u64::from(self.0) * 1_000_000_000 / Self::PER_SECOND as u64;
        (self.0 <= Self::MAX).then_some(TimeDelta::from_nanos(nanos as i64))
    }

    /// The 13 bits as they are sent.
    pub const fn bits(self) -> u16 {
        self.0
    }
}

impl Record for Metric {
    const SIZE: usize = 2;

    /// R(1) ECN(2) ATO(13).
    fn read(bytes: &[u8]) -> Self {
        let block = u16_at(bytes, 0);
        if block & 0x8000 == 0 {
            return Self::Missing;
        }
        Self::Received { ecn: Ecn::from_bits((block >> 13) as u8), arrival: ArrivalOffset(block & 0x1FFF) }
    }

    fn write(self, bytes: &mut [u8]) {
        let block = match self {
            Self::Missing => 0,
            Self::Received { ecn, arrival } => 0x8000 | u16::from(ecn.bits()) << 13 | arrival.0,
        };
        put_u16(bytes, 0, block);
    }
}

impl<'a> Ccfb<'a> {
    /// Reads a packet and checks every stream of it.
    ///
    /// # Errors
    /// Another type or format, a stream beyond the report timestamp, or more than 16 384 blocks for one.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = KIND.expect(packet, field::STREAMS + field::TIMESTAMP_LEN)?;
        let (before, timestamp) = bytes.split_at(bytes.len() - field::TIMESTAMP_LEN);
        let mut rest = &before[field::STREAMS..];
        while !rest.is_empty() {
            let base = before.len() - rest.len();
            (_, rest) = StreamReport::parse(rest).map_err(|error| error.moved(base))?;
        }
        Ok(Self {
            sender_ssrc: u32_at(bytes, field::SENDER_SSRC),
            report_timestamp: NtpShort::from_bits(u32_at(timestamp, 0)),
            streams: &before[field::STREAMS..],
        })
    }

    /// The streams in order.
    pub fn streams(&self) -> impl Iterator<Item = StreamReport<'a>> + Clone + use<'a> {
        let mut rest = self.streams;
        std::iter::from_fn(move || {
            // Checked by `parse`: fails at the end only.
            let (stream, left) = StreamReport::parse(rest).ok()?;
            rest = left;
            Some(stream)
        })
    }
}

impl<'a> StreamReport<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let head = take(bytes, 0, field::METRICS, "stream report")?;
        let count = usize::from(u16_at(head, field::COUNT));
        if count > MAX_REPORTS {
            let expected = "at most 16384";
            return Err(Error::Invalid {
                field: "num_reports",
                offset: field::COUNT,
                seen: count as u64,
                expected,
            });
        }
        let blocks = take(bytes, field::METRICS, padded(Metric::SIZE * count), "metric blocks")?;
        let stream = Self {
            ssrc: u32_at(head, field::SSRC),
            begin_sequence: u16_at(head, field::BEGIN),
            metrics: List::on_wire(&blocks[..Metric::SIZE * count]),
        };
        Ok((stream, &bytes[field::METRICS + blocks.len()..]))
    }

    /// Each sequence number with its metric.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = (u16, Metric)> + Clone + use<'a> {
        let begin = self.begin_sequence;
        self.metrics.iter().enumerate().map(move |(index, metric)| (begin.wrapping_add(index as u16), metric))
    }
}

/// Writes a feedback packet stream by stream into the caller's buffer.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

impl<'b> Writer<'b> {
    /// Begins a packet in `buffer`.
    ///
    /// # Errors
    /// A buffer that cannot hold a report without streams, 12 octets.
    pub fn new(buffer: &'b mut [u8], sender_ssrc: u32) -> Result<Self, Error> {
        room(buffer, field::STREAMS + field::TIMESTAMP_LEN, KIND.name)?;
        put_u32(buffer, field::SENDER_SSRC, sender_ssrc);
        Ok(Self { buffer, len: field::STREAMS })
    }

    /// Metric blocks the next stream can have, for a caller that divides a long report.
    pub fn blocks_left(&self) -> usize {
        let octets = self.buffer.len() - self.len;
        let words = octets.saturating_sub(field::METRICS + field::TIMESTAMP_LEN) / 4;
        (2 * words).min(MAX_REPORTS)
    }

    /// Appends a stream. Where nothing came in the interval, `begin_sequence` is the highest seen and there
    /// are no metrics.
    ///
    /// # Errors
    /// More than 16 384 metrics, or more than fit; the stream is then left out.
    pub fn stream(
        &mut self,
        ssrc: u32,
        begin_sequence: u16,
        metrics: impl ExactSizeIterator<Item = Metric>,
    ) -> Result<(), Error> {
        let count = fits(metrics.len() as u64, MAX_REPORTS as u64, "num_reports")? as usize;
        let len = field::METRICS + padded(Metric::SIZE * count);
        room(&mut self.buffer[self.len..], len + field::TIMESTAMP_LEN, "stream report")?;
        let stream = &mut self.buffer[self.len..self.len + len];
        put_u32(stream, field::SSRC, ssrc);
        put_u16(stream, field::BEGIN, begin_sequence);
        put_u16(stream, field::COUNT, count as u16);
        let blocks = &mut stream[field::METRICS..];
        blocks.fill(0);
        let mut blocks = blocks.chunks_exact_mut(Metric::SIZE);
        // Not zipped: a ring is walked as two slices where it is walked alone.
        metrics.take(count).for_each(|metric| {
            if let Some(block) = blocks.next() {
                metric.write(block);
            }
        });
        self.len += len;
        Ok(())
    }

    /// Ends the packet and returns its octets.
    ///
    /// # Errors
    /// More than an RTCP packet can hold, 256 KiB.
    pub fn finish(self, report_timestamp: NtpShort) -> Result<usize, Error> {
        let len = self.len + field::TIMESTAMP_LEN;
        emit_header(self.buffer, KIND.format, KIND.packet_type, len, KIND.name)?;
        put_u32(self.buffer, self.len, report_timestamp.bits());
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(ecn: Ecn, nanos: i64) -> Metric {
        Metric::Received { ecn, arrival: ArrivalOffset::from_span(TimeDelta::from_nanos(nanos)) }
    }

    fn bits(metric: Metric) -> u16 {
        let mut bytes = [0; 2];
        metric.write(&mut bytes);
        u16::from_be_bytes(bytes)
    }

    #[test]
    fn metric_blocks() {
        assert_eq!(bits(received(Ecn::Ect1, 500_000_000)), 0xA200);
        assert_eq!(bits(received(Ecn::Ce, 9_000_000_000)), 0xFFFE);
        assert_eq!(bits(received(Ecn::NotEct, -1)), 0x9FFF);
        assert_eq!(bits(Metric::Missing), 0);
        assert_eq!(Metric::read(&[0x7F, 0xFF]), Metric::Missing, "the rest of a missing block says nothing");
    }

    #[test]
    fn arrival_offset_ends() {
        let last = 8_189 * 1_000_000_000 / 1_024;
        let bits = |nanos| ArrivalOffset::from_span(TimeDelta::from_nanos(nanos)).bits();
        assert_eq!((bits(last), bits(last + 1)), (0x1FFD, 0x1FFE), "8189/1024 s is 7.997070312 s and a bit");
        assert_eq!((bits(0), bits(488_281), bits(488_282)), (0, 0, 1));
        assert_eq!(bits(i64::MAX), 0x1FFE);
        assert_eq!(ArrivalOffset(512).to_span(), Some(TimeDelta::from_millis(500)));
        assert_eq!((ArrivalOffset::OVER_RANGE.to_span(), ArrivalOffset::UNKNOWN.to_span()), (None, None));
    }

    #[test]
    fn two_streams() {
        let first = [received(Ecn::Ect1, 500_000_000), Metric::Missing, received(Ecn::Ce, 0)];
        let mut buffer = [0xEE; 64];
        let mut writer = Writer::new(&mut buffer, 0x0102_0304).unwrap();
        assert_eq!(writer.blocks_left(), 22);
        writer.stream(0x0506_0708, 65_535, first.iter().copied()).unwrap();
        writer.stream(9, 7, std::iter::empty()).unwrap();
        let len = writer.finish(NtpShort::from_bits(0x1122_3344)).unwrap();
        let expected = [
            0x8B, 205, 0, 8, 1, 2, 3, 4, // 8 = 2 + (2 + 2) + (2 + 0)
            5, 6, 7, 8, 0xFF, 0xFF, 0, 3, 0xA2, 0, 0, 0, 0xE0, 0, 0, 0, //
            0, 0, 0, 9, 0, 7, 0, 0, 0x11, 0x22, 0x33, 0x44,
        ];
        assert_eq!(buffer[..len], expected);

        let report = Ccfb::parse(Packet::parse(&expected).unwrap().0).unwrap();
        assert_eq!((report.sender_ssrc, report.report_timestamp.bits()), (0x0102_0304, 0x1122_3344));
        let streams: Vec<_> = report.streams().collect();
        assert_eq!(streams.len(), 2);
        assert_eq!(streams[0].metrics, List::from(&first[..]));
        assert_eq!(streams[0].packets().map(|(number, _)| number).collect::<Vec<_>>(), [65_535, 0, 1]);
        assert!(streams[1].metrics.is_empty());
    }

    #[test]
    fn a_stream_without_room_is_left_out() {
        let mut buffer = [0; 28];
        let mut writer = Writer::new(&mut buffer, 1).unwrap();
        assert_eq!(writer.blocks_left(), 4);
        assert!(writer.stream(2, 0, [Metric::Missing; 5].into_iter()).is_err());
        writer.stream(2, 0, [Metric::Missing; 4].into_iter()).unwrap();
        assert_eq!(writer.blocks_left(), 0);
        assert!(writer.stream(3, 0, std::iter::empty()).is_err());
        assert_eq!(writer.finish(NtpShort::default()), Ok(28));
    }

    #[test]
    fn counts_beyond_the_packet_are_refused() {
        let mut bytes = [0x8B, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 9, 9, 9, 9];
        assert!(Ccfb::parse(Packet::parse(&bytes).unwrap().0).is_ok());
        bytes[15] = 1;
        let error = Ccfb::parse(Packet::parse(&bytes).unwrap().0).unwrap_err();
        assert_eq!(error, Error::Truncated { field: "metric blocks", offset: 16, needed: 4, available: 0 });
        bytes[14] = 0x41;
        assert!(matches!(
            Ccfb::parse(Packet::parse(&bytes).unwrap().0),
            Err(Error::Invalid { seen: 16_641, .. })
        ));
    }

    /// RFC 8888 section 3.1: the report timestamp is not left out, also where no stream is reported.
    #[test]
    fn a_report_without_its_time_is_refused() {
        let octets = [0x8B, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 9];
        let report = Ccfb::parse(Packet::parse(&octets).unwrap().0).unwrap();
        assert_eq!((report.report_timestamp.bits(), report.streams().count()), (9, 0));
        let octets = [0x8B, 205, 0, 1, 0, 0, 0, 1];
        assert!(Ccfb::parse(Packet::parse(&octets).unwrap().0).is_err());
    }

    /// Section 3.1: no more than 16 384 packets of a stream.
    #[test]
    fn so_many_packets_of_a_stream_and_no_more() {
        for (count, is_valid) in [(16_384_u16, true), (16_385, false)] {
            let words = 4 + count.div_ceil(2);
            let mut octets = vec![0; 4 + 4 * usize::from(words)];
            octets[..2].copy_from_slice(&[0x8B, 205]);
            octets[2..4].copy_from_slice(&words.to_be_bytes());
            octets[14..16].copy_from_slice(&count.to_be_bytes());
            assert_eq!(Ccfb::parse(Packet::parse(&octets).unwrap().0).is_ok(), is_valid, "{count}");
        }
    }
}
