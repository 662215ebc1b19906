//! The event loop.

use super::host::Lead;
use super::{AgentId, Element, Engine, Envelope, Leg, Observer, Wire};
use crate::flight::Ticket;
use crate::topology::{ElementId, Hop};
use seaway_link::{Dropped, Fate, Foresight, Node, Packet, Port, Step};
use seaway_units::{TimeDelta, Timestamp};

/// The smallest step of time.
const TICK: TimeDelta = TimeDelta::from_nanos(1);

/// What is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Element(usize),
    Agent(usize),
}

impl<P: std::fmt::Debug + Send, A: Node<P>, O: Observer<P>> Engine<P, A, O> {
    /// When something happens next; `None` where only an input can change anything.
    pub fn next_event(&self) -> Option<Timestamp> {
        self.first_due().map(|(at, _)| at)
    }

    /// Lets everything happen up to and including `end`.
    pub fn run_until(&mut self, end: Timestamp) {
        self.horizon = end;
        self.begin();
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

    /// Takes up what the last run left, and what was changed since.
    fn begin(&mut self) {
        let is_changed = std::mem::take(&mut self.is_changed);
        if is_changed {
            self.look_ahead();
        }
        for element in 0..self.elements.len() {
            self.take_ahead(element);
        }
        for agent in 0..self.hosts.len() {
            self.hand_over(agent);
        }
        if is_changed {
            for element in 0..self.elements.len() {
                self.settle_element(element);
            }
            for agent in 0..self.hosts.len() {
                self.settle_agent(agent, self.now);
            }
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

    /// The instant has come that an agent named, or at which a packet arrives there or leaves.
    fn wake_agent(&mut self, agent: usize) {
        if let Some((_, ticket)) = self.hosts[agent].outbox.pop_front_if(|(at, _)| *at <= self.now) {
            self.forward(self.now, ticket);
        } else {
            self.drive(agent, self.nothing_before(agent));
        }
        self.reschedule(agent);
    }

    /// Lets an agent live on from the present up to `end`, before which nothing reaches it that is not in its inbox.
    fn drive(&mut self, agent: usize, end: Timestamp) {
        let mut now = self.now.max(self.hosts[agent].lived);
        loop {
            let host = &mut self.hosts[agent];
            if let Some((_, port, ticket)) = host.inbox.pop_front_if(|(at, ..)| *at <= now) {
                self.deliver(agent, port, now, ticket);
                self.live(agent, now, now);
                continue;
            }
            let arrival = host.arrival().filter(|at| *at < end);
            let until = arrival.unwrap_or(end);
            match host.agent.poll_ahead(now, until) {
                Step::Leaves(at, port, packet) => {
                    now = at;
                    self.send(agent, at, port, packet);
                }
                Step::Waits(timer) if arrival.is_none() => return host.rest(until - TICK, timer),
                Step::Waits(_) => now = until,
            }
        }
    }

    /// Before this instant nothing reaches an agent that is not in its inbox.
    fn nothing_before(&self, agent: usize) -> Timestamp {
        let Some(Lead { whole, rest }) = &self.hosts[agent].foresight.lead else { return self.now + TICK };
        let on_the_way =
            rest.iter().filter_map(|(element, rest)| Some(self.elements_due.of(element.0)? + *rest));
        on_the_way.fold(self.now + *whole, Timestamp::min).min(self.horizon + TICK).max(self.now + TICK)
    }

    /// Notes when an agent is woken; what is overdue, at once.
    #[inline]
    fn reschedule(&mut self, agent: usize) {
        let due = self.hosts[agent].due();
        self.agents_due.set(agent as u32, due.map(|due| due.max(self.now)));
    }

    /// Sends what an agent does by itself from `now` on and before `until`; when it wants to be woken then.
    #[inline]
    fn live(&mut self, agent: usize, now: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let mut now = now;
        loop {
            match self.hosts[agent].agent.poll_ahead(now, until) {
                Step::Leaves(at, port, packet) => {
                    now = at;
                    self.send(agent, at, port, packet);
                }
                Step::Waits(timer) => return timer,
            }
        }
    }

    /// Sends what an agent gives out after an input, and notes when it wants to be woken.
    fn settle_agent(&mut self, agent: usize, now: Timestamp) {
        let timer = self.live(agent, now, now);
        self.hosts[agent].rest(now, timer);
        self.reschedule(agent);
    }

    /// An agent sends a packet at `at`, the present or later.
    fn send(&mut self, agent: usize, at: Timestamp, port: Port, packet: Packet<P>) {
        let host = &mut self.hosts[agent];
        let route = host.ports.get(usize::from(port.0)).copied().flatten();
        debug_assert!(route.is_some(), "agent {agent} sent by port {} that leads nowhere", port.0);
        let Some(route) = route else { return };
        let packet = packet.map(|payload| Envelope { route, hop: 0, leave: Port(0), sent: at, payload });
        self.events += 1;
        self.observer.on_sent(at, &packet);
        let ticket = self.flight.put(packet);
        if host.outbox.is_empty() && (at <= self.now || host.foresight.sends_alone) {
            self.forward(at, ticket);
        } else {
            host.outbox.push_back((at, ticket));
        }
    }

    /// Takes a packet into the next element of its way, or to its agent at the end of it. `at` lies ahead of the
    /// present only where the next element is fed by the one it comes from alone.
    fn forward(&mut self, mut at: Timestamp, ticket: Ticket) {
        let Some(packet) = self.flight.get_mut(ticket) else { return };
        let route = &self.routes[packet.payload.route.0 as usize];
        let mut index = usize::from(packet.payload.hop);
        loop {
            let Some(&Leg { hop, goes_ahead }) = route.legs.get(index) else {
                let to = route.to;
                return self.arrive(to, at, ticket);
            };
            self.events += 1;
            index += 1;
            let Element::Link(Wire { link, held }) = &mut self.elements[hop.element.0 as usize] else {
                return self.enter(index, hop, ticket);
            };
            let Some(Foresight { fate, waits }) = link.foresee(at, packet.size, self.horizon) else {
                return self.enter(index, hop, ticket);
            };
            packet.waited += waits;
            match fate {
                // For an agent that has packets ahead nothing is ever held.
                Fate::Arrives(arrival) if goes_ahead && index == route.legs.len() => {
                    let to = route.to;
                    packet.payload.hop = index as u16;
                    return self.arrive(to, arrival, ticket);
                }
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

    /// A packet is at the end of its way, at the present or later.
    fn arrive(&mut self, (agent, port): (AgentId, Port), at: Timestamp, ticket: Ticket) {
        let agent = agent.0 as usize;
        let host = &mut self.hosts[agent];
        let may_have = at <= self.now || host.foresight.is_handed_ahead && at <= self.horizon;
        if may_have && host.inbox.is_empty() {
            return self.hand(agent, port, at, ticket);
        }
        host.inbox.push_back((at, port, ticket));
        if host.inbox.len() == 1 {
            self.reschedule(agent);
        }
    }

    /// Gives an agent a packet that arrives before all others, after what the agent does by itself until then.
    fn hand(&mut self, agent: usize, port: Port, at: Timestamp, ticket: Ticket) {
        if self.hosts[agent].timer.is_some_and(|timer| timer < at) {
            self.live(agent, self.hosts[agent].lived, at);
        }
        self.deliver(agent, port, at, ticket);
        self.settle_agent(agent, at);
    }

    fn deliver(&mut self, agent: usize, port: Port, at: Timestamp, ticket: Ticket) {
        let Some(packet) = self.flight.take(ticket) else { return };
        self.events += 1;
        self.observer.on_delivered(at, &packet);
        self.hosts[agent].agent.handle_packet(at, port, packet.map(|envelope| envelope.payload));
    }

    /// The way goes on with its leg `index` behind an element that is to be asked.
    fn enter(&mut self, index: usize, hop: Hop, ticket: Ticket) {
        let Some(mut packet) = self.flight.take(ticket) else { return };
        packet.payload.hop = index as u16;
        packet.payload.leave = Port(hop.leave);
        self.elements[hop.element.0 as usize].handle_packet(self.now, Port(hop.enter), packet);
        self.settle_element(hop.element.0 as usize);
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

    /// Gives an agent that only answers what was known to arrive after the last run, as far as the present one goes.
    fn hand_over(&mut self, agent: usize) {
        while self.hosts[agent].foresight.is_handed_ahead
            && let Some((at, port, ticket)) =
                self.hosts[agent].inbox.pop_front_if(|(at, ..)| *at <= self.horizon)
        {
            self.hand(agent, port, at, ticket);
        }
    }

    /// What happens inside elements without a packet leaving is done by now, for those who look.
    fn catch_up(&mut self) {
        for element in 0..self.elements.len() {
            self.elements[element].handle_timeout(self.now);
            self.settle_element(element);
        }
    }
}
