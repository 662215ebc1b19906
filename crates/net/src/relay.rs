//! The emulated link: a UDP relay that hosts crate `link` in real time.

use crate::emulator::udp_overhead;
use crate::endpoint::next_tick;
use crate::reactor::{Machine, Outgoing};
use crate::socket::Incoming;
use seaway_link::{Link, LinkStatistics, Node, Packet};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc;

/// One side of a relay.
#[derive(Debug)]
struct Side {
    /// To whom datagrams go that come out on this side; learnt from the first that comes in where it is not given.
    peer: Option<SocketAddr>,
    /// The links from this side to the other, one behind the other.
    path: Vec<Link<Vec<u8>>>,
    /// Datagrams from somebody else than the peer.
    strangers: u64,
}

/// Mail for a relay.
#[derive(Debug)]
pub enum RelayMail {
    /// Another network takes over; what is inside the old one is lost.
    Replace {
        /// The links towards the far peer.
        forth: Vec<Link<Vec<u8>>>,
        /// The links back.
        back: Vec<Link<Vec<u8>>>,
    },
}

/// How a relay is.
#[derive(Debug, Clone)]
pub struct RelaySnapshot {
    /// When.
    pub at: Timestamp,
    /// The rate of the slowest link towards the far peer.
    pub capacity: Bitrate,
    /// How long what waits in the queues towards the far peer will wait; `None` in an outage.
    pub queue_delay: Option<TimeDelta>,
    /// The books of the links towards the far peer, and of those back.
    pub links: [Vec<LinkStatistics>; 2],
}

/// Relays UDP datagrams between two peers over a chain of links each way.
///
/// Socket 0 faces the near peer, socket 1 the far one. The near peer is whoever speaks first.
#[derive(Debug)]
pub struct Relay {
    sides: [Side; 2],
    /// IP and UDP headers, which links count and sockets do not show.
    overhead: DataSize,
    /// When the links began: their steps and outages are counted from there.
    began: Timestamp,
    /// Time must not run back, and arrivals on two sockets are read one after the other.
    last: Timestamp,
    /// Empty buffers to use again.
    spare: Vec<Vec<u8>>,
    mail: mpsc::Receiver<RelayMail>,
    news: mpsc::Sender<RelaySnapshot>,
    next_snapshot: Timestamp,
}

impl Relay {
    /// A relay whose far peer is `far`; `forth` leads there and `back` from there. The links begin at `now`.
    pub fn new(
        now: Timestamp,
        far: SocketAddr,
        forth: Vec<Link<Vec<u8>>>,
        back: Vec<Link<Vec<u8>>>,
        mail: mpsc::Receiver<RelayMail>,
        news: mpsc::Sender<RelaySnapshot>,
    ) -> Self {
        let overhead = udp_overhead(far);
        let side = |peer, path| Side { peer, path, strangers: 0 };
        let sides = [side(None, forth), side(Some(far), back)];
        let last = Timestamp::ZERO;
        Self { sides, overhead, began: now, last, spare: Vec::new(), mail, news, next_snapshot: now }
    }

    /// The books of the links of side 0 (towards the far peer), then of side 1.
    pub fn statistics(&self) -> [Vec<LinkStatistics>; 2] {
        let of = |side: &Side| side.path.iter().map(|link| link.statistics(self.last)).collect();
        [of(&self.sides[0]), of(&self.sides[1])]
    }

    /// Datagrams from somebody else than the two peers.
    pub fn strangers(&self) -> u64 {
        self.sides.iter().map(|side| side.strangers).sum()
    }

    /// The links' present: the latest of all instants, on their own clock.
    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.last = self.last.max(Timestamp::ZERO + now.since(self.began));
        self.last
    }

    fn snapshot(&self, now: Timestamp) -> RelaySnapshot {
        let path = &self.sides[0].path;
        let capacity = path.iter().map(Link::rate).min().unwrap_or(Bitrate::MAX);
        let waits = path.iter().map(|link| link.rate().time_to_send(link.waiting(self.last).1));
        RelaySnapshot { at: now, capacity, queue_delay: waits.sum(), links: self.statistics() }
    }

    /// Hands packets from each link to the next.
    fn carry(&mut self, now: Timestamp) {
        for side in &mut self.sides {
            for index in 0..side.path.len().saturating_sub(1) {
                while let Some((_, packet)) = side.path[index].poll_packet(now) {
                    side.path[index + 1].handle_packet(now, Link::<Vec<u8>>::IN, packet);
                }
            }
        }
    }
}

impl Machine for Relay {
    fn handle_datagram(&mut self, _now: Timestamp, socket: usize, datagram: &Incoming<'_>) {
        let at = self.advance(datagram.at);
        let Some(side) = self.sides.get_mut(socket) else { return };
        if *side.peer.get_or_insert(datagram.from) != datagram.from {
            side.strangers += 1;
            return;
        }
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        payload.extend_from_slice(datagram.data);
        let size = DataSize::of(datagram.data) + self.overhead;
        if let Some(first) = side.path.first_mut() {
            first.handle_packet(at, Link::<Vec<u8>>::IN, Packet::new(size, datagram.ecn, payload));
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        let at = self.advance(now);
        for side in &mut self.sides {
            for link in &mut side.path {
                link.handle_timeout(at);
            }
        }
        self.carry(at);
        if self.next_snapshot <= now {
            self.next_snapshot = next_tick(self.next_snapshot, now);
            // Nobody listening is no error.
            let _ = self.news.send(self.snapshot(now));
        }
    }

    fn handle_mail(&mut self, now: Timestamp) {
        while let Ok(RelayMail::Replace { forth, back }) = self.mail.try_recv() {
            (self.began, self.last) = (now, Timestamp::ZERO);
            let [near, far] = &mut self.sides;
            near.path = forth;
            far.path = back;
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let links = self.sides.iter().flat_map(|side| &side.path).filter_map(Node::poll_timeout);
        let began = self.began - Timestamp::ZERO;
        links.map(|due| due + began).chain([self.next_snapshot]).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let at = self.advance(now);
        self.carry(at);
        for (from, to) in [(0, 1), (1, 0)] {
            let Some(peer) = self.sides[to].peer else { continue };
            let Some(link) = self.sides[from].path.last_mut() else { continue };
            if let Some((_, packet)) = link.poll_packet(at) {
                buffer.extend_from_slice(&packet.payload);
                self.spare.push(packet.payload);
                return Some(Outgoing { socket: to, to: peer, ecn: packet.ecn });
            }
        }
        None
    }
}
