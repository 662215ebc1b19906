//! The rate of arrival, filtered with less weight for samples far from the estimate (libwebrtc).

use seaway_units::{DataSize, RemoteTimestamp};

/// Estimates the rate of what was acknowledged, on the peer's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AckedRate {
    last_at: Option<RemoteTimestamp>,
    /// Octets and ms of the window that is filling.
    bytes: f64,
    span: f64,
    /// Estimate, bit/s, and its variance in kbit/s squared.
    estimate: Option<(f64, f64)>,
}

impl AckedRate {
    const FIRST_WINDOW: f64 = 500.0;
    const WINDOW: f64 = 150.0;
    const FIRST_VARIANCE: f64 = 50.0;
    const VARIANCE_STEP: f64 = 5.0;
    const UNCERTAINTY: f64 = 10.0;
    /// Of a sample of less than `SMALL` octets that would lower the estimate.
    const SMALL_UNCERTAINTY: f64 = 25.0;
    const SMALL: f64 = 2000.0;
    /// libwebrtc has none, str0m 40 kbit/s: a reduction to 0.85 of that is none on a slower link.
    const LEAST: f64 = super::config::LEAST_RATE;

    /// A packet arrived.
    pub(super) fn update(&mut self, at: RemoteTimestamp, size: DataSize) {
        if let Some(sample) = self.sample(at) {
            self.take(sample);
        }
        self.bytes += size.as_bytes_f64();
    }

    /// Bit/s, `None` before the first window is full.
    pub(super) fn get(&self) -> Option<f64> {
        self.estimate.map(|(rate, _)| rate)
    }

    /// Octets and rate of a window that is full.
    fn sample(&mut self, at: RemoteTimestamp) -> Option<(f64, f64)> {
        let window = if self.estimate.is_none() { Self::FIRST_WINDOW } else { Self::WINDOW };
        let last = self.last_at.replace(at)?;
        if at < last {
            (self.bytes, self.span) = (0.0, 0.0);
            return None;
        }
        let step = (at - last).as_millis_f64();
        self.span += step;
        if step > window {
            self.bytes = 0.0;
            self.span %= window;
        }
        if self.span < window {
            return None;
        }
        self.span -= window;
        let bytes = std::mem::take(&mut self.bytes);
        Some((bytes, bytes * 8.0 / window * 1e3))
    }

    fn take(&mut self, (bytes, sample): (f64, f64)) {
        let Some((estimate, variance)) = self.estimate else {
            self.estimate = (sample > 0.0).then_some((sample.max(Self::LEAST), Self::FIRST_VARIANCE));
            return;
        };
        let small = bytes < Self::SMALL && sample < estimate;
        let scale = if small { Self::SMALL_UNCERTAINTY } else { Self::UNCERTAINTY };
        let uncertainty = if sample > 0.0 { scale * (estimate - sample).abs() / estimate } else { scale };
        let sample_variance = uncertainty * uncertainty;
        let predicted = variance + Self::VARIANCE_STEP;
        let sum = sample_variance + predicted;
        let next = (sample_variance * estimate + predicted * sample) / sum;
        self.estimate = Some((next.max(Self::LEAST), sample_variance * predicted / sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    #[test]
    fn settles_at_the_rate_and_resists_a_single_window() {
        let mut rate = AckedRate::default();
        let at = |ms: i64| RemoteTimestamp::from_nanos(0) + TimeDelta::from_millis(ms);
        for ms in 0..3000 {
            rate.update(at(ms), DataSize::from_bytes(125));
        }
        assert!((rate.get().unwrap() / 1e6 - 1.0).abs() < 0.01);
        // A window at half the rate: uncertainty 5, variance 25 against 5 to 10.
        for ms in 3000..3150 {
            rate.update(at(ms), DataSize::from_bytes(62));
        }
        let estimate = rate.get().unwrap();
        assert!((0.6e6..0.99e6).contains(&estimate), "{estimate}");
    }

    #[test]
    fn gaps_and_time_running_back_are_no_samples() {
        let mut rate = AckedRate::default();
        let at = |ms: i64| RemoteTimestamp::from_nanos(0) + TimeDelta::from_millis(ms);
        rate.update(at(0), DataSize::from_bytes(100_000));
        rate.update(at(600), DataSize::from_bytes(1000));
        rate.update(at(100), DataSize::from_bytes(1000));
        assert_eq!(rate.get(), None);
    }
}
