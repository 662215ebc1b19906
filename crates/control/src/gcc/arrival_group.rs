//! Packets that left in one burst are one observation of delay.

use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};

/// How two groups in a row differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GroupDelta {
    /// Between the departures, ms.
    pub(super) send: f64,
    /// Between the arrivals, ms.
    pub(super) arrival: f64,
    /// When the newer one had arrived.
    pub(super) at: RemoteTimestamp,
}

/// Gathers packets into groups (draft section 4, as libwebrtc refined it).
#[derive(Debug, Clone, Default)]
pub(super) struct ArrivalGroups {
    open: Option<Group>,
    closed: Option<Group>,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Timestamp,
    last_sent: Timestamp,
    first_arrived: RemoteTimestamp,
    last_arrived: RemoteTimestamp,
}

/// What is sent within belongs together (`burst_time`), and what arrives this close behind may.
const BURST: TimeDelta = TimeDelta::from_millis(5);
/// A group that grows by arrivals lasts no longer.
const LONGEST: TimeDelta = TimeDelta::from_millis(100);
/// A step of the one-way delay beyond this is a clock that jumped (libwebrtc's arrival time offset threshold).
const JUMP: TimeDelta = TimeDelta::from_secs(3);

/// What a packet made of its group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Grouped {
    /// It joined, or was out of order.
    Quiet,
    /// It began the next group, and so closed a pair.
    Delta(GroupDelta),
    /// The clocks jumped: starts afresh.
    Jump,
}

impl ArrivalGroups {
    /// A packet arrived; packets come in order of departure.
    pub(super) fn push(&mut self, sent: Timestamp, arrived: RemoteTimestamp) -> Grouped {
        let fresh =
            Group { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived };
        let Some(open) = &mut self.open else {
            self.open = Some(fresh);
            return Grouped::Quiet;
        };
        if sent < open.first_sent {
            return Grouped::Quiet;
        }
        let step = (arrived - open.last_arrived) - (sent - open.last_sent);
        if step.abs() > JUMP {
            *self = Self { open: Some(fresh), closed: None };
            return Grouped::Jump;
        }
        if open.takes(sent, arrived) {
            open.last_sent = open.last_sent.max(sent);
            open.last_arrived = open.last_arrived.max(arrived);
            return Grouped::Quiet;
        }
        let newer = *open;
        self.open = Some(fresh);
        let older = self.closed.replace(newer);
        older.map_or(Grouped::Quiet, |older| Grouped::Delta(newer.after(&older)))
    }
}

impl Group {
    fn takes(&self, sent: Timestamp, arrived: RemoteTimestamp) -> bool {
        let arrival_gap = arrived - self.last_arrived;
        let caught_up = arrival_gap < sent - self.last_sent
            && arrival_gap <= BURST
            && arrived - self.first_arrived < LONGEST;
        sent == self.last_sent || caught_up || sent - self.first_sent <= BURST
    }

    fn after(&self, older: &Self) -> GroupDelta {
        GroupDelta {
            send: (self.last_sent - older.last_sent).as_millis_f64(),
            arrival: (self.last_arrived - older.last_arrived).as_millis_f64(),
            at: self.last_arrived,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(groups: &mut ArrivalGroups, sent_ms: i64, arrived_ms: i64) -> Grouped {
        let sent = Timestamp::ZERO + TimeDelta::from_millis(1000 + sent_ms);
        groups.push(sent, RemoteTimestamp::from_nanos(0) + TimeDelta::from_millis(5000 + arrived_ms))
    }

    #[test]
    fn bursts_are_one_group() {
        let mut groups = ArrivalGroups::default();
        for (sent, arrived) in [(0, 20), (3, 24), (5, 26)] {
            assert_eq!(push(&mut groups, sent, arrived), Grouped::Quiet);
        }
        assert_eq!(push(&mut groups, 20, 41), Grouped::Quiet, "the first pair is not complete");
        let Grouped::Delta(delta) = push(&mut groups, 40, 62) else { panic!() };
        assert_eq!((delta.send, delta.arrival), (15.0, 15.0));
    }

    /// Wi-Fi aggregation: packets sent apart that arrive together make one group, for 100 ms at most.
    #[test]
    fn what_catches_up_joins() {
        let mut groups = ArrivalGroups::default();
        for index in 0..10 {
            assert_eq!(push(&mut groups, 20 * index, 200 + index), Grouped::Quiet);
        }
        assert_eq!(push(&mut groups, 200, 301), Grouped::Quiet);
        let Grouped::Delta(delta) = push(&mut groups, 220, 330) else { panic!() };
        assert_eq!((delta.send, delta.arrival), (20.0, 92.0));
    }

    #[test]
    fn reordered_packets_are_skipped_and_jumps_seen() {
        let mut groups = ArrivalGroups::default();
        push(&mut groups, 100, 120);
        assert_eq!(push(&mut groups, 80, 121), Grouped::Quiet);
        assert_eq!(push(&mut groups, 120, 9000), Grouped::Jump);
    }
}
