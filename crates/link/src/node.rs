//! Nodes that exchange packets, hosted by the simulator and the emulator.

use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::fmt;

/// A packet in the network. A link reads and writes the fields here, never the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<P> {
    /// The IP datagram's size; above zero.
    pub size: DataSize,
    /// The ECN codepoint; queues may change it to CE.
    pub ecn: Ecn,
    /// The flow, for fair queues: a hash of the 5-tuple on a wire, the flow's number in the simulator. Zero where it does
    /// not matter.
    pub flow: u32,
    /// Time spent waiting in queues so far, arrival to start of service, all links together. Neither
    /// serialisation nor propagation nor jitter counts.
    pub waited: TimeDelta,
    /// The content: headers in the simulator, bytes on a wire.
    pub payload: P,
}

impl<P> Packet<P> {
    /// A packet of flow 0 that has not waited yet.
    pub const fn new(size: DataSize, ecn: Ecn, payload: P) -> Self {
        Self { size, ecn, flow: 0, waited: TimeDelta::ZERO, payload }
    }

    /// The same packet with another payload in it.
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Packet<Q> {
        let Self { size, ecn, flow, waited, payload } = self;
        Packet { size, ecn, flow, waited, payload: change(payload) }
    }
}

/// One of a node's connections to its neighbours, counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue was full.
    Tail,
    /// Active queue management, before the queue was full.
    Early,
    /// It grew too old in the queue.
    Age,
    /// The channel lost it; congestion had no part.
    Channel,
    /// A policer found no token for it.
    Policer,
    /// A medium access layer gave up after its last retry.
    Mac,
}

/// A dropped packet, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<P> {
    /// When it was dropped.
    pub at: Timestamp,
    /// Why.
    pub cause: DropCause,
    /// The packet.
    pub packet: Packet<P>,
}

/// What leaves a [`Node`]: packets in the order of their departure, and packets that it dropped.
#[derive(Debug, Clone)]
pub struct Outbox<P> {
    departures: VecDeque<Departure<P>>,
    dropped: VecDeque<Dropped<P>>,
}

/// A packet that leaves a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure<P> {
    /// When it leaves.
    pub at: Timestamp,
    /// The port by which it leaves.
    pub port: Port,
    /// The packet.
    pub packet: Packet<P>,
}

impl<P> Default for Outbox<P> {
    fn default() -> Self {
        Self { departures: VecDeque::new(), dropped: VecDeque::new() }
    }
}

impl<P> Outbox<P> {
    /// `packet` leaves by `port` at `at`, after all that leaves no later.
    #[inline]
    pub fn send(&mut self, at: Timestamp, port: Port, packet: Packet<P>) {
        let departure = Departure { at, port, packet };
        if self.departures.back().is_some_and(|last| last.at > at) {
            self.insert(departure);
        } else {
            self.departures.push_back(departure);
        }
    }

    /// Off the hot path: departures usually come in order.
    #[cold]
    fn insert(&mut self, departure: Departure<P>) {
        let place = self.departures.partition_point(|other| other.at <= departure.at);
        self.departures.insert(place, departure);
    }

    /// A packet goes no further.
    pub fn drop(&mut self, dropped: Dropped<P>) {
        self.dropped.push_back(dropped);
    }

    /// When the next packet leaves.
    #[inline]
    pub fn next_departure(&self) -> Option<Timestamp> {
        self.departures.front().map(|departure| departure.at)
    }

    /// The next packet that leaves by `now`.
    #[inline]
    pub fn pop_departure(&mut self, now: Timestamp) -> Option<Departure<P>> {
        self.departures.pop_front_if(|departure| departure.at <= now)
    }

    /// The next packet that was dropped.
    pub fn pop_dropped(&mut self) -> Option<Dropped<P>> {
        self.dropped.pop_front()
    }

    /// True where it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.departures.is_empty() && self.dropped.is_empty()
    }

    /// Moves everything from `other` behind what is here.
    #[inline]
    pub fn append(&mut self, other: &mut Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            self.departures.append(&mut other.departures);
            self.dropped.append(&mut other.dropped);
        }
    }
}

/// When the host runs a [`Node`] next; `None`: only a packet can change anything.
pub type Wake = Option<Timestamp>;

/// When a [`Node`] sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reactivity {
    /// At any time.
    Spontaneous,
    /// About once for each packet that arrives, as an end that acknowledges every packet.
    AckPerPacket,
    /// Only in answer to packets that arrive, once for many of them or never.
    SparseFeedback,
}

/// Anything that the simulator or the emulator can host. A link looks at size and ECN, never at `P`.
///
/// # Driving contract
/// * The host calls [`on_packet`](Self::on_packet) when a packet arrives, and [`run`](Self::run) no later than the instant
///   that the last call returned. `now` never decreases.
/// * The node puts what leaves and what it drops into the outbox, with its instant. An instant after `now` means that the
///   departure is already certain; the host delivers the packet then.
/// * Nothing happens in a node between these calls: a call that comes early changes nothing; one that comes late
///   does everything as of its own instant, and only the packets leave late.
/// * The result depends on configuration, seed and inputs so far, and on nothing else.
pub trait Node<P>: fmt::Debug + Send {
    /// A packet arrives at `port`. Packets that can leave without a timer leave at once. Returns when to call
    /// [`run`](Self::run) next; `now` where more may leave at once.
    fn on_packet(&mut self, now: Timestamp, port: Port, packet: Packet<P>, out: &mut Outbox<P>) -> Wake;

    /// Does what is due at `now`, where that is before `until`, and sends what can leave. Returns when to call it next.
    ///
    /// The host guarantees that no packet arrives before `until`. So a node may also do what is due later, but before
    /// `until`, in the same call; or return that instant and be called again.
    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<P>) -> Wake;

    /// When it sends: the simulator may give packets to a node that only reacts as soon as their arrival is certain.
    fn reactivity(&self) -> Reactivity {
        Reactivity::Spontaneous
    }
}
