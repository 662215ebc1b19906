//! The report of buffer-aware rate control (`docs/models/feedback-formats.md`, section "Buffer level"): an
//! application-defined packet of 40 octets.

use super::app::report;
use super::buffer_level::octets;
use crate::MicrosClock;
use crate::bytes::{put_u32, u32_at};
use crate::clock::span_micros;
use seaway_units::{DataSize, TimeDelta};

/// What a buffer-aware receiver reports once per smoothed round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferAwareReport {
    /// SSRC of the reporter.
    pub sender_ssrc: u32,
    /// SSRC of the media stream.
    pub media_ssrc: u32,
    /// B: what is in the buffer; saturates at 4 GiB less one octet.
    pub held: DataSize,
    /// The size of the buffer; saturates likewise.
    pub capacity: DataSize,
    /// The send time of the last data packet, as it was written on it.
    pub echo: MicrosClock,
    /// How long ago that packet came; whole microseconds, saturating.
    pub delay: TimeDelta,
    /// Highest sequence number received, extended by the number of its wraps.
    pub highest_sequence: u32,
    /// Packets lost since the start, modulo 2^32.
    pub lost: u32,
}

mod field {
    pub(super) const MEDIA_SSRC: usize = 0;
    pub(super) const HELD: usize = 4;
    pub(super) const CAPACITY: usize = 8;
    pub(super) const ECHO: usize = 12;
    pub(super) const DELAY: usize = 16;
    pub(super) const HIGHEST: usize = 20;
    pub(super) const LOST: usize = 24;
    pub(super) const LEN: usize = 28;
}

impl BufferAwareReport {
    fn read(sender_ssrc: u32, body: &[u8]) -> Self {
        Self {
            sender_ssrc,
            media_ssrc: u32_at(body, field::MEDIA_SSRC),
            held: DataSize::from_bytes(u32_at(body, field::HELD).into()),
            capacity: DataSize::from_bytes(u32_at(body, field::CAPACITY).into()),
            echo: MicrosClock::from_bits(u32_at(body, field::ECHO)),
            delay: TimeDelta::from_micros(u32_at(body, field::DELAY).into()),
            highest_sequence: u32_at(body, field::HIGHEST),
            lost: u32_at(body, field::LOST),
        }
    }

    fn write(&self, body: &mut [u8]) {
        put_u32(body, field::MEDIA_SSRC, self.media_ssrc);
        put_u32(body, field::HELD, octets(self.held));
        put_u32(body, field::CAPACITY, octets(self.capacity));
        put_u32(body, field::ECHO, self.echo.bits());
        put_u32(body, field::DELAY, span_micros(self.delay));
        put_u32(body, field::HIGHEST, self.highest_sequence);
        put_u32(body, field::LOST, self.lost);
    }
}

report!(BufferAwareReport, b"BUFA", field::LEN, "buffer-aware report");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::Packet;

    #[test]
    fn twenty_four_octets_behind_the_streams_ssrc() {
        let report = BufferAwareReport {
            sender_ssrc: 1,
            media_ssrc: 2,
            held: DataSize::from_bytes(3),
            capacity: DataSize::from_bytes(4),
            echo: MicrosClock::from_bits(5),
            delay: TimeDelta::from_micros(6),
            highest_sequence: 7,
            lost: 8,
        };
        let mut buffer = [0xEE; 40];
        assert_eq!(report.emit(&mut buffer), Ok(40));
        let expected = b"\x81\xCC\0\x09\0\0\0\x01BUFA\0\0\0\x02\
            \0\0\0\x03\0\0\0\x04\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x08";
        assert_eq!(&buffer, expected);
        assert_eq!(BufferAwareReport::parse(Packet::parse(&buffer).unwrap().0), Ok(report));
    }
}
