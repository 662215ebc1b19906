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
        // The next may not be due: then none is.
        let periods = (now - self.next).as_nanos().div_euclid(self.every.as_nanos()) + 1;
        self.next += self.every * periods.max(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    #[test]
    fn an_update_is_due_once_and_from_its_instant_on() {
        let mut ticks = Ticks::new(TimeDelta::from_millis(15));
        assert_eq!(ticks.poll(at(14)), None);
        assert_eq!(
            [at(15), at(15), at(31), at(31)].map(|now| ticks.poll(now)),
            [Some(at(15)), None, Some(at(30)), None]
        );
    }

    /// Updates each 15 ms: after a look at 20 ms the one at 30 is next, after one at 30 the one at 45.
    #[test]
    fn what_is_passed_over_was_due() {
        for (now, next) in [(20, 30), (29, 30), (30, 45), (31, 45), (104, 105), (105, 120)] {
            let mut ticks = Ticks::new(TimeDelta::from_millis(15));
            assert_eq!(ticks.poll(at(now)), Some(at(15)));
            ticks.skip(at(now));
            assert_eq!(
                (ticks.poll(at(next - 1)), ticks.poll(at(next))),
                (None, Some(at(next))),
                "after {now} ms"
            );
        }
    }

    #[test]
    fn a_period_is_a_tenth_of_a_millisecond_at_least() {
        for (micros, is_valid) in [(99, false), (100, true), (-1, false)] {
            assert_eq!(update_period("period", TimeDelta::from_micros(micros)).is_ok(), is_valid, "{micros}");
        }
    }
}
