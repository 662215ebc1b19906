//! The retransmission timeout (RFC 6298).

use seaway_units::{TimeDelta, Timestamp};

/// The clock's grain `G`.
const GRAIN: TimeDelta = TimeDelta::from_millis(1);
/// Before the first sample (section 2.1).
const INITIAL: TimeDelta = TimeDelta::from_secs(1);
/// What data starts with where the SYN timed out (section 5.7).
const AFTER_SYN_TIMEOUT: TimeDelta = TimeDelta::from_secs(3);
/// The upper bound, which must be at least 60 s (section 2.5).
const MAX: TimeDelta = TimeDelta::from_secs(60);

/// Round-trip time, its variation, and the timeout that follows from them.
#[derive(Debug, Clone)]
pub(super) struct RetransmissionTimeout {
    min: TimeDelta,
    /// `SRTT` and `RTTVAR`.
    smoothed: Option<(TimeDelta, TimeDelta)>,
    rto: TimeDelta,
}

impl RetransmissionTimeout {
    pub(super) fn new(min: TimeDelta) -> Self {
        Self { min, smoothed: None, rto: INITIAL.max(min).min(MAX) }
    }

    /// Takes a sample; one of a segment sent twice is none (Karn). It undoes any backing off.
    pub(super) fn on_sample(&mut self, sample: TimeDelta) {
        let (srtt, variation) = match self.smoothed {
            None => (sample, sample / 2),
            // The variation first, with the old mean (section 2.3).
            Some((srtt, variation)) => {
                let variation = (variation * 3 + (srtt - sample).abs()) / 4;
                ((srtt * 7 + sample) / 8, variation)
            }
        };
        self.smoothed = Some((srtt, variation));
        self.rto = (srtt + (variation * 4).max(GRAIN)).max(self.min).min(MAX);
    }

    /// Doubles the timeout (section 5.5); it stays so until the next sample.
    pub(super) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(MAX);
    }

    /// Data starts after the SYN timed out (section 5.7).
    pub(super) fn after_syn_timeout(&mut self) {
        self.rto = self.rto.max(AFTER_SYN_TIMEOUT);
    }

    /// The present timeout.
    pub(super) const fn get(&self) -> TimeDelta {
        self.rto
    }

    /// `SRTT`; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<TimeDelta> {
        self.smoothed.map(|(srtt, _)| srtt)
    }
}

/// A timer that is moved far more often than it expires.
///
/// The host wakes it at an instant that does not move with it: the timer goes to sleep again where it is
/// woken too early. That costs a wake-up a timeout instead of a place in the host's schedule an acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LazyTimer {
    deadline: Option<Timestamp>,
    wake_up: Option<Timestamp>,
}

impl LazyTimer {
    pub(super) fn set(&mut self, deadline: Timestamp) {
        self.deadline = Some(deadline);
        self.wake_up = Some(self.wake_up.map_or(deadline, |at| at.min(deadline)));
    }

    pub(super) fn stop(&mut self) {
        *self = Self::default();
    }

    pub(super) const fn is_running(&self) -> bool {
        self.deadline.is_some()
    }

    /// When to check whether it has expired.
    pub(super) const fn wake_up(&self) -> Option<Timestamp> {
        self.wake_up
    }

    /// Whether it has expired by `now`; then it has stopped.
    pub(super) fn expires(&mut self, now: Timestamp) -> bool {
        match self.deadline {
            Some(deadline) if deadline <= now => {
                self.stop();
                true
            }
            deadline => {
                if self.wake_up.is_some_and(|at| at <= now) {
                    self.wake_up = deadline;
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(timeout: &RetransmissionTimeout) -> f64 {
        timeout.get().as_secs_f64()
    }

    #[test]
    fn follows_the_worked_samples() {
        let mut timeout = RetransmissionTimeout::new(TimeDelta::ZERO);
        assert_eq!(seconds(&timeout), 1.0);
        for (sample, expected) in [(0.1, 0.3), (0.1, 0.25), (0.2, 0.325), (0.1, 0.2828)] {
            timeout.on_sample(TimeDelta::from_secs_f64(sample));
            assert!((seconds(&timeout) - expected).abs() < 5e-5, "{sample}: {}", seconds(&timeout));
        }
        let mut steady = RetransmissionTimeout::new(TimeDelta::ZERO);
        let mut floored = RetransmissionTimeout::new(TimeDelta::from_secs(1));
        for _ in 0..20 {
            steady.on_sample(TimeDelta::from_millis(100));
            floored.on_sample(TimeDelta::from_millis(100));
        }
        assert!((seconds(&steady) - 0.101).abs() < 1e-9, "{}", seconds(&steady));
        assert_eq!(seconds(&floored), 1.0);
    }

    #[test]
    fn doubles_up_to_a_minute_and_recovers_with_a_sample() {
        let mut timeout = RetransmissionTimeout::new(TimeDelta::from_secs(1));
        let doubled: Vec<f64> = (0..8)
            .map(|_| {
                timeout.back_off();
                seconds(&timeout)
            })
            .collect();
        assert_eq!(doubled, [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
        timeout.on_sample(TimeDelta::from_millis(100));
        assert_eq!(seconds(&timeout), 1.0);
    }

    #[test]
    fn a_lazy_timer_sleeps_again_and_expires_once() {
        let at = Timestamp::from_nanos;
        let mut timer = LazyTimer::default();
        timer.set(at(10));
        timer.set(at(30));
        assert_eq!(timer.wake_up(), Some(at(10)));
        assert!(!timer.expires(at(10)));
        assert_eq!(timer.wake_up(), Some(at(30)));
        timer.set(at(20));
        assert_eq!(timer.wake_up(), Some(at(20)));
        assert!(timer.expires(at(20)) && !timer.expires(at(40)) && !timer.is_running());
    }
}
