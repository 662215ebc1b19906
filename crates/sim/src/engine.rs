//! The event loop: elements, agents and the packets between them.

use crate::cell::{Addressed, Cell};
use crate::flight::{Flight, Ticket};
use crate::schedule::Schedule;
use crate::topology::{ElementId, Hop, Place, Topology};
use seaway_link::{Dropped, Fate, Foresight, Link, Node, Packet, Port};
use seaway_units::{TimeDelta, Timestamp};
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
/// packets can come between: a chain of such links is one event. An agent that alone sends into such a chain is driven
/// ahead of time as well, as far as nothing can reach it; the observer hears of its packets then.
///
/// `P` is what packets carry, opaque to everything here; `A` the agents (an enum keeps them free of indirect
/// calls, `Box<dyn Node<P>>` keeps them open); `O` the observer.
#[derive(Debug)]
pub struct Engine<P, A, O = ()> {
    topology: Topology<Hop>,
    elements: Vec<Element<P>>,
    agents: Vec<A>,
    routes: Vec<Route>,
    /// The route behind each port of each agent.
    ports: Vec<Vec<Option<RouteId>>>,
    /// What comes before each element.
    feeders: Vec<Feeders>,
    /// How far each agent may be driven ahead of time; `None`: not at all.
    leads: Vec<Option<Lead>>,
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

/// What is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Element(usize),
    Agent(usize),
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

/// What can reach an agent, and when.
#[derive(Debug)]
struct Lead {
    /// From any other agent to this one it takes at least so long,
    whole: TimeDelta,
    /// and from the end of each element on the way.
    rest: Vec<(ElementId, TimeDelta)>,
}

impl<P: std::fmt::Debug + Send, A: Node<P>, O: Observer<P>> Engine<P, A, O> {
    /// An empty world at time zero.
    pub fn new(observer: O) -> Self {
        Self {
            topology: Topology::default(),
            elements: Vec::new(),
            agents: Vec::new(),
            routes: Vec::new(),
            ports: Vec::new(),
            feeders: Vec::new(),
            leads: Vec::new(),
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
        self.agents.push(agent);
        self.ports.push(Vec::new());
        AgentId(self.agents.len() as u32 - 1)
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
        let ports = &mut self.ports[from.0.0 as usize];
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
        &self.agents[id.0 as usize]
    }

    /// An agent, to be changed between two runs.
    pub fn agent_mut(&mut self, id: AgentId) -> &mut A {
        self.is_changed = true;
        &mut self.agents[id.0 as usize]
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

    /// Wake-ups of agents, packets that came into an element and packets delivered so far.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// When something happens next; `None` where only an input can change anything.
    pub fn next_event(&self) -> Option<Timestamp> {
        self.first_due().map(|(at, _)| at)
    }

    /// Lets everything happen up to and including `end`.
    pub fn run_until(&mut self, end: Timestamp) {
        self.horizon = end;
        let is_changed = std::mem::take(&mut self.is_changed);
        if is_changed {
            self.look_ahead();
        }
        for element in 0..self.elements.len() {
            self.take_ahead(element);
        }
        if is_changed {
            for element in 0..self.elements.len() {
                self.settle_element(element);
            }
            for agent in 0..self.agents.len() {
                self.settle_agent(agent);
            }
        }
        while let Some((at, node)) = self.first_due() {
            if at > end {
                break;
            }
            debug_assert!(at >= self.now, "time ran back: {at} after {}", self.now);
            self.now = at.max(self.now);
            match node {
                Due::Element(element) => self.wake_element(element),
                Due::Agent(agent) => self.wake_agent(agent),
            }
        }
        self.now = end.max(self.now);
        self.catch_up();
    }

    /// The instant has come that an agent named; and perhaps others that nothing can come before.
    fn wake_agent(&mut self, agent: usize) {
        let present = self.now;
        let end = self.nothing_before(agent);
        let due = loop {
            self.events += 1;
            self.agents[agent].handle_timeout(self.now);
            self.drain_agent(agent);
            match self.agents[agent].poll_timeout() {
                Some(due) if end.is_some_and(|end| due < end) && due <= self.horizon => {
                    self.now = due.max(self.now);
                }
                due => break due,
            }
        };
        self.wake_agent_at(agent, due);
        self.now = present;
    }

    /// Before this instant nothing reaches an agent; `None` where that is not known.
    fn nothing_before(&self, agent: usize) -> Option<Timestamp> {
        let Lead { whole, rest } = self.leads[agent].as_ref()?;
        let on_the_way =
            rest.iter().filter_map(|(element, rest)| Some(self.elements_due.of(element.0)? + *rest));
        Some(on_the_way.fold(self.now + *whole, Timestamp::min))
    }

    /// The instant has come that an element named. Of a link that foresees, all there is to do is to let out what it holds.
    fn wake_element(&mut self, element: usize) {
        while let Element::Link(Wire { link, held }) = &mut self.elements[element]
            && link.foresees()
        {
            let next = held.front().map(|(arrival, _)| *arrival);
            if next.is_some_and(|arrival| arrival <= self.now)
                && let Some((_, ticket)) = held.pop_front()
            {
                self.forward(self.now, ticket);
                continue;
            }
            return self.elements_due.set(element as u32, next);
        }
        match &mut self.elements[element] {
            Element::Link(wire) => wire.link.handle_timeout(self.now),
            Element::Cell(cell) => {
                let elements = self.elements_due.first_beside(element as u32);
                let agents = self.agents_due.first().map(|(at, _)| at);
                let end = self.horizon + TimeDelta::from_nanos(1);
                let until = [elements, agents].into_iter().flatten().fold(end, Timestamp::min);
                self.now = cell.advance_alone(self.now, until);
            }
        }
        self.settle_element(element);
    }

    /// Carries on what a link has held since the last run and the present one may take ahead of time: before any
    /// other packet is.
    fn take_ahead(&mut self, element: usize) {
        while let Element::Link(Wire { held, .. }) = &mut self.elements[element]
            && let Some(&(arrival, ticket)) = held.front().filter(|(arrival, _)| *arrival <= self.horizon)
            && let Some(Envelope { route, hop, .. }) =
                self.flight.get_mut(ticket).map(|packet| &packet.payload)
            && let Some(left) = usize::from(*hop).checked_sub(1)
            && self.routes[route.0 as usize].legs[left].goes_ahead
        {
            held.pop_front();
            self.forward(arrival, ticket);
        }
    }

    /// What happens inside elements without a packet leaving is done by now, for those who look.
    fn catch_up(&mut self) {
        for element in 0..self.elements.len() {
            self.elements[element].handle_timeout(self.now);
            self.settle_element(element);
        }
    }

    /// What is woken next: elements before agents, each in their order.
    #[inline]
    fn first_due(&self) -> Option<(Timestamp, Due)> {
        match (self.elements_due.first(), self.agents_due.first()) {
            (Some((at, element)), Some((other, _))) if at <= other => {
                Some((at, Due::Element(element as usize)))
            }
            (_, Some((at, agent))) => Some((at, Due::Agent(agent as usize))),
            (Some((at, element)), None) => Some((at, Due::Element(element as usize))),
            (None, None) => None,
        }
    }

    /// Carries on what an element gives out after an input, and notes when it wants to be woken.
    fn settle_element(&mut self, element: usize) {
        while let Some(dropped) = self.elements[element].poll_dropped() {
            self.observer.on_dropped(ElementId(element as u32), &dropped);
        }
        while let Some(packet) = self.elements[element].poll_packet(self.now) {
            let ticket = self.flight.put(packet);
            self.forward(self.now, ticket);
        }
        let due = self.elements[element].poll_timeout();
        // What an input has just made overdue is due now.
        self.elements_due.set(element as u32, due.map(|due| due.max(self.now)));
    }

    #[inline]
    fn wake_agent_at(&mut self, agent: usize, due: Option<Timestamp>) {
        self.agents_due.set(agent as u32, due.map(|due| due.max(self.now)));
    }

    fn settle_agent(&mut self, agent: usize) {
        self.drain_agent(agent);
        let due = self.agents[agent].poll_timeout();
        self.wake_agent_at(agent, due);
    }

    fn drain_agent(&mut self, agent: usize) {
        while !self.agents[agent].is_drained(self.now)
            && let Some((port, packet)) = self.agents[agent].poll_packet(self.now)
        {
            let route = self.ports[agent].get(usize::from(port.0)).copied().flatten();
            debug_assert!(route.is_some(), "agent {agent} sent by port {} that leads nowhere", port.0);
            let Some(route) = route else { continue };
            let sent = self.now;
            let packet = packet.map(|payload| Envelope { route, hop: 0, leave: Port(0), sent, payload });
            self.observer.on_sent(self.now, &packet);
            let ticket = self.flight.put(packet);
            self.forward(self.now, ticket);
        }
    }

    /// Takes a packet into the next element of its way, or to its agent at the end of it. `at` lies ahead of the
    /// present only where the next element is fed by the one it comes from alone.
    fn forward(&mut self, mut at: Timestamp, ticket: Ticket) {
        let Some(packet) = self.flight.get_mut(ticket) else { return };
        let route = &self.routes[packet.payload.route.0 as usize];
        let mut index = usize::from(packet.payload.hop);
        loop {
            self.events += 1;
            let Some(&Leg { hop, goes_ahead }) = route.legs.get(index) else {
                let to = route.to;
                return self.deliver(to, ticket);
            };
            index += 1;
            let Element::Link(Wire { link, held }) = &mut self.elements[hop.element.0 as usize] else {
                return self.enter(index, hop, ticket);
            };
            let Some(Foresight { fate, waits }) = link.foresee(at, packet.size, self.horizon) else {
                return self.enter(index, hop, ticket);
            };
            packet.waited += waits;
            match fate {
                Fate::Arrives(arrival) if goes_ahead && held.is_empty() && arrival <= self.horizon => {
                    at = arrival;
                }
                Fate::Arrives(arrival) => {
                    debug_assert!(held.back().is_none_or(|(last, _)| *last <= arrival), "overtaken");
                    packet.payload.hop = index as u16;
                    if held.is_empty() {
                        self.elements_due.set(hop.element.0, Some(arrival));
                    }
                    return held.push_back((arrival, ticket));
                }
                Fate::Dropped { at, cause } => {
                    if let Some(packet) = self.flight.take(ticket) {
                        self.observer.on_dropped(hop.element, &Dropped { at, cause, packet });
                    }
                    return;
                }
            }
        }
    }

    /// Finds out where packets may be taken ahead.
    fn look_ahead(&mut self) {
        for index in 0..self.routes.len() {
            for leg in 0..self.routes[index].legs.len() {
                let legs = &self.routes[index].legs;
                let next = legs.get(leg + 1);
                let goes_ahead =
                    next.is_some_and(|next| self.feeds_alone(legs[leg].hop.element, next.hop.element));
                self.routes[index].legs[leg].goes_ahead = goes_ahead;
            }
        }
        let mut ways = vec![(0, None); self.agents.len()];
        for (index, route) in self.routes.iter().enumerate() {
            let (count, last) = &mut ways[route.to.0.0 as usize];
            (*count, *last) = (*count + 1, Some(index));
        }
        self.leads = Vec::with_capacity(self.agents.len());
        for (agent, &(count, way)) in ways.iter().enumerate() {
            let lead = way.filter(|_| count == 1 && self.sends_alone(agent)).and_then(|way| self.lead(way));
            self.leads.push(lead.filter(|_| !self.is_ordered));
        }
    }

    /// True where an agent sends by one route alone, and nobody else into the first link of that, which foresees.
    fn sends_alone(&self, agent: usize) -> bool {
        let mut routes = self.ports[agent].iter().flatten();
        let (Some(route), None) = (routes.next(), routes.next()) else { return false };
        let Some(first) = self.routes[route.0 as usize].legs.first() else { return false };
        let element = first.hop.element.0 as usize;
        self.feeders[element] == Feeders::Agent(AgentId(agent as u32))
            && matches!(&self.elements[element], Element::Link(wire) if wire.link.foresees())
    }

    /// How long what comes by a route takes; `None` where that is not known of each of its elements.
    fn lead(&self, route: usize) -> Option<Lead> {
        let (mut whole, mut rest) = (TimeDelta::ZERO, Vec::new());
        for leg in self.routes[route].legs.iter().rev() {
            let element = leg.hop.element;
            rest.push((element, whole));
            whole += self.link(element)?.least_delay()?;
        }
        Some(Lead { whole, rest })
    }

    /// True where what leaves link `from` is all that comes into link `to`, and `to` may have it ahead of time.
    fn feeds_alone(&self, from: ElementId, to: ElementId) -> bool {
        self.feeders[to.0 as usize] == Feeders::Element(from)
            && matches!(&self.elements[to.0 as usize], Element::Link(wire) if wire.link.foresees())
    }

    /// The way goes on with its leg `index` behind an element that is to be asked.
    fn enter(&mut self, index: usize, hop: Hop, ticket: Ticket) {
        let Some(mut packet) = self.flight.take(ticket) else { return };
        packet.payload.hop = index as u16;
        packet.payload.leave = Port(hop.leave);
        self.elements[hop.element.0 as usize].handle_packet(self.now, Port(hop.enter), packet);
        self.settle_element(hop.element.0 as usize);
    }

    fn deliver(&mut self, (agent, port): (AgentId, Port), ticket: Ticket) {
        let Some(packet) = self.flight.take(ticket) else { return };
        self.observer.on_delivered(self.now, &packet);
        let packet = packet.map(|envelope| envelope.payload);
        self.agents[agent.0 as usize].handle_packet(self.now, port, packet);
        self.settle_agent(agent.0 as usize);
    }
}
