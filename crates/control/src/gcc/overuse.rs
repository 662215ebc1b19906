//! Over-use of the path: a signal of delay against a threshold that adapts (draft section 4.4, libwebrtc).

use super::config::{OVERUSE_TIME, ThresholdGains};

/// What the delay says of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// The queue stays as it is.
    Normal,
    /// The queue grows.
    Over,
    /// The queue drains.
    Under,
}

/// Compares and adapts.
#[derive(Debug, Clone, Copy)]
pub(super) struct OveruseDetector {
    gains: ThresholdGains,
    threshold: f64,
    previous: f64,
    /// Time above the threshold, ms; `None` below it.
    over: Option<f64>,
    count: u32,
    usage: Usage,
}

/// Threshold at first, and its bounds (draft section 4.4), ms.
const FIRST_THRESHOLD: f64 = 12.5;
const LEAST_THRESHOLD: f64 = 6.0;
const GREATEST_THRESHOLD: f64 = 600.0;
/// The threshold does not follow a signal further off (draft section 4.4), ms.
const OUTLIER: f64 = 15.0;

impl OveruseDetector {
    pub(super) const fn new(gains: ThresholdGains) -> Self {
        Self { gains, threshold: FIRST_THRESHOLD, previous: 0.0, over: None, count: 0, usage: Usage::Normal }
    }

    /// A new sample: the `signal` that is compared, the `trend` behind it, which must not fall for over-use, the
    /// departures' distance and the time since the last sample, ms.
    pub(super) fn update(&mut self, signal: f64, trend: f64, send_delta: f64, elapsed: f64) -> Usage {
        if signal > self.threshold {
            let over = self.over.map_or(send_delta / 2.0, |over| over + send_delta);
            self.over = Some(over);
            self.count += 1;
            let long = over > OVERUSE_TIME && self.count > 1;
            let long = long || (self.gains.at_once && over >= OVERUSE_TIME);
            if long && trend >= self.previous {
                (self.over, self.count, self.usage) = (Some(0.0), 0, Usage::Over);
            }
        } else {
            (self.over, self.count) = (None, 0);
            self.usage = if signal < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.previous = trend;
        self.adapt(signal, elapsed);
        self.usage
    }

    fn adapt(&mut self, signal: f64, elapsed: f64) {
        let excess = signal.abs() - self.threshold;
        if excess > OUTLIER {
            return;
        }
        let gain = if excess < 0.0 { self.gains.below } else { self.gains.above };
        let elapsed = elapsed.clamp(0.0, self.gains.longest_step);
        self.threshold =
            (self.threshold + gain * excess * elapsed).clamp(LEAST_THRESHOLD, GREATEST_THRESHOLD);
    }

    pub(super) const fn usage(&self) -> Usage {
        self.usage
    }

    /// No feedback came for long: the verdict expires.
    pub(super) const fn expire(&mut self) {
        self.usage = Usage::Normal;
        self.over = None;
        self.count = 0;
    }

    pub(super) const fn threshold(&self) -> f64 {
        self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within, "{found}, not {expected}");
    }

    fn after(detector: &mut OveruseDetector, signal: f64, steps: u32, elapsed: f64) -> f64 {
        for _ in 0..steps {
            detector.adapt(signal, elapsed);
        }
        detector.threshold
    }

    /// Draft section 4.4, worked: K_u 0.01, K_d 0.00018, steps of 20 ms.
    #[test]
    fn threshold_of_the_draft() {
        let mut detector = OveruseDetector::new(ThresholdGains::DRAFT);
        near(after(&mut detector, 25.0, 1, 20.0), 15.0, 1e-9);
        near(after(&mut detector, 25.0, 4, 20.0), 20.904, 5e-4);
        near(after(&mut detector, 25.0, 5, 20.0), 23.658, 5e-4);
        detector.threshold = 12.5;
        near(after(&mut detector, 30.0, 1, 20.0), 12.5, 1e-12);
        detector.threshold = 25.0;
        near(after(&mut detector, 0.0, 50, 20.0), 20.875, 5e-3);
        detector.threshold = 25.0;
        near(after(&mut detector, 0.0, 278, 20.0), 9.173, 5e-3);
    }

    /// libwebrtc's gains, worked.
    #[test]
    fn threshold_of_libwebrtc() {
        let mut detector = OveruseDetector::new(ThresholdGains::LIBWEBRTC);
        near(after(&mut detector, 25.0, 1, 20.0), 14.675, 1e-9);
        near(after(&mut detector, 25.0, 4, 20.0), 20.194, 5e-4);
        near(after(&mut detector, 25.0, 5, 20.0), 23.152, 5e-4);
        detector.threshold = 25.0;
        near(after(&mut detector, 0.0, 1, 20.0), 6.0, 1e-12);
    }
}
