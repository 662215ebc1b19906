//! Periodic updates that are made up for when somebody looks.

use seaway_units::{TimeDelta, Timestamp};

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
