//! Which quantiser the next picture gets, so that the rate is kept and no picture is a burst.
//!
//! Ours, because the codec's own control is judged by long means: on the bundled clip at 300 and 500 kbit/s it misses
//! one 1 s window in three by more than a tenth, at 1 to 3.5 Mbit/s one in five. What is bought is obedience: by PSNR of
//! the mean error ours is 0.1 to 0.2 dB better below 500 kbit/s and 0.2 to 0.6 dB worse from 1 Mbit/s up.

use super::activity::Activity;
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::ops::RangeInclusive;

/// The constants of this control. Times are in units of the interval between pictures where not said otherwise.
mod constants {
    /// An overdraft is paid back over this many seconds.
    pub(super) const HORIZON: f64 = 0.4;
    /// No picture is given more than this many pictures' worth: two beyond its own is 8 % of a second.
    pub(super) const BURST: f64 = 3.0;
    /// And none less than this.
    pub(super) const LEAST: f64 = 0.25;
    /// What was saved beyond this many seconds is lost: an idle scene must not pay for a later burst.
    pub(super) const SAVINGS: f64 = 0.1;
    /// Left out where the overdraft is more than this many seconds, but not twice running …
    pub(super) const SKIP: f64 = 0.25;
    /// … until it is more than this.
    pub(super) const SKIP_AGAIN: f64 = 0.6;
    /// The quantiser falls by at most this much from picture to picture. A finer picture after a coarse one
    /// must also mend what that left out, which the activity does not show.
    pub(super) const FINER: f64 = 2.0;
    /// How much of a picture's extra difficulty it is paid: between none, which makes quality jump, and all,
    /// which makes the rate jump.
    pub(super) const PAID: f64 = 0.5;
    /// Activity against the picture before, as part of the activity without it, up to which it is motion …
    pub(super) const SHARED: f64 = 0.3;
    /// … and from which it is a cut.
    pub(super) const UNRELATED: f64 = 0.7;
    /// Weight of the newest picture in the models.
    pub(super) const LEARN: f64 = 0.4;
    /// An error of the model counts up to this many octaves.
    pub(super) const SURPRISE: f64 = 0.75;
    /// Octaves of bits the quantiser's step of six gives.
    pub(super) const OCTAVE: f64 = 6.0;
}

/// What is to become of the next picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Plan {
    /// It is left out.
    Skip,
    /// It is coded with this quantiser, and may have about this size.
    Code { quantiser: u8, budget: DataSize },
}

/// The state of the control.
#[derive(Debug, Clone)]
pub(super) struct RateControl {
    quantisers: RangeInclusive<u8>,
    /// Seconds from picture to picture.
    interval: f64,
    target: Bitrate,
    /// What was spent too much, in seconds of the target: a change of target leaves it.
    overdraft: f64,
    last_time: Option<TimeDelta>,
    last_quantiser: Option<u8>,
    skipped: bool,
    inter: Model,
    intra: Model,
    /// Mean of the logarithm of recent pictures' activity.
    usual: Option<f64>,
}

/// `log2 bits = offset + log2 activity − quantiser / 6`; the offset is learnt.
#[derive(Debug, Clone, Copy)]
struct Model {
    offset: f64,
    learnt: bool,
}

impl Model {
    /// A guess, good to a factor of two or so.
    const fn guess(offset: f64) -> Self {
        Self { offset, learnt: false }
    }

    fn quantiser_for(self, activity: f64, bits: f64) -> f64 {
        constants::OCTAVE * (self.offset + libm::log2(activity) - libm::log2(bits))
    }

    fn learn(&mut self, activity: f64, quantiser: u8, bits: f64) {
        let seen = libm::log2(bits) + f64::from(quantiser) / constants::OCTAVE - libm::log2(activity);
        let error = seen - self.offset;
        // A repeated picture costs nothing, and the one after it the usual: surprises teach little.
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
            overdraft: 0.0,
            last_time: None,
            last_quantiser: None,
            skipped: false,
            inter: Model::guess(6.4),
            intra: Model::guess(6.2),
            usual: None,
        }
    }

    pub(super) fn set_target(&mut self, target: Bitrate) {
        self.target = target;
    }

    pub(super) fn target(&self) -> Bitrate {
        self.target
    }

    /// Pictures of another size come from now on: what was learnt of the old one says little.
    pub(super) fn restart(&mut self) {
        (self.inter, self.intra) = (Model::guess(self.inter.offset), Model::guess(self.intra.offset));
        (self.last_quantiser, self.usual) = (None, None);
    }

    /// The next picture is here.
    pub(super) fn plan(&mut self, time: TimeDelta, activity: Activity, key: bool) -> Plan {
        let passed = self.last_time.map_or(0.0, |last| (time - last).as_secs_f64().clamp(0.0, 1.0));
        self.last_time = Some(time);
        self.overdraft = (self.overdraft - passed).max(-constants::SAVINGS);
        let too_much = if self.skipped { constants::SKIP_AGAIN } else { constants::SKIP };
        self.skipped = self.target == Bitrate::ZERO || (self.overdraft > too_much && !key);
        if self.skipped {
            return Plan::Skip;
        }
        let bits = self.budget(activity, key) * self.target.as_bps_f64();
        let quantiser = self.quantiser(activity, key, bits);
        Plan::Code { quantiser, budget: DataSize::from_bytes((bits / 8.0) as u64) }
    }

    /// Seconds of the target that this picture may take.
    fn budget(&self, activity: Activity, key: bool) -> f64 {
        let fair = self.interval * (1.0 - self.overdraft / constants::HORIZON);
        let harder = match self.usual {
            _ if key => constants::BURST,
            Some(usual) => libm::exp2(constants::PAID * (libm::log2(activity.inter) - usual)),
            None => 1.0,
        };
        (fair * harder).clamp(constants::LEAST * self.interval, constants::BURST * self.interval)
    }

    fn quantiser(&self, activity: Activity, key: bool, bits: f64) -> u8 {
        let wanted = self.model(activity, key).quantiser_for(cost(activity, key), bits);
        let finest = self.last_quantiser.map_or(0.0, |last| f64::from(last) - constants::FINER);
        let (low, high) = (*self.quantisers.start(), *self.quantisers.end());
        (wanted.max(finest).round() as u8).clamp(low, high)
    }

    /// A picture with little in common with the one before is coded as a key frame is, block by block.
    fn model(&self, activity: Activity, key: bool) -> Model {
        let new = if key { 1.0 } else { novelty(activity) };
        Model { offset: self.inter.offset + new * (self.intra.offset - self.inter.offset), learnt: true }
    }

    /// The quantiser for a second attempt at a key frame, coarser than the first.
    pub(super) fn coarser_key(&self, activity: Activity, budget: DataSize, quantiser: u8) -> u8 {
        let bits = budget.as_bytes() as f64 * 8.0;
        self.quantiser(activity, true, bits).max(quantiser + 1).min(*self.quantisers.end())
    }

    /// The picture planned last was coded.
    pub(super) fn on_coded(&mut self, size: DataSize, quantiser: u8, activity: Activity, key: bool) {
        self.learn(size, quantiser, activity, key);
        self.overdraft += size.as_bytes() as f64 * 8.0 / self.target.as_bps_f64().max(1.0);
        self.last_quantiser = Some(quantiser);
        if !key {
            let log = libm::log2(activity.inter);
            let usual = self.usual.unwrap_or(log);
            self.usual = Some(usual + constants::LEARN * (log - usual));
        }
    }

    /// A picture was coded and thrown away: it counts for the models alone.
    pub(super) fn learn(&mut self, size: DataSize, quantiser: u8, activity: Activity, key: bool) {
        let bits = (size.as_bytes() as f64 * 8.0).max(1.0);
        let model = if key || novelty(activity) > 0.5 { &mut self.intra } else { &mut self.inter };
        model.learn(cost(activity, key), quantiser, bits);
    }
}

fn cost(activity: Activity, key: bool) -> f64 {
    if key { activity.intra } else { activity.inter }
}

/// From 0, where the picture before explains most of this one, to 1, where it explains nothing.
fn novelty(activity: Activity) -> f64 {
    ((activity.inter / activity.intra - constants::SHARED) / (constants::UNRELATED - constants::SHARED))
        .clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: TimeDelta = TimeDelta::from_millis(40);

    /// A codec that does as the model says, but for a factor of its own.
    struct Codec {
        control: RateControl,
        index: i64,
        factor: f64,
    }

    impl Codec {
        fn new(target: Bitrate, factor: f64) -> Self {
            Self { control: RateControl::new(INTERVAL, target, 10..=51), index: 0, factor }
        }

        /// Bits of the next picture, 0 where it is left out, and its quantiser.
        fn next(&mut self, activity: Activity, key: bool) -> (f64, u8) {
            let time = TimeDelta::from_millis(40 * self.index);
            self.index += 1;
            let Plan::Code { quantiser, .. } = self.control.plan(time, activity, key) else {
                return (0.0, 0);
            };
            let bits = self.factor * cost(activity, key) * libm::exp2(6.3 - f64::from(quantiser) / 6.0);
            let size = DataSize::from_bytes((bits / 8.0) as u64);
            self.control.on_coded(size, quantiser, activity, key);
            (size.as_bytes() as f64 * 8.0, quantiser)
        }

        fn second(&mut self, activity: Activity) -> f64 {
            (0..25).map(|_| self.next(activity, false).0).sum()
        }
    }

    const MOVING: Activity = Activity { inter: 14_000.0, intra: 190_000.0 };

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
        let cut = Activity { inter: 165_000.0, intra: 195_000.0 };
        let mut codec = Codec::new(Bitrate::from_mbps(1), 1.0);
        let share = 40_000.0;
        assert!(codec.next(MOVING, true).0 < 3.3 * share);
        codec.second(MOVING);
        let (bits, quantiser) = codec.next(cut, false);
        assert!(bits < 3.3 * share, "{}", bits / share);
        assert!(codec.next(MOVING, false).1 >= quantiser - 2, "the quantiser returns slowly");
    }

    #[test]
    fn what_does_not_fit_is_left_out_one_at_a_time() {
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

    #[test]
    fn an_idle_scene_does_not_pay_for_a_burst() {
        let still = Activity { inter: 1.0, intra: 190_000.0 };
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
                let (bits, quantiser) = codec.next(Activity { inter, intra: inter.max(1000.0) }, key);
                prop_assert!(bits == 0.0 && quantiser == 0 || (10..=51).contains(&quantiser));
                prop_assert!(codec.control.overdraft.is_finite());
            }
        }
    }
}
