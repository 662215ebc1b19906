//! The event loop.

use super::lookahead::Bound;
use super::{AgentId, CellElement, Element, Engine, Envelope, Leg, LinkElement, Observer};
use crate::slab::Handle;
use crate::topology::{ElementId, Hop};
use seaway_link::{Departure, Dropped, Fate, Node, Port, Transit};
use seaway_units::{TimeDelta, Timestamp};

/// The smallest step of time.
const TICK: TimeDelta = TimeDelta::from_nanos(1);
/// No limit in time.
const FOREVER: Timestamp = Timestamp::from_nanos(u64::MAX);

/// Whose event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Element(usize),
    Agent(usize),
}

impl<P: std::fmt::Debug + Send, A: Node<P>, O: Observer<P>> Engine<P, A, O> {
    /// The next event; `None` where only an input can change anything.
    pub fn next_event(&self) -> Option<Timestamp> {
        self.first_event().map(|(at, _)| at)
    }

    /// Processes all events up to and including `end`.
    pub fn run_until(&mut self, end: Timestamp) {
        self.horizon = end;
        self.begin();
        while let Some((at, owner)) = self.first_event() {
            if at > end {
                break;
            }
            debug_assert!(at >= self.now, "time ran back: {at} after {}", self.now);
            self.now = at.max(self.now);
            match owner {
                Owner::Element(element) => self.on_element_event(element),
                Owner::Agent(agent) => self.on_agent_event(agent),
            }
        }
        self.now = end.max(self.now);
        // Elements may have events that send nothing; statistics must include them.
        for element in 0..self.elements.len() {
            self.run_element(element, self.now + TICK);
        }
    }

    /// Goes on with what the last run left, and with what was changed since.
    fn begin(&mut self) {
        let is_changed = std::mem::take(&mut self.is_changed);
        if is_changed {
            self.work_out_lookahead();
        }
        for element in 0..self.elements.len() {
            self.release_held(element);
        }
        for agent in 0..self.processes.len() {
            self.release_inbox(agent);
        }
        if is_changed {
            for element in 0..self.elements.len() {
                self.run_element(element, self.now);
            }
            for agent in 0..self.processes.len() {
                self.run_agent(agent, self.now, self.now);
                self.settle_agent(agent, self.now);
            }
        }
    }

    /// The next event and its owner: elements before agents, each in their order.
    #[inline]
    fn first_event(&self) -> Option<(Timestamp, Owner)> {
        match (self.element_events.first(), self.agent_events.first()) {
            (Some((at, element)), Some((other, _))) if at <= other => {
                Some((at, Owner::Element(element as usize)))
            }
            (_, Some((at, agent))) => Some((at, Owner::Agent(agent as usize))),
            (Some((at, element)), None) => Some((at, Owner::Element(element as usize))),
            (None, None) => None,
        }
    }

    /// A packet departs from the outbox of an agent, or the agent runs.
    fn on_agent_event(&mut self, agent: usize) {
        if let Some(departure) = self.processes[agent].outbox.pop_departure(self.now) {
            self.send(agent, departure);
        } else {
            self.run_ahead(agent, self.safe_time(agent));
        }
        self.reschedule(agent);
    }

    /// Runs an agent from the present up to `end`, before which no packet reaches it that is not in its inbox.
    fn run_ahead(&mut self, agent: usize, end: Timestamp) {
        let mut now = self.now.max(self.processes[agent].local_time);
        loop {
            let process = &mut self.processes[agent];
            if let Some((_, port, handle)) = process.inbox.pop_front_if(|(at, ..)| *at <= now) {
                self.deliver(agent, port, now, handle);
                continue;
            }
            let arrival = process.arrival().filter(|at| *at < end);
            let until = arrival.unwrap_or(end);
            self.run_agent(agent, now, until);
            if arrival.is_none() {
                let process = &mut self.processes[agent];
                return process.advance_to(until - TICK, process.wake);
            }
            now = until;
        }
    }

    /// Before this instant no packet reaches an agent that is not in its inbox.
    fn safe_time(&self, agent: usize) -> Timestamp {
        let Some(Bound { route, behind }) = &self.processes[agent].lookahead.bound else {
            return self.now + TICK;
        };
        let in_flight =
            behind.iter().filter_map(|(element, delay)| Some(self.element_events.get(element.0)? + *delay));
        in_flight.fold(self.now + *route, Timestamp::min).min(self.horizon + TICK).max(self.now + TICK)
    }

    /// Sets the next event of an agent; what is overdue happens at once.
    #[inline]
    fn reschedule(&mut self, agent: usize) {
        let next = self.processes[agent].next_event();
        self.agent_events.set(agent as u32, next.map(|next| next.max(self.now)));
    }

    /// Runs an agent from `now` to `until` and sends what departs.
    #[inline]
    fn run_agent(&mut self, agent: usize, mut now: Timestamp, until: Timestamp) {
        loop {
            let process = &mut self.processes[agent];
            process.wake = process.agent.run(now, until, &mut process.outbox);
            let has_sent = self.send_departures(agent);
            match self.processes[agent].wake.map(|wake| wake.max(now)) {
                Some(wake) if wake < until || has_sent && wake == now => now = wake,
                _ => return,
            }
        }
    }

    /// An agent has done everything up to `now`.
    fn settle_agent(&mut self, agent: usize, now: Timestamp) {
        let process = &mut self.processes[agent];
        process.advance_to(now, process.wake);
        // Most packets do not change when the agent runs next.
        if self.agent_events.get(agent as u32) != process.next_event() {
            self.reschedule(agent);
        }
    }

    /// Sends what departs by now, or what is certain to depart where the first link takes it early. True where there was
    /// any.
    #[inline]
    fn send_departures(&mut self, agent: usize) -> bool {
        let limit = if self.processes[agent].lookahead.early_departures { FOREVER } else { self.now };
        let mut has_sent = false;
        while let Some(departure) = self.processes[agent].outbox.pop_departure(limit) {
            self.send(agent, departure);
            has_sent = true;
        }
        has_sent
    }

    fn send(&mut self, agent: usize, Departure { at, port, packet }: Departure<P>) {
        let route = self.processes[agent].ports.get(usize::from(port.0)).copied().flatten();
        debug_assert!(route.is_some(), "agent {agent} sent by port {} that leads nowhere", port.0);
        let Some(route) = route else { return };
        let packet = packet.map(|payload| Envelope { route, hop: 0, leave: Port(0), sent: at, payload });
        self.events += 1;
        self.observer.on_sent(at, &packet);
        let handle = self.packets.insert(packet);
        self.forward(at, handle);
    }

    /// Takes a packet into the next element of its route, or to the agent at the end. `at` lies after the present only
    /// where the next element has no other sender.
    fn forward(&mut self, mut at: Timestamp, handle: Handle) {
        let Some(packet) = self.packets.get_mut(handle) else { return };
        let route = &self.routes[packet.payload.route.0 as usize];
        let mut index = usize::from(packet.payload.hop);
        loop {
            let Some(&Leg { hop, is_early }) = route.legs.get(index) else {
                let to = route.to;
                return self.arrive(to, at, handle);
            };
            self.events += 1;
            index += 1;
            let Element::Link(LinkElement { link, held, .. }) = &mut self.elements[hop.element.0 as usize]
            else {
                return self.enter(index, hop, handle);
            };
            let Some(Transit { fate, wait }) = link.transit(at, packet.size, self.horizon) else {
                return self.enter(index, hop, handle);
            };
            packet.waited += wait;
            match fate {
                // Before an agent that receives early no packet is ever held.
                Fate::Arrives(arrival) if is_early && index == route.legs.len() => {
                    let to = route.to;
                    packet.payload.hop = index as u16;
                    return self.arrive(to, arrival, handle);
                }
                Fate::Arrives(arrival) if is_early && held.is_empty() && arrival <= self.horizon => {
                    at = arrival;
                }
                Fate::Arrives(arrival) => {
                    debug_assert!(held.back().is_none_or(|(last, _)| *last <= arrival), "reordered");
                    packet.payload.hop = index as u16;
                    if held.is_empty() {
                        self.element_events.set(hop.element.0, Some(arrival));
                    }
                    return held.push_back((arrival, handle));
                }
                Fate::Dropped { at, cause } => {
                    if let Some(packet) = self.packets.remove(handle) {
                        self.observer.on_dropped(hop.element, &Dropped { at, cause, packet });
                    }
                    return;
                }
            }
        }
    }

    /// A packet reaches the end of its route, now or later.
    fn arrive(&mut self, (agent, port): (AgentId, Port), at: Timestamp, handle: Handle) {
        let agent = agent.0 as usize;
        let process = &mut self.processes[agent];
        let is_processed = at <= self.now || process.lookahead.early_arrivals && at <= self.horizon;
        if is_processed && process.inbox.is_empty() {
            return self.process_arrival(agent, port, at, handle);
        }
        process.inbox.push_back((at, port, handle));
        if process.inbox.len() == 1 {
            self.reschedule(agent);
        }
    }

    /// Delivers a packet that arrives before all others, after the agent has run up to then.
    fn process_arrival(&mut self, agent: usize, port: Port, at: Timestamp, handle: Handle) {
        if let Some(wake) = self.processes[agent].wake.filter(|wake| *wake < at) {
            self.run_agent(agent, wake, at);
        }
        self.deliver(agent, port, at, handle);
        self.settle_agent(agent, at);
    }

    fn deliver(&mut self, agent: usize, port: Port, at: Timestamp, handle: Handle) {
        let Some(packet) = self.packets.remove(handle) else { return };
        self.events += 1;
        self.observer.on_delivered(at, &packet);
        let process = &mut self.processes[agent];
        let packet = packet.map(|envelope| envelope.payload);
        process.wake = process.agent.on_packet(at, port, packet, &mut process.outbox);
        if self.send_departures(agent) && self.processes[agent].wake.is_some_and(|wake| wake <= at) {
            self.run_agent(agent, at, at);
        }
    }

    /// The packet enters an element that works by events; leg `index` of the route is next.
    fn enter(&mut self, index: usize, hop: Hop, handle: Handle) {
        let Some(mut packet) = self.packets.remove(handle) else { return };
        packet.payload.hop = index as u16;
        packet.payload.leave = Port(hop.leave);
        let element = hop.element.0 as usize;
        let wake = self.elements[element].on_packet(self.now, Port(hop.enter), packet);
        self.settle_element(element, wake);
    }

    /// A closed-form link releases the packets it holds; another element runs. A cell goes on while nothing leaves it and
    /// nothing else happens.
    fn on_element_event(&mut self, element: usize) {
        while let Element::Link(LinkElement { link, held, .. }) = &mut self.elements[element]
            && link.is_closed_form()
        {
            if let Some((_, handle)) = held.pop_front_if(|(arrival, _)| *arrival <= self.now) {
                self.forward(self.now, handle);
                continue;
            }
            let next = held.front().map(|(arrival, _)| *arrival);
            return self.element_events.set(element as u32, next);
        }
        let wake = match &mut self.elements[element] {
            Element::Link(LinkElement { link, outbox, .. }) => link.run(self.now, self.now + TICK, outbox),
            Element::Cell(CellElement { cell, outbox }) => {
                let others = self.element_events.first_except(element as u32);
                let agents = self.agent_events.first().map(|(at, _)| at);
                let end = [others, agents].into_iter().flatten().fold(self.horizon + TICK, Timestamp::min);
                loop {
                    let wake = cell.run(self.now, self.now + TICK, outbox);
                    match wake {
                        Some(next) if next < end && outbox.is_empty() => self.now = next.max(self.now),
                        _ => break wake,
                    }
                }
            }
        };
        self.settle_element(element, wake);
    }

    /// Runs an element at the present instant, where that is before `until`.
    fn run_element(&mut self, element: usize, until: Timestamp) {
        let wake = self.elements[element].run(self.now, until);
        self.settle_element(element, wake);
    }

    /// Sets the next event of an element, and forwards what left it.
    fn settle_element(&mut self, element: usize, wake: Option<Timestamp>) {
        // What an input has just made overdue happens now.
        self.element_events.set(element as u32, wake.map(|wake| wake.max(self.now)));
        while let Some(dropped) = self.elements[element].outbox().pop_dropped() {
            self.observer.on_dropped(ElementId(element as u32), &dropped);
        }
        while let Some(departure) = self.elements[element].outbox().pop_departure(self.now) {
            let handle = self.packets.insert(departure.packet);
            self.forward(self.now, handle);
        }
    }

    /// Passes on what a link has held since the last run and the present one may take early: before any other packet
    /// is.
    fn release_held(&mut self, element: usize) {
        while let Element::Link(LinkElement { held, .. }) = &mut self.elements[element]
            && let Some(&(arrival, handle)) = held.front().filter(|(arrival, _)| *arrival <= self.horizon)
            && let Some(Envelope { route, hop, .. }) =
                self.packets.get_mut(handle).map(|packet| &packet.payload)
            && let Some(left) = usize::from(*hop).checked_sub(1)
            && self.routes[route.0 as usize].legs[left].is_early
        {
            held.pop_front();
            self.forward(arrival, handle);
        }
    }

    /// Delivers early what was certain to arrive after the last run, as far as the present run goes.
    fn release_inbox(&mut self, agent: usize) {
        while self.processes[agent].lookahead.early_arrivals
            && let Some((at, port, handle)) =
                self.processes[agent].inbox.pop_front_if(|(at, ..)| *at <= self.horizon)
        {
            self.process_arrival(agent, port, at, handle);
        }
    }
}
