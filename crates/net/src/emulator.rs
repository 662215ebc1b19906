//! The emulated network: any [`Node`] in real time, between UDP sockets or between TUN devices.

use crate::clock::next_snapshot;
use crate::reactor::{Machine, Outgoing};
use crate::socket::Incoming;
use seaway_link::{Departure, Node, Outbox, Packet, Port};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use seaway_wire::ip::{self, IpHeader};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc;

/// What an emulated network carries: the port it leaves by, and its octets.
pub type Frame = (Port, Vec<u8>);

/// Where the network meets the outside. Outlet *i* is port *i* of the network and interface *i* of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlet {
    /// A UDP socket. What comes out goes to `peer`, which is learnt from the first datagram where it is not given. There
    /// are two of them: what comes in at one leaves by the other.
    Udp {
        /// The program behind it.
        peer: Option<SocketAddr>,
    },
    /// A TUN device. A packet goes to where its destination was last seen as a source; to all others before that.
    Tun,
}

/// What passed an outlet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets from outside.
    pub entered: u64,
    /// Their size as IP packets.
    pub entered_size: DataSize,
    /// Packets to the outside.
    pub left: u64,
    /// Their size as IP packets.
    pub left_size: DataSize,
    /// Packets refused: not from the peer, multicast, or addressed to their own outlet.
    pub refused: u64,
    /// Packets for a peer that has not sent anything yet.
    pub unclaimed: u64,
}

/// A command from another thread.
#[derive(Debug)]
pub enum EmulatorCommand<N> {
    /// Replaces the network between the same outlets; packets inside the old one are lost.
    Replace(Box<N>),
    /// Accepts no more packets; signals the channel once the last one has left.
    Drain(mpsc::Sender<()>),
}

/// Reads the network at each snapshot.
pub type Observer<N> = Box<dyn FnMut(Timestamp, &N) + Send>;

/// Hosts a network in real time.
pub struct Emulator<N> {
    network: N,
    /// When the network runs next, and what has left it.
    wake: Option<Timestamp>,
    outbox: Outbox<Frame>,
    outlets: Vec<(Outlet, Counts)>,
    /// By which port an address is reached.
    addresses: BTreeMap<IpAddr, Port>,
    /// When the network began: its steps and outages are counted from there.
    began: Timestamp,
    /// The network's present. Time must not run back, and interfaces are read one after the other.
    last: Timestamp,
    /// Packets inside.
    inside: u64,
    /// Wakes it where nothing else does, so that a machine that is late shows.
    next_beat: Timestamp,
    /// Empty buffers to use again.
    spare: Vec<Vec<u8>>,
    commands: mpsc::Receiver<EmulatorCommand<N>>,
    observer: Option<(Observer<N>, Timestamp)>,
    /// Receives the index of each outlet that closed.
    closed: Option<mpsc::Sender<usize>>,
    draining: Option<mpsc::Sender<()>>,
}

impl<N: Node<Frame>> Emulator<N> {
    /// How often lateness is looked at where nothing is due.
    const BEAT: TimeDelta = TimeDelta::from_millis(10);
    /// More addresses than this are forgotten and learnt anew.
    const MOST_ADDRESSES: usize = 4096;
    /// Buffers kept for the next packets.
    const MOST_SPARE: usize = 4096;

    /// `network` between `outlets`; its time begins at `now`.
    pub fn new(
        now: Timestamp,
        network: N,
        outlets: &[Outlet],
        commands: mpsc::Receiver<EmulatorCommand<N>>,
    ) -> Self {
        Self {
            network,
            wake: Some(Timestamp::ZERO),
            outbox: Outbox::default(),
            outlets: outlets.iter().map(|&outlet| (outlet, Counts::default())).collect(),
            addresses: BTreeMap::new(),
            began: now,
            last: Timestamp::ZERO,
            inside: 0,
            next_beat: now,
            spare: Vec::new(),
            commands,
            observer: None,
            closed: None,
            draining: None,
        }
    }

    /// Calls `observer` with the network every [`SNAPSHOT_INTERVAL`](crate::SNAPSHOT_INTERVAL).
    pub fn with_observer(self, observer: Observer<N>) -> Self {
        Self { observer: Some((observer, self.began)), ..self }
    }

    /// Sends the index of each outlet that closes to `closed`.
    pub fn with_closed(self, closed: mpsc::Sender<usize>) -> Self {
        Self { closed: Some(closed), ..self }
    }

    /// The network.
    pub const fn network(&self) -> &N {
        &self.network
    }

    /// The network's present.
    pub const fn now(&self) -> Timestamp {
        self.last
    }

    /// What passed each outlet.
    pub fn counts(&self) -> impl Iterator<Item = Counts> {
        self.outlets.iter().map(|(_, counts)| *counts)
    }

    /// Packets that are inside.
    pub const fn inside(&self) -> u64 {
        self.inside
    }

    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.last = self.last.max(Timestamp::ZERO + now.since(self.began));
        self.last
    }

    /// The outlet for a datagram from the program behind a socket, its size and flow; `None` from another address.
    fn route_datagram(&mut self, here: usize, datagram: &Incoming<'_>) -> Option<(usize, DataSize, u32)> {
        let (Outlet::Udp { peer }, _) = &mut self.outlets[here] else { return None };
        let is_peer = *peer.get_or_insert(datagram.from) == datagram.from;
        let size = DataSize::of(datagram.data) + udp_overhead(datagram.from);
        is_peer.then_some((1 - here, size, 0))
    }

    /// The outlet of an IP packet; all other outlets while its destination is unknown.
    fn route_packet(&mut self, here: usize, header: &IpHeader) -> Vec<usize> {
        if self.addresses.len() >= Self::MOST_ADDRESSES {
            self.addresses.clear();
        }
        if !header.source.is_unspecified() {
            self.addresses.insert(header.source, Port(here as u16));
        }
        let is_many =
            header.destination.is_multicast() || header.destination == IpAddr::V4(Ipv4Addr::BROADCAST);
        match self.addresses.get(&header.destination) {
            _ if is_many => Vec::new(),
            Some(port) => Some(usize::from(port.0)).filter(|&there| there != here).into_iter().collect(),
            None => (0..self.outlets.len()).filter(|&there| there != here).collect(),
        }
    }

    fn take_in(
        &mut self,
        at: Timestamp,
        way: (usize, usize),
        size: DataSize,
        ecn: Ecn,
        flow: u32,
        data: &[u8],
    ) {
        let (here, there) = way;
        let mut octets = self.spare.pop().unwrap_or_default();
        octets.clear();
        octets.extend_from_slice(data);
        let packet = Packet { flow, ..Packet::new(size, ecn, (Port(there as u16), octets)) };
        self.inside += 1;
        self.wake = self.network.on_packet(at, Port(here as u16), packet, &mut self.outbox);
        self.count_dropped();
    }

    fn count_dropped(&mut self) {
        while let Some(dropped) = self.outbox.pop_dropped() {
            self.inside = self.inside.saturating_sub(1);
            self.keep(dropped.packet.payload.1);
        }
    }

    fn keep(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < Self::MOST_SPARE {
            self.spare.push(buffer);
        }
    }

    /// Signals that no packet is left inside, where that was requested.
    fn report_drained(&mut self) {
        if self.inside == 0
            && let Some(waiting) = self.draining.take()
        {
            // The other side may have given up waiting.
            let _ = waiting.send(());
        }
    }
}

impl<N: Node<Frame> + 'static> Machine for Emulator<N> {
    fn handle_datagram(&mut self, _now: Timestamp, here: usize, datagram: &Incoming<'_>) {
        let at = self.advance(datagram.at);
        if self.draining.is_some() || here >= self.outlets.len() {
            return;
        }
        let ways = match self.outlets[here].0 {
            Outlet::Udp { .. } => self.route_datagram(here, datagram).into_iter().collect(),
            Outlet::Tun => IpHeader::parse(datagram.data).map_or(Vec::new(), |header| {
                let size = DataSize::of(datagram.data);
                let ways = self.route_packet(here, &header);
                ways.into_iter().map(|there| (there, size, header.flow)).collect()
            }),
        };
        let counts = &mut self.outlets[here].1;
        match ways.first() {
            Some(&(_, size, _)) => {
                counts.entered += 1;
                counts.entered_size += size;
            }
            None => counts.refused += 1,
        }
        for (there, size, flow) in ways {
            self.take_in(at, (here, there), size, datagram.ecn, flow, datagram.data);
        }
    }

    fn handle_closed(&mut self, _now: Timestamp, here: usize) {
        if let Some(closed) = &self.closed {
            // A dropped receiver is no error.
            let _ = closed.send(here);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        let at = self.advance(now);
        self.wake = self.network.run(at, at + TimeDelta::from_nanos(1), &mut self.outbox);
        self.count_dropped();
        if self.next_beat <= now {
            self.next_beat = now + Self::BEAT;
        }
        if let Some((observer, due)) = self.observer.as_mut().filter(|(_, due)| *due <= now) {
            *due = next_snapshot(*due, now);
            observer(now, &self.network);
        }
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                EmulatorCommand::Replace(network) => {
                    (self.network, self.wake, self.outbox) =
                        (*network, Some(Timestamp::ZERO), Outbox::default());
                    (self.began, self.last, self.inside) = (now, Timestamp::ZERO, 0);
                }
                EmulatorCommand::Drain(waiting) => self.draining = Some(waiting),
            }
        }
        self.report_drained();
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let began = self.began - Timestamp::ZERO;
        let network = self.wake.into_iter().chain(self.outbox.next_departure()).min().map(|due| due + began);
        let observer = self.observer.as_ref().map(|(_, due)| *due);
        network.into_iter().chain(observer).chain([self.next_beat]).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let at = self.advance(now);
        while let Some(Departure { port, packet, .. }) = self.outbox.pop_departure(at) {
            self.inside = self.inside.saturating_sub(1);
            let here = usize::from(port.0);
            let (outlet, counts) = &mut self.outlets[here];
            let to = match *outlet {
                Outlet::Udp { peer } => peer,
                Outlet::Tun => Some((Ipv4Addr::UNSPECIFIED, 0).into()),
            };
            let Some(to) = to else {
                counts.unclaimed += 1;
                self.keep(packet.payload.1);
                continue;
            };
            counts.left += 1;
            counts.left_size += packet.size;
            buffer.extend_from_slice(&packet.payload.1);
            if *outlet == Outlet::Tun {
                ip::set_ecn(buffer, packet.ecn);
            }
            self.keep(packet.payload.1);
            return Some(Outgoing { socket: here, to, ecn: packet.ecn });
        }
        self.report_drained();
        None
    }
}

impl<N: fmt::Debug> fmt::Debug for Emulator<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, outlets, last, inside, .. } = self;
        f.debug_struct("Emulator")
            .field("network", network)
            .field("outlets", outlets)
            .field("last", last)
            .field("inside", inside)
            .finish_non_exhaustive()
    }
}

/// IP and UDP headers, which links count and sockets do not show.
pub(crate) const fn udp_overhead(peer: SocketAddr) -> DataSize {
    DataSize::from_bytes(if peer.is_ipv4() { 28 } else { 48 })
}
