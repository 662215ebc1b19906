//! Periodic updates, caught up when a packet arrives or leaves.

use crate::error::Error;
use seaway_units::{TimeDelta, Timestamp};

/// Checks a time on which updates run: below 100 us they would cost more than the packets.
pub(super) fn update_period(field: &str, period: TimeDelta) -> Result<(), Error> {
    const SHORTEST: TimeDelta = TimeDelta::from_micros(100);
    if period >= SHORTEST {
        Ok(())
    } else {
        Err(Error::config(field, period, format!("at least {SHORTEST}")))
    }
}

/// Counts periods from the clock's origin. An update depends on nothing that happens between two looks, so
/// running it late gives what running it in time would have given.
#[derive(Debug, Clone)]
pub(super) struct Ticks {
    next: Timestamp,
    every: TimeDelta,
}

impl Ticks {
    pub(super) fn new(every: TimeDelta) -> Self {
        Self { next: Timestamp::ZERO + every, every }
    }

    /// The next update due by `now`.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<Timestamp> {
        let due = self.next;
        if due > now {
            return None;
        }
        self.next = due + self.every;
        Some(due)
    }

    /// Passes over all updates due by `now`: they would change nothing.
    pub(super) fn skip(&mut self, now: Timestamp) {
        let periods = (now - self.next).as_nanos() / self.every.as_nanos() + 1;
        self.next += self.every * periods.max(0);
    }
}
