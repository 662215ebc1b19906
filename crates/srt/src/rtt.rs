//! The round-trip time (draft-sharabayko-srt-01, section 4.10).

use seaway_units::TimeDelta;

/// What is assumed before it is measured.
const INITIAL: TimeDelta = TimeDelta::from_millis(100);
/// What a peer may claim.
const LONGEST: TimeDelta = TimeDelta::from_secs(10);

/// The smoothed round-trip time and its variation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rtt {
    smoothed: TimeDelta,
    variation: TimeDelta,
    is_measured: bool,
}

impl Rtt {
    pub(crate) fn new() -> Self {
        Self { smoothed: INITIAL, variation: INITIAL.mul_f64(0.5), is_measured: false }
    }

    /// A sample of our own.
    pub(crate) fn on_sample(&mut self, sample: TimeDelta) {
        if !self.is_measured {
            *self = Self { smoothed: sample, variation: sample.mul_f64(0.5), is_measured: true };
            return;
        }
        let distance = (sample - self.smoothed).abs();
        self.variation = self.variation.mul_f64(0.75) + distance.mul_f64(0.25);
        self.smoothed = self.smoothed.mul_f64(0.875) + sample.mul_f64(0.125);
    }

    /// What the receiver has measured.
    pub(crate) fn on_report(&mut self, rtt_us: u32, variation_us: u32) {
        let limited = |us: u32| TimeDelta::from_micros(us.into()).min(LONGEST);
        *self = Self { smoothed: limited(rtt_us), variation: limited(variation_us), is_measured: true };
    }

    pub(crate) fn smoothed(&self) -> TimeDelta {
        self.smoothed
    }

    pub(crate) fn variation(&self) -> TimeDelta {
        self.variation
    }

    /// The value, once there is one.
    pub(crate) fn measured(&self) -> Option<TimeDelta> {
        self.is_measured.then_some(self.smoothed)
    }

    /// Within this an answer should have come.
    pub(crate) fn bound(&self) -> TimeDelta {
        self.smoothed + self.variation * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_smoothed_and_claims_are_bounded() {
        let mut rtt = Rtt::new();
        assert_eq!((rtt.bound().as_millis(), rtt.measured()), (300, None));
        rtt.on_sample(TimeDelta::from_millis(40));
        rtt.on_sample(TimeDelta::from_millis(80));
        assert_eq!((rtt.smoothed().as_millis(), rtt.variation().as_millis()), (45, 25));
        rtt.on_report(u32::MAX, u32::MAX);
        assert_eq!(rtt.bound(), TimeDelta::from_secs(50));
    }
}
