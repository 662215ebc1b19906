//! The mean time between the peer's reports, whatever number of datagrams each of them takes.

use seaway_control::Subflow;
use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};

/// No interval is longer (RFC 8888, transport-wide feedback: the longest that can be configured).
const LONGEST: TimeDelta = TimeDelta::from_secs(1);
/// The datagrams of a report without a time arrive at least so many times sooner after one another than their content did.
const TOGETHER: i64 = 8;

/// What a message is to the report before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Part {
    #[default]
    Unrelated,
    Continues,
    Begins,
}

/// The mean time between reports.
///
/// A message that says what it is a part of ([`on_report`](Self::on_report), [`on_untimed_report`](Self::on_untimed_report)) is counted where
/// it begins another report. Others (requests, what the receiving half computed) are reports of their own.
#[derive(Debug, Default)]
pub(super) struct Interval {
    last: Option<Timestamp>,
    mean: TimeDelta,
    /// The mean that was last given out.
    signalled: TimeDelta,
    /// When the last report of each lane was made, by the peer's clock.
    made: Vec<Option<u64>>,
    /// When the last datagram of a report without a time arrived, and its newest arrival.
    untimed: Option<(Timestamp, RemoteTimestamp)>,
    /// What the message in hand is to the report before it.
    part: Part,
}

impl Interval {
    /// Zero before the second report.
    pub(super) const fn mean(&self) -> TimeDelta {
        self.mean
    }

    /// Another receiver reports: the time since the last report says nothing.
    pub(super) fn on_new_peer(&mut self) {
        (self.last, self.untimed) = (None, None);
        self.made.clear();
    }

    /// The message in hand has a part of the report of this lane that was `made` then.
    pub(super) fn on_report(&mut self, lane: Subflow, made: u64) {
        let lane = usize::from(lane.0);
        if self.made.len() <= lane {
            self.made.resize(lane + 1, None);
        }
        let continues = self.made[lane].replace(made) == Some(made);
        self.note(continues);
    }

    /// The message in hand, which came `at`, has a part of a report without a time, with this newest arrival. Datagrams of one report come
    /// together, and their content does not.
    pub(super) fn on_untimed_report(&mut self, at: Timestamp, newest: RemoteTimestamp) {
        let before = self.untimed.replace((at, newest));
        self.note(before.is_some_and(|(since, before)| at.since(since) * TOGETHER < newest - before));
    }

    /// Whether the message in hand goes on with the report before it, and has no other.
    pub(super) fn continues(&self) -> bool {
        self.part == Part::Continues
    }

    /// A report that begins in the message counts, be it behind the end of another.
    fn note(&mut self, continues: bool) {
        self.part = self.part.max(if continues { Part::Continues } else { Part::Begins });
    }

    /// A message of feedback came; gives the mean where it has changed by more than a quarter.
    pub(super) fn on_message(&mut self, now: Timestamp) -> Option<TimeDelta> {
        if std::mem::take(&mut self.part) == Part::Continues {
            return None;
        }
        let since = now.since(self.last.replace(now)?).min(LONGEST);
        self.mean = if self.mean == TimeDelta::ZERO { since } else { (self.mean * 7 + since) / 8 };
        if (self.mean - self.signalled).abs() <= self.signalled / 4 {
            return None;
        }
        self.signalled = self.mean;
        Some(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANE: Subflow = Subflow(0);

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1000)
    }

    fn arrival(micros: u64) -> RemoteTimestamp {
        RemoteTimestamp::from_nanos(micros * 1000)
    }

    /// Reports of three datagrams each second.
    #[test]
    fn datagrams_of_a_report_are_one() {
        let mut interval = Interval::default();
        for second in 1..20 {
            for part in 0..3 {
                interval.on_report(LANE, second);
                interval.on_message(at(second * 1_000_000 + part * 10_000));
            }
        }
        assert_eq!(interval.mean(), TimeDelta::from_secs(1));
    }

    #[test]
    fn datagrams_without_a_time_are_one_where_they_come_together() {
        let mut interval = Interval::default();
        for report in 1..20 {
            for part in 0..3 {
                let now = at(report * 300_000 + part * 1000);
                interval.on_untimed_report(now, arrival(report * 300_000 + part * 100_000));
                interval.on_message(now);
            }
        }
        assert_eq!(interval.mean(), TimeDelta::from_millis(300));
        // Jitter of the way back is no such thing.
        let mut interval = Interval::default();
        for report in 1..40 {
            let now = at(report * 100_000 + report % 2 * 60_000);
            interval.on_untimed_report(now, arrival(report * 100_000));
            interval.on_message(now);
        }
        let error = (interval.mean() - TimeDelta::from_millis(100)).abs();
        assert!(error < TimeDelta::from_millis(10), "{error}");
    }

    /// The reports of two lanes are made at one time.
    #[test]
    fn lanes_have_reports_of_their_own() {
        let mut interval = Interval::default();
        for report in 1..40 {
            for lane in 0..2 {
                for _ in 0..2 {
                    interval.on_report(Subflow(lane), report);
                    interval.on_message(at(report * 100_000 + u64::from(lane) * 50_000));
                }
            }
        }
        assert_eq!(interval.mean(), TimeDelta::from_millis(50));
    }

    #[test]
    fn messages_that_name_no_report_are_reports() {
        let mut interval = Interval::default();
        let given: Vec<_> = (1..10).filter_map(|report| interval.on_message(at(report * 200_000))).collect();
        assert_eq!(given, [TimeDelta::from_millis(200)]);
        // Where it falls to a half, it is given out as often as it fell by more than a quarter.
        let given: Vec<_> =
            (1..40).filter_map(|report| interval.on_message(at(1_800_000 + report * 100_000))).collect();
        assert_eq!(given.len(), 2, "{given:?}");
        assert!(given[0] < TimeDelta::from_millis(150) && given[1] < given[0] * 3 / 4, "{given:?}");
    }

    /// A clock that began anew, and a receiver that did.
    #[test]
    fn another_clock_is_another_report() {
        let mut interval = Interval::default();
        for report in [900, 901, 902, 5, 6] {
            interval.on_report(LANE, report);
            interval.on_message(at(1_000_000 + report % 100 * 1000));
        }
        interval.on_new_peer();
        interval.on_report(LANE, 6);
        assert_eq!(interval.on_message(at(9_000_000)), None, "the time since then says nothing");
        interval.on_report(LANE, 7);
        interval.on_message(at(9_001_000));
        let mean = interval.mean();
        assert!(mean < TimeDelta::from_millis(10), "{mean}");
    }
}
