//! Where the lanes of a bonded sender are: each has an address of its own, to which the reports about it go.

use seaway_control::MOST_LANES;
use seaway_control::Subflow;
use seaway_protect::channel::AmplificationLimit;
use seaway_session::{Message, SessionDescription, SourceId};
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// The addresses of one sender's lanes.
#[derive(Debug, Default)]
pub(super) struct LaneAddresses {
    /// The session that they belong to.
    session: Option<u32>,
    lanes: [Option<LaneAddress>; MOST_LANES as usize],
}

#[derive(Debug, Clone, Copy)]
struct LaneAddress {
    address: SocketAddr,
    last: Timestamp,
    limit: AmplificationLimit,
}

impl LaneAddresses {
    /// The lane of a packet of media, where the session has lanes.
    pub(super) fn lane_of(session: Option<&SessionDescription>, ssrc: u32) -> Option<usize> {
        let session = session.filter(|session| session.lanes)?;
        let lane = SourceId::of(ssrc, session.session)?.subflow.0;
        (lane < MOST_LANES).then_some(lane.into())
    }

    /// The lane of a message, likewise.
    pub(super) fn lane_of_message(session: Option<&SessionDescription>, message: &Message) -> Option<usize> {
        match message {
            Message::Rtp(packet) => Self::lane_of(session, packet.ssrc),
            Message::Rtcp(_) => None,
        }
    }

    /// Those of another session are void.
    pub(super) fn follow(&mut self, session: Option<&SessionDescription>) {
        let session = session.filter(|session| session.lanes).map(|session| session.session);
        if self.session != session {
            *self = Self { session, ..Self::default() };
        }
    }

    /// Whether the lane may be at `from`: it is there already, or was silent for `lock`.
    pub(super) fn admits(&self, now: Timestamp, lane: usize, from: SocketAddr, lock: TimeDelta) -> bool {
        let known = self.lanes.get(lane).copied().flatten();
        known.is_none_or(|known| known.address == from || now.since(known.last) >= lock)
    }

    /// A lane of the sender is there.
    pub(super) fn is_known(&self, from: SocketAddr) -> bool {
        self.lanes.iter().flatten().any(|lane| lane.address == from)
    }

    /// A packet of a lane came, of so many octets.
    pub(super) fn on_packet(&mut self, now: Timestamp, lane: usize, from: SocketAddr, len: usize) {
        let Some(known) = self.lanes.get_mut(lane) else { return };
        let limit = known.filter(|known| known.address == from).map(|known| known.limit);
        let mut limit = limit.unwrap_or_default();
        limit.on_received(len);
        *known = Some(LaneAddress { address: from, last: now, limit });
    }

    /// Where a report of so many octets goes that is to leave by `lane`: back to that, else to the one that sent last. `None` where
    /// no lane is known or it had too little from it.
    pub(super) fn to(&mut self, lane: Subflow, len: usize) -> Option<SocketAddr> {
        let known = self.lanes.get(usize::from(lane.0)).copied().flatten().map(|_| usize::from(lane.0));
        let newest = || {
            let lanes = self.lanes.iter().enumerate();
            lanes.filter_map(|(index, lane)| Some((lane.as_ref()?.last, index))).max().map(|(_, index)| index)
        };
        let lane = self.lanes[known.or_else(newest)?].as_mut()?;
        lane.limit.allows(len).then_some(lane.address)
    }

    /// Whether an address of a lane is known.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_go_back_by_their_lane() {
        let mut lanes = LaneAddresses::default();
        let address = |host: u8| SocketAddr::from(([192, 0, 2, host], 5000));
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let lock = TimeDelta::from_secs(1);
        assert_eq!((lanes.to(Subflow(0), 10), lanes.is_empty()), (None, true));
        lanes.on_packet(at(0), 0, address(1), 100);
        lanes.on_packet(at(5), 1, address(2), 100);
        assert_eq!(lanes.to(Subflow(0), 100), Some(address(1)));
        assert_eq!(lanes.to(Subflow(7), 100), Some(address(2)), "the one that sent last");
        assert_eq!(lanes.to(Subflow(0), 201), None, "three times what came");
        assert!(!lanes.admits(at(900), 0, address(3), lock) && lanes.admits(at(1000), 0, address(3), lock));
        assert!(lanes.admits(at(900), 0, address(1), lock) && lanes.admits(at(900), 3, address(3), lock));
        lanes.on_packet(at(1000), 0, address(3), 10);
        assert_eq!(lanes.to(Subflow(0), 31), None, "a new address has a limit of its own");
        lanes.on_packet(at(1000), 200, address(9), 10);
        assert!(lanes.is_known(address(3)) && !lanes.is_known(address(1)) && !lanes.is_known(address(9)));
    }
}
