//! The draft's filter on the growth of delay between groups (draft-02 section 4.3).

use super::arrival_group::GroupDelta;
use super::config::ThresholdGains;
use super::overuse::{OveruseDetector, Usage};
use seaway_units::RemoteTimestamp;

/// Estimates `m`, the delay a group adds, and the detector on it.
#[derive(Debug, Clone)]
pub(super) struct Kalman {
    detector: OveruseDetector,
    /// Compare the detector's threshold with `m` times the groups seen, 60 at most, as libwebrtc's old detector
    /// did; literally with `m` itself otherwise.
    gain60: bool,
    last_at: Option<RemoteTimestamp>,
    groups: u32,
    /// `m`, `e` and `v`.
    mean: f64,
    error: f64,
    variance: f64,
    /// Distances of departures, ms.
    send_deltas: [f64; Self::RATE_GROUPS],
    next: usize,
}

impl Kalman {
    /// `q` and `e(0)` (section 4.3).
    const STATE_NOISE: f64 = 1e-3;
    const FIRST_ERROR: f64 = 0.1;
    /// `chi`, of the range 0.001 to 0.1 that the draft gives (ours).
    const CHI: f64 = 0.01;
    /// `K`, of which the draft gives no value (ours).
    const RATE_GROUPS: usize = 20;
    const MOST_GROUPS: u32 = 60;

    pub(super) const fn new(gain60: bool) -> Self {
        Self {
            detector: OveruseDetector::new(ThresholdGains::DRAFT),
            gain60,
            last_at: None,
            groups: 0,
            mean: 0.0,
            error: Self::FIRST_ERROR,
            variance: 1.0,
            send_deltas: [f64::INFINITY; Self::RATE_GROUPS],
            next: 0,
        }
    }

    /// Forgets the path.
    pub(super) const fn reset(&mut self) {
        *self = Self::new(self.gain60);
    }

    pub(super) fn update(&mut self, delta: &GroupDelta) -> Usage {
        self.groups = (self.groups + 1).min(1000);
        self.send_deltas[self.next] = delta.send.max(0.1);
        self.next = (self.next + 1) % Self::RATE_GROUPS;
        let residual = (delta.arrival - delta.send) - self.mean;
        let bounded = residual.abs().min(3.0 * self.variance.sqrt());
        let keep = self.keep();
        self.variance = (keep * self.variance + (1.0 - keep) * bounded * bounded).max(1.0);
        let error = self.error + Self::STATE_NOISE;
        let gain = error / (self.variance + error);
        self.mean += residual * gain;
        self.error = (1.0 - gain) * error;
        let elapsed = self.last_at.map_or(0.0, |last| (delta.at - last).as_millis_f64());
        self.last_at = Some(delta.at);
        self.detector.update(self.signal(), self.mean, delta.send, elapsed)
    }

    /// `alpha`: at 30 groups a second `1 - chi`.
    fn keep(&self) -> f64 {
        let shortest = self.send_deltas.iter().copied().fold(f64::INFINITY, f64::min);
        libm::pow(1.0 - Self::CHI, 30.0 * shortest / 1000.0)
    }

    /// What meets the threshold.
    pub(super) fn signal(&self) -> f64 {
        let gain = if self.gain60 { f64::from(self.groups.min(Self::MOST_GROUPS)) } else { 1.0 };
        gain * self.mean
    }

    pub(super) const fn detector(&self) -> &OveruseDetector {
        &self.detector
    }

    pub(super) const fn detector_mut(&mut self) -> &mut OveruseDetector {
        &mut self.detector
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    fn first_overuse(gain60: bool, growth: f64) -> Option<u32> {
        let mut kalman = Kalman::new(gain60);
        (1..2000).find(|index| {
            let at = f64::from(*index) * (20.0 + growth);
            let at = RemoteTimestamp::from_nanos(0) + TimeDelta::from_secs_f64(at / 1e3);
            kalman.update(&GroupDelta { send: 20.0, arrival: 20.0 + growth, at }) == Usage::Over
        })
    }

    /// Groups of 20 ms with a constant growth of delay from the start.
    #[test]
    fn groups_until_overuse() {
        for (growth, group) in [(1.0, 18), (2.0, 12), (5.0, 7)] {
            assert_eq!(first_overuse(true, growth), Some(group), "{growth} ms");
        }
        assert_eq!(first_overuse(false, 5.0), None);
        // The draft's threshold moves by the time between arrivals, here 35 and 40 ms. Were it that between
        // departures, over-use would be seen at groups 76 and 23.
        for (growth, group) in [(15.0, 67), (20.0, 22)] {
            assert_eq!(first_overuse(false, growth), Some(group), "{growth} ms, literal");
        }
    }
}
