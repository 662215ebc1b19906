//! The video buffering verifier (13818-2 and 11172-2, annex C): how full a decoder's buffer is by what the stream declares,
//! before and after.

use crate::header::SequenceState;
use crate::startcode::StartCode;
use crate::unit::AccessUnit;
use serde::Serialize;

/// `vbv_delay` of a stream of variable rate.
const VARIABLE: u16 = 0xffff;
/// The clock of `vbv_delay`, in Hz.
const CLOCK: f64 = 90_000.0;

/// How the declared buffer fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filling {
    /// At the declared rate all the time; `vbv_delay` says how full it is (C.3.1).
    Constant,
    /// At the declared rate whenever it is not full, from full on (C.3.2).
    Variable,
}

/// The verifier over a whole stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferReport {
    /// `vbv_buffer_size` of the last sequence header, in bits.
    pub size_bits: u64,
    /// `bit_rate` of it, in bit/s.
    pub rate_bps: u64,
    /// The input.
    pub before: Fullness,
    /// The output; by variable filling wherever a picture was changed, for it has no constant rate.
    pub after: Fullness,
    /// What the output's `vbv_delay` says: `constant` with `--vbv keep` describes the input.
    pub declared: Filling,
}

/// How full the buffer was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fullness {
    /// How it fills.
    pub filling: Filling,
    /// Bits in it right after a picture was taken, at the least; below 0 one was not all there.
    pub lowest_bits: i64,
    /// Bits in it right before a picture was taken, at the most.
    pub highest_bits: i64,
    /// Pictures that were not all there at their time. With `low_delay` that is lawful.
    pub underflows: u64,
    /// Pictures before which more had come than it holds; only where it fills all the time.
    pub overflows: u64,
}

/// What the verifier needs of a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    seconds: f64,
    delay: u16,
    /// Bits up to the end of the picture's start code: they came before `vbv_delay` counts.
    ahead: f64,
    rate: u64,
    size: u64,
}

/// Follows a stream as it comes and as it goes.
#[derive(Debug, Default)]
pub(super) struct Meter {
    state: SequenceState,
    before: Verifier,
    after: Verifier,
    changed: bool,
    declares_variable: bool,
    last: Option<Entry>,
}

/// One run of the verifier.
#[derive(Debug, Default)]
struct Verifier {
    /// Bits in the buffer after the last picture, and how long that is shown.
    left: Option<(f64, f64)>,
    fullness: Option<Fullness>,
}

impl Meter {
    /// Reads the headers of the next picture; `None` where it has no place in the verifier.
    pub(super) fn read(&mut self, unit: &AccessUnit) -> Option<Entry> {
        let context = unit.read_headers(&mut self.state)?;
        let picture = unit.spans.iter().find(|span| span.code == StartCode::Picture)?;
        Some(Entry {
            seconds: self.state.display_seconds(&context),
            delay: context.header.vbv_delay,
            ahead: 8.0 * (picture.range.start + 4) as f64,
            rate: self.state.bit_rate()?,
            size: self.state.buffer_bits()?,
        })
    }

    /// Takes a picture out of both buffers. `variable`: its output says `vbv_delay` 0xFFFF.
    pub(super) fn take(&mut self, entry: Entry, bits: [u64; 2], variable: bool) {
        self.changed |= bits[0] != bits[1];
        self.declares_variable |= variable || entry.delay == VARIABLE;
        self.before.take(entry, bits[0], entry.delay == VARIABLE);
        self.after.take(entry, bits[1], self.changed || variable || entry.delay == VARIABLE);
        self.last = Some(entry);
    }

    pub(super) fn report(&self) -> Option<BufferReport> {
        let entry = self.last?;
        Some(BufferReport {
            size_bits: entry.size,
            rate_bps: entry.rate,
            before: self.before.fullness?,
            after: self.after.fullness?,
            declared: if self.declares_variable { Filling::Variable } else { Filling::Constant },
        })
    }
}

impl Verifier {
    fn take(&mut self, entry: Entry, bits: u64, variable: bool) {
        let (rate, size) = (entry.rate as f64, entry.size as f64);
        let filling = if variable { Filling::Variable } else { Filling::Constant };
        let declared = rate * f64::from(entry.delay) / CLOCK + entry.ahead;
        let there = match (filling, self.left) {
            (Filling::Constant, _) => declared,
            (Filling::Variable, None) => size,
            (Filling::Variable, Some((left, seconds))) => (left.max(0.0) + rate * seconds).min(size),
        };
        let left = there - bits as f64;
        self.left = Some((left, entry.seconds));
        let start =
            Fullness { filling, lowest_bits: i64::MAX, highest_bits: i64::MIN, underflows: 0, overflows: 0 };
        let fullness = self.fullness.get_or_insert(start);
        fullness.filling = filling;
        fullness.lowest_bits = fullness.lowest_bits.min(left as i64);
        fullness.highest_bits = fullness.highest_bits.max(there as i64);
        // Delays are in steps of the clock: by one of them it may be off.
        let step = rate / CLOCK + 1.0;
        fullness.underflows += u64::from(left < -step);
        fullness.overflows += u64::from(there > size + step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(delay: u16) -> Entry {
        Entry { seconds: 0.04, delay, ahead: 100.0, rate: 1_000_000, size: 327_680 }
    }

    // 13818-2, C.3.1: 9000 periods at 1 Mbit/s are 100 000 bits.
    #[test]
    fn constant_filling_is_what_the_delays_say() {
        let mut verifier = Verifier::default();
        verifier.take(entry(9000), 60_000, false);
        verifier.take(entry(7200), 90_000, false);
        let fullness = verifier.fullness.unwrap();
        assert_eq!((fullness.highest_bits, fullness.lowest_bits), (100_100, -9_900));
        assert_eq!((fullness.underflows, fullness.overflows), (1, 0));
        verifier.take(entry(36_000), 1000, false);
        assert_eq!(verifier.fullness.unwrap().overflows, 1);
    }

    // 13818-2, C.3.2: full at first, then 40 000 bits a picture, never above the size.
    #[test]
    fn variable_filling_starts_full_and_never_overflows() {
        let mut meter = Meter::default();
        for bits in [300_000, 10_000, 20_000, 90_000] {
            meter.take(entry(VARIABLE), [bits, bits / 2], true);
        }
        let report = meter.report().unwrap();
        assert_eq!((report.before.lowest_bits, report.before.highest_bits), (27_680, 327_680));
        assert_eq!((report.before.underflows, report.after.underflows), (0, 0));
        assert!(report.after.lowest_bits > report.before.lowest_bits);
        assert_eq!(report.declared, Filling::Variable);
        meter.take(entry(VARIABLE), [400_000, 400_000], true);
        assert_eq!(meter.report().unwrap().before.underflows, 1);
    }
}
