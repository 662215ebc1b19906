//! Connections over one bottleneck, with losses that a script or a channel chooses.

use seaway_link::{
    DropTailConfig, Link, LinkConfig, LossConfig, LossPlace, Node, Outbox, Packet, Port, QueueConfig,
    RandomStream, Wake,
};
use seaway_sim::tcp::{
    EcnEcho, LossRecovery, Receiver, ReceiverConfig, Segment, SegmentKind, Sender, SenderConfig,
};
use seaway_sim::traffic::{SizeModel, TcpSource, Transfers};
use seaway_sim::{AgentId, Engine};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// Either end.
#[derive(Debug)]
pub(crate) enum End {
    Sender {
        source: Box<TcpSource>,
        sent: Vec<(Timestamp, u64)>,
    },
    /// `waits`: when each packet of data came and how long it had waited in queues.
    Receiver {
        receiver: Box<Receiver>,
        script: Script,
        waits: Vec<(Timestamp, TimeDelta)>,
    },
}

/// What happens to data just before it arrives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    /// Segments to lose; one that is named twice is lost twice.
    lose: Vec<u64>,
    /// A segment to hold back until three more have arrived.
    late: Option<u64>,
    /// Every so many arrivals are lost.
    lose_every: Option<u64>,
    /// Every so many arrivals carry a mark.
    mark_every: Option<u64>,
    arrivals: u64,
    held: Option<(u64, Packet<Segment>)>,
}

impl Script {
    pub(crate) fn losing(lose: &[u64]) -> Self {
        Self { lose: lose.to_vec(), ..Self::default() }
    }

    pub(crate) fn losing_every(arrivals: u64) -> Self {
        Self { lose_every: Some(arrivals), ..Self::default() }
    }

    pub(crate) fn marking_every(arrivals: u64) -> Self {
        Self { mark_every: Some(arrivals), ..Self::default() }
    }

    pub(crate) fn delaying(number: u64) -> Self {
        Self { late: Some(number), ..Self::default() }
    }

    /// What arrives now, in order.
    fn pass(&mut self, mut packet: Packet<Segment>) -> Vec<Packet<Segment>> {
        let SegmentKind::Data { number, .. } = packet.payload.kind else { return vec![packet] };
        self.arrivals += 1;
        let falls_on = |every: Option<u64>| every.is_some_and(|every| self.arrivals.is_multiple_of(every));
        if falls_on(self.mark_every) && packet.ecn.is_capable() {
            packet.ecn = Ecn::Ce;
        }
        if falls_on(self.lose_every) {
            return Vec::new();
        }
        if let Some(found) = self.lose.iter().position(|&lost| lost == number) {
            self.lose.swap_remove(found);
            return Vec::new();
        }
        if self.late == Some(number) {
            self.late = None;
            self.held = Some((self.arrivals + 4, packet));
            return Vec::new();
        }
        let late = self.held.take_if(|(until, _)| self.arrivals >= *until);
        std::iter::once(packet).chain(late.map(|(_, packet)| packet)).collect()
    }
}

impl End {
    fn transmit(&mut self, now: Timestamp, out: &mut Outbox<Segment>) -> Wake {
        match self {
            Self::Sender { source, sent } => {
                while let Some(packet) = source.poll_transmit(now) {
                    if let SegmentKind::Data { number, .. } = packet.payload.kind {
                        sent.push((now, number));
                    }
                    out.send(now, Port(0), packet);
                }
                source.poll_timeout()
            }
            Self::Receiver { receiver, .. } => {
                while let Some(packet) = receiver.poll_transmit() {
                    out.send(now, Port(0), packet);
                }
                receiver.poll_timeout()
            }
        }
    }
}

impl Node<Segment> for End {
    fn on_packet(
        &mut self,
        now: Timestamp,
        _: Port,
        packet: Packet<Segment>,
        out: &mut Outbox<Segment>,
    ) -> Wake {
        match self {
            Self::Sender { source, .. } => source.handle_segment(now, &packet.payload),
            Self::Receiver { receiver, script, waits } => {
                waits.push((now, packet.waited));
                for packet in script.pass(packet) {
                    receiver.handle_segment(now, packet.ecn, &packet.payload);
                }
            }
        }
        self.transmit(now, out)
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<Segment>) -> Wake {
        match self {
            _ if now == until => {}
            Self::Sender { source, .. } => source.handle_timeout(now),
            Self::Receiver { receiver, .. } => receiver.handle_timeout(now),
        }
        self.transmit(now, out)
    }
}

/// A bottleneck with a sender and a receiver for each connection.
pub(crate) struct Path {
    pub(crate) world: Engine<Segment, End>,
    pub(crate) ends: Vec<(AgentId, AgentId)>,
    pub(crate) bottleneck: seaway_sim::ElementId,
    seed: u64,
}

/// The bottleneck and what differs from one connection to the next.
pub(crate) struct Setting {
    pub(crate) rate: Bitrate,
    /// Both ways together.
    pub(crate) round_trip: TimeDelta,
    pub(crate) queue: QueueConfig,
    pub(crate) loss: f64,
    pub(crate) seed: u64,
}

impl Default for Setting {
    /// The setting of the throughput table: 10 Mbit/s, 100 ms, room for 125 packets.
    fn default() -> Self {
        Self {
            rate: Bitrate::from_mbps(10),
            round_trip: TimeDelta::from_millis(100),
            queue: QueueConfig::DropTail(DropTailConfig::packets(125)),
            loss: 0.0,
            seed: 1,
        }
    }
}

/// A connection: how it works, what it transfers, what happens to it, and how much longer its own round trip is.
pub(crate) struct Connection {
    pub(crate) config: SenderConfig,
    pub(crate) transfers: Transfers,
    pub(crate) script: Script,
    pub(crate) detour: TimeDelta,
    pub(crate) delayed_ack: bool,
}

impl Connection {
    pub(crate) fn endless(config: SenderConfig) -> Self {
        let detour = TimeDelta::ZERO;
        Self { config, transfers: Transfers::Endless, script: Script::default(), detour, delayed_ack: false }
    }
}

/// So many segments of 1000 B, once.
pub(crate) fn once(segments: u64) -> Transfers {
    Transfers::Once(SizeModel::Fixed(DataSize::from_bytes(1000) * segments))
}

/// Segments of 1000 B payload and wire size 1040 B.
pub(crate) fn config(recovery: LossRecovery) -> SenderConfig {
    SenderConfig { recovery, packet: DataSize::from_bytes(1040), ..SenderConfig::default() }
}

impl Path {
    pub(crate) fn new(setting: &Setting, connections: Vec<Connection>) -> Self {
        let mut world = Engine::new(());
        let link = |config: LinkConfig, name: &str| {
            Link::new(&config.plan().expect("a valid link"), setting.seed, name).expect("a valid queue")
        };
        let way = |delay| LinkConfig {
            rate: Some(Bitrate::from_mbps(10_000)),
            delay,
            queue: Some(QueueConfig::DropTail(DropTailConfig::packets(100_000))),
            ..LinkConfig::default()
        };
        let (near, far) = (world.topology().place("near"), world.topology().place("far"));
        let forward = LinkConfig {
            rate: Some(setting.rate),
            queue: Some(setting.queue.clone()),
            loss: (setting.loss > 0.0)
                .then_some(LossConfig::Independent { rate: setting.loss, at: LossPlace::Exit }),
            ..way(setting.round_trip / 2)
        };
        let bottleneck = world.add_link(near, far, link(forward, "bottleneck"));
        world.add_link(far, near, link(way(setting.round_trip / 2), "back"));
        let mut path = Self { world, ends: Vec::new(), bottleneck, seed: setting.seed };
        for (index, connection) in connections.into_iter().enumerate() {
            let host = path.world.topology().place(&format!("host{index}"));
            path.world.add_link(host, near, link(way(connection.detour), "access"));
            path.world.add_link(near, host, link(way(TimeDelta::ZERO), "access/back"));
            path.add(connection, host, far);
        }
        path
    }

    fn add(&mut self, connection: Connection, from: seaway_sim::Place, to: seaway_sim::Place) {
        let transfers = connection.transfers;
        let stream = RandomStream::new(self.seed, &format!("source{}", self.ends.len()));
        let mut source = Box::new(TcpSource::new(connection.config, transfers, stream));
        source.resume(Timestamp::ZERO);
        let receiver = Box::new(Receiver::new(ReceiverConfig {
            sack: connection.config.recovery.needs_sack(),
            echo: match connection.config.congestion.is_scalable() {
                true => EcnEcho::Exact,
                false => EcnEcho::Latched,
            },
            delayed_ack: connection.delayed_ack.then_some(TimeDelta::from_millis(200)),
        }));
        let sender = self.world.add_agent(End::Sender { source, sent: Vec::new() });
        let receiver =
            self.world.add_agent(End::Receiver { receiver, script: connection.script, waits: Vec::new() });
        self.world.connect((sender, Port(0), from), (receiver, Port(0), to)).expect("a way there");
        self.world.connect((receiver, Port(0), to), (sender, Port(0), from)).expect("a way back");
        self.ends.push((sender, receiver));
    }

    pub(crate) fn run_to(&mut self, seconds: f64) {
        self.world.run_until(Timestamp::ZERO + TimeDelta::from_secs_f64(seconds));
    }

    pub(crate) fn sender(&self, index: usize) -> &Sender {
        self.source(index).sender()
    }

    pub(crate) fn source(&self, index: usize) -> &TcpSource {
        match self.world.agent(self.ends[index].0) {
            End::Sender { source, .. } => source,
            End::Receiver { .. } => unreachable!("a sender was put here"),
        }
    }

    pub(crate) fn sent(&self, index: usize) -> &[(Timestamp, u64)] {
        match self.world.agent(self.ends[index].0) {
            End::Sender { sent, .. } => sent,
            End::Receiver { .. } => unreachable!("a sender was put here"),
        }
    }

    pub(crate) fn receiver(&self, index: usize) -> &Receiver {
        match self.world.agent(self.ends[index].1) {
            End::Receiver { receiver, .. } => receiver,
            End::Sender { .. } => unreachable!("a receiver was put here"),
        }
    }

    /// How long the packets of this connection that arrived from then on had waited, in ms, rising.
    pub(crate) fn waits(&self, index: usize, from: f64) -> Vec<f64> {
        let End::Receiver { waits, .. } = self.world.agent(self.ends[index].1) else {
            unreachable!("a receiver was put here")
        };
        let from = Timestamp::ZERO + TimeDelta::from_secs_f64(from);
        let mut late: Vec<f64> =
            waits.iter().filter(|(at, _)| *at >= from).map(|(_, wait)| wait.as_millis_f64()).collect();
        late.sort_by(f64::total_cmp);
        late
    }

    /// Payload delivered in order.
    pub(crate) fn delivered(&self, index: usize) -> DataSize {
        self.receiver(index).statistics().payload
    }

    /// Goodput of each connection between two instants, in bit/s.
    pub(crate) fn goodputs(&mut self, from: f64, to: f64) -> Vec<f64> {
        self.run_to(from);
        let before: Vec<DataSize> = (0..self.ends.len()).map(|index| self.delivered(index)).collect();
        self.run_to(to);
        let rate = |(index, before): (usize, &DataSize)| {
            (self.delivered(index) - *before).as_bits() as f64 / (to - from)
        };
        before.iter().enumerate().map(rate).collect()
    }
}
