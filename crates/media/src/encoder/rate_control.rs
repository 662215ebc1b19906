//! Rate control of the live encoder: chooses the quantiser of each picture so that the rate is met in every second and no
//! picture is a burst.
//!
//! The codec's own rate control works on longer means. On the bundled clip at 300 and 500 kbit/s it misses one 1 s window
//! in three by more than a tenth, at 1 to 3.5 Mbit/s one in five. By PSNR of the mean error this one is 0.1 to 0.2 dB
//! better below 500 kbit/s, and 0.2 to 0.6 dB worse from 1 Mbit/s up.

use super::complexity::Complexity;
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::ops::RangeInclusive;

/// Constants. Times are in picture intervals unless stated otherwise.
mod constants {
    /// A debt is repaid over this many seconds.
    pub(super) const HORIZON: f64 = 0.4;
    /// The largest budget of a picture, in mean pictures, key frames included: a larger one delays those behind it. Some
    /// take more than their budget, since the codec leaves quiet blocks alone for a while and then codes many at once.
    pub(super) const BURST: f64 = 1.2;
    /// The smallest budget of a picture, in mean pictures.
    pub(super) const LEAST: f64 = 0.25;
    /// The largest credit in seconds, so that an idle scene does not allow a later burst.
    pub(super) const SAVINGS: f64 = 0.1;
    /// The largest debt in seconds: a target that fell to almost nothing for a moment must not stop the pictures for ever.
    pub(super) const MOST_OWED: f64 = 1.0;
    /// A picture is skipped where the debt is more than this many seconds, ...
    pub(super) const SKIP: f64 = 0.25;
    /// ... and the next one too where it is more than this.
    pub(super) const SKIP_AGAIN: f64 = 0.6;
    /// The largest fall of the quantiser from picture to picture. A finer picture after a coarse one also codes what that
    /// one dropped, which its complexity does not include.
    pub(super) const FINER: f64 = 2.0;
    /// Exponent of the budget by the complexity of a picture: between 0, where quality varies, and 1, where the rate does.
    pub(super) const PAID: f64 = 0.5;
    /// Inter complexity relative to intra complexity, up to which a picture continues the one before ...
    pub(super) const SHARED: f64 = 0.3;
    /// ... and from which on it is a scene cut.
    pub(super) const UNRELATED: f64 = 0.7;
    /// Weight of the newest picture in the models.
    pub(super) const LEARN: f64 = 0.4;
    /// The largest error of the model that is learnt from, in octaves.
    pub(super) const SURPRISE: f64 = 0.75;
    /// Quantiser steps that halve the bits.
    pub(super) const OCTAVE: f64 = 6.0;
}

/// What to do with the next picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Decision {
    /// Skip it.
    Skip,
    /// Code it with this quantiser, to about this size.
    Code { quantiser: u8, budget: DataSize },
}

#[derive(Debug, Clone)]
pub(super) struct RateControl {
    quantisers: RangeInclusive<u8>,
    /// Seconds from picture to picture.
    interval: f64,
    target: Bitrate,
    /// Excess bits, in seconds of the target, so that a change of target does not change it.
    debt: f64,
    last_time: Option<TimeDelta>,
    last_quantiser: Option<u8>,
    skipped: bool,
    inter: Model,
    intra: Model,
    /// Mean logarithm of the complexity of recent pictures.
    typical: Option<f64>,
}

/// `log2 bits = offset + log2 complexity − quantiser / 6`; the offset is learnt.
#[derive(Debug, Clone, Copy)]
struct Model {
    offset: f64,
    learnt: bool,
}

impl Model {
    /// An initial guess, accurate to a factor of about two.
    const fn guess(offset: f64) -> Self {
        Self { offset, learnt: false }
    }

    fn quantiser_for(self, complexity: f64, bits: f64) -> f64 {
        constants::OCTAVE * (self.offset + libm::log2(complexity) - libm::log2(bits))
    }

    fn learn(&mut self, complexity: f64, quantiser: u8, bits: f64) {
        let seen = libm::log2(bits) + f64::from(quantiser) / constants::OCTAVE - libm::log2(complexity);
        let error = seen - self.offset;
        // A repeated picture takes no bits and the next one the usual bits, so large errors are learnt from little.
        let bounded = error.clamp(-constants::SURPRISE, constants::SURPRISE);
        self.offset += if self.learnt { constants::LEARN * bounded } else { error };
        self.learnt = true;
    }
}

impl RateControl {
    pub(super) fn new(interval: TimeDelta, target: Bitrate, quantisers: RangeInclusive<u8>) -> Self {
        Self {
            quantisers,
            interval: interval.as_secs_f64(),
            target,
            debt: 0.0,
            last_time: None,
            last_quantiser: None,
            skipped: false,
            inter: Model::guess(6.4),
            intra: Model::guess(6.2),
            typical: None,
        }
    }

    pub(super) fn set_target(&mut self, target: Bitrate) {
        self.target = target;
    }

    pub(super) fn target(&self) -> Bitrate {
        self.target
    }

    /// The picture size changes: the models are learnt again from the next picture.
    pub(super) fn restart(&mut self) {
        (self.inter, self.intra) = (Model::guess(self.inter.offset), Model::guess(self.intra.offset));
        (self.last_quantiser, self.typical) = (None, None);
    }

    /// Decides on the next picture.
    pub(super) fn decide(&mut self, time: TimeDelta, complexity: Complexity, key: bool) -> Decision {
        let passed = self.last_time.map_or(0.0, |last| (time - last).as_secs_f64().clamp(0.0, 1.0));
        self.last_time = Some(time);
        self.debt = (self.debt - passed).max(-constants::SAVINGS);
        let too_much = if self.skipped { constants::SKIP_AGAIN } else { constants::SKIP };
        self.skipped = self.target == Bitrate::ZERO || (self.debt > too_much && !key);
        if self.skipped {
            return Decision::Skip;
        }
        let bits = self.budget(complexity, key) * self.target.as_bps_f64();
        let quantiser = self.quantiser(complexity, key, bits);
        Decision::Code { quantiser, budget: DataSize::from_bytes((bits / 8.0) as u64) }
    }

    /// Budget of this picture, in seconds of the target.
    fn budget(&self, complexity: Complexity, key: bool) -> f64 {
        let fair = self.interval * (1.0 - self.debt / constants::HORIZON);
        let harder = match self.typical {
            _ if key => constants::BURST,
            Some(typical) => libm::exp2(constants::PAID * (libm::log2(complexity.inter) - typical)),
            None => 1.0,
        };
        (fair * harder).clamp(constants::LEAST * self.interval, constants::BURST * self.interval)
    }

    fn quantiser(&self, complexity: Complexity, key: bool, bits: f64) -> u8 {
        let wanted = self.model(complexity, key).quantiser_for(cost(complexity, key), bits);
        let finest = self.last_quantiser.map_or(0.0, |last| f64::from(last) - constants::FINER);
        let (low, high) = (*self.quantisers.start(), *self.quantisers.end());
        (wanted.max(finest).round() as u8).clamp(low, high)
    }

    /// The model of a picture: the less it has in common with the one before, the more it is that of a key frame.
    fn model(&self, complexity: Complexity, key: bool) -> Model {
        let new = if key { 1.0 } else { novelty(complexity) };
        Model { offset: self.inter.offset + new * (self.intra.offset - self.inter.offset), learnt: true }
    }

    /// The coarser quantiser for a second attempt at a key frame.
    pub(super) fn coarser_key(&self, complexity: Complexity, budget: DataSize, quantiser: u8) -> u8 {
        let bits = budget.as_bytes() as f64 * 8.0;
        self.quantiser(complexity, true, bits).max(quantiser + 1).min(*self.quantisers.end())
    }

    /// Adds a coded picture.
    pub(super) fn on_coded(&mut self, size: DataSize, quantiser: u8, complexity: Complexity, key: bool) {
        self.learn(size, quantiser, complexity, key);
        let taken = size.as_bytes() as f64 * 8.0 / self.target.as_bps_f64().max(1.0);
        self.debt = (self.debt + taken).min(constants::MOST_OWED);
        self.last_quantiser = Some(quantiser);
        if !key {
            let log = libm::log2(complexity.inter);
            let typical = self.typical.unwrap_or(log);
            self.typical = Some(typical + constants::LEARN * (log - typical));
        }
    }

    /// Learns from a picture that was coded and discarded.
    pub(super) fn learn(&mut self, size: DataSize, quantiser: u8, complexity: Complexity, key: bool) {
        let bits = (size.as_bytes() as f64 * 8.0).max(1.0);
        let model = if key || novelty(complexity) > 0.5 { &mut self.intra } else { &mut self.inter };
        model.learn(cost(complexity, key), quantiser, bits);
    }
}

fn cost(complexity: Complexity, key: bool) -> f64 {
    if key { complexity.intra } else { complexity.inter }
}

/// From 0, where a picture is predicted well from the one before, to 1 for a scene cut.
fn novelty(complexity: Complexity) -> f64 {
    ((complexity.inter / complexity.intra - constants::SHARED) / (constants::UNRELATED - constants::SHARED))
        .clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: TimeDelta = TimeDelta::from_millis(40);

    /// A codec that follows the model up to a constant factor.
    struct Codec {
        control: RateControl,
        index: i64,
        factor: f64,
    }

    impl Codec {
        fn new(target: Bitrate, factor: f64) -> Self {
            Self { control: RateControl::new(INTERVAL, target, 10..=51), index: 0, factor }
        }

        /// Bits of the next picture, 0 where it is skipped, and its quantiser.
        fn next(&mut self, complexity: Complexity, key: bool) -> (f64, u8) {
            let time = TimeDelta::from_millis(40 * self.index);
            self.index += 1;
            let Decision::Code { quantiser, .. } = self.control.decide(time, complexity, key) else {
                return (0.0, 0);
            };
            let bits = self.factor * cost(complexity, key) * libm::exp2(6.3 - f64::from(quantiser) / 6.0);
            let size = DataSize::from_bytes((bits / 8.0) as u64);
            self.control.on_coded(size, quantiser, complexity, key);
            (size.as_bytes() as f64 * 8.0, quantiser)
        }

        fn second(&mut self, complexity: Complexity) -> f64 {
            (0..25).map(|_| self.next(complexity, false).0).sum()
        }
    }

    const MOVING: Complexity = Complexity { inter: 14_000.0, intra: 190_000.0 };

    #[test]
    fn every_second_gets_its_bits() {
        for factor in [0.5, 1.0, 2.0] {
            let mut codec = Codec::new(Bitrate::from_mbps(1), factor);
            codec.next(MOVING, true);
            codec.second(MOVING);
            for second in 0..5 {
                let ratio = codec.second(MOVING) / 1e6;
                assert!((ratio - 1.0).abs() < 0.05, "factor {factor}, second {second}: {ratio}");
            }
        }
    }

    #[test]
    fn a_change_of_target_takes_effect_within_a_second() {
        let mut codec = Codec::new(Bitrate::from_mbps(3), 1.0);
        codec.second(MOVING);
        for kbps in [300, 2000, 500] {
            codec.control.set_target(Bitrate::from_kbps(kbps));
            codec.second(MOVING);
            let ratio = codec.second(MOVING) / (kbps as f64 * 1000.0);
            assert!((ratio - 1.0).abs() < 0.05, "{kbps} kbit/s: {ratio}");
        }
    }

    #[test]
    fn neither_key_frame_nor_cut_is_a_burst() {
        let cut = Complexity { inter: 165_000.0, intra: 195_000.0 };
        let mut codec = Codec::new(Bitrate::from_mbps(1), 1.0);
        let share = 40_000.0;
        assert!(codec.next(MOVING, true).0 < 1.5 * share);
        codec.second(MOVING);
        let (bits, quantiser) = codec.next(cut, false);
        assert!(bits < 1.5 * share, "{}", bits / share);
        assert!(codec.next(MOVING, false).1 >= quantiser - 2, "the quantiser returns slowly");
    }

    #[test]
    fn pictures_are_skipped_one_at_a_time() {
        // At the coarsest quantiser a picture still takes one and a half shares.
        let mut codec = Codec::new(Bitrate::from_kbps(50), 1.0);
        let skipped: Vec<_> = (0..200).map(|_| codec.next(MOVING, false).0 == 0.0).collect();
        assert!(skipped.iter().any(|&skipped| skipped));
        assert!(skipped.windows(2).all(|pair| pair != [true, true]), "{skipped:?}");
    }

    #[test]
    fn nothing_is_coded_at_rate_zero() {
        let mut codec = Codec::new(Bitrate::ZERO, 1.0);
        assert_eq!(codec.next(MOVING, true).0, 0.0);
    }

    /// A picture is coded while the rate is next to nothing, and takes minutes of it.
    #[test]
    fn a_moment_without_a_rate_stops_no_pictures_for_long() {
        let mut codec = Codec::new(Bitrate::from_mbps(1), 1.0);
        codec.second(MOVING);
        codec.control.set_target(Bitrate::from_bps(144));
        codec.next(MOVING, true);
        codec.control.set_target(Bitrate::from_kbps(130));
        let skipped =
            std::iter::from_fn(|| Some(codec.next(MOVING, false).0)).take_while(|bits| *bits == 0.0);
        assert!(skipped.take(26).count() <= 25, "more than a second");
    }

    #[test]
    fn an_idle_scene_does_not_allow_a_burst() {
        let still = Complexity { inter: 1.0, intra: 190_000.0 };
        let mut codec = Codec::new(Bitrate::from_mbps(1), 1.0);
        for _ in 0..100 {
            codec.second(still);
        }
        let bits = codec.second(MOVING);
        assert!(bits < 1.25e6, "{bits}");
    }

    proptest! {
        #[test]
        fn stays_within_its_bounds(pictures in prop::collection::vec((1.0_f64..1e6, any::<bool>(), 0_u64..5_000_000), 1..200)) {
            let mut codec = Codec::new(Bitrate::from_mbps(1), 1.0);
            for (inter, key, target) in pictures {
                codec.control.set_target(Bitrate::from_bps(target));
                let (bits, quantiser) = codec.next(Complexity { inter, intra: inter.max(1000.0) }, key);
                prop_assert!(bits == 0.0 && quantiser == 0 || (10..=51).contains(&quantiser));
                prop_assert!(codec.control.debt.is_finite());
            }
        }
    }
}
