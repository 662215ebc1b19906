//! Measures an output against its ceiling, apart from the rate control that is to keep it.

use crate::shape::{Ceiling, Target};
use schemars::JsonSchema;
use serde::Serialize;

/// By this share a bucket or a second may be exceeded before it counts: rounding.
const ROUNDING: f64 = 1e-6;
/// The share by which a second may exceed its rate where seconds are even.
pub(super) const SECOND_EXCESS: f64 = 0.03;

/// How a stream has kept its ceiling.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CeilingReport {
    /// Depth of the leaky bucket: the time in which the rate passes as many bits.
    pub bucket_seconds: f64,
    /// Each second is bound to its rate.
    pub even_seconds: bool,
    /// The highest level of the bucket as a share of its depth; above 1 where it has overflowed.
    pub highest_level: f64,
    /// Pictures with which it overflowed.
    pub overflows: u64,
    /// The most bits of a second, counted from the last change of the rate, as a share of that rate.
    pub fullest_second: f64,
    /// Seconds of more than 1.03 times their rate, where seconds were to be even; otherwise 0.
    pub exceeded_seconds: u64,
}

impl CeilingReport {
    /// True where the ceiling was kept.
    pub fn is_kept(&self) -> bool {
        self.overflows == 0 && self.exceeded_seconds == 0
    }
}

/// Adds up the pictures of the output.
#[derive(Debug)]
pub(super) struct CeilingMeter {
    /// Bits per second; 0 before the first picture.
    rate: f64,
    /// The bucket, in seconds of the rate.
    level: f64,
    /// Seconds since the second began, and bits in it.
    elapsed: f64,
    bits: f64,
    report: CeilingReport,
}

impl CeilingMeter {
    pub(super) fn new(ceiling: Ceiling) -> CeilingMeter {
        let report = CeilingReport {
            bucket_seconds: ceiling.bucket.as_secs_f64(),
            even_seconds: ceiling.even_seconds,
            highest_level: 0.0,
            overflows: 0,
            fullest_second: 0.0,
            exceeded_seconds: 0,
        };
        CeilingMeter { rate: 0.0, level: 0.0, elapsed: 0.0, bits: 0.0, report }
    }

    /// Adds a picture of `bits` that is shown for `seconds`.
    pub(super) fn add(&mut self, target: Target, bits: u64, seconds: f64) {
        let Target::Rate(rate) = target else { return };
        let rate = rate.as_bps_f64().max(1.0);
        if self.rate != rate {
            (self.rate, self.elapsed, self.bits) = (rate, 0.0, 0.0);
        }
        let bits = bits as f64;
        self.level += bits / rate;
        let share = self.level / self.report.bucket_seconds.max(f64::MIN_POSITIVE);
        self.report.highest_level = self.report.highest_level.max(share);
        self.report.overflows += u64::from(share > 1.0 + ROUNDING);
        self.level = (self.level - seconds).max(0.0);
        self.bits += bits;
        self.elapsed += seconds;
        if self.elapsed >= 1.0 - ROUNDING {
            let share = self.bits / rate;
            self.report.fullest_second = self.report.fullest_second.max(share);
            let exceeded = self.report.even_seconds && share > 1.0 + SECOND_EXCESS;
            self.report.exceeded_seconds += u64::from(exceeded);
            // Whole seconds, so that the rest of a frame time carries over.
            self.elapsed -= self.elapsed.max(1.0).trunc();
            self.bits = 0.0;
        }
    }

    pub(super) fn report(&self) -> CeilingReport {
        self.report.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{Bitrate, TimeDelta};

    #[test]
    fn a_bucket_overflows_and_a_second_is_too_full() {
        let target = |mbps| Target::Rate(Bitrate::from_mbps(mbps));
        let mut meter =
            CeilingMeter::new(Ceiling { bucket: TimeDelta::from_millis(100), even_seconds: true });
        meter.add(target(1), 100_000, 0.04);
        assert_eq!((meter.report().overflows, meter.report().highest_level), (0, 1.0));
        meter.add(target(1), 50_000, 0.04);
        assert_eq!(meter.report().overflows, 1);
        (2..25).for_each(|_| meter.add(target(1), 38_000, 0.04));
        // 100 + 50 + 23 * 38 kbit
        assert!((meter.report().fullest_second - 1.024).abs() < 1e-9);
        assert_eq!(meter.report().exceeded_seconds, 0);
        (0..25).for_each(|_| meter.add(target(1), 41_600, 0.04));
        assert_eq!(meter.report().exceeded_seconds, 1);
        // A change begins another second.
        (0..10).for_each(|_| meter.add(target(1), 60_000, 0.04));
        (0..25).for_each(|_| meter.add(target(2), 80_000, 0.04));
        assert_eq!((meter.report().exceeded_seconds, meter.report().is_kept()), (1, false));
    }
}
