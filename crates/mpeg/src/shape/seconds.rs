//! The budgets of single pictures at a rate whose future is unknown: each second of video takes the bits of one second.

use super::rate_control::{BudgetRequest, cut_weight};
use crate::header::PictureKind;
use seaway_units::TimeDelta;
use std::collections::VecDeque;

/// The place of a picture within its second. Seconds count from the last change of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SecondOfVideo {
    /// Another number for each second of a stream.
    pub(crate) index: u64,
    /// Seconds from the end of the picture to the end of its second; negative where the picture ends later.
    pub(crate) left: f64,
    /// Bits that it leaves are lost.
    pub(crate) even: bool,
    /// In which of the parts of its second it begins: see [`SecondCounter::divide`].
    pub(crate) part: u32,
}

/// The pictures behind one that are read already: those of its second; all where the stream ends with them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Ahead {
    pub(crate) bits: f64,
    /// Bits times [`cut_weight`].
    pub(crate) weighted_bits: f64,
    pub(crate) seconds: f64,
    /// The stream ends with them.
    pub(crate) ends: bool,
}

impl Ahead {
    /// Adds a picture.
    pub(crate) fn add(&mut self, kind: Option<PictureKind>, bits: u64, seconds: f64) {
        self.bits += bits as f64;
        self.weighted_bits += cut_weight(kind) * bits as f64;
        self.seconds += seconds;
    }
}

/// Finds the second of each picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecondCounter {
    index: u64,
    elapsed: f64,
    parts: f64,
}

impl Default for SecondCounter {
    fn default() -> Self {
        Self { index: 0, elapsed: 0.0, parts: 1.0 }
    }
}

/// A picture that ends by less than this ahead of a second ends it: frame times are not exact in binary.
const ROUNDING: f64 = 1e-6;

impl SecondCounter {
    /// Divides each second into equal parts that are no longer than this.
    pub(crate) fn divide(&mut self, longest: TimeDelta) {
        self.parts = (1.0 / longest.as_secs_f64().max(1e-3) - ROUNDING).ceil().max(1.0);
    }

    /// The target has changed.
    pub(crate) fn restart(&mut self) {
        self.index += 1;
        self.elapsed = 0.0;
    }

    /// The second of the next picture, which is shown for `seconds`.
    pub(crate) fn next(&mut self, seconds: f64, even: bool) -> SecondOfVideo {
        if self.elapsed >= 1.0 - ROUNDING {
            self.index += 1;
            // Whole seconds, so that the rest of a frame time carries over.
            self.elapsed -= self.elapsed.max(1.0).trunc();
        }
        let part = ((self.elapsed + ROUNDING) * self.parts) as u32;
        self.elapsed += seconds;
        SecondOfVideo { index: self.index, left: 1.0 - self.elapsed, even, part }
    }
}

/// Shares out the bits of the present second.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecondBudget {
    index: Option<u64>,
    /// Bits of this second that no picture has yet; negative after too many.
    left: f64,
    /// Bits that the rate has passed so far and no picture has; negative after too many.
    owed: f64,
    history: History,
}

/// Kinds and bits of the newest pictures, from which those behind them are predicted.
#[derive(Debug, Clone, Default)]
pub(crate) struct History(VecDeque<(Option<PictureKind>, f64)>);

/// Pictures in a [`History`].
const HISTORY: usize = 128;

impl History {
    pub(crate) fn push(&mut self, kind: Option<PictureKind>, bits: f64) {
        self.0.push_back((kind, bits));
        if self.0.len() > HISTORY {
            self.0.pop_front();
        }
    }

    /// Adds the rest of the last picture.
    pub(crate) fn go_on(&mut self, more: f64) {
        if let Some((_, bits)) = self.0.back_mut() {
            *bits += more;
        }
    }

    /// Pictures from the last I picture but one to the last.
    pub(crate) fn group(&self) -> Option<usize> {
        let mut intra = self.0.iter().rev().enumerate().filter(|(_, entry)| is_intra(entry));
        let (newest, _) = intra.next()?;
        let (before, _) = intra.next()?;
        Some(before - newest)
    }

    /// So many pictures to come, if they are as one group of pictures before; `None` before the second I picture.
    pub(crate) fn predicted(
        &self,
        pictures: usize,
    ) -> Option<impl Iterator<Item = &(Option<PictureKind>, f64)>> {
        let group = self.group()?;
        let at = move |ahead: usize| self.0.len().checked_sub(group - ahead % group);
        Some((0..pictures).filter_map(move |ahead| self.0.get(at(ahead)?)))
    }

    /// All but I pictures.
    pub(crate) fn others(&self) -> impl Iterator<Item = &(Option<PictureKind>, f64)> {
        self.0.iter().filter(|entry| !is_intra(entry))
    }
}

fn is_intra(entry: &(Option<PictureKind>, f64)) -> bool {
    entry.0 == Some(PictureKind::I)
}

/// The share of a second's bits by which it may exceed them.
const EXCESS: f64 = 0.02;

impl SecondBudget {
    /// Forgets the bits that are left over, where the rate changes.
    pub(crate) fn drop_surplus(&mut self) {
        self.index = None;
        self.left = self.left.min(0.0);
        self.owed = self.owed.min(0.0);
    }

    /// Bits behind a picture in its second, and the same times the weights of their cuts: as they are where they were read
    /// ahead, else as one group of pictures before. In the first group as the pictures so far, or as the stream declares.
    fn ahead(&self, request: &BudgetRequest, second: SecondOfVideo) -> [f64; 2] {
        if let Some(ahead) = request.ahead {
            return [ahead.bits, ahead.weighted_bits];
        }
        let pictures = (second.left / request.seconds.max(1e-3) + 0.5).max(0.0) as usize;
        if let Some(predicted) = self.history.predicted(pictures) {
            return predicted.fold([0.0, 0.0], |[all, weighted], &(kind, bits)| {
                [all + bits, weighted + cut_weight(kind) * bits]
            });
        }
        let others = || self.history.others().map(|(_, bits)| bits);
        let mean = match (others().count(), request.declared_rate) {
            (0, Some(declared)) => declared * request.seconds,
            (0, None) => FIRST_SHARE * request.bits as f64,
            (count, _) => others().sum::<f64>() / count as f64,
        };
        let all = pictures as f64 * mean;
        [all, all]
    }

    /// The mean budget of a picture at `rate` bit/s, the same share as for the rest of its second, and the mean weight of the
    /// cuts in that rest. The last picture of a stream gets what is left.
    pub(crate) fn mean(&mut self, request: &BudgetRequest, second: SecondOfVideo, rate: f64) -> (f64, f64) {
        if self.index != Some(second.index) {
            let most = if second.even { 0.0 } else { rate };
            self.owed = self.owed.min(most);
            self.left = rate + self.left.min(most);
            self.index = Some(second.index);
        }
        self.owed += rate * request.seconds;
        let bits = request.bits as f64;
        self.history.push(request.kind, bits);
        if request.last {
            return (self.owed.clamp(0.0, bits), 1.0);
        }
        let left = match request.ahead {
            Some(ahead) if ahead.ends => self.owed + rate * ahead.seconds,
            _ => self.left,
        };
        let [all, weighted] = self.ahead(request, second);
        let (all, weighted) = (bits + all, cut_weight(request.kind) * bits + weighted);
        (bits * (left.max(0.0) / all.max(1.0)).min(1.0), weighted / all.max(1.0))
    }

    /// The most bits that the picture may take.
    pub(crate) fn most(&self, second: SecondOfVideo, rate: f64) -> f64 {
        if second.even { (self.left + EXCESS * rate).max(0.0) } else { f64::INFINITY }
    }

    /// Deducts the budget of a picture, or what it took beyond that.
    pub(crate) fn take(&mut self, bits: f64) {
        self.left -= bits;
        self.owed -= bits;
    }

    /// True where pictures have had budgets from here since the rate began.
    pub(crate) fn is_used(&self) -> bool {
        self.index.is_some()
    }
}

/// P and B pictures beside the first I picture, where nothing else is known.
const FIRST_SHARE: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Target;
    use seaway_units::Bitrate;

    #[test]
    fn seconds_of_29_97_pictures_carry_the_rest() {
        let mut counter = SecondCounter::default();
        let mut sizes = [0; 11];
        for _ in 0..300 {
            sizes[counter.next(1001.0 / 30000.0, true).index as usize] += 1;
        }
        assert_eq!(sizes[..10], [30, 30, 30, 30, 30, 30, 30, 30, 30, 30]);
        let mut counter = SecondCounter::default();
        let indices: Vec<u64> = (0..50).map(|_| counter.next(0.04, true).index).collect();
        assert_eq!((indices[24], indices[25], indices[49]), (0, 1, 1));
    }

    #[test]
    fn the_parts_of_a_second_are_equal() {
        let mut counter = SecondCounter::default();
        counter.divide(TimeDelta::from_millis(845));
        let parts: Vec<u32> = (0..50).map(|_| counter.next(0.04, true).part).collect();
        let sizes = |second: &[u32]| [0, 1].map(|part| second.iter().filter(|&&p| p == part).count());
        assert_eq!([sizes(&parts[..25]), sizes(&parts[25..])], [[13, 12]; 2]);
        counter.divide(TimeDelta::from_secs(1));
        assert_eq!(counter.next(0.04, true).part, 0);
        counter.divide(TimeDelta::from_millis(250));
        assert_eq!((1..25).map(|_| counter.next(0.04, true).part).max(), Some(3));
    }

    fn request(kind: PictureKind, bits: u64) -> BudgetRequest {
        BudgetRequest {
            target: Target::Rate(Bitrate::from_mbps(1)),
            planned: None,
            second: None,
            ahead: None,
            kind: Some(kind),
            is_rest: false,
            weighted: true,
            bits,
            seconds: 0.04,
            last: false,
            bits_left: None,
            declared_rate: None,
        }
    }

    // 1.4 s at 1 Mbit/s: 20 pictures of 60 kbit, then 15 of 20 kbit.
    #[test]
    fn a_known_end_gets_its_bits_in_time() {
        let (mut budget, mut counter) = (SecondBudget::default(), SecondCounter::default());
        let sizes: Vec<u64> = (0..35).map(|at| if at < 20 { 60_000 } else { 20_000 }).collect();
        let mut spent = 0.0;
        for at in 0..sizes.len() {
            let mut behind = Ahead { ends: true, ..Ahead::default() };
            sizes[at + 1..].iter().for_each(|&bits| behind.add(Some(PictureKind::P), bits, 0.04));
            let request = BudgetRequest { ahead: Some(behind), ..request(PictureKind::P, sizes[at]) };
            let (share, _) = budget.mean(&request, counter.next(0.04, false), 1e6);
            // The same share of each: 1.4 Mbit of 1.5 Mbit.
            assert!((share / sizes[at] as f64 - 1.4 / 1.5).abs() < 1e-6, "{at}: {share}");
            budget.take(share);
            spent += share;
        }
        assert!((spent - 1.4e6).abs() < 1.0, "{spent}");
    }

    #[test]
    fn a_second_takes_its_bits_whatever_its_pictures() {
        let (mut budget, mut counter) = (SecondBudget::default(), SecondCounter::default());
        let rate = 1_000_000.0;
        let mut sums = [0.0; 4];
        for picture in 0..100u64 {
            let (kind, bits) =
                if picture % 12 == 0 { (PictureKind::I, 300_000) } else { (PictureKind::P, 50_000) };
            let request = request(kind, bits);
            let second = counter.next(0.04, true);
            let (share, _) = budget.mean(&request, second, rate);
            budget.take(share);
            sums[second.index as usize] += share;
        }
        for sum in sums {
            assert!((sum / rate - 1.0).abs() < 0.001, "{sums:?}");
        }
    }
}
