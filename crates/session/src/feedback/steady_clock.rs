//! The other end's clock without its steps.

use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};

/// How far arrival times in reports may be off: formats count in units of up to 1 ms.
const REPORT_SLACK: TimeDelta = TimeDelta::from_millis(5);
/// Packets of several subflows may race by so much.
const RACE_SLACK: TimeDelta = TimeDelta::from_millis(100);
/// A packet waits on its way for so many round-trip times at most as the sender estimates them, and this long more: an
/// estimate may lag behind a queue.
const LONGEST_WAIT: (i64, TimeDelta) = (4, TimeDelta::from_millis(250));

/// A packet that was overtaken waited so much longer at most than the one before it.
const MOST_OVERTAKEN: TimeDelta = TimeDelta::from_secs(60);

/// The receiver's clock, which reports of arrivals are read by. A transit is no longer than the time from a packet's
/// departure to its report.
#[derive(Debug, Default)]
pub(super) struct ArrivalClock {
    clock: SteadyClock,
    /// How long after its departure the packet before was reported.
    age: TimeDelta,
}

impl ArrivalClock {
    /// The packet that left at `sent` is reported now to have arrived `at`. Gives its arrival, and whether a step was taken
    /// out of it.
    #[inline]
    pub(super) fn read(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        at: RemoteTimestamp,
    ) -> (RemoteTimestamp, bool) {
        let age = now - sent;
        let before = std::mem::replace(&mut self.age, age);
        let behind = self.clock.behind;
        let at = self.clock.read(sent, at, || (before + REPORT_SLACK, age + REPORT_SLACK));
        (at, self.clock.behind != behind)
    }
}

/// The sender's clock, which departures are read by: a packet does not leave before an older one, and what it waits on its
/// way is bounded by the round-trip time.
#[derive(Debug, Default)]
pub struct DepartureClock {
    clock: SteadyClock,
    /// When the newest packet arrived.
    newest_at: Timestamp,
}

impl DepartureClock {
    /// A packet that left at `sent` arrived `at`; `is_newest` where it was not overtaken. `rtt` is the sender's estimate.
    #[inline]
    pub fn read(
        &mut self,
        at: Timestamp,
        sent: RemoteTimestamp,
        rtt: Option<TimeDelta>,
        is_newest: bool,
    ) -> RemoteTimestamp {
        if !is_newest {
            // It says nothing of a step.
            return self.clock.read_overtaken(at, sent);
        }
        let since = at.since(self.newest_at).max(TimeDelta::ZERO);
        self.newest_at = self.newest_at.max(at);
        self.clock.read(at, sent, || {
            let (round_trips, more) = LONGEST_WAIT;
            let wait = rtt.map_or(TimeDelta::MAX, |rtt| rtt.max(TimeDelta::ZERO) * round_trips + more);
            (since + RACE_SLACK, wait)
        })
    }
}

/// Takes the steps out of the other end's clock: a restart, a correction, a forged report. One packet's transit cannot
/// differ from the one before by more than the path allows; where the two clocks say so, one of them was set. From then on
/// the remote clock is read as if the transit had stayed the same, or as it was before if it was set back. A clock that drifts
/// is left as it is.
#[derive(Debug, Clone, Copy, Default)]
struct SteadyClock {
    /// Of the packet before, remote less local instant as it was given out, ns.
    last: Option<i64>,
    /// What the remote clock is behind what it was at first, ns.
    behind: i64,
    /// The same before its last step: what an odd packet moved is put back to the nanosecond.
    before_step: i64,
}

impl SteadyClock {
    /// The same packet had these instants here and there. Since the packet before, the remote instant less the local
    /// one cannot have fallen or risen by more than `bounds` give, each of which is at least [`REPORT_SLACK`].
    #[inline]
    fn read(
        &mut self,
        local: Timestamp,
        remote: RemoteTimestamp,
        bounds: impl FnOnce() -> (TimeDelta, TimeDelta),
    ) -> RemoteTimestamp {
        let raw = remote.as_nanos().wrapping_sub(local.as_nanos()).cast_signed();
        let mut difference = raw.wrapping_add(self.behind);
        if let Some(last) = self.last {
            let change = difference.wrapping_sub(last);
            // The bounds cost more than all the rest, and most packets are far from them.
            if change.unsigned_abs() > REPORT_SLACK.as_nanos().unsigned_abs() {
                let (fall, rise) = bounds();
                let may_be = |change: i64| (-fall.as_nanos()..=rise.as_nanos()).contains(&change);
                if !may_be(change) {
                    let as_before = raw.wrapping_add(self.before_step);
                    let is_back = may_be(as_before.wrapping_sub(last));
                    difference = if is_back { as_before } else { last };
                    (self.behind, self.before_step) = (difference.wrapping_sub(raw), self.behind);
                }
            }
        }
        self.last = Some(difference);
        Self::remote(local, difference)
    }

    /// The remote instant of a packet that says nothing of a step: it was overtaken, perhaps by the one that brought the step.
    /// It is as far from the packet before as reordering can bring it.
    fn read_overtaken(&self, local: Timestamp, remote: RemoteTimestamp) -> RemoteTimestamp {
        let raw = remote.as_nanos().wrapping_sub(local.as_nanos()).cast_signed();
        let last = self.last.unwrap_or(raw);
        let differences = [self.behind, self.before_step].map(|behind| raw.wrapping_add(behind));
        let near = |difference: &i64| {
            difference.wrapping_sub(last).unsigned_abs() <= MOST_OVERTAKEN.as_nanos().unsigned_abs()
        };
        Self::remote(local, differences.into_iter().find(near).unwrap_or(last))
    }

    fn remote(local: Timestamp, difference: i64) -> RemoteTimestamp {
        RemoteTimestamp::from_nanos(local.as_nanos().wrapping_add_signed(difference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 10 ms apart whose transit may change by 100 ms; the remote clock is set to and fro.
    #[test]
    fn a_step_is_taken_out_and_a_queue_is_not() {
        let ms = TimeDelta::from_millis;
        let mut clock = SteadyClock::default();
        let steps = [0, 0, 3_600_000, 3_600_000, 0, -2000, 0, 0, 0, 0];
        let transits = [30, 35, 35, 40, 40, 40, 40, 120, 120, 50];
        let mut read = Vec::new();
        for (number, (step, transit)) in (1000..).step_by(10).zip(steps.into_iter().zip(transits)) {
            let local = Timestamp::ZERO + ms(3_600_000 + number);
            let remote = (local + ms(transit + step)).as_nanos();
            let at = clock.read(local, RemoteTimestamp::from_nanos(remote), || (ms(100), ms(100)));
            read.push((at.as_nanos() - local.as_nanos()) / 1_000_000);
        }
        assert_eq!(read, [30, 35, 35, 40, 40, 40, 40, 120, 120, 50]);
    }

    /// A packet that was sent an hour later than all others arrives before two that are on their way.
    #[test]
    fn what_an_odd_packet_moved_is_put_back() {
        let ms = TimeDelta::from_millis;
        let mut clock = DepartureClock::default();
        let mut transit = |at: i64, sent: i64, is_newest| {
            let (at, sent) =
                (Timestamp::ZERO + ms(at), RemoteTimestamp::from_nanos(ms(sent).as_nanos() as u64));
            at.as_nanos().cast_signed()
                - clock.read(at, sent, Some(ms(40)), is_newest).as_nanos().cast_signed()
        };
        let transits = [
            transit(10_020, 10_000, true),
            transit(10_025, 3_610_005, true),
            transit(10_030, 10_008, false),
            transit(10_035, 10_010, false),
            transit(10_040, 10_018, true),
            transit(10_050, 10_030, true),
        ];
        assert_eq!(transits.map(|nanos| nanos / 1_000_000), [20, 20, 22, 25, 22, 20]);
    }

    /// A transit may grow up to the age of its report, and fall by no more than the one before could have had; units of reports are
    /// forgiven. What is beyond is a step.
    #[test]
    fn an_arrival_is_within_the_age_of_its_report() {
        let ms = TimeDelta::from_millis;
        for (transit, is_step) in [(104, false), (106, true), (-64, false), (-66, true)] {
            let mut clock = ArrivalClock::default();
            // The first is reported 60 ms after it left, the second 100 ms.
            let mut read = |sent: i64, age: i64, transit: i64| {
                let at = RemoteTimestamp::from_nanos(ms(10_000 + sent + transit).as_nanos().unsigned_abs());
                let sent = Timestamp::ZERO + ms(10_000 + sent);
                clock.read(sent + ms(age), sent, at).1
            };
            assert!(!read(0, 60, 0));
            assert_eq!(read(10, 100, transit), is_step, "{transit}");
        }
    }

    /// A packet waits four round-trip times and 250 ms at most: what fell by more is a clock that was set.
    #[test]
    fn a_queue_may_drain_by_four_round_trips() {
        let ms = TimeDelta::from_millis;
        for (transit, is_step) in [(1000, false), (1040, false), (1060, true)] {
            let mut clock = DepartureClock::default();
            let mut read = |at: i64, transit: i64| {
                let (at, sent) = (Timestamp::ZERO + ms(at), ms(at - transit).as_nanos().unsigned_abs());
                let read = clock.read(at, RemoteTimestamp::from_nanos(sent), Some(ms(200)), true);
                at.as_nanos().cast_signed() - read.as_nanos().cast_signed()
            };
            assert_eq!(read(10_000, transit), ms(transit).as_nanos());
            let expected = if is_step { ms(transit) } else { TimeDelta::ZERO };
            assert_eq!(read(10_000 + transit, 0), expected.as_nanos(), "{transit}");
        }
    }

    #[test]
    fn any_number_is_read() {
        let mut clock = SteadyClock::default();
        let mut read = |local, remote| {
            let (local, remote) = (Timestamp::from_nanos(local), RemoteTimestamp::from_nanos(remote));
            clock.read(local, remote, || (TimeDelta::ZERO, TimeDelta::ZERO)).as_nanos()
        };
        assert_eq!(read(0, u64::MAX), u64::MAX);
        assert_eq!(read(5, 0), 0);
        assert_eq!(read(u64::MAX, 7), 7);
        assert_eq!(read(9, u64::MAX), u64::MAX);
    }
}
