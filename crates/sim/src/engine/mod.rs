//! The engine: elements, agents and the packets between them.

mod lookahead;
mod process;
mod run;

use crate::cell::{Addressed, Cell};
use crate::event_queue::EventQueue;
use crate::slab::{Handle, Slab};
use crate::topology::{ElementId, Hop, Place, Topology};
use process::Process;
use seaway_link::{Dropped, Link, Node, Outbox, Packet, Port, Wake};
use seaway_units::Timestamp;
use std::collections::VecDeque;

/// What a packet carries inside the simulator: its route, and the agents' own payload.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<P> {
    route: RouteId,
    hop: u16,
    leave: Port,
    sent: Timestamp,
    payload: P,
}

impl<P> Envelope<P> {
    /// When the agent sent the packet.
    pub const fn sent(&self) -> Timestamp {
        self.sent
    }

    /// The route it takes.
    pub const fn route(&self) -> RouteId {
        self.route
    }

    /// The agents' own payload.
    pub const fn payload(&self) -> &P {
        &self.payload
    }
}

impl<P> Addressed for Envelope<P> {
    fn leave_by(&self) -> Port {
        self.leave
    }
}

/// An agent of the [`Engine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(u32);

/// A route from a port of one agent to a port of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId(u32);

#[derive(Debug)]
struct Route {
    legs: Vec<Leg>,
    to: (AgentId, Port),
}

#[derive(Debug, Clone, Copy)]
struct Leg {
    hop: Hop,
    /// What follows takes a packet as soon as its departure from here is certain.
    is_early: bool,
}

/// What carries packets between places.
#[derive(Debug)]
enum Element<P> {
    Link(LinkElement<P>),
    Cell(CellElement<P>),
}

#[derive(Debug)]
struct LinkElement<P> {
    link: Link<Envelope<P>>,
    /// Packets of a closed-form link and their arrivals at its far end, in order.
    held: VecDeque<(Timestamp, Handle)>,
    outbox: Outbox<Envelope<P>>,
}

#[derive(Debug)]
struct CellElement<P> {
    cell: Box<dyn Cell<Envelope<P>>>,
    outbox: Outbox<Envelope<P>>,
}

impl<P: std::fmt::Debug + Send> Element<P> {
    fn on_packet(&mut self, now: Timestamp, port: Port, packet: Packet<Envelope<P>>) -> Wake {
        match self {
            Self::Link(LinkElement { link, outbox, .. }) => link.on_packet(now, port, packet, outbox),
            Self::Cell(CellElement { cell, outbox }) => cell.on_packet(now, port, packet, outbox),
        }
    }

    fn run(&mut self, now: Timestamp, until: Timestamp) -> Wake {
        match self {
            Self::Link(LinkElement { link, held, .. }) if link.is_closed_form() => {
                held.front().map(|(arrival, _)| *arrival)
            }
            Self::Link(LinkElement { link, outbox, .. }) => link.run(now, until, outbox),
            Self::Cell(CellElement { cell, outbox }) => cell.run(now, until, outbox),
        }
    }

    fn outbox(&mut self) -> &mut Outbox<Envelope<P>> {
        match self {
            Self::Link(LinkElement { outbox, .. }) | Self::Cell(CellElement { outbox, .. }) => outbox,
        }
    }
}

/// Observes packets. Every method does nothing by default.
pub trait Observer<P> {
    /// An agent sent a packet.
    fn on_sent(&mut self, _now: Timestamp, _packet: &Packet<Envelope<P>>) {}
    /// A packet reached its agent.
    fn on_delivered(&mut self, _now: Timestamp, _packet: &Packet<Envelope<P>>) {}
    /// A packet went no further.
    fn on_dropped(&mut self, _element: ElementId, _dropped: &Dropped<Envelope<P>>) {}
}

impl<P> Observer<P> for () {}

/// A discrete-event simulator of nodes that exchange packets.
///
/// Time is in integer nanoseconds. Events at one instant are processed in the order of their elements and agents: elements
/// first, each in the order in which they were added. So a run is a pure function of its inputs: the same on any platform,
/// and the same in one piece or in many. In the steady state no packet allocates memory.
///
/// A [closed-form](Link::is_closed_form) link computes a packet's departure when the packet arrives. Where no other packet can
/// come between, the engine passes the packet on at once and skips the event: a chain of such links is one step. An agent
/// runs ahead of the engine's present up to the instant before which no packet can reach it (conservative lookahead). A
/// node that [only reacts](Node::reactivity) processes an arrival as soon as its time is certain. The observer is called
/// ahead of time in these cases, unless [`keep_order`](Self::keep_order) forbids it.
///
/// `P` is the payload of packets, opaque to the engine; `A` the agents (an enum avoids indirect calls,
/// `Box<dyn Node<P>>` keeps the set open); `O` the observer.
#[derive(Debug)]
pub struct Engine<P, A, O = ()> {
    topology: Topology<Hop>,
    elements: Vec<Element<P>>,
    processes: Vec<Process<P, A>>,
    routes: Vec<Route>,
    /// Where the packets of each element come from.
    upstream: Vec<Upstream>,
    /// The observer is called in time order only.
    is_ordered: bool,
    /// Packets that links hold, and those in inboxes.
    packets: Slab<Packet<Envelope<P>>>,
    element_events: EventQueue,
    agent_events: EventQueue,
    observer: O,
    now: Timestamp,
    /// The end of the present run: no lookahead goes beyond it.
    horizon: Timestamp,
    /// Something was added or changed from outside since the last run.
    is_changed: bool,
    events: u64,
}

/// Where the packets of an element come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upstream {
    None,
    /// One element only.
    Element(ElementId),
    /// One agent only.
    Agent(AgentId),
    Many,
}

impl<P: std::fmt::Debug + Send, A: Node<P>, O: Observer<P>> Engine<P, A, O> {
    /// An empty network at time zero.
    pub fn new(observer: O) -> Self {
        Self {
            topology: Topology::default(),
            elements: Vec::new(),
            processes: Vec::new(),
            routes: Vec::new(),
            upstream: Vec::new(),
            is_ordered: false,
            packets: Slab::default(),
            element_events: EventQueue::default(),
            agent_events: EventQueue::default(),
            observer,
            now: Timestamp::ZERO,
            horizon: Timestamp::ZERO,
            is_changed: true,
            events: 0,
        }
    }

    /// The places of the network.
    pub fn topology(&mut self) -> &mut Topology<Hop> {
        &mut self.topology
    }

    /// Adds a one-way link.
    pub fn add_link(&mut self, from: Place, to: Place, link: Link<Envelope<P>>) -> ElementId {
        let outbox = Outbox::default();
        let element = self.add_element(Element::Link(LinkElement { link, held: VecDeque::new(), outbox }));
        self.topology.join(from, Hop { element, enter: 0, leave: 1 }, to);
        element
    }

    /// Adds a cell whose port *i* is at `places[i]`. `pairs` lists which ports reach which directly.
    pub fn add_cell(
        &mut self,
        places: &[Place],
        pairs: &[(Port, Port)],
        cell: Box<dyn Cell<Envelope<P>>>,
    ) -> ElementId {
        let element = self.add_element(Element::Cell(CellElement { cell, outbox: Outbox::default() }));
        for &(enter, leave) in pairs {
            let hop = Hop { element, enter: enter.0, leave: leave.0 };
            self.topology.join(places[usize::from(enter.0)], hop, places[usize::from(leave.0)]);
        }
        element
    }

    fn add_element(&mut self, element: Element<P>) -> ElementId {
        self.is_changed = true;
        self.elements.push(element);
        self.upstream.push(Upstream::None);
        ElementId(self.elements.len() as u32 - 1)
    }

    /// Adds an agent. It runs from the next [`run_until`](Self::run_until) on.
    pub fn add_agent(&mut self, agent: A) -> AgentId {
        self.is_changed = true;
        self.processes.push(Process::new(agent));
        AgentId(self.processes.len() as u32 - 1)
    }

    /// Routes what agent `from.0` at place `from.2` sends by port `from.1` to the agent, port and place `to`. `None` where
    /// no path leads there.
    pub fn connect(&mut self, from: (AgentId, Port, Place), to: (AgentId, Port, Place)) -> Option<RouteId> {
        let hops = self.topology.shortest(from.2, to.2)?;
        self.note_upstream(from.0, &hops);
        let legs = hops.into_iter().map(|hop| Leg { hop, is_early: false }).collect();
        self.routes.push(Route { legs, to: (to.0, to.1) });
        self.is_changed = true;
        let route = RouteId(self.routes.len() as u32 - 1);
        let ports = &mut self.processes[from.0.0 as usize].ports;
        let port = usize::from(from.1.0);
        if ports.len() <= port {
            ports.resize(port + 1, None);
        }
        ports[port] = Some(route);
        Some(route)
    }

    fn note_upstream(&mut self, from: AgentId, hops: &[Hop]) {
        let mut before = Upstream::Agent(from);
        for hop in hops {
            let upstream = &mut self.upstream[hop.element.0 as usize];
            let is_only = *upstream == Upstream::None || *upstream == before;
            *upstream = if is_only { before } else { Upstream::Many };
            before = Upstream::Element(hop.element);
        }
    }

    /// The elements along a route, in order.
    pub fn elements_of(&self, route: RouteId) -> impl Iterator<Item = ElementId> {
        self.routes[route.0 as usize].legs.iter().map(|leg| leg.hop.element)
    }

    /// The link behind `element`; `None` for a cell.
    pub fn link(&self, element: ElementId) -> Option<&Link<Envelope<P>>> {
        match &self.elements[element.0 as usize] {
            Element::Link(LinkElement { link, .. }) => Some(link),
            Element::Cell(_) => None,
        }
    }

    /// The link behind `element`, to be changed between two runs; `None` for a cell.
    pub fn link_mut(&mut self, element: ElementId) -> Option<&mut Link<Envelope<P>>> {
        self.is_changed = true;
        match &mut self.elements[element.0 as usize] {
            Element::Link(LinkElement { link, .. }) => Some(link),
            Element::Cell(_) => None,
        }
    }

    /// The cell behind `element`; `None` for a link.
    pub fn cell(&self, element: ElementId) -> Option<&dyn Cell<Envelope<P>>> {
        match &self.elements[element.0 as usize] {
            Element::Link(_) => None,
            Element::Cell(CellElement { cell, .. }) => Some(cell.as_ref()),
        }
    }

    /// The cell behind `element`, to be changed between two runs; `None` for a link.
    pub fn cell_mut(&mut self, element: ElementId) -> Option<&mut dyn Cell<Envelope<P>>> {
        self.is_changed = true;
        match &mut self.elements[element.0 as usize] {
            Element::Link(_) => None,
            Element::Cell(CellElement { cell, .. }) => Some(cell.as_mut()),
        }
    }

    /// An agent.
    pub fn agent(&self, id: AgentId) -> &A {
        &self.processes[id.0 as usize].agent
    }

    /// An agent, to be changed between two runs.
    pub fn agent_mut(&mut self, id: AgentId) -> &mut A {
        self.is_changed = true;
        &mut self.processes[id.0 as usize].agent
    }

    /// The observer.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to be changed between two runs.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Calls the observer in time order only, so that no agent runs ahead.
    pub fn keep_order(&mut self) {
        (self.is_ordered, self.is_changed) = (true, true);
    }

    /// The present instant.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Packets sent by agents, packets that entered an element and packets delivered, so far.
    pub const fn events(&self) -> u64 {
        self.events
    }
}
