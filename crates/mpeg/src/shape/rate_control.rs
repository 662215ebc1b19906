//! Rate control: the bit budget of each picture (S002, 2.2 and 2.3), for a target that may change at any picture.

use super::ceiling::LeakyBucket;
use super::config::Target;
use super::seconds::{Ahead, SecondBudget, SecondOfVideo};
use super::window_share::WindowShare;
use crate::header::PictureKind;
use std::collections::VecDeque;

/// Pictures over which the input rate is measured and a deviation is corrected.
const HORIZON: usize = 30;

/// How much each kind of picture is cut, relative to the mean. Errors in B pictures are seen once; errors in I and P
/// pictures propagate to every picture predicted from them (`docs/models/rate-shaping.md`, section "Order of the
/// algorithms").
pub(super) fn cut_weight(kind: Option<PictureKind>) -> f64 {
    match kind {
        Some(PictureKind::I) => 0.3,
        Some(PictureKind::P) => 0.7,
        Some(PictureKind::B) => 2.0,
        _ => 1.0,
    }
}

/// The largest share that is cut from a picture while others can be cut more.
const DEEPEST: f64 = 0.7;
/// The share of all bits whose cut may be deferred, ...
const DEFERRABLE: f64 = 0.003;
/// ... beside the bits that the smallest of the last pictures, this many, can be cut by.
const ABSORBING: usize = 4;
/// Smoothing factor of [`RateControl::floor`].
const FLOOR_GAIN: f64 = 0.2;
/// The most that a second leaves to the next where seconds are even, in seconds.
const EVEN: f64 = 0.01;
/// How much of the cuts possible in the rest of the stream, beyond those the target needs, is relied upon.
const RELIABLE: f64 = 0.5;

/// The state of the rate control. Budgets are in proportion to the input; unused bits are carried over.
#[derive(Debug, Clone, Default)]
pub(crate) struct RateControl {
    target: Target,
    /// Bits budgeted and not spent; negative where more were spent.
    carry_over: f64,
    /// Bits and seconds of the newest pictures: the rate of the input.
    recent: VecDeque<(f64, f64)>,
    /// Bits of the same pictures times [`cut_weight`].
    weights: VecDeque<f64>,
    /// Bits due to be cut whose cut is deferred to later pictures.
    deferred: f64,
    /// Bits of all pictures.
    total_bits: f64,
    /// What each picture of the newest GOP cuts of the bits deferred before it.
    repayment: f64,
    /// Pictures in this GOP so far.
    gop_position: usize,
    /// The smallest share that P and B pictures can be cut to, smoothed.
    floor: f64,
    /// For a target in bit/s.
    second: SecondBudget,
    /// For a target in bit/s with a ceiling.
    pub(super) bucket: LeakyBucket,
    /// For windows with a target in bit/s.
    pub(super) share: WindowShare,
    /// The even second of the last window.
    even_second: Option<u64>,
}

impl RateControl {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, ..Self::default() }
    }

    fn set_target(&mut self, target: Target) {
        if self.target != target {
            self.target = target;
            if matches!(target, Target::Rate(_)) {
                self.carry_over = self.carry_over.min(0.0);
                self.second.drop_surplus();
            }
        }
    }

    /// Observes a picture and returns its budget without the carry-over: the target, with cuts weighted by kind. The
    /// `last` picture cuts everything that is still deferred.
    pub(crate) fn budget(&mut self, request: &BudgetRequest) -> f64 {
        self.observe(request.bits, request.seconds);
        let bits = request.bits as f64;
        if let Some((second, rate)) = request.second_of_rate() {
            self.set_target(request.target);
            let (mean, weight) = self.second.mean(request, second, rate);
            let deepest = DEEPEST.min(1.0 - self.floor);
            let cut =
                if request.weighted { weigh(request, bits - mean, weight, deepest) } else { bits - mean };
            let cut = cut.clamp(0.0, bits);
            let reaches_end = request.ahead.is_some_and(|ahead| ahead.ends);
            let ends = request.last || !reaches_end && second.left < 0.5 * request.seconds;
            let budget = (if ends { mean } else { bits - cut }).min(self.second.most(second, rate));
            self.second.take(budget);
            return budget;
        }
        let due = bits - self.allowance(request);
        let wanted = self.cut_for(request, due) + self.repay(request.kind.filter(|_| request.weighted));
        // Bits that are cut too early are lost, so only the shortfall of the last pictures is cut in advance.
        let most = due + self.deferred + self.shortfall_ahead(due / bits.max(1.0), request);
        let least = (most - self.deferrable(due / bits.max(1.0), request)).clamp(0.0, most.max(0.0));
        let cut = if request.last { most } else { wanted.min(most).max(least) };
        let cut = cut.clamp(0.0, bits);
        self.deferred += due - cut;
        bits - cut
    }

    /// The budget of a picture as far as it depends on the input alone, for an estimate before the pictures ahead of it
    /// are shaped.
    pub(crate) fn estimate(&mut self, request: &BudgetRequest) -> f64 {
        self.observe(request.bits, request.seconds);
        let bits = request.bits as f64;
        if request.second_of_rate().is_some() {
            return self.budget(request);
        }
        let due = bits - self.allowance(request);
        bits - self.cut_for(request, due).clamp(0.0, bits)
    }

    /// Near the end: the bits by which the rest of the stream misses a cut of `share`, because of its floor.
    fn shortfall_ahead(&self, share: f64, request: &BudgetRequest) -> f64 {
        let Some(left) = request.bits_left.filter(|&left| left < self.recent_bits()) else { return 0.0 };
        (self.floor - (1.0 - share)).max(0.0) * left
    }

    /// The cut of a picture by its kind, where `due` is the mean one.
    fn cut_for(&mut self, request: &BudgetRequest, due: f64) -> f64 {
        let (kind, bits) = (request.kind.filter(|_| request.weighted), request.bits as f64);
        self.weights.push_back(cut_weight(kind) * bits);
        if self.weights.len() > HORIZON {
            self.weights.pop_front();
        }
        let total_bits: f64 = self.recent.iter().map(|&(bits, _)| bits).sum();
        let mean = self.weights.iter().sum::<f64>() / total_bits.max(1.0);
        weigh(&BudgetRequest { kind, ..*request }, due, mean, DEEPEST)
    }

    /// The cut that repays deferred bits. Within a GOP the larger cuts of P and B pictures make up for the smaller one of
    /// the I picture, so only bits that a whole GOP has deferred are repaid, evenly over the next.
    fn repay(&mut self, kind: Option<PictureKind>) -> f64 {
        if kind == Some(PictureKind::I) || self.gop_position >= HORIZON {
            self.repayment = self.deferred / self.gop_position.max(1) as f64;
            self.gop_position = 0;
        }
        self.gop_position += 1;
        self.repayment
    }

    /// The bits that may be deferred: a small share of the stream, and half of the largest cut of the smallest of the last
    /// pictures, which may be the last one; at most the bits that the rest of the stream can repay.
    fn deferrable(&mut self, share: f64, request: &BudgetRequest) -> f64 {
        self.total_bits += request.bits as f64;
        let newest = self.recent.iter().rev().take(ABSORBING).map(|&(bits, _)| bits);
        let most = DEFERRABLE * self.total_bits + DEEPEST / 2.0 * newest.fold(f64::INFINITY, f64::min);
        match request.bits_left {
            Some(left) => most.min(RELIABLE * (1.0 - self.floor - share).max(0.0) * left),
            None => most,
        }
    }

    pub(crate) fn total_bits(&self) -> f64 {
        self.total_bits
    }

    fn recent_bits(&self) -> f64 {
        self.recent.iter().map(|&(bits, _)| bits).sum()
    }

    /// Adds a picture of `bits` that is shown for `seconds` to the measured input rate.
    pub(crate) fn observe(&mut self, bits: u64, seconds: f64) {
        self.recent.push_back((bits as f64, seconds));
        if self.recent.len() > HORIZON {
            self.recent.pop_front();
        }
    }

    /// The budget of an observed window. Of even seconds each but for rounding leaves nothing to the next.
    pub(crate) fn window_budget(&mut self, window: &[BudgetRequest], allowed: f64) -> f64 {
        let last = window.last().filter(|last| last.planned.is_none());
        let Some((second, rate)) = last.and_then(BudgetRequest::second_of_rate) else {
            return allowed + self.carry_over;
        };
        if second.even && self.even_second != Some(second.index) {
            self.even_second = Some(second.index);
            self.carry_over = self.carry_over.min(EVEN * rate);
        }
        self.share.budget(window, rate, self.carry_over)
    }

    /// The budget of an observed picture as one of a window, without the carry-over.
    pub(crate) fn share_of_window(&mut self, request: &BudgetRequest) -> f64 {
        match (request.planned, request.target) {
            (None, Target::Rate(rate)) => {
                self.set_target(request.target);
                rate.as_bps_f64() * request.seconds
            }
            _ => self.allowance(request),
        }
    }

    /// The budget of an observed picture at the mean cut, without the carry-over.
    pub(crate) fn allowance(&mut self, request: &BudgetRequest) -> f64 {
        self.set_target(request.target);
        let bits = request.bits as f64;
        match (request.planned, self.target) {
            (Some(Planned { ratio, .. }), _) | (None, Target::Ratio(ratio)) => bits * ratio.clamp(0.0, 1.0),
            (None, Target::Rate(rate)) => (rate.as_bps_f64() * request.seconds).min(bits),
        }
    }

    /// Bits that earlier pictures left; negative where they overspent.
    pub(crate) fn carry_over(&self) -> f64 {
        self.carry_over
    }

    /// Updates the floor by a picture that can be cut to `needed` bits.
    pub(crate) fn record_floor(&mut self, kind: Option<PictureKind>, bits: u64, needed: u64) {
        if kind != Some(PictureKind::I) {
            self.floor += FLOOR_GAIN * (needed as f64 / bits.max(1) as f64 - self.floor);
        }
    }

    /// Charges pictures of a budget of `allowed` bits with the bits `spent`. The carry-over is limited to the bits of the
    /// last pictures. With even seconds of a rate, what a window leaves over is lost but for rounding. Where single pictures
    /// share the bits of a second, the rest of them does.
    pub(crate) fn charge(&mut self, allowed: f64, spent: u64, even_rate: Option<f64>) {
        if self.second.is_used() {
            return self.second.take(spent as f64 - allowed);
        }
        let limit = self.recent_bits();
        let most = even_rate.map_or(limit, |rate| EVEN * rate);
        self.carry_over = (self.carry_over + allowed - spent as f64).min(most).max(-limit);
    }
}

/// The cut of a picture by its kind, where `due` is the mean one and `mean` the mean weight. `most` is the share that may be
/// cut: the deeper the mean cut, the less kinds may differ.
fn weigh(request: &BudgetRequest, due: f64, mean: f64, most: f64) -> f64 {
    let deepest = cut_weight(Some(PictureKind::B)) / mean.max(1e-9);
    let share = due / (request.bits as f64).max(1.0);
    let spread = ((most / share.max(1e-9) - 1.0) / (deepest - 1.0).max(1e-9)).clamp(0.0, 1.0);
    due * (1.0 + (cut_weight(request.kind) / mean.max(1e-9) - 1.0) * spread)
}

/// What a plan gives a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Planned {
    /// The share of its bits that it keeps.
    pub(crate) ratio: f64,
    /// The bits of the stream behind it, in proportion to how much they are cut: those that are cut by none cannot make up for bits
    /// that the picture leaves over.
    pub(crate) bits_behind: f64,
    /// Its segment is coded in a closed loop.
    pub(crate) closed: bool,
    /// The plan changes from one segment to the next, so that a window of both would have a lambda that is right for neither.
    pub(crate) segment: u32,
}

/// The input of the rate control for one picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BudgetRequest {
    pub(crate) target: Target,
    pub(crate) planned: Option<Planned>,
    /// Its second, where its target is a rate without a plan.
    pub(crate) second: Option<SecondOfVideo>,
    /// The pictures behind it, where they are read already.
    pub(crate) ahead: Option<Ahead>,
    pub(crate) kind: Option<PictureKind>,
    /// It is the rest of a picture.
    pub(crate) is_rest: bool,
    /// Cuts differ by kind.
    pub(crate) weighted: bool,
    pub(crate) bits: u64,
    pub(crate) seconds: f64,
    pub(crate) last: bool,
    /// Bits of the stream behind it, where that is known.
    pub(crate) bits_left: Option<f64>,
    /// The rate that the stream declares, bit/s.
    pub(crate) declared_rate: Option<f64>,
}

impl BudgetRequest {
    /// The second of the picture and its rate in bit/s, where that is its target.
    pub(crate) fn second_of_rate(&self) -> Option<(SecondOfVideo, f64)> {
        match (self.second, self.target) {
            (Some(second), Target::Rate(rate)) => Some((second, rate.as_bps_f64())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::Bitrate;

    fn request(target: Target, kind: Option<PictureKind>, bits: u64, last: bool) -> BudgetRequest {
        BudgetRequest {
            target,
            planned: None,
            second: None,
            ahead: None,
            kind,
            is_rest: false,
            weighted: true,
            bits,
            seconds: 0.04,
            last,
            bits_left: None,
            declared_rate: None,
        }
    }

    #[test]
    fn a_rate_is_met_on_average_whatever_the_picture_sizes() {
        let target = Target::Rate(Bitrate::from_kbps(2000));
        let mut rate_control = RateControl::new(target);
        let mut total = 0.0;
        for i in 0..1000u64 {
            let bits = if i % 15 == 0 { 500_000 } else { 80_000 + i % 7 * 1000 };
            rate_control.observe(bits, 0.04);
            total += rate_control.allowance(&request(target, None, bits, false));
        }
        let rate = total / (1000.0 * 0.04);
        assert!((rate / 2e6 - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn cuts_by_kind_add_up_to_the_target() {
        for ratio in [0.95, 0.8, 0.5, 0.2] {
            let target = Target::Ratio(ratio);
            let mut rate_control = RateControl::new(target);
            let (mut total_bits, mut allowed) = (0.0, 0.0);
            for i in 0..100u64 {
                let (kind, bits) = match i {
                    _ if i % 15 == 0 => (PictureKind::I, 400_000),
                    _ if i % 3 == 0 => (PictureKind::P, 200_000),
                    _ => (PictureKind::B, 60_000),
                };
                let budget = rate_control.budget(&request(target, Some(kind), bits, i == 99));
                (total_bits, allowed) = (total_bits + bits as f64, allowed + budget);
                assert!((allowed - ratio * total_bits).abs() < 400_000.0, "{ratio}: {i}");
                if i > 60 && kind == PictureKind::I {
                    assert!(budget / bits as f64 >= ratio, "{ratio}: {budget}");
                }
            }
            assert!((allowed / total_bits / ratio - 1.0).abs() < 0.001, "{ratio}: {}", allowed / total_bits);
        }
    }

    #[test]
    fn a_rate_above_the_input_allows_the_input() {
        let target = Target::Rate(Bitrate::from_mbps(100));
        let mut rate_control = RateControl::new(target);
        rate_control.observe(1000, 0.04);
        assert_eq!(rate_control.allowance(&request(target, None, 1000, false)), 1000.0);
    }
}
