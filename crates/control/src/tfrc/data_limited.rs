//! Was the sender data-limited for a whole round-trip time? (RFC 5348 section 8.2.1)

use seaway_units::Timestamp;

/// Keeps two instants at which the sender was *not* data-limited: enough to answer for each feedback packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DataLimited {
    /// `NotLimited1`, `NotLimited2`; `None` before the first.
    first: Option<Timestamp>,
    second: Option<Timestamp>,
    /// `T_new`, `T_next` of the last feedback.
    newest: Option<Timestamp>,
    next: Option<Timestamp>,
}

impl DataLimited {
    /// The sender used up its allowance just now.
    pub(crate) fn not_limited(&mut self, now: Timestamp) {
        if self.first <= self.newest {
            self.first = Some(now);
        } else if self.second <= self.next {
            self.second = Some(now);
        }
    }

    /// Feedback came at `now` about packets up to the one that left at `newest`: whether the sender was
    /// data-limited all through the round-trip time before that one.
    pub(crate) fn on_feedback(&mut self, now: Timestamp, newest: Timestamp, rtt: f64) -> bool {
        // Inside (T_old, T_new]; the difference does not stop at the origin of the clock.
        let inside =
            |at: Option<Timestamp>| at.is_some_and(|at| at <= newest && newest.since(at).as_secs_f64() < rtt);
        let limited = !inside(self.first) && !inside(self.second);
        self.newest = Some(newest);
        self.next = Some(now);
        if self.first <= self.newest && self.second > self.newest {
            self.first = self.second;
        }
        limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    #[test]
    fn busy_sender_is_never_limited() {
        let mut test = DataLimited::default();
        for ms in 0..2000 {
            test.not_limited(at(ms));
            if ms % 100 == 0 && ms >= 100 {
                assert!(!test.on_feedback(at(ms), at(ms - 100), 0.1), "{ms}");
            }
        }
    }

    #[test]
    fn quiet_round_trip_is_limited_and_a_busy_one_after_it_is_not() {
        let mut test = DataLimited::default();
        test.not_limited(at(0));
        assert!(!test.on_feedback(at(150), at(50), 0.1));
        assert!(test.on_feedback(at(250), at(150), 0.1), "nothing was used up from 50 to 150 ms");
        test.not_limited(at(260));
        assert!(test.on_feedback(at(350), at(250), 0.1));
        assert!(!test.on_feedback(at(400), at(300), 0.1));
    }

    /// The round-trip time is (T_old, T_new], and what lies in two of them counts in both.
    #[test]
    fn the_round_trip_time_begins_behind_its_start() {
        let mut test = DataLimited::default();
        test.not_limited(at(0));
        assert!(test.on_feedback(at(200), at(100), 0.1), "0 ms is T_old");
        let mut test = DataLimited::default();
        test.not_limited(at(50));
        assert!(!test.on_feedback(at(100), at(60), 0.1));
        assert!(!test.on_feedback(at(160), at(120), 0.1), "50 ms is behind 20 ms");
        assert!(test.on_feedback(at(200), at(150), 0.1), "and is 50 ms");
    }

    #[test]
    fn silent_from_the_start_is_limited() {
        assert!(DataLimited::default().on_feedback(at(0), at(0), 0.1));
    }
}
