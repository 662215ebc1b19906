//! The delay target, raised against flows that fill queues (RFC 8298 section 4.1.2.1).

/// Adjusts the target of queueing delay.
#[derive(Debug, Clone)]
pub(super) struct DelayTarget {
    low: f64,
    high: f64,
    target: f64,
    /// Queueing delay over the low target, newest at `next - 1`.
    history: [f64; Self::SAMPLES],
    next: usize,
    /// Fraction of round-trip times with loss.
    loss_event_rate: f64,
}

impl DelayTarget {
    /// Of the variance; the mean takes the newest quarter.
    const SAMPLES: usize = 200;
    const MEAN_SAMPLES: usize = 50;
    const LOSSY: f64 = 0.002;
    const STEADY: f64 = 0.2;
    /// Weight of one round-trip time in the loss event rate, for which RFC 8298 gives no estimator (as the
    /// authors' code).
    const LOSS_GAIN: f64 = 0.02;

    pub(super) const fn new(low: f64, high: f64) -> Self {
        Self { low, high, target: low, history: [0.0; Self::SAMPLES], next: 0, loss_event_rate: 0.0 }
    }

    /// Seconds.
    pub(super) const fn get(&self) -> f64 {
        self.target
    }

    /// A round-trip time passed, with loss or without.
    pub(super) fn on_round(&mut self, lossy: bool) {
        self.loss_event_rate += Self::LOSS_GAIN * (f64::from(u8::from(lossy)) - self.loss_event_rate);
    }

    /// A sample of queueing delay, s.
    pub(super) fn update(&mut self, delay: f64) {
        self.history[self.next] = delay / self.low;
        self.next = (self.next + 1) % Self::SAMPLES;
        let newest = (1..=Self::MEAN_SAMPLES).map(|back| (self.next + Self::SAMPLES - back) % Self::SAMPLES);
        let mean = newest.map(|index| self.history[index]).sum::<f64>() / Self::MEAN_SAMPLES as f64;
        let count = Self::SAMPLES as f64;
        let mean_all = self.history.iter().sum::<f64>() / count;
        let variance =
            self.history.iter().map(|sample| (sample - mean_all) * (sample - mean_all)).sum::<f64>() / count;
        let fresh = (mean + variance.sqrt()) * self.low;
        self.target = if self.loss_event_rate > Self::LOSSY {
            1.5 * fresh
        } else if variance < Self::STEADY {
            fresh
        } else if fresh < self.low {
            (0.5 * self.target).max(fresh)
        } else {
            0.9 * self.target
        }
        .clamp(self.low, self.high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_standing_queue_and_comes_back() {
        let mut target = DelayTarget::new(0.1, 0.4);
        (0..300).for_each(|_| target.update(0.02));
        assert_eq!(target.get(), 0.1);
        (0..400).for_each(|_| target.update(0.25));
        assert!((target.get() - 0.25).abs() < 1e-9, "steady: the delay itself");
        target.on_round(true);
        target.update(0.25);
        assert!((target.get() - 0.375).abs() < 1e-9, "with loss half as much again");
        (0..400).for_each(|_| target.on_round(false));
        (0..400).for_each(|_| target.update(0.0));
        assert_eq!(target.get(), 0.1);
    }
}
