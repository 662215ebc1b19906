//! What a window takes of the bits that a rate passes in its time and in the time behind it: as much as it needs with the lambda that
//! the pictures behind it get. A window may be as short as a picture, and an I picture takes the time of several.

use super::picture::PictureShaper;
use super::rate_control::BudgetRequest;
use super::report::LeftAlone;
use super::seconds::History;
use crate::header::PictureKind;

/// The time behind the first picture of a window whose bits are shared out, if a group is no longer.
const LEAST_HORIZON: f64 = 1.0;
/// The same for the longest groups.
const LONGEST_HORIZON: f64 = 2.0;
/// Bits are in proportion to this power of 1 / lambda.
const ELASTICITY: f64 = 0.4;
/// What kinds need in proportion to their bits, where nothing is known: at half of the rate `auto` keeps 0.86 of the bits of I, 0.56
/// of P and 0.21 of B pictures.
const FIRST_NEEDS: [f64; 3] = [0.86, 0.56, 0.21];
/// Smoothing factor of what a kind needs, ...
const GAIN: f64 = 0.3;
/// ... and of the lambda of all kinds.
const COMMON_GAIN: f64 = 0.1;
/// The most that the lambda of a window counts as more or less than that.
const FARTHEST: f64 = 4.0;

/// Shares out the bits of a rate to windows.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowShare {
    history: History,
    /// By kind, the share of the bits that pictures keep with the common lambda.
    needs: [Option<f64>; 3],
    /// The logarithm of the lambda of all kinds.
    common: Option<f64>,
    /// How long a picture is shown, in seconds: the mean of the last window.
    each: f64,
}

impl WindowShare {
    /// The bits of a window at `rate` bit/s, of which `carry_over` are left from before; observes its pictures.
    pub(crate) fn budget(&mut self, window: &[BudgetRequest], rate: f64, carry_over: f64) -> f64 {
        let Some(last) = window.last() else { return 0.0 };
        let mut seconds: f64 = window.iter().map(|picture| picture.seconds).sum();
        for picture in window {
            if picture.is_rest {
                self.history.go_on(picture.bits as f64);
            } else {
                self.history.push(picture.kind, picture.bits as f64);
            }
        }
        let pictures = window.iter().filter(|picture| !picture.is_rest).count();
        if seconds > 0.0 {
            self.each = seconds / pictures.max(1) as f64;
        }
        let each = self.each;
        let count = self.pictures_behind(last, pictures);
        seconds += count as f64 * each;
        let needed: f64 = window.iter().map(|picture| self.need(picture.kind) * picture.bits as f64).sum();
        let behind = self.needed_behind(count, last, each);
        (carry_over + rate * seconds) * (needed / (needed + behind).max(1.0)).min(1.0)
    }

    /// How many pictures behind the window share its bits: up to the end of its second, where seconds are even; else as many as
    /// complete groups of pictures, as far as these are short.
    fn pictures_behind(&self, last: &BudgetRequest, pictures: usize) -> usize {
        let each = self.each;
        if last.last || each <= 0.0 {
            return 0;
        }
        if let Some(second) = last.second.filter(|second| second.even) {
            return (second.left / each + 0.5).max(0.0) as usize;
        }
        let [least, most] = [LEAST_HORIZON, LONGEST_HORIZON].map(|horizon| (horizon / each + 0.5) as usize);
        let groups = self.history.group().map_or(least, |group| least.div_ceil(group) * group);
        groups.min(most).saturating_sub(pictures)
    }

    /// What so many pictures behind the window need.
    fn needed_behind(&self, count: usize, last: &BudgetRequest, each: f64) -> f64 {
        let need = |&(kind, bits): &(Option<PictureKind>, f64)| self.need(kind) * bits;
        if let Some(predicted) = self.history.predicted(count) {
            return predicted.map(need).sum();
        }
        // Pictures at the start of a stream may be larger than those behind them.
        let declared = last.declared_rate.map_or(f64::INFINITY, |rate| self.need(None) * rate * each);
        let (sum, others) =
            self.history.others().fold((0.0, 0), |(sum, others), picture| (sum + need(picture), others + 1));
        let mean = if others > 0 { sum / f64::from(others) } else { self.need(None) * last.bits as f64 };
        let mean = mean.min(declared);
        count as f64 * mean
    }

    fn need(&self, kind: Option<PictureKind>) -> f64 {
        let Some(index) = index_of(kind) else { return self.scale() * FIRST_NEEDS[1] };
        self.needs[index].unwrap_or_else(|| self.scale() * FIRST_NEEDS[index])
    }

    /// The needs that are known, relative to the first ones.
    fn scale(&self) -> f64 {
        let known = self.needs.iter().zip(FIRST_NEEDS).filter_map(|(need, first)| Some((*need)? / first));
        let (sum, count) = known.fold((0.0, 0), |(sum, count), scale| (sum + scale, count + 1));
        if count > 0 { sum / f64::from(count) } else { 1.0 }
    }

    /// Follows what kinds need by what the pictures of a window have got.
    pub(crate) fn learn(&mut self, pictures: &[PictureShaper]) {
        let mut sums = [[0.0; 2]; 3];
        for picture in pictures {
            let left_alone = picture.report.left_alone;
            if let Some(index) = index_of(picture.report.kind)
                && left_alone.is_none_or(|reason| reason == LeftAlone::NothingToDo)
            {
                let deviation = self.deviation(picture.report.lambda);
                let common = self.common.get_or_insert(libm::log(picture.report.lambda.max(1e-3)));
                *common += COMMON_GAIN * deviation;
                sums[index][0] += picture.bits_in() as f64;
                sums[index][1] += picture.written_bits() * libm::exp(ELASTICITY * deviation);
            }
        }
        for (need, [bits_in, kept]) in self.needs.iter_mut().zip(sums) {
            if bits_in > 0.0 {
                let observed = kept / bits_in;
                *need = Some(need.map_or(observed, |need| need + GAIN * (observed - need)));
            }
        }
    }

    /// The logarithm of a lambda by the common one, limited where sizes do not follow lambda: at the floor of pictures, and where
    /// nothing is cut.
    fn deviation(&self, lambda: f64) -> f64 {
        let most = libm::log(FARTHEST);
        self.common.map_or(0.0, |common| (libm::log(lambda.max(1e-9)) - common).clamp(-most, most))
    }
}

fn index_of(kind: Option<PictureKind>) -> Option<usize> {
    match kind? {
        PictureKind::I => Some(0),
        PictureKind::P => Some(1),
        PictureKind::B => Some(2),
        PictureKind::D => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Target;
    use super::super::seconds::SecondCounter;
    use super::*;
    use seaway_units::Bitrate;

    const RATE: f64 = 1e6;
    const GROUP: u64 = 12;

    /// Groups of an I picture and eleven P pictures: 1.7 Mbit/s.
    fn picture(index: u64, counter: &mut SecondCounter, even: bool) -> BudgetRequest {
        let (kind, bits) =
            if index.is_multiple_of(GROUP) { (PictureKind::I, 300_000) } else { (PictureKind::P, 50_000) };
        BudgetRequest {
            target: Target::Rate(Bitrate::from_mbps(1)),
            planned: None,
            second: Some(counter.next(0.04, even)),
            ahead: None,
            kind: Some(kind),
            is_rest: false,
            weighted: true,
            bits,
            seconds: 0.04,
            last: false,
            bits_left: None,
            declared_rate: Some(1.7e6),
        }
    }

    /// Budgets of windows of two pictures, each spent.
    fn budgets(even: bool) -> Vec<f64> {
        let (mut share, mut counter, mut carry_over) =
            (WindowShare::default(), SecondCounter::default(), 0.0);
        let window = |window: u64| {
            // A second of 25 pictures ends within a window: it begins with the next one.
            let pictures = [2 * window, 2 * window + 1].map(|index| picture(index, &mut counter, even));
            let budget = share.budget(&pictures, RATE, carry_over);
            carry_over += 2.0 * 0.04 * RATE - budget;
            budget
        };
        (0..300).map(window).collect()
    }

    #[test]
    fn an_i_picture_takes_the_time_of_others() {
        for even in [false, true] {
            let windows = budgets(even);
            // Its time passes 80 kbit; what its kind needs is more than half of the 480 of a group.
            let groups = windows[60..].chunks(6);
            assert!(groups.clone().all(|group| (200e3..320e3).contains(&group[0])), "{even}: {windows:?}");
            assert!(groups.clone().flat_map(|group| &group[1..]).all(|&bits| bits < 80e3), "{even}");
            let sum: f64 = windows.iter().sum();
            assert!((sum / (300.0 * 0.08 * RATE) - 1.0).abs() < 0.02, "{even}: {sum}");
        }
    }

    #[test]
    fn even_seconds_take_their_bits() {
        let (mut share, mut counter) = (WindowShare::default(), SecondCounter::default());
        let (mut carry_over, mut sums) = (0.0, [0.0; 8]);
        for index in 0..200 {
            let picture = picture(index, &mut counter, true);
            let budget = share.budget(&[picture], RATE, carry_over);
            carry_over += 0.04 * RATE - budget;
            sums[index as usize / 25] += budget;
        }
        assert!(sums.iter().all(|sum| (sum / RATE - 1.0).abs() < 1e-6), "{sums:?}");
    }

    #[test]
    fn the_last_window_takes_what_is_left() {
        let (mut share, mut counter) = (WindowShare::default(), SecondCounter::default());
        let last = BudgetRequest { last: true, ..picture(0, &mut counter, false) };
        assert_eq!(share.budget(&[last], RATE, -10_000.0), 30_000.0);
    }
}
