//! What the simulator and the emulator host: nodes that exchange packets.

use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use std::fmt;

/// A packet on its way. A link reads and writes the fields here, never the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<P> {
    /// The IP datagram's size; above zero.
    pub size: DataSize,
    /// The ECN codepoint; queues may change it to CE.
    pub ecn: Ecn,
    /// What a fair queue tells flows apart by: a hash of the 5-tuple on a wire, the flow's number in the
    /// simulator. Zero where nobody asks.
    pub flow: u32,
    /// Time spent waiting in queues so far, arrival to start of service, all links together. Neither
    /// serialisation nor propagation nor jitter counts.
    pub waited: TimeDelta,
    /// What is carried: headers in the simulator, bytes on a wire.
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

/// Why a packet went no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue was full.
    Tail,
    /// Active queue management asked for it before the queue was full.
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

/// A packet that went no further, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<P> {
    /// When it was decided.
    pub at: Timestamp,
    /// Why.
    pub cause: DropCause,
    /// The packet as it stood.
    pub packet: Packet<P>,
}

/// What a [`Node`] does next by itself.
#[derive(Debug)]
pub enum Step<P> {
    /// At this instant a packet leaves by a port.
    Leaves(Timestamp, Port, Packet<P>),
    /// Nothing, until it wants to be woken, if it does.
    Waits(Option<Timestamp>),
}

/// What makes a [`Node`] send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sends {
    /// It may do so at any time.
    ByItself,
    /// Packets that come, about one for each of them.
    OneAnswerToEach,
    /// Packets that come, one for many or none at all.
    FewAnswers,
}

/// Anything the simulator or the emulator can host. A link looks at size and ECN, never at `P`.
///
/// # Driving contract
/// Inputs are `handle_packet` and `handle_timeout`; answers are the `poll_*` methods.
/// * `now` never runs back from one call to the next.
/// * After an input, `poll_packet` and `poll_dropped` are called until they give `None`.
/// * `poll_timeout` names the instant by which `handle_timeout` is wanted. It is a pure reading: asking twice
///   gives one answer. `None` means that only an input can change anything.
/// * A `handle_timeout` that comes early changes nothing. One that comes late finds everything done as of its
///   own instant; only the packets leave late.
/// * What comes out depends on configuration, seed and inputs so far, and on nothing else.
pub trait Node<P>: fmt::Debug + Send {
    /// A packet arrives at `port`.
    fn handle_packet(&mut self, now: Timestamp, port: Port, packet: Packet<P>);

    /// Does what is due up to `now`.
    fn handle_timeout(&mut self, now: Timestamp);

    /// The next packet that leaves at `now` or should have left before, and the port it leaves by.
    fn poll_packet(&mut self, now: Timestamp) -> Option<(Port, Packet<P>)>;

    /// When to call `handle_timeout` next.
    fn poll_timeout(&self) -> Option<Timestamp>;

    /// What it does next by itself, where nothing comes before `until`: the next packet that leaves at `now` or before
    /// `until`, at which instant the present then is; or when to call `handle_timeout` next.
    ///
    /// It is the same as `handle_timeout` at `now`, should that be wanted, and at each instant before `until` that
    /// `poll_timeout` names, with `poll_packet` behind each.
    #[inline]
    fn poll_ahead(&mut self, mut now: Timestamp, until: Timestamp) -> Step<P> {
        loop {
            if let Some((at, port, packet)) = self.poll_paced(now, until) {
                return Step::Leaves(at, port, packet);
            }
            if now < until && self.poll_timeout().is_some_and(|due| due <= now) {
                self.handle_timeout(now);
            }
            if !self.is_drained(now)
                && let Some((port, packet)) = self.poll_packet(now)
            {
                return Step::Leaves(now, port, packet);
            }
            match self.poll_timeout() {
                Some(due) if due.max(now) < until => now = due.max(now),
                due => return Step::Waits(due),
            }
        }
    }

    /// The short way of [`poll_ahead`](Self::poll_ahead): the next packet, where nothing happens before it leaves but that it
    /// is its turn. A node may always have none.
    #[inline]
    fn poll_paced(&mut self, _now: Timestamp, _until: Timestamp) -> Option<(Timestamp, Port, Packet<P>)> {
        None
    }

    /// What makes it send: a host may give packets ahead of time to one that answers them.
    fn sends(&self) -> Sends {
        Sends::ByItself
    }

    /// True where it is known without asking that `poll_packet` has nothing at `now`: a host may leave it unasked.
    fn is_drained(&self, _now: Timestamp) -> bool {
        false
    }

    /// The next packet dropped since the last input. What has not been read by the next input is forgotten;
    /// the node's statistics keep the count.
    fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        None
    }
}
