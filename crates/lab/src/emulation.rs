//! The network of a scenario without its flows, for an emulator in real time.

use crate::build::{BuildError, QueueRef, build_network};
use crate::report::link_summary;
use crate::scenario::{Flow, Scenario};
use seaway_link::{Dropped, Node, Outbox, Packet, Port, Wake};
use seaway_report::summary::LinkSummary;
use seaway_sim::{AgentId, ElementId, Engine, Envelope, Observer, RouteId};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::fmt::Debug;

/// The links and cells of a scenario as one node. Port *i* is the *i*-th `[[attach]]` of the scenario; or port 0 is the
/// sender and port 1 the receiver of a flow. The payload of a packet has the port by which it leaves.
///
/// It is the simulator, driven by its host's clock: the same links draw the same random numbers.
#[derive(Debug)]
pub struct Emulation<P> {
    engine: Engine<P, Attachment<P>, Losses<P>>,
    attachments: Vec<AgentId>,
    links: Vec<(String, QueueRef)>,
    /// From the first attachment to the second.
    forward: RouteId,
}

impl<P: Clone + Debug + Send + 'static> Emulation<P> {
    /// The network of `scenario`, at time zero.
    ///
    /// # Errors
    /// Fewer than two attachments, no way between two of them, or a link that cannot be set up.
    pub fn new(scenario: &Scenario) -> Result<Self, BuildError> {
        if scenario.attach.len() < 2 {
            let (from, to) =
                scenario.flows.first().map_or(("a", "b"), |flow| (flow.from.as_str(), flow.to.as_str()));
            return Err(BuildError::new(format!(
                "an emulated network needs two [[attach]] or more, each with a `node` and `tun` or `udp`, such as \
                 --set 'attach=[{{ node = \"{from}\", tun = \"t0\" }}, {{ node = \"{to}\", tun = \"t1\" }}]'"
            )));
        }
        let nodes: Vec<&str> = scenario.attach.iter().map(|attach| attach.node.as_str()).collect();
        Self::between(scenario, &nodes)
    }

    /// The network of `scenario` between the ends of one of its flows, at time zero.
    ///
    /// # Errors
    /// No way between them, or a link that cannot be set up.
    pub fn of_flow(scenario: &Scenario, flow: &Flow) -> Result<Self, BuildError> {
        Self::between(scenario, &[&flow.from, &flow.to])
    }

    fn between(scenario: &Scenario, nodes: &[&str]) -> Result<Self, BuildError> {
        let mut engine = Engine::new(Losses(VecDeque::new()));
        let links = build_network(&mut engine, scenario)?;
        let attachments: Vec<AgentId> =
            nodes.iter().map(|_| engine.add_agent(Attachment::default())).collect();
        let mut forward = None;
        for (from, here) in nodes.iter().enumerate() {
            for (to, there) in nodes.iter().enumerate().filter(|&(to, _)| to != from) {
                let topology = engine.topology();
                let (start, end) = (topology.place(here), topology.place(there));
                // Port `to` of attachment `from` leads to the attachment `to`.
                let sending = (attachments[from], Port(to as u16), start);
                let receiving = (attachments[to], Port(from as u16), end);
                let no_way = || BuildError::new(format!("no way from `{here}` to `{there}`"));
                let route = engine.connect(sending, receiving).ok_or_else(no_way)?;
                forward.get_or_insert(route);
            }
        }
        let forward =
            forward.ok_or_else(|| BuildError::new("a network between fewer than two nodes".to_owned()))?;
        Ok(Self { engine, attachments, links, forward })
    }

    /// The state of the path from the first attachment to the second.
    pub fn path_state(&self) -> PathState {
        let nothing = PathState { capacity: Bitrate::MAX, queue_delay: Some(TimeDelta::ZERO) };
        self.engine.elements_of(self.forward).fold(nothing, |state, element| {
            let Some(link) = self.engine.link(element) else {
                return PathState { queue_delay: None, ..state };
            };
            let wait = link.rate().time_to_send(link.waiting(self.engine.now()).1);
            PathState {
                capacity: state.capacity.min(link.rate()),
                queue_delay: state.queue_delay.zip(wait).map(|(before, wait)| before + wait),
            }
        })
    }

    /// The summaries of the links up to now.
    pub fn links(&self) -> Vec<LinkSummary> {
        self.links.iter().filter_map(|(name, queue)| link_summary(name, *queue, &self.engine)).collect()
    }

    /// Processes all events up to `now`.
    fn advance(&mut self, now: Timestamp, out: &mut Outbox<(Port, P)>) {
        self.engine.run_until(now);
        for (index, attachment) in self.attachments.iter().enumerate() {
            if !self.engine.agent(*attachment).leaving.is_empty() {
                let port = Port(index as u16);
                for packet in self.engine.agent_mut(*attachment).leaving.drain(..) {
                    out.send(now, port, packet.map(|payload| (port, payload)));
                }
            }
        }
        for Dropped { at, cause, packet } in self.engine.observer_mut().0.drain(..) {
            out.drop(Dropped { at, cause, packet: packet.map(|payload| (Port(0), payload)) });
        }
    }
}

impl<P: Clone + Debug + Send + 'static> Node<(Port, P)> for Emulation<P> {
    fn on_packet(
        &mut self,
        now: Timestamp,
        port: Port,
        packet: Packet<(Port, P)>,
        out: &mut Outbox<(Port, P)>,
    ) -> Wake {
        // What was due before comes first.
        self.advance(now, out);
        let to = packet.payload.0;
        if let Some(&attachment) = self.attachments.get(usize::from(port.0)) {
            self.engine.agent_mut(attachment).entering.push_back((to, packet.map(|(_, payload)| payload)));
            self.advance(now, out);
        }
        self.engine.next_event()
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<(Port, P)>) -> Wake {
        if now < until {
            self.advance(now, out);
        }
        self.engine.next_event()
    }
}

/// The state of a path at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathState {
    /// The rate of its slowest link; cells are not counted.
    pub capacity: Bitrate,
    /// Queueing delay of a packet that would enter now; `None` in an outage, and for a cell, whose other stations decide.
    pub queue_delay: Option<TimeDelta>,
}

/// Dropped packets.
#[derive(Debug)]
struct Losses<P>(VecDeque<Dropped<P>>);

impl<P: Clone> Observer<P> for Losses<P> {
    fn on_dropped(&mut self, _element: ElementId, dropped: &Dropped<Envelope<P>>) {
        let Dropped { at, cause, packet: Packet { size, ecn, flow, waited, payload } } = dropped;
        let packet = Packet {
            size: *size,
            ecn: *ecn,
            flow: *flow,
            waited: *waited,
            payload: payload.payload().clone(),
        };
        self.0.push_back(Dropped { at: *at, cause: *cause, packet });
    }
}

/// Where packets enter and leave the network.
#[derive(Debug)]
struct Attachment<P> {
    entering: VecDeque<(Port, Packet<P>)>,
    leaving: VecDeque<Packet<P>>,
}

impl<P> Default for Attachment<P> {
    fn default() -> Self {
        Self { entering: VecDeque::new(), leaving: VecDeque::new() }
    }
}

impl<P: Debug + Send> Node<P> for Attachment<P> {
    fn on_packet(&mut self, now: Timestamp, _: Port, packet: Packet<P>, out: &mut Outbox<P>) -> Wake {
        self.leaving.push_back(packet);
        self.run(now, now, out)
    }

    fn run(&mut self, now: Timestamp, _until: Timestamp, out: &mut Outbox<P>) -> Wake {
        for (port, packet) in self.entering.drain(..) {
            out.send(now, port, packet);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Text;
    use seaway_link::Departure;
    use seaway_units::{DataSize, Ecn, TimeDelta};

    const DUMBBELL: &str = r#"
        schema = 1
        name = "dumbbell"
        duration = "10 s"
        link = [
            { name = "near", from = "a", to = "r", both = true, rate = "100 Mbit/s", delay = "5 ms", queue = { kind = "drop-tail", packets = 9 } },
            { name = "far", from = "r", to = "b", both = true, rate = "1 Mbit/s", delay = "10 ms", queue = { kind = "drop-tail", packets = 2 } },
            { name = "side", from = "r", to = "c", rate = "1 Mbit/s", queue = { kind = "drop-tail", packets = 9 } },
        ]
    "#;

    fn emulation(attach: &str) -> Result<Emulation<u8>, BuildError> {
        let text = format!("{DUMBBELL}{attach}");
        Emulation::new(&Scenario::parse(Text::alone("t", &text), &[]).unwrap())
    }

    fn at(micros: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_micros(micros)
    }

    #[test]
    fn packets_take_the_links_between_their_nodes() {
        let mut network =
            emulation("attach = [{ node = \"a\", tun = \"t0\" }, { node = \"b\", tun = \"t1\" }]").unwrap();
        let mut out = Outbox::default();
        // 1000 B take 80 us on the near link and 8 ms on the far one, whose queue has room for one behind it.
        for number in 0..4 {
            let packet = Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, (Port(1), number));
            network.on_packet(at(0), Port(0), packet, &mut out);
        }
        let mut wake = network.run(at(7_000), at(7_001), &mut out);
        // One in service, which is not counted, and one behind it.
        assert_eq!(network.path_state().queue_delay, Some(TimeDelta::from_millis(8)));
        let mut seen = Vec::new();
        while let Some(due) = wake.filter(|&due| due < at(1_000_000)) {
            wake = network.run(due, due + TimeDelta::from_nanos(1), &mut out);
            while let Some(Departure { port, packet, .. }) = out.pop_departure(due) {
                seen.push((port, packet.payload.1, due));
            }
        }
        let lost = std::iter::from_fn(|| out.pop_dropped()).count();
        assert_eq!(network.path_state().capacity, Bitrate::from_mbps(1));
        assert_eq!(seen, [(Port(1), 0, at(23_080)), (Port(1), 1, at(31_080))]);
        assert_eq!(lost, 2);
        let far = network.links().into_iter().find(|link| link.name == "far").unwrap();
        assert_eq!((far.drops.queue, far.marks), (2, 0));
    }

    #[test]
    fn a_network_without_a_way_back_is_refused() {
        let refusal = |attach| emulation(attach).unwrap_err().to_string();
        let one_way = refusal("attach = [{ node = \"a\", tun = \"t0\" }, { node = \"c\", tun = \"t1\" }]");
        assert_eq!(one_way, "no way from `c` to `a`");
        assert!(refusal("").contains("needs two [[attach]]"));
    }
}
