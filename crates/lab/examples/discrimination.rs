//! How often each loss discriminator is wrong: TFRC under it, alone and with others, where the channel loses packets on the
//! last hops and where it does in the backbone. Prints the tables of `docs/results/loss-discrimination.md`.

#![allow(clippy::print_stdout)] // It is a program.

use seaway_control::estimators::{LossDiscriminator, Scheme};
use seaway_control::{
    Arrival, Content, Feedback, FeedbackSource, FlowConfig, PacketId, PeerReport, RateController, Registry,
    SentPacket, StreamId, Subflow,
};
use seaway_link::{
    DropCause, DropTailConfig, Dropped, Link, LinkConfig, LossConfig, Node, Outbox, Packet, Port,
    QueueConfig, Wake,
};
use seaway_sim::{AgentId, ElementId, Engine, Envelope, Observer, Place};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::sync::{Arc, Mutex};

const SCHEMES: [&str; 8] = ["biaz", "mbiaz", "spike", "vtp", "zigzag", "zbs", "trend", "oracle"];
const FLOWS: [u32; 5] = [1, 2, 4, 8, 16];
const SEEDS: u64 = 3;
const WARMUP: TimeDelta = TimeDelta::from_secs(20);
const MEASURED: TimeDelta = TimeDelta::from_secs(200);
const PACKET: DataSize = DataSize::from_bytes(1000);
const LOSS: f64 = 0.04;
const PORT: Port = Port(0);

/// What the packets carry.
#[derive(Debug, Clone, Copy)]
enum Payload {
    Data { sequence: u64, sent: Timestamp, rtt: Option<TimeDelta> },
    Report { newest: u64, sent: Timestamp, held: TimeDelta, report: PeerReport },
}

/// What a flow lost, in order: the number, and whether it was the channel that lost it.
type Lost = Arc<Mutex<Vec<(u64, bool)>>>;

/// A saturated TFRC.
#[derive(Debug)]
struct Sender {
    controller: Box<dyn RateController>,
    flow: u32,
    next: u64,
    due: Timestamp,
    rtt: Option<TimeDelta>,
}

impl Node<Payload> for Sender {
    fn on_packet(
        &mut self,
        now: Timestamp,
        _: Port,
        packet: Packet<Payload>,
        out: &mut Outbox<Payload>,
    ) -> Wake {
        let Payload::Report { newest, sent, held, report } = packet.payload else {
            return self.transmit(now, out);
        };
        self.rtt = Some(now - sent - held);
        let peer = PeerReport { echoed: Some(PacketId(newest)), ..report };
        let feedback = Feedback { subflow: Subflow(0), rtt: self.rtt, packets: &[], requested: &[], peer };
        self.controller.on_feedback(now, &feedback);
        self.transmit(now, out)
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        if now < until && self.controller.poll_timeout().is_some_and(|due| due <= now) {
            self.controller.handle_timeout(now);
        }
        self.transmit(now, out)
    }
}

impl Sender {
    fn transmit(&mut self, now: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        while let Some(due) = self.next_due().filter(|due| *due <= now) {
            out.send(now, PORT, self.packet(now, due));
        }
        self.controller.poll_timeout().into_iter().chain(self.next_due()).min()
    }

    fn packet(&mut self, now: Timestamp, due: Timestamp) -> Packet<Payload> {
        self.due = due.max(now - self.controller.allowance(Subflow(0)).credit);
        let content = Content::Media(StreamId(0));
        let id = PacketId(self.next);
        let packet = SentPacket {
            id,
            subflow: Subflow(0),
            sequence: self.next,
            size: PACKET,
            content,
            probe: None,
            backlog: PACKET * 10,
        };
        self.controller.on_sent(now, &packet);
        let payload = Payload::Data { sequence: self.next, sent: now, rtt: self.rtt };
        self.next += 1;
        Packet { flow: self.flow, ..Packet::new(PACKET, Ecn::NotEct, payload) }
    }

    fn next_due(&self) -> Option<Timestamp> {
        if self.next == 0 {
            return Some(self.due);
        }
        let gap = self.controller.allowance(Subflow(0)).rate.time_to_send(PACKET)?;
        Some(self.due + gap)
    }
}

/// What was lost and what it was taken for: packets, by `[the channel lost it][it was taken for the channel's]`.
type Matrix = [[u64; 2]; 2];

/// TFRC's receiver, and the same discriminator beside it to look at.
#[derive(Debug)]
struct Receiver {
    source: Box<dyn FeedbackSource>,
    scheme: LossDiscriminator,
    flow: u32,
    lost: Lost,
    newest: Option<(u64, Timestamp, Timestamp)>,
    matrix: Matrix,
    received: u64,
}

impl Node<Payload> for Receiver {
    fn on_packet(
        &mut self,
        now: Timestamp,
        _: Port,
        packet: Packet<Payload>,
        out: &mut Outbox<Payload>,
    ) -> Wake {
        let Payload::Data { sequence, sent, rtt } = packet.payload else { return self.transmit(now, out) };
        let lost: Vec<_> = std::mem::take(&mut *self.lost.lock().unwrap());
        let departure = RemoteTimestamp::from_nanos(sent.as_nanos());
        let arrival = |sequence| Arrival {
            subflow: Subflow(0),
            sequence,
            size: PACKET,
            ecn: Ecn::NotEct,
            tag: None,
            sent: departure,
            rtt,
            ends_frame: true,
        };
        // What is lost behind this packet is known by now where a link looks ahead; it is reported at its own time, not earlier.
        let (before, later): (Vec<_>, Vec<_>) = lost.into_iter().partition(|(number, _)| *number < sequence);
        self.lost.lock().unwrap().extend(later);
        for &(number, _) in before.iter().filter(|(_, of_channel)| *of_channel) {
            self.source.on_channel_loss(&arrival(number));
            self.scheme.on_notice(number);
        }
        let taken_for_channel = self.scheme.on_arrival(now, sequence, departure);
        if now >= Timestamp::ZERO + WARMUP {
            self.received += 1;
            for (_, of_channel) in before {
                self.matrix[usize::from(of_channel)][usize::from(taken_for_channel)] += 1;
            }
        }
        self.source.on_arrival(now, &arrival(sequence));
        self.newest = Some((sequence, sent, now));
        self.transmit(now, out)
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        if now < until && self.source.poll_timeout().is_some_and(|due| due <= now) {
            self.source.handle_timeout(now);
        }
        self.transmit(now, out)
    }
}

impl Receiver {
    fn transmit(&mut self, now: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        while let Some((_, report)) = self.source.poll_report(now)
            && let Some((newest, sent, arrived)) = self.newest
        {
            let payload = Payload::Report { newest, sent, held: now - arrived, report };
            let packet = Packet::new(DataSize::from_bytes(64), Ecn::NotEct, payload);
            out.send(now, PORT, Packet { flow: self.flow, ..packet });
        }
        self.source.poll_timeout()
    }
}

#[derive(Debug)]
enum Agent {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

impl Node<Payload> for Agent {
    fn on_packet(
        &mut self,
        now: Timestamp,
        port: Port,
        packet: Packet<Payload>,
        out: &mut Outbox<Payload>,
    ) -> Wake {
        match self {
            Self::Sender(node) => node.on_packet(now, port, packet, out),
            Self::Receiver(node) => node.on_packet(now, port, packet, out),
        }
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        match self {
            Self::Sender(node) => node.run(now, until, out),
            Self::Receiver(node) => node.run(now, until, out),
        }
    }
}

/// Reports to each flow its losses.
#[derive(Debug)]
struct Truth(Vec<Lost>);

impl Observer<Payload> for Truth {
    fn on_dropped(&mut self, _element: ElementId, dropped: &Dropped<Envelope<Payload>>) {
        if let Payload::Data { sequence, .. } = dropped.packet.payload.payload() {
            let of_channel = dropped.cause == DropCause::Channel;
            self.0[dropped.packet.flow as usize].lock().unwrap().push((*sequence, of_channel));
        }
    }
}

type World = Engine<Payload, Agent, Truth>;

/// Where the channel is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Topology {
    /// A wired link of 8 Mbit/s for all, then a hop of 1 Mbit/s each that loses packets.
    LastHop,
    /// A link of 4 Mbit/s for all that loses packets.
    Backbone,
}

impl Topology {
    /// What can get through in all, bit/s.
    fn capacity(self, flows: u32) -> f64 {
        let shared = match self {
            Self::LastHop => (f64::from(flows) * 1e6).min(8e6),
            Self::Backbone => 4e6,
        };
        (1.0 - LOSS) * shared
    }
}

fn link(
    rate: Bitrate,
    millis: i64,
    packets: u64,
    loss: f64,
    seed: u64,
    name: &str,
) -> Link<Envelope<Payload>> {
    let config = LinkConfig {
        rate: Some(rate),
        delay: TimeDelta::from_millis(millis),
        queue: Some(QueueConfig::DropTail(DropTailConfig::packets(packets))),
        loss: (loss > 0.0).then(|| LossConfig::Independent { rate: loss, at: Default::default() }),
        ..LinkConfig::default()
    };
    Link::new(&config.plan().unwrap(), seed, name).unwrap()
}

/// Lays `from` to `to` and a clean way back.
fn lay(world: &mut World, [from, to]: [Place; 2], forward: Link<Envelope<Payload>>, millis: i64, name: &str) {
    world.add_link(from, to, forward);
    let back = link(Bitrate::from_mbps(100), millis, 1000, 0.0, 0, name);
    world.add_link(to, from, back);
}

/// What the scheme made of the losses, and the part of what can get through that did.
fn run(topology: Topology, scheme: &str, flows: u32, seed: u64) -> (Matrix, f64) {
    let truth: Vec<Lost> = (0..flows).map(|_| Lost::default()).collect();
    let mut world = World::new(Truth(truth.clone()));
    let [server, gateway] = ["server", "gateway"].map(|name| world.topology().place(name));
    let (rate, loss) = match topology {
        Topology::LastHop => (Bitrate::from_mbps(8), 0.0),
        Topology::Backbone => (Bitrate::from_mbps(4), LOSS),
    };
    lay(&mut world, [server, gateway], link(rate, 25, 50, loss, seed, "shared"), 25, "shared/back");
    let receivers: Vec<AgentId> = (0..flows)
        .map(|flow| {
            let name = format!("client{flow}");
            let client = world.topology().place(&name);
            let hop = match topology {
                Topology::LastHop => link(Bitrate::from_mbps(1), 25, 20, LOSS, seed, &name),
                Topology::Backbone => link(Bitrate::from_mbps(100), 25, 1000, 0.0, seed, &name),
            };
            lay(&mut world, [gateway, client], hop, 25, &format!("{name}/back"));
            connect(&mut world, flow, scheme, [server, client], &truth[flow as usize])
        })
        .collect();
    world.run_until(Timestamp::ZERO + WARMUP + MEASURED);
    let mut matrix = Matrix::default();
    let mut received = 0;
    for receiver in receivers {
        let Agent::Receiver(receiver) = world.agent(receiver) else { unreachable!("it is a receiver") };
        received += receiver.received;
        for (sum, row) in matrix.iter_mut().flatten().zip(receiver.matrix.iter().flatten()) {
            *sum += row;
        }
    }
    let bits = received as f64 * PACKET.as_bytes_f64() * 8.0;
    (matrix, bits / MEASURED.as_secs_f64() / topology.capacity(flows))
}

fn connect(world: &mut World, flow: u32, scheme: &str, [server, client]: [Place; 2], lost: &Lost) -> AgentId {
    let spec = format!("tfrc(discriminate={scheme})").parse().expect("a controller");
    let (controller, source) =
        Registry::builtin().build(&spec, FlowConfig { packet: PACKET, ecn: Ecn::NotEct }).expect("a scheme");
    let scheme: Scheme = scheme.parse().expect("a scheme");
    // Not all at once, and not in step.
    let due = Timestamp::ZERO + TimeDelta::from_micros(137_731) * i64::from(flow);
    let sender = Sender { controller, flow, next: 0, due, rtt: None };
    let sender = world.add_agent(Agent::Sender(Box::new(sender)));
    let receiver = world.add_agent(Agent::Receiver(Box::new(Receiver {
        source,
        scheme: LossDiscriminator::new(scheme),
        flow,
        lost: lost.clone(),
        newest: None,
        matrix: Matrix::default(),
        received: 0,
    })));
    world.connect((sender, PORT, server), (receiver, PORT, client)).expect("a way there");
    world.connect((receiver, PORT, client), (sender, PORT, server)).expect("a way back");
    receiver
}

fn percent(wrong: u64, of: u64) -> String {
    if of < 20 { "–".into() } else { format!("{:.0}", 100.0 * wrong as f64 / of as f64) }
}

/// Channel losses taken for congestion, congestion losses taken for the channel, and the share of the capacity, all in
/// per cent, over all seeds.
fn cell(topology: Topology, scheme: &str, flows: u32) -> String {
    let (mut matrix, mut used) = (Matrix::default(), 0.0);
    for seed in 1..=SEEDS {
        let (one, share) = run(topology, scheme, flows, seed);
        for (sum, count) in matrix.iter_mut().flatten().zip(one.iter().flatten()) {
            *sum += count;
        }
        used += share / SEEDS as f64;
    }
    let [congestion, channel] = matrix;
    let (channel, congestion) =
        (percent(channel[0], channel.iter().sum()), percent(congestion[1], congestion.iter().sum()));
    format!("{channel} / {congestion} / {:.0}", 100.0 * used)
}

fn main() {
    for (topology, title) in
        [(Topology::LastHop, "Wireless last hops"), (Topology::Backbone, "Wireless backbone")]
    {
        println!("## {title}\n");
        println!("| scheme | {} |", FLOWS.map(|flows| flows.to_string()).join(" | "));
        println!("| --- |{}", " --- |".repeat(FLOWS.len()));
        for scheme in SCHEMES {
            let cells: Vec<_> = FLOWS.iter().map(|&flows| cell(topology, scheme, flows)).collect();
            println!("| `{scheme}` | {} |", cells.join(" | "));
        }
        println!();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A controller with the true causes makes no error, fills the links and still yields where queues overflow.
    #[test]
    fn the_oracle_is_never_wrong() {
        for (topology, flows) in [(Topology::LastHop, 1), (Topology::LastHop, 16), (Topology::Backbone, 4)] {
            let (matrix, used) = run(topology, "oracle", flows, 1);
            let [congestion, channel] = matrix;
            assert!(channel[1] > 500, "{topology:?} {flows}: {matrix:?}");
            // A gap in which both were lost is congestion's.
            assert_eq!(congestion[1], 0, "{topology:?} {flows}: {matrix:?}");
            assert!(channel[0] * 20 < channel[1], "{topology:?} {flows}: {matrix:?}");
            assert!(used > 0.95, "{topology:?} {flows}: {used}");
        }
    }

    /// Biaz looks at slots of the bottleneck: right where the flow fills one of its own, wrong where others share it.
    #[test]
    fn biaz_wants_a_bottleneck_of_its_own() {
        let wrong = |topology, flows| {
            let (matrix, _) = run(topology, "biaz", flows, 1);
            matrix[1][0] as f64 / matrix[1].iter().sum::<u64>() as f64
        };
        assert!(wrong(Topology::LastHop, 1) < wrong(Topology::Backbone, 8));
    }
}
