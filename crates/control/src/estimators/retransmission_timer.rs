//! The retransmission timeout (RFC 6298).

use seaway_units::TimeDelta;

/// Computes `SRTT`, `RTTVAR` and `RTO`. Seconds inside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetransmissionTimer {
    /// `SRTT` and `RTTVAR`.
    smoothed: Option<(f64, f64)>,
    timeout: f64,
}

impl RetransmissionTimer {
    /// Before the first sample (RFC 6298 section 2.1).
    const INITIAL: f64 = 1.0;
    const LEAST: f64 = 1.0;
    const MOST: f64 = 60.0;
    /// Clock granularity `G`.
    const GRAIN: f64 = 0.001;

    /// Nothing sampled: a second.
    pub const fn new() -> Self {
        Self { smoothed: None, timeout: Self::INITIAL }
    }

    /// A sample in seconds, of a packet sent once; it undoes the backoff (RFC 6298 sections 2.2, 2.3).
    pub fn sample(&mut self, rtt: f64) {
        let (mean, deviation) = match self.smoothed {
            None => (rtt, rtt / 2.0),
            // The deviation first, from the old mean.
            Some((mean, deviation)) => {
                (0.875 * mean + 0.125 * rtt, 0.75 * deviation + 0.25 * (mean - rtt).abs())
            }
        };
        self.smoothed = Some((mean, deviation));
        self.timeout = (mean + (4.0 * deviation).max(Self::GRAIN)).clamp(Self::LEAST, Self::MOST);
    }

    /// The timer expired (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.timeout = (2.0 * self.timeout).min(Self::MOST);
    }

    /// `SRTT` in seconds.
    pub fn rtt(&self) -> Option<f64> {
        self.smoothed.map(|(mean, _)| mean)
    }

    /// `RTO`.
    pub fn timeout(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(self.timeout)
    }
}

impl Default for RetransmissionTimer {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298 section 2, worked: 0.1 s, then 0.2 s.
    #[test]
    fn worked_samples() {
        let mut timer = RetransmissionTimer::new();
        assert_eq!(timer.timeout(), TimeDelta::from_secs(1));
        timer.sample(0.1);
        assert_eq!(timer.smoothed, Some((0.1, 0.05)));
        timer.sample(0.2);
        let (mean, deviation) = timer.smoothed.unwrap();
        assert!((mean - 0.1125).abs() < 1e-12 && (deviation - 0.0625).abs() < 1e-12);
        assert!((mean + 4.0 * deviation - 0.3625).abs() < 1e-12);
        assert_eq!(timer.timeout(), TimeDelta::from_secs(1), "a second at least");
    }

    /// RFC 6298 sections 5.5 to 5.7.
    #[test]
    fn backoff() {
        let mut timer = RetransmissionTimer::new();
        timer.sample(0.1);
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            timer.back_off();
            assert_eq!(timer.timeout(), TimeDelta::from_secs(seconds));
        }
        timer.sample(0.1);
        assert_eq!(timer.timeout(), TimeDelta::from_secs(1));
    }
}
