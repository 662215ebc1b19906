//! Writing a feedback packet: chunks in a first pass over the arrivals, deltas in a second.

use super::chunk::{Chunk, Pending, Symbol};
use super::{KIND, TICK, TICKS_PER_REFERENCE, field};
use crate::Error;
use crate::bytes::{padded, put_u16, put_u24, room};
use seaway_units::Timestamp;

/// Makes feedback packets of arrivals.
#[derive(Debug, Clone, Copy)]
pub struct TwccWriter {
    /// Who reports.
    pub sender_ssrc: u32,
    /// One of the streams it is about.
    pub media_ssrc: u32,
    /// Counts feedback packets, modulo 256.
    pub feedback_count: u8,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emitted {
    /// Octets of the packet.
    pub len: usize,
    /// Number of statuses in it; the next packet begins after them.
    pub statuses: u16,
}

impl TwccWriter {
    /// Writes a packet about `base_sequence` and the numbers after it, one arrival each, on a clock that does
    /// not matter as long as it is always the same. It ends before an arrival that is too far from the one
    /// before for a delta (8.19 s), where the buffer is full, or at 65 535 statuses: so look at how many went in.
    ///
    /// # Errors
    /// A buffer that does not hold the first status.
    pub fn emit(
        &self,
        base_sequence: u16,
        arrivals: impl Iterator<Item = Option<Timestamp>> + Clone,
        buffer: &mut [u8],
    ) -> Result<Emitted, Error> {
        room(buffer, field::CHUNKS, KIND.name)?;
        let reference =
            arrivals.clone().flatten().next().map_or(0, |first| ticks(first) / TICKS_PER_REFERENCE);
        let plan = write_chunks(Deltas::new(reference, arrivals.clone()), buffer);
        if plan.statuses == 0 && arrivals.clone().next().is_some() {
            let needed = field::CHUNKS + 4;
            return Err(Error::NoRoom { field: KIND.name, needed, available: buffer.len() });
        }
        let deltas = Deltas::new(reference, arrivals).take(plan.statuses.into());
        let end = write_deltas(deltas, buffer, plan.chunks_end);
        let len = padded(end);
        buffer[end..len].fill(0);
        KIND.emit(buffer, len, self.sender_ssrc, self.media_ssrc)?;
        put_u16(buffer, field::BASE, base_sequence);
        put_u16(buffer, field::STATUS_COUNT, plan.statuses);
        put_u24(buffer, field::REFERENCE, reference as u32);
        buffer[field::FEEDBACK_COUNT] = self.feedback_count;
        Ok(Emitted { len, statuses: plan.statuses })
    }
}

struct Written {
    chunks_end: usize,
    statuses: u16,
}

/// Packs statuses while chunks and deltas fit the buffer together.
fn write_chunks(deltas: impl Iterator<Item = Option<i16>>, buffer: &mut [u8]) -> Written {
    let mut pending = Pending::default();
    let (mut chunks_end, mut deltas_len, mut statuses) = (field::CHUNKS, 0, 0u16);
    for delta in deltas.take(u16::MAX.into()) {
        let symbol = symbol_of(delta);
        deltas_len += symbol.delta_len();
        // The chunk this status is pending for, and before it the one it fills.
        let chunks_len = if pending.fits(symbol) { 2 } else { 4 };
        if padded(chunks_end + chunks_len + deltas_len) > buffer.len() {
            break;
        }
        if let Some(Chunk(chunk)) = pending.push(symbol) {
            put_u16(buffer, chunks_end, chunk);
            chunks_end += 2;
        }
        statuses += 1;
    }
    if let Some(Chunk(chunk)) = pending.finish() {
        put_u16(buffer, chunks_end, chunk);
        chunks_end += 2;
    }
    Written { chunks_end, statuses }
}

fn write_deltas(deltas: impl Iterator<Item = Option<i16>>, buffer: &mut [u8], start: usize) -> usize {
    let mut at = start;
    for delta in deltas.flatten() {
        match symbol_of(Some(delta)) {
            Symbol::Small => buffer[at] = delta as u8,
            _ => put_u16(buffer, at, delta as u16),
        }
        at += symbol_of(Some(delta)).delta_len();
    }
    at
}

fn symbol_of(delta: Option<i16>) -> Symbol {
    match delta {
        None => Symbol::Missing,
        Some(0..=255) => Symbol::Small,
        Some(_) => Symbol::Large,
    }
}

fn ticks(at: Timestamp) -> i64 {
    (at.as_nanos() / TICK.as_nanos() as u64) as i64
}

/// Arrivals as deltas; ends before one that is out of range.
struct Deltas<I> {
    arrivals: I,
    last: i64,
}

impl<I> Deltas<I> {
    fn new(reference: i64, arrivals: I) -> Self {
        Self { arrivals, last: reference * TICKS_PER_REFERENCE }
    }
}

impl<I: Iterator<Item = Option<Timestamp>>> Iterator for Deltas<I> {
    type Item = Option<i16>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(arrival) = self.arrivals.next()? else { return Some(None) };
        let now = ticks(arrival);
        let delta = i16::try_from(now - self.last).ok()?;
        self.last = now;
        Some(Some(delta))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packet, Twcc};
    use super::*;
    use seaway_units::TimeDelta;

    const WRITER: TwccWriter =
        TwccWriter { sender_ssrc: 0x0102_0304, media_ssrc: 0x0506_0708, feedback_count: 9 };

    fn at(micros: u64) -> Option<Timestamp> {
        Some(Timestamp::from_nanos(micros * 1_000))
    }

    fn read(bytes: &[u8]) -> Vec<(u16, Option<i64>)> {
        let report = Twcc::parse(Packet::parse(bytes).unwrap().0).unwrap();
        report.packets().map(|(number, at)| (number, at.map(TimeDelta::as_micros))).collect()
    }

    #[test]
    fn small_large_and_negative_deltas() {
        let arrivals = [at(128_250), None, at(192_000), at(191_000), at(300_000)];
        let mut buffer = [0xEE; 40];
        let emitted = WRITER.emit(65_534, arrivals.into_iter(), &mut buffer).unwrap();
        assert_eq!(emitted, Emitted { len: 28, statuses: 5 });
        let expected = [
            0x8F, 205, 0, 6, 1, 2, 3, 4, 5, 6, 7, 8, 0xFF, 0xFE, 0, 5, 0, 0, 2, 9, //
            0xD1, 0xA0, // small, none, small, large, large: 11 01 00 01 10 10 00 00
            1, 255, 0xFF, 0xFC, 1, 0xB4,
        ];
        assert_eq!(buffer[..28], expected);
        let seen = read(&expected);
        let numbers = [65_534, 65_535, 0, 1, 2];
        let times = [Some(128_250), None, Some(192_000), Some(191_000), Some(300_000)];
        assert!(seen.into_iter().eq(numbers.into_iter().zip(times)));
    }

    #[test]
    fn ends_where_a_delta_is_out_of_range() {
        let arrivals = [at(0), at(8_191_750), at(8_191_750 + 8_192_000)];
        let mut buffer = [0; 64];
        let emitted = WRITER.emit(0, arrivals.into_iter(), &mut buffer).unwrap();
        assert_eq!(emitted.statuses, 2);
        assert_eq!(read(&buffer[..emitted.len]).len(), 2);
    }

    #[test]
    fn ends_where_the_buffer_is_full() {
        let arrivals = (0..1_000).map(|index| at(index * 1_000));
        for room in 24..100 {
            let mut buffer = [0; 100];
            let emitted = WRITER.emit(0, arrivals.clone(), &mut buffer[..room]).unwrap();
            assert!(emitted.len <= room && emitted.statuses > 0);
            assert_eq!(read(&buffer[..emitted.len]).len(), emitted.statuses.into());
        }
        let error = WRITER.emit(0, arrivals.clone(), &mut [0; 23]).unwrap_err();
        assert_eq!(error, Error::NoRoom { field: KIND.name, needed: 24, available: 23 });
        // A head of twenty octets, a run, and a delta of one octet each.
        let emitted = WRITER.emit(0, arrivals, &mut [0; 40]).unwrap();
        assert_eq!(emitted, Emitted { len: 40, statuses: 18 });
    }

    /// Gaps of 1 ms, 100 ms and none at all take all three kinds of chunks.
    #[test]
    fn many_chunks_are_read_back() {
        let mut micros = 64_000;
        let arrivals: Vec<Option<Timestamp>> = (0..300)
            .map(|index| {
                micros += if index % 50 == 9 { 100_000 } else { 1_000 };
                if index % 30 < 20 && index % 7 == 3 { None } else { at(micros) }
            })
            .collect();
        let mut buffer = [0; 1200];
        let emitted = WRITER.emit(9, arrivals.iter().copied(), &mut buffer).unwrap();
        assert_eq!(emitted.statuses, 300);
        let expected = arrivals.iter().map(|arrival| arrival.map(|at| at.as_nanos() as i64 / 1000));
        assert!(read(&buffer[..emitted.len]).into_iter().eq((9..).zip(expected)));
    }

    #[test]
    fn announced_but_absent_deltas_are_refused() {
        let arrivals = [at(0), at(100_000), at(200_000)];
        let mut buffer = [0; 28];
        let emitted = WRITER.emit(0, arrivals.into_iter(), &mut buffer).unwrap();
        assert_eq!(emitted.len, 28);
        buffer[15] = 200; // the status count
        assert!(Twcc::parse(Packet::parse(&buffer).unwrap().0).is_err());
        buffer[20..22].copy_from_slice(&[0x60, 200]); // a run of the reserved symbol
        assert!(matches!(
            Twcc::parse(Packet::parse(&buffer).unwrap().0),
            Err(Error::Invalid { offset: 20, .. })
        ));
    }

    #[test]
    fn reference_time_is_signed() {
        let mut buffer = [0; 24];
        WRITER.emit(0, [at(0)].into_iter(), &mut buffer).unwrap();
        buffer[16..19].fill(0xFF);
        assert_eq!(read(&buffer), [(0, Some(-64_000))]);
        // A clock past 2^23 units reads as the same instant modulo the wrap.
        let late = TimeDelta::from_millis(64 << 23);
        let emitted = WRITER.emit(0, [Some(Timestamp::ZERO + late)].into_iter(), &mut buffer).unwrap();
        assert_eq!(read(&buffer[..emitted.len]), [(0, Some((late - Twcc::WRAP).as_micros()))]);
    }
}
