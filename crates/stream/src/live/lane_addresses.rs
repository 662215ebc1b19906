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
    lanes: [Option<Lane>; MOST_LANES as usize],
}

/// A lane is where its last packet came from, and may still be where they came from before.
#[derive(Debug, Clone, Copy)]
struct Lane {
    present: LaneAddress,
    former: Option<LaneAddress>,
}

#[derive(Debug, Clone, Copy)]
struct LaneAddress {
    address: SocketAddr,
    /// When the last packet came from there, be it a repeated one.
    last: Timestamp,
    limit: AmplificationLimit,
}

impl LaneAddress {
    /// Nothing came from there yet.
    fn new(now: Timestamp, address: SocketAddr) -> Self {
        Self { address, last: now, limit: AmplificationLimit::default() }
    }

    fn on_packet(&mut self, now: Timestamp, len: usize) {
        self.last = now;
        self.limit.on_received(len);
    }
}

/// Where a report goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReportRoute {
    /// To the lane.
    pub(super) to: SocketAddr,
    /// Also to where the lane was until now, and perhaps still is.
    pub(super) former: Option<SocketAddr>,
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
        known.is_none_or(|known| known.present.address == from || now.since(known.present.last) >= lock)
    }

    /// A lane of the sender is there.
    pub(super) fn is_known(&self, from: SocketAddr) -> bool {
        self.lanes.iter().flatten().any(|lane| lane.present.address == from)
    }

    /// A packet of a lane came, of so many octets, that had not come before.
    pub(super) fn on_packet(&mut self, now: Timestamp, lane: usize, from: SocketAddr, len: usize) {
        let Some(known) = self.lanes.get_mut(lane) else { return };
        let lane = known.get_or_insert_with(|| Lane { present: LaneAddress::new(now, from), former: None });
        if lane.present.address != from {
            let returned = lane.former.filter(|former| former.address == from);
            let present = returned.unwrap_or_else(|| LaneAddress::new(now, from));
            lane.former = Some(std::mem::replace(&mut lane.present, present));
        }
        lane.present.on_packet(now, len);
    }

    /// A packet of a lane came that had come before, perhaps as a copy from elsewhere. It moves nothing, and shows that the lane is
    /// still where it was.
    pub(super) fn on_repeated(&mut self, now: Timestamp, lane: usize, from: SocketAddr, len: usize) {
        let former = self.lanes.get_mut(lane).and_then(|lane| lane.as_mut()?.former.as_mut());
        former
            .filter(|former| former.address == from)
            .into_iter()
            .for_each(|former| former.on_packet(now, len));
    }

    /// Where a report of so many octets goes that is to leave by `lane`: back to that, else to the one that sent last. `None` where
    /// no lane is known or it had too little from it. Until `memory` after the last packet from there it goes to the lane's former
    /// address as well: who copies packets on the path and is faster than the path has moved the lane only seemingly.
    pub(super) fn to(
        &mut self,
        now: Timestamp,
        lane: Subflow,
        len: usize,
        memory: TimeDelta,
    ) -> Option<ReportRoute> {
        let known = self.lanes.get(usize::from(lane.0)).copied().flatten().map(|_| usize::from(lane.0));
        let newest = || {
            let lanes = self.lanes.iter().enumerate();
            let seen = lanes.filter_map(|(index, lane)| Some((lane.as_ref()?.present.last, index)));
            seen.max().map(|(_, index)| index)
        };
        let lane = self.lanes[known.or_else(newest)?].as_mut()?;
        let former = lane.former.as_mut().filter(|former| now.since(former.last) < memory);
        let former = former.and_then(|former| former.limit.allows(len).then_some(former.address));
        lane.present.limit.allows(len).then_some(ReportRoute { to: lane.present.address, former })
    }

    /// Whether an address of a lane is known.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: TimeDelta = TimeDelta::from_secs(3);

    fn address(host: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, host], 5000))
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn report(lanes: &mut LaneAddresses, millis: u64, lane: u8, len: usize) -> Option<SocketAddr> {
        lanes.to(at(millis), Subflow(lane), len, TimeDelta::ZERO).map(|route| route.to)
    }

    #[test]
    fn reports_go_back_by_their_lane() {
        let mut lanes = LaneAddresses::default();
        let lock = TimeDelta::from_secs(1);
        assert_eq!((report(&mut lanes, 0, 0, 10), lanes.is_empty()), (None, true));
        lanes.on_packet(at(0), 0, address(1), 100);
        lanes.on_packet(at(5), 1, address(2), 100);
        assert_eq!(report(&mut lanes, 5, 0, 100), Some(address(1)));
        assert_eq!(report(&mut lanes, 5, 7, 100), Some(address(2)), "the one that sent last");
        assert_eq!(report(&mut lanes, 5, 0, 201), None, "three times what came");
        assert!(!lanes.admits(at(900), 0, address(3), lock) && lanes.admits(at(1000), 0, address(3), lock));
        assert!(lanes.admits(at(900), 0, address(1), lock) && lanes.admits(at(900), 3, address(3), lock));
        lanes.on_packet(at(1000), 0, address(3), 10);
        assert_eq!(report(&mut lanes, 1000, 0, 31), None, "a new address has a limit of its own");
        lanes.on_packet(at(1000), 200, address(9), 10);
        assert!(lanes.is_known(address(3)) && !lanes.is_known(address(1)) && !lanes.is_known(address(9)));
    }

    #[test]
    fn the_former_address_of_a_lane_has_a_memory_and_a_limit() {
        let mut lanes = LaneAddresses::default();
        let route = |millis, lanes: &mut LaneAddresses| lanes.to(at(millis), Subflow(0), 10, MEMORY);
        let both = |to, former| Some(ReportRoute { to: address(to), former: Some(address(former)) });
        let alone = |to| Some(ReportRoute { to: address(to), former: None });
        lanes.on_packet(at(0), 0, address(1), 20);
        lanes.on_repeated(at(1), 0, address(9), 1000);
        assert_eq!(route(1, &mut lanes), alone(1), "what is repeated moves nothing");
        // A copy is faster by a millisecond each time.
        for millis in (10..5_000).step_by(10) {
            lanes.on_packet(at(millis), 0, address(9), 20);
            lanes.on_repeated(at(millis + 1), 0, address(1), 20);
            assert_eq!(route(millis + 1, &mut lanes), both(9, 1), "{millis}");
        }
        assert_eq!(route(7_990, &mut lanes), both(9, 1));
        assert_eq!(route(7_991, &mut lanes), alone(9), "it moved indeed");
        // Back again, each address with its own limit.
        lanes.on_packet(at(8_000), 0, address(1), 20);
        assert_eq!(route(8_000, &mut lanes), alone(1), "3 s after the last copy");
        lanes.on_packet(at(8_001), 0, address(2), 4);
        assert_eq!(route(8_001, &mut lanes), both(2, 1));
        assert_eq!(route(8_001, &mut lanes), None, "12 octets for 4");
    }
}
