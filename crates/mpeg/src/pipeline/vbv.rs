//! The video buffering verifier (13818-2 and 11172-2, annex C): the fullness of the decoder's buffer that the stream
//! declares, before and after shaping.

use crate::header::SequenceState;
use crate::startcode::StartCode;
use crate::unit::AccessUnit;
use schemars::JsonSchema;
use serde::Serialize;

/// `vbv_delay` of a stream of variable rate.
const VARIABLE: u16 = 0xffff;
/// The clock of `vbv_delay`, in Hz.
const CLOCK: f64 = 90_000.0;

/// How the buffer fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VbvMode {
    /// At the declared rate all the time; `vbv_delay` gives its fullness (C.3.1).
    Constant,
    /// At the declared rate whenever it is not full. It is full at the start (C.3.2).
    Variable,
}

/// The VBV over a whole stream.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct VbvReport {
    /// `vbv_buffer_size` of the last sequence header, in bits.
    pub size_bits: u64,
    /// `bit_rate` of the same, in bit/s.
    pub rate_bps: u64,
    /// The input.
    pub before: Fullness,
    /// The output. Its mode is variable once a picture was changed, because its rate is no longer constant.
    pub after: Fullness,
    /// The mode that the output's `vbv_delay` declares; `constant` with `--vbv keep` describes the input.
    pub declared: VbvMode,
}

/// Fullness of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Fullness {
    /// How the buffer fills.
    pub filling: VbvMode,
    /// The least bits in the buffer right after a picture was removed; negative where a picture was incomplete.
    pub lowest_bits: i64,
    /// The most bits in the buffer right before a picture was removed.
    pub highest_bits: i64,
    /// Pictures that were incomplete at their decoding time. With `low_delay` that is allowed.
    pub underflows: u64,
    /// Pictures before which the buffer overflowed; in constant mode only.
    pub overflows: u64,
}

/// The input of the VBV for one picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct VbvPicture {
    seconds: f64,
    delay: u16,
    /// Bits up to the end of the picture's start code, which arrive before `vbv_delay` starts to count.
    ahead: f64,
    rate: u64,
    size: u64,
}

/// The VBV of the input and of the output.
#[derive(Debug, Default)]
pub(super) struct VbvModel {
    state: SequenceState,
    before: Vbv,
    after: Vbv,
    changed: bool,
    declares_variable: bool,
    last: Option<VbvPicture>,
    /// The picture of which parts are still to come, with its bits so far.
    begun: Option<(VbvPicture, [u64; 2])>,
}

#[derive(Debug, Default)]
struct Vbv {
    /// Bits in the buffer after the last picture, and the seconds that the picture is shown.
    left: Option<(f64, f64)>,
    fullness: Option<Fullness>,
}

impl VbvModel {
    /// Reads the headers of the next picture; `None` where they declare no buffer or rate.
    pub(super) fn read_picture(&mut self, unit: &AccessUnit) -> Option<VbvPicture> {
        let context = unit.read_headers(&mut self.state)?;
        let picture = unit.spans.iter().find(|span| span.code == StartCode::Picture)?;
        Some(VbvPicture {
            seconds: self.state.display_seconds(&context),
            delay: context.header.vbv_delay,
            ahead: 8.0 * (picture.range.start + 4) as f64,
            rate: self.state.bit_rate()?,
            size: self.state.buffer_bits()?,
        })
    }

    /// Takes a picture, or a part of one that `goes_on`, as for [`VbvModel::remove_picture`]: a picture leaves the buffers as a whole. `picture`
    /// is `None` for a part behind the first.
    pub(super) fn add_part(
        &mut self,
        picture: Option<VbvPicture>,
        bits: [u64; 2],
        goes_on: bool,
        variable: bool,
    ) {
        let begun = picture.map(|picture| (picture, [0; 2])).or(self.begun.take());
        let Some((picture, [before, after])) = begun else { return };
        let bits = [before + bits[0], after + bits[1]];
        if goes_on {
            self.begun = Some((picture, bits));
        } else {
            self.remove_picture(picture, bits, variable);
        }
    }

    /// Removes a picture from both buffers. `bits` are its sizes before and after; `variable` where its output has a
    /// `vbv_delay` of 0xFFFF.
    fn remove_picture(&mut self, picture: VbvPicture, bits: [u64; 2], variable: bool) {
        self.changed |= bits[0] != bits[1];
        self.declares_variable |= variable || picture.delay == VARIABLE;
        self.before.remove_picture(picture, bits[0], picture.delay == VARIABLE);
        self.after.remove_picture(picture, bits[1], self.changed || variable || picture.delay == VARIABLE);
        self.last = Some(picture);
    }

    pub(super) fn report(&self) -> Option<VbvReport> {
        let picture = self.last?;
        Some(VbvReport {
            size_bits: picture.size,
            rate_bps: picture.rate,
            before: self.before.fullness?,
            after: self.after.fullness?,
            declared: if self.declares_variable { VbvMode::Variable } else { VbvMode::Constant },
        })
    }
}

impl Vbv {
    fn remove_picture(&mut self, picture: VbvPicture, bits: u64, variable: bool) {
        let (rate, size) = (picture.rate as f64, picture.size as f64);
        let filling = if variable { VbvMode::Variable } else { VbvMode::Constant };
        let declared = rate * f64::from(picture.delay) / CLOCK + picture.ahead;
        let present = match (filling, self.left) {
            (VbvMode::Constant, _) => declared,
            (VbvMode::Variable, None) => size,
            (VbvMode::Variable, Some((left, seconds))) => (left.max(0.0) + rate * seconds).min(size),
        };
        let left = present - bits as f64;
        self.left = Some((left, picture.seconds));
        let start =
            Fullness { filling, lowest_bits: i64::MAX, highest_bits: i64::MIN, underflows: 0, overflows: 0 };
        let fullness = self.fullness.get_or_insert(start);
        fullness.filling = filling;
        fullness.lowest_bits = fullness.lowest_bits.min(left as i64);
        fullness.highest_bits = fullness.highest_bits.max(present as i64);
        // `vbv_delay` is rounded to a step of the clock.
        let step = rate / CLOCK + 1.0;
        fullness.underflows += u64::from(left < -step);
        fullness.overflows += u64::from(present > size + step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(delay: u16) -> VbvPicture {
        VbvPicture { seconds: 0.04, delay, ahead: 100.0, rate: 1_000_000, size: 327_680 }
    }

    // 13818-2, C.3.1: 9000 periods at 1 Mbit/s are 100 000 bits.
    #[test]
    fn constant_mode_follows_the_delays() {
        let mut vbv = Vbv::default();
        vbv.remove_picture(picture(9000), 60_000, false);
        vbv.remove_picture(picture(7200), 90_000, false);
        let fullness = vbv.fullness.unwrap();
        assert_eq!((fullness.highest_bits, fullness.lowest_bits), (100_100, -9_900));
        assert_eq!((fullness.underflows, fullness.overflows), (1, 0));
        vbv.remove_picture(picture(36_000), 1000, false);
        assert_eq!(vbv.fullness.unwrap().overflows, 1);
    }

    // 13818-2, C.3.2: full at first, then 40 000 bits a picture, never above the size.
    #[test]
    fn variable_mode_starts_full_and_never_overflows() {
        let mut meter = VbvModel::default();
        for bits in [300_000, 10_000, 20_000, 90_000] {
            meter.remove_picture(picture(VARIABLE), [bits, bits / 2], true);
        }
        let report = meter.report().unwrap();
        assert_eq!((report.before.lowest_bits, report.before.highest_bits), (27_680, 327_680));
        assert_eq!((report.before.underflows, report.after.underflows), (0, 0));
        assert!(report.after.lowest_bits > report.before.lowest_bits);
        assert_eq!(report.declared, VbvMode::Variable);
        meter.remove_picture(picture(VARIABLE), [400_000, 400_000], true);
        assert_eq!(meter.report().unwrap().before.underflows, 1);
    }

    #[test]
    fn a_picture_in_parts_leaves_as_a_whole() {
        let [mut whole, mut cut] = [VbvModel::default(), VbvModel::default()];
        for bits in [300_000, 30_000, 60_000] {
            whole.add_part(Some(picture(VARIABLE)), [bits, bits / 2], false, true);
            for (first, goes_on) in [(true, true), (false, true), (false, false)] {
                cut.add_part(first.then(|| picture(VARIABLE)), [bits / 3, bits / 6], goes_on, true);
            }
        }
        assert_eq!(whole.report(), cut.report());
        // What belongs to no picture changes nothing.
        cut.add_part(None, [1000; 2], false, true);
        assert_eq!(whole.report(), cut.report());
    }
}
