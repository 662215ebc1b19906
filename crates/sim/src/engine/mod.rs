//! The event loop: elements, agents and the packets between them.

mod ahead;
mod host;
mod run;

use crate::cell::{Addressed, Cell};
use crate::flight::{Flight, Ticket};
use crate::schedule::Schedule;
use crate::topology::{ElementId, Hop, Place, Topology};
use host::Host;
use seaway_link::{Dropped, Link, Node, Packet, Port};
use seaway_units::Timestamp;
use std::collections::VecDeque;

/// What a packet carries inside the simulator: its way, and the agents' own payload.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<P> {
    route: RouteId,
    hop: u16,
    leave: Port,
    sent: Timestamp,
    payload: P,
}

impl<P> Envelope<P> {
    /// When the agent gave the packet out.
    pub const fn sent(&self) -> Timestamp {
        self.sent
    }

    /// Which way it takes.
    pub const fn route(&self) -> RouteId {
        self.route
    }

    /// What the agent put in.
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

/// A way from a port of one agent to a port of another.
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
    /// The next element may have a packet before it leaves this one: see [`Engine::feeds_alone`].
    goes_ahead: bool,
}

/// What carries packets between places.
#[derive(Debug)]
enum Element<P> {
    Link(Wire<P>),
    Cell(Box<dyn Cell<Envelope<P>>>),
}

/// A link, and the packets of which it [foresaw](Link::foresee) when they arrive at its far end, in that order.
#[derive(Debug)]
struct Wire<P> {
    link: Link<Envelope<P>>,
    held: VecDeque<(Timestamp, Ticket)>,
}

macro_rules! each {
    ($element:expr, $node:ident => $call:expr) => {
        match $element {
            Element::Link(Wire { link: $node, .. }) => $call,
            Element::Cell($node) => $call,
        }
    };
}

impl<P: std::fmt::Debug + Send> Element<P> {
    fn handle_packet(&mut self, now: Timestamp, port: Port, packet: Packet<Envelope<P>>) {
        each!(self, node => node.handle_packet(now, port, packet));
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        each!(self, node => node.handle_timeout(now));
    }

    fn poll_packet(&mut self, now: Timestamp) -> Option<Packet<Envelope<P>>> {
        each!(self, node => node.poll_packet(now)).map(|(_, packet)| packet)
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Link(Wire { link, held }) if link.foresees() => held.front().map(|(arrival, _)| *arrival),
            Self::Link(Wire { link, .. }) => link.poll_timeout(),
            Self::Cell(cell) => cell.poll_timeout(),
        }
    }

    fn poll_dropped(&mut self) -> Option<Dropped<Envelope<P>>> {
        each!(self, node => node.poll_dropped())
    }
}

/// Sees what happens to packets. Every method has an empty default, which costs nothing.
pub trait Observer<P> {
    /// An agent gave a packet out.
    fn on_sent(&mut self, _now: Timestamp, _packet: &Packet<Envelope<P>>) {}
    /// A packet reached its agent.
    fn on_delivered(&mut self, _now: Timestamp, _packet: &Packet<Envelope<P>>) {}
    /// A packet went no further.
    fn on_dropped(&mut self, _element: ElementId, _dropped: &Dropped<Envelope<P>>) {}
}

impl<P> Observer<P> for () {}

/// A discrete-event simulator of nodes that exchange packets.
///
/// Time is in integer nanoseconds. Events that fall on one instant are taken in the order of their elements and
/// agents: elements first, each in the order they were added. So a run is a pure function of what was put in: the
/// same on any platform, and the same in one piece or in many. In the steady state nothing is allocated for a packet.
///
/// A packet is taken ahead of time through links that [foresee](Link::foresees) its fate, as far as nobody else's
/// packets can come between: a chain of such links is one event. An agent lives ahead of time as well, as far as it is
/// known what reaches it. One that [only answers](Node::sends) has each packet as soon as its arrival is known; what it
/// sends waits for its time where others' packets can come between. The observer hears of packets ahead of time then.
///
/// `P` is what packets carry, opaque to everything here; `A` the agents (an enum keeps them free of indirect
/// calls, `Box<dyn Node<P>>` keeps them open); `O` the observer.
#[derive(Debug)]
pub struct Engine<P, A, O = ()> {
    topology: Topology<Hop>,
    elements: Vec<Element<P>>,
    hosts: Vec<Host<A>>,
    routes: Vec<Route>,
    /// What comes before each element.
    feeders: Vec<Feeders>,
    /// The observer must hear everything in the order of time.
    is_ordered: bool,
    /// Packets that links hold.
    flight: Flight<Packet<Envelope<P>>>,
    /// When elements are woken, and when agents are.
    elements_due: Schedule,
    agents_due: Schedule,
    observer: O,
    now: Timestamp,
    /// How far the present run goes: nothing is taken ahead beyond it.
    horizon: Timestamp,
    /// Something was added or changed from outside since the last run.
    is_changed: bool,
    events: u64,
}

/// Whose packets come into an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feeders {
    Nobody,
    /// This element alone.
    Element(ElementId),
    /// This agent alone.
    Agent(AgentId),
    /// Several of them.
    Many,
}

impl<P: std::fmt::Debug + Send, A: Node<P>, O: Observer<P>> Engine<P, A, O> {
    /// An empty world at time zero.
    pub fn new(observer: O) -> Self {
        Self {
            topology: Topology::default(),
            elements: Vec::new(),
            hosts: Vec::new(),
            routes: Vec::new(),
            feeders: Vec::new(),
            is_ordered: false,
            flight: Flight::default(),
            elements_due: Schedule::default(),
            agents_due: Schedule::default(),
            observer,
            now: Timestamp::ZERO,
            horizon: Timestamp::ZERO,
            is_changed: true,
            events: 0,
        }
    }

    /// The places of this world.
    pub fn topology(&mut self) -> &mut Topology<Hop> {
        &mut self.topology
    }

    /// Lays a one-way link.
    pub fn add_link(&mut self, from: Place, to: Place, link: Link<Envelope<P>>) -> ElementId {
        let element = self.add_element(Element::Link(Wire { link, held: VecDeque::new() }));
        self.topology.join(from, Hop { element, enter: 0, leave: 1 }, to);
        element
    }

    /// Puts up a cell whose port *i* stands at `places[i]`. `pairs` lists which ports reach which directly.
    pub fn add_cell(
        &mut self,
        places: &[Place],
        pairs: &[(Port, Port)],
        cell: Box<dyn Cell<Envelope<P>>>,
    ) -> ElementId {
        let element = self.add_element(Element::Cell(cell));
        for &(enter, leave) in pairs {
            let hop = Hop { element, enter: enter.0, leave: leave.0 };
            self.topology.join(places[usize::from(enter.0)], hop, places[usize::from(leave.0)]);
        }
        element
    }

    fn add_element(&mut self, element: Element<P>) -> ElementId {
        self.is_changed = true;
        self.elements.push(element);
        self.feeders.push(Feeders::Nobody);
        ElementId(self.elements.len() as u32 - 1)
    }

    /// Adds an agent. It is driven from the next [`run_until`](Self::run_until) on.
    pub fn add_agent(&mut self, agent: A) -> AgentId {
        self.is_changed = true;
        self.hosts.push(Host::new(agent));
        AgentId(self.hosts.len() as u32 - 1)
    }

    /// Leads what agent `from.0` gives out by port `from.1`, living at `from.2`, to an agent's port at
    /// another place. `None` where no way leads there.
    pub fn connect(&mut self, from: (AgentId, Port, Place), to: (AgentId, Port, Place)) -> Option<RouteId> {
        let hops = self.topology.shortest(from.2, to.2)?;
        self.note_feeders(from.0, &hops);
        let legs = hops.into_iter().map(|hop| Leg { hop, goes_ahead: false }).collect();
        self.routes.push(Route { legs, to: (to.0, to.1) });
        self.is_changed = true;
        let route = RouteId(self.routes.len() as u32 - 1);
        let ports = &mut self.hosts[from.0.0 as usize].ports;
        let port = usize::from(from.1.0);
        if ports.len() <= port {
            ports.resize(port + 1, None);
        }
        ports[port] = Some(route);
        Some(route)
    }

    fn note_feeders(&mut self, from: AgentId, hops: &[Hop]) {
        let mut before = Feeders::Agent(from);
        for hop in hops {
            let feeders = &mut self.feeders[hop.element.0 as usize];
            let is_alone = *feeders == Feeders::Nobody || *feeders == before;
            *feeders = if is_alone { before } else { Feeders::Many };
            before = Feeders::Element(hop.element);
        }
    }

    /// The elements along a route, in order.
    pub fn elements_of(&self, route: RouteId) -> impl Iterator<Item = ElementId> {
        self.routes[route.0 as usize].legs.iter().map(|leg| leg.hop.element)
    }

    /// The link behind `element`; `None` for a cell.
    pub fn link(&self, element: ElementId) -> Option<&Link<Envelope<P>>> {
        match &self.elements[element.0 as usize] {
            Element::Link(Wire { link, .. }) => Some(link),
            Element::Cell(_) => None,
        }
    }

    /// The link behind `element`, to be changed between two runs; `None` for a cell.
    pub fn link_mut(&mut self, element: ElementId) -> Option<&mut Link<Envelope<P>>> {
        self.is_changed = true;
        match &mut self.elements[element.0 as usize] {
            Element::Link(Wire { link, .. }) => Some(link),
            Element::Cell(_) => None,
        }
    }

    /// The cell behind `element`; `None` for a link.
    pub fn cell(&self, element: ElementId) -> Option<&dyn Cell<Envelope<P>>> {
        match &self.elements[element.0 as usize] {
            Element::Link(_) => None,
            Element::Cell(cell) => Some(cell.as_ref()),
        }
    }

    /// The cell behind `element`, to be changed between two runs; `None` for a link.
    pub fn cell_mut(&mut self, element: ElementId) -> Option<&mut dyn Cell<Envelope<P>>> {
        self.is_changed = true;
        match &mut self.elements[element.0 as usize] {
            Element::Link(_) => None,
            Element::Cell(cell) => Some(cell.as_mut()),
        }
    }

    /// An agent.
    pub fn agent(&self, id: AgentId) -> &A {
        &self.hosts[id.0 as usize].agent
    }

    /// An agent, to be changed between two runs.
    pub fn agent_mut(&mut self, id: AgentId) -> &mut A {
        self.is_changed = true;
        &mut self.hosts[id.0 as usize].agent
    }

    /// The observer.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to be changed between two runs.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Tells the observer everything in the order of time, so that no agent is driven ahead.
    pub fn keep_order(&mut self) {
        (self.is_ordered, self.is_changed) = (true, true);
    }

    /// The present instant.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Packets that agents gave out, that came into an element and that were delivered so far.
    pub const fn events(&self) -> u64 {
        self.events
    }
}
