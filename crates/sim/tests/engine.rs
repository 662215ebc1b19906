//! The engine with real links: arrival times, packet conservation, replay.

use proptest::prelude::*;
use seaway_link::{
    DropTailConfig, Dropped, Link, LinkConfig, LossConfig, Node, Outbox, Packet, Port, QueueConfig,
    Reactivity, Wake,
};
use seaway_sim::{AgentId, ElementId, Engine, Envelope, Observer, Place, RouteId};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use std::collections::BTreeMap;

/// Sends `left` packets, one every `gap`, and answers every so many packets that it receives; none where that is zero.
#[derive(Debug)]
struct Talker {
    left: u32,
    gap: TimeDelta,
    next: Timestamp,
    size: DataSize,
    answers: usize,
    /// It answers when it runs, but schedules its run too late.
    hesitates: bool,
    owed: u32,
    received: Vec<(Timestamp, u32)>,
}

impl Talker {
    fn new(left: u32, gap: TimeDelta, size: u64) -> Self {
        let size = DataSize::from_bytes(size);
        Self {
            left,
            gap,
            next: Timestamp::ZERO,
            size,
            answers: 0,
            hesitates: false,
            owed: 0,
            received: Vec::new(),
        }
    }

    fn answering(answers: usize) -> Self {
        Self { answers, ..Self::new(0, TimeDelta::ZERO, 40) }
    }
}

impl Talker {
    fn transmit(&mut self, now: Timestamp, out: &mut Outbox<u32>) -> Wake {
        loop {
            if self.owed > 0 && !self.hesitates {
                self.owed -= 1;
            } else if self.left > 0 && self.next <= now {
                self.left -= 1;
                self.next += self.gap;
            } else {
                break;
            }
            out.send(now, Port(0), Packet::new(self.size, Ecn::NotEct, self.left));
        }
        let overdue = self.hesitates && self.owed > 0;
        if overdue { Some(Timestamp::ZERO) } else { (self.left > 0).then_some(self.next) }
    }
}

impl Node<u32> for Talker {
    fn on_packet(&mut self, now: Timestamp, _: Port, packet: Packet<u32>, out: &mut Outbox<u32>) -> Wake {
        self.received.push((now, packet.payload));
        self.owed += u32::from(self.received.len().is_multiple_of(self.answers));
        self.transmit(now, out)
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<u32>) -> Wake {
        self.hesitates &= now == until;
        self.transmit(now, out)
    }

    fn reactivity(&self) -> Reactivity {
        match self.answers {
            0 => Reactivity::Spontaneous,
            1 => Reactivity::AckPerPacket,
            _ => Reactivity::SparseFeedback,
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    sent: u64,
    delivered: u64,
    dropped: u64,
    /// When the last packet left by each route: an agent may run ahead of others, never back.
    last: BTreeMap<RouteId, Timestamp>,
}

impl Observer<u32> for Counters {
    fn on_sent(&mut self, now: Timestamp, packet: &Packet<Envelope<u32>>) {
        self.sent += 1;
        let before = self.last.insert(packet.payload.route(), now);
        assert!(before.is_none_or(|before| now >= before));
    }

    fn on_delivered(&mut self, now: Timestamp, packet: &Packet<Envelope<u32>>) {
        self.delivered += 1;
        assert!(now >= packet.payload.sent() + packet.waited);
    }

    fn on_dropped(&mut self, _element: ElementId, _dropped: &Dropped<Envelope<u32>>) {
        self.dropped += 1;
    }
}

type World = Engine<u32, Talker, Counters>;

fn link(rate: Bitrate, packets: u64, loss: f64, name: &str) -> Link<Envelope<u32>> {
    let config = LinkConfig {
        rate: Some(rate),
        delay: TimeDelta::from_millis(10),
        queue: Some(QueueConfig::DropTail(DropTailConfig::packets(packets))),
        loss: (loss > 0.0).then(|| LossConfig::Independent { rate: loss, at: Default::default() }),
        ..LinkConfig::default()
    };
    Link::new(&config.plan().unwrap(), 1, name).unwrap()
}

/// a – m – b, the same both ways.
fn network(rate: Bitrate, packets: u64, loss: f64) -> (World, [Place; 3], Vec<ElementId>) {
    let mut world = World::new(Counters::default());
    let [a, m, b] = ["a", "m", "b"].map(|name| world.topology().place(name));
    let mut links = Vec::new();
    for (index, (from, to)) in [(a, m), (m, b), (b, m), (m, a)].into_iter().enumerate() {
        links.push(world.add_link(from, to, link(rate, packets, loss, &format!("link{index}"))));
    }
    (world, [a, m, b], links)
}

/// The same with a talker at a and one that answers at b.
fn chain(talker: Talker, rate: Bitrate, packets: u64, loss: f64) -> (World, [AgentId; 2], Vec<ElementId>) {
    let (mut world, [a, _, b], links) = network(rate, packets, loss);
    let agents = [world.add_agent(talker), world.add_agent(Talker::answering(1))];
    world.connect((agents[0], Port(0), a), (agents[1], Port(0), b)).unwrap();
    world.connect((agents[1], Port(0), b), (agents[0], Port(0), a)).unwrap();
    (world, agents, links)
}

#[test]
fn a_packet_takes_serialisation_and_propagation_of_each_hop() {
    let talker = Talker::new(3, TimeDelta::from_millis(100), 1000);
    let (mut world, [a, b], _) = chain(talker, Bitrate::from_mbps(1), 50, 0.0);
    world.run_until(Timestamp::from_nanos(1_000_000_000));
    // 8 ms + 10 ms, twice; the answer of 40 B takes 0.32 ms + 10 ms, twice.
    let millis = |at: &(Timestamp, u32)| at.0.as_nanos() as f64 / 1e6;
    assert_eq!(world.agent(b).received.iter().map(millis).collect::<Vec<_>>(), [36.0, 136.0, 236.0]);
    assert_eq!(world.agent(a).received.iter().map(millis).collect::<Vec<_>>(), [56.64, 156.64, 256.64]);
}

#[test]
fn an_overdue_agent_runs_at_once() {
    let talker = Talker::new(3, TimeDelta::from_millis(100), 1000);
    let (mut world, [a, b], _) = chain(talker, Bitrate::from_mbps(1), 50, 0.0);
    world.agent_mut(b).hesitates = true;
    world.run_until(Timestamp::from_nanos(1_000_000_000));
    assert_eq!(world.agent(a).received.len(), 3);
}

#[test]
fn a_run_in_pieces_is_the_run() {
    let make = || chain(Talker::new(500, TimeDelta::from_micros(900), 1000), Bitrate::from_mbps(5), 5, 0.05);
    let (mut whole, agents, _) = make();
    whole.run_until(Timestamp::from_nanos(2_000_000_000));
    let (mut pieces, _, _) = make();
    for step in 1..=200 {
        pieces.run_until(Timestamp::from_nanos(step * 10_000_000));
    }
    assert_eq!(whole.agent(agents[0]).received, pieces.agent(agents[0]).received);
    assert_eq!(whole.events(), pieces.events());
}

/// What the agents received and the links counted in a run of two pieces.
fn outcome(mut world: World, agents: &[AgentId], links: &[ElementId], keeps_order: bool) -> String {
    if keeps_order {
        world.keep_order();
    }
    world.run_until(Timestamp::from_nanos(200_000_000));
    world.run_until(Timestamp::from_nanos(2_000_000_000));
    let received: Vec<_> = agents.iter().map(|agent| &world.agent(*agent).received).collect();
    let statistics = links.iter().map(|&id| world.link(id).unwrap().statistics(world.now()));
    format!("{received:?} {} {:?}", world.events(), statistics.collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn packets_are_conserved(
        count in 1..400u32, gap in 50..3000i64, size in 40..1500u64, kbps in 100..20_000u64,
        packets in 1..40u64, loss in 0.0..0.3f64, until in 1..3000u64,
    ) {
        let talker = Talker::new(count, TimeDelta::from_micros(gap), size);
        let (mut world, _, links) = chain(talker, Bitrate::from_kbps(kbps), packets, loss);
        world.run_until(Timestamp::from_nanos(until * 1_000_000));
        let inside: u64 = links.iter().map(|&id| world.link(id).unwrap().inside(world.now())).sum();
        let counters = world.observer();
        prop_assert_eq!(counters.sent, counters.delivered + counters.dropped + inside);
    }

    /// With lookahead or in time order: every agent receives the same packets at the same instants.
    #[test]
    fn lookahead_does_not_change_arrivals(
        count in 1..400u32, gap in 50..3000i64, kbps in 100..20_000u64, packets in 1..40u64, loss in 0.0..0.3f64,
    ) {
        let run = |keeps_order| {
            let talker = Talker::new(count, TimeDelta::from_micros(gap), 1000);
            let (world, agents, links) = chain(talker, Bitrate::from_kbps(kbps), packets, loss);
            outcome(world, &agents, &links, keeps_order)
        };
        prop_assert_eq!(run(false), run(true));
    }

    /// The same where several agents share links: what departs early waits for its time.
    #[test]
    fn lookahead_does_not_change_arrivals_over_shared_links(
        gaps in prop::collection::vec(50_001..3_000_000i64, 3), kbps in 100..20_000u64, packets in 1..40u64,
    ) {
        let run = |keeps_order| {
            let (mut world, places, links) = network(Bitrate::from_kbps(kbps), packets, 0.0);
            let answers = [1, 5, 2];
            let mut agents = Vec::new();
            for (gap, answers) in gaps.iter().zip(answers) {
                let talker = world.add_agent(Talker::new(200, TimeDelta::from_nanos(*gap), 1000));
                let listener = world.add_agent(Talker::answering(answers));
                world.connect((talker, Port(0), places[0]), (listener, Port(0), places[2])).unwrap();
                world.connect((listener, Port(0), places[2]), (talker, Port(0), places[0])).unwrap();
                agents.extend([talker, listener]);
            }
            outcome(world, &agents, &links, keeps_order)
        };
        prop_assert_eq!(run(false), run(true));
    }
}
