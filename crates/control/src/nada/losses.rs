//! Loss intervals in packets (RFC 8698 section 4.2 on RFC 5348 section 5.4).

use crate::estimators::LossIntervals;
use seaway_units::{TimeDelta, Timestamp};

/// Counts packets between loss events; what is missing within a round-trip time of an event's start joins it.
#[derive(Debug, Clone)]
pub(super) struct LossHistory {
    closed: LossIntervals,
    event_at: Option<Timestamp>,
    /// Packets since the present event began, that one included; since the start, before the first.
    open: f64,
    since_loss: f64,
}

impl LossHistory {
    pub(super) const fn new() -> Self {
        Self { closed: LossIntervals::new(1.0), event_at: None, open: 0.0, since_loss: 0.0 }
    }

    /// `count` packets are missing before the one that arrived now.
    pub(super) fn on_missing(&mut self, now: Timestamp, count: u64, rtt: Option<TimeDelta>) {
        let joins = self.event_at.is_some_and(|at| rtt.is_some_and(|rtt| now.since(at) < rtt));
        if !joins {
            self.closed.close(self.open.max(1.0));
            (self.event_at, self.open) = (Some(now), 0.0);
        }
        self.open += count as f64;
        self.since_loss = 0.0;
    }

    /// A packet arrived.
    pub(super) fn on_received(&mut self) {
        self.open += 1.0;
        self.since_loss += 1.0;
    }

    /// The mean interval (`loss_int`), `None` before the first loss. Where losses expire, of the closed ones alone: with
    /// the open one the mean is a sixth of it at least, and seven times that always ahead of what it must pass.
    pub(super) fn interval(&self, expiry: bool) -> Option<f64> {
        self.closed.mean(if expiry { None } else { Some(self.open) })
    }

    /// Packets since the last loss.
    pub(super) const fn since_loss(&self) -> f64 {
        self.since_loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_within_a_round_trip_time_are_one_event() {
        let at = |ms| Timestamp::ZERO + TimeDelta::from_millis(ms);
        let rtt = Some(TimeDelta::from_millis(100));
        let mut losses = LossHistory::new();
        assert_eq!(losses.interval(true), None);
        for _ in 0..50 {
            losses.on_received();
        }
        losses.on_missing(at(0), 2, rtt);
        losses.on_received();
        losses.on_missing(at(99), 1, rtt);
        assert_eq!(losses.interval(true), Some(50.0));
        for _ in 0..26 {
            losses.on_received();
        }
        assert_eq!(losses.since_loss(), 26.0);
        losses.on_missing(at(100), 1, rtt);
        assert_eq!(losses.interval(true), Some(40.0), "50 and 2 + 1 + 1 + 26");
    }

    /// RFC 5348 section 5.4: the open interval counts where that makes the mean longer.
    #[test]
    fn without_expiry_the_mean_keeps_up_with_what_has_passed() {
        let mut losses = LossHistory::new();
        losses.on_missing(Timestamp::ZERO, 1, None);
        for _ in 0..10_000 {
            losses.on_received();
            let interval = losses.interval(false).unwrap();
            assert!(losses.since_loss() < 7.0 * interval, "{interval}");
        }
        assert!(losses.since_loss() > 7.0 * losses.interval(true).unwrap());
    }
}
