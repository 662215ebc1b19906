//! Round-trip time.

use super::Ewma;
use seaway_units::TimeDelta;

/// The sample in seconds if it can be true: above zero and not beyond a minute.
pub fn plausible_rtt(sample: TimeDelta) -> Option<f64> {
    const LONGEST: TimeDelta = TimeDelta::from_secs(60);
    (sample > TimeDelta::ZERO && sample <= LONGEST).then(|| sample.as_secs_f64())
}

/// Smoothed round-trip time beside the smoothed square root that damps oscillation (RFC 5348 sections 4.3, 4.5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DampedRtt {
    smoothed: Ewma,
    root: Ewma,
    last_root: f64,
}

impl DampedRtt {
    /// Nothing known; `q` and `q2` are the weights of the old values.
    pub const fn new(q: f64, q2: f64) -> Self {
        Self { smoothed: Ewma::new(q), root: Ewma::new(q2), last_root: 1.0 }
    }

    /// Takes a sample in seconds and gives the smoothed value.
    pub fn update(&mut self, sample: f64) -> f64 {
        self.last_root = sample.sqrt();
        self.root.update(self.last_root);
        self.smoothed.update(sample)
    }

    /// Smoothed round-trip time (`R`) in seconds, `None` before the first sample.
    pub const fn get(&self) -> Option<f64> {
        self.smoothed.get()
    }

    /// What the rate is multiplied with to damp oscillation: `R_sqmean / sqrt(R_sample)`.
    pub fn damping(&self) -> f64 {
        self.root.get().map_or(1.0, |mean| mean / self.last_root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked step of RFC 5348 section 4.5: from a steady round-trip time to twice that.
    #[test]
    fn damping_of_one_step() {
        let mut rtt = DampedRtt::new(0.9, 0.9);
        assert_eq!(rtt.damping(), 1.0);
        rtt.update(0.1);
        assert!((rtt.damping() - 1.0).abs() < 1e-12);
        assert!((rtt.update(0.2) - 0.11).abs() < 1e-12);
        assert!((rtt.damping() - (0.9 + 0.1 * 2f64.sqrt()) / 2f64.sqrt()).abs() < 1e-12);
        assert!((rtt.damping() - 0.7364).abs() < 1e-4);
        // Without a mean that follows, the factor is the root of a half.
        let mut still = DampedRtt::new(0.9, 1.0);
        still.update(0.1);
        still.update(0.2);
        assert!((still.damping() - 0.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn absurd_samples_are_refused() {
        assert_eq!(plausible_rtt(TimeDelta::ZERO), None);
        assert_eq!(plausible_rtt(TimeDelta::from_millis(-3)), None);
        assert_eq!(plausible_rtt(TimeDelta::MAX), None);
        assert_eq!(plausible_rtt(TimeDelta::from_millis(40)), Some(0.04));
    }
}
