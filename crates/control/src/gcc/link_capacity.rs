//! Estimates the link capacity from the rate under over-use; near it the rate grows slowly (libwebrtc).

/// Mean and spread of the link's capacity.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkCapacity {
    /// kbit/s.
    mean: Option<f64>,
    /// Variance over the mean, kbit/s.
    deviation: f64,
}

impl LinkCapacity {
    pub(super) const fn new() -> Self {
        Self { mean: None, deviation: 0.4 }
    }

    /// Over-use at this rate of arrival, bit/s.
    pub(super) fn on_overuse(&mut self, rate: f64) {
        self.update(rate, 0.05);
    }

    /// A probe found this, bit/s.
    pub(super) fn on_probe(&mut self, rate: f64) {
        self.update(rate, 0.5);
    }

    fn update(&mut self, rate: f64, weight: f64) {
        let sample = rate / 1e3;
        let mean = self.mean.map_or(sample, |mean| (1.0 - weight) * mean + weight * sample);
        let error = mean - sample;
        self.deviation =
            ((1.0 - weight) * self.deviation + weight * error * error / mean.max(1.0)).clamp(0.4, 2.5);
        self.mean = Some(mean);
    }

    /// Bit/s.
    pub(super) fn get(&self) -> Option<f64> {
        self.mean.map(|mean| mean * 1e3)
    }

    /// Three deviations around the mean, bit/s.
    pub(super) fn bounds(&self) -> Option<(f64, f64)> {
        self.mean.map(|mean| {
            let spread = 3.0 * (self.deviation * mean).sqrt();
            ((mean - spread).max(0.0) * 1e3, (mean + spread) * 1e3)
        })
    }

    pub(super) const fn forget(&mut self) {
        self.mean = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_whole_then_weighted() {
        let mut link = LinkCapacity::new();
        link.on_overuse(1e6);
        assert_eq!(link.get(), Some(1e6));
        let (low, high) = link.bounds().unwrap();
        assert!((low - 940e3).abs() < 1.0 && (high - 1060e3).abs() < 1.0, "3 sqrt(0.4 * 1000) = 60");
        link.on_overuse(2e6);
        assert_eq!(link.get(), Some(1050e3));
        link.on_probe(2e6);
        assert_eq!(link.get(), Some(1525e3));
    }
}
