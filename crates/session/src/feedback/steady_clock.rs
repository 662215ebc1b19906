//! The other end's clock without its steps.

use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};

/// How far arrival times in reports may be off: formats count in units of up to 1 ms.
const REPORT_SLACK: TimeDelta = TimeDelta::from_millis(5);
/// Packets of several subflows may race by so much.
const RACE_SLACK: TimeDelta = TimeDelta::from_millis(100);
/// A packet waits on its way for so many round-trip times at most as the sender estimates them, and this long more: an
/// estimate may lag behind a queue.
const LONGEST_WAIT: (i64, TimeDelta) = (4, TimeDelta::from_millis(250));

/// The receiver's clock, which reports of arrivals are read by. A transit is no longer than the time from a packet's
/// departure to its report.
#[derive(Debug, Default)]
pub(super) struct ArrivalClock {
    clock: SteadyClock,
    /// How long after its departure the packet before was reported.
    age: TimeDelta,
}

impl ArrivalClock {
    /// The packet that left at `sent` is reported now to have arrived `at`.
    #[inline]
    pub(super) fn read(&mut self, now: Timestamp, sent: Timestamp, at: RemoteTimestamp) -> RemoteTimestamp {
        let age = now - sent;
        let before = std::mem::replace(&mut self.age, age);
        self.clock.read(sent, at, || (before + REPORT_SLACK, age + REPORT_SLACK))
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
/// the remote clock is read as if the transit had stayed the same. A clock that drifts is left as it is.
#[derive(Debug, Clone, Copy, Default)]
struct SteadyClock {
    /// Of the packet before, remote less local instant as it was given out, ns.
    last: Option<i64>,
    /// What the remote clock is behind what it was at first, ns.
    behind: i64,
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
        let mut difference = self.difference(local, remote);
        if let Some(last) = self.last {
            let change = difference.wrapping_sub(last);
            // The bounds cost more than all the rest, and most packets are far from them.
            if change.unsigned_abs() > REPORT_SLACK.as_nanos().unsigned_abs() {
                let (fall, rise) = bounds();
                if change < -fall.as_nanos() || change > rise.as_nanos() {
                    self.behind = self.behind.wrapping_sub(change);
                    difference = last;
                }
            }
        }
        self.last = Some(difference);
        Self::remote(local, difference)
    }

    /// The remote instant of a packet that says nothing of a step: it was overtaken.
    fn read_overtaken(&self, local: Timestamp, remote: RemoteTimestamp) -> RemoteTimestamp {
        Self::remote(local, self.difference(local, remote))
    }

    fn difference(&self, local: Timestamp, remote: RemoteTimestamp) -> i64 {
        remote.as_nanos().wrapping_sub(local.as_nanos()).cast_signed().wrapping_add(self.behind)
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
