//! Conservative lookahead (Chandy and Misra): how far links and agents may run ahead of the engine's present.

use super::{AgentId, Element, Engine, Observer, Upstream};
use crate::topology::ElementId;
use seaway_link::{Node, Reactivity};
use seaway_units::TimeDelta;

/// How far an agent runs ahead that no route leads to. What it sends stays in memory until its departure.
const UNREACHED: TimeDelta = TimeDelta::from_millis(10);

/// What the engine may do with an agent before its time.
#[derive(Debug, Default)]
pub(super) struct Lookahead {
    /// The agent runs ahead so far; `None`: not at all, since packets may arrive at any time.
    pub(super) bound: Option<Bound>,
    /// The agent only reacts, so it processes an arrival as soon as its time is certain.
    pub(super) early_arrivals: bool,
    /// The first link of the agent's only route is closed-form and has no other sender: it takes packets before they depart.
    pub(super) early_departures: bool,
}

/// No packet reaches an agent sooner than this, except those in its inbox.
#[derive(Debug)]
pub(super) struct Bound {
    /// The least delay of the whole route.
    pub(super) route: TimeDelta,
    /// The elements of the route that hold packets, and the least delay from there.
    pub(super) behind: Vec<(ElementId, TimeDelta)>,
}

/// The routes that lead to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inbound {
    None,
    One(usize),
    Many,
}

impl<P: std::fmt::Debug + Send, A: Node<P>, O: Observer<P>> Engine<P, A, O> {
    /// Works out the lookahead of every agent and of every leg of a route.
    pub(super) fn work_out_lookahead(&mut self) {
        let inbound = self.inbound();
        for (agent, &inbound) in inbound.iter().enumerate() {
            self.processes[agent].lookahead = self.lookahead(agent, inbound);
        }
        for index in 0..self.routes.len() {
            let to = &self.processes[self.routes[index].to.0.0 as usize].lookahead;
            let receives_early = to.early_arrivals || to.bound.is_some();
            for leg in 0..self.routes[index].legs.len() {
                let legs = &self.routes[index].legs;
                let here = legs[leg].hop.element;
                let is_early = match legs.get(leg + 1) {
                    Some(next) => self.is_only_upstream(here, next.hop.element),
                    None => receives_early,
                };
                self.routes[index].legs[leg].is_early = is_early;
            }
        }
    }

    /// An agent whose packets would wait for their departure all the same gains nothing and runs in time order.
    fn lookahead(&self, agent: usize, inbound: Inbound) -> Lookahead {
        let early_departures = self.departs_early(agent);
        let bound = match inbound {
            _ if self.is_ordered => None,
            Inbound::None => Some(Bound { route: UNREACHED, behind: Vec::new() }),
            Inbound::One(route) => self.bound(route),
            Inbound::Many => None,
        };
        let early_arrivals = bound.is_some()
            && match self.processes[agent].agent.reactivity() {
                Reactivity::Spontaneous => false,
                Reactivity::AckPerPacket => early_departures,
                Reactivity::SparseFeedback => true,
            };
        let bound = bound.filter(|_| early_departures && !early_arrivals);
        Lookahead { bound, early_arrivals, early_departures }
    }

    fn inbound(&self) -> Vec<Inbound> {
        let mut inbound = vec![Inbound::None; self.processes.len()];
        for (index, route) in self.routes.iter().enumerate() {
            let to = &mut inbound[route.to.0.0 as usize];
            *to = if *to == Inbound::None { Inbound::One(index) } else { Inbound::Many };
        }
        inbound
    }

    fn is_closed_form(&self, element: ElementId) -> bool {
        matches!(&self.elements[element.0 as usize], Element::Link(wire) if wire.link.is_closed_form())
    }

    /// True where an agent sends by one route only, and alone into a first link that is closed-form.
    fn departs_early(&self, agent: usize) -> bool {
        let mut routes = self.processes[agent].ports.iter().flatten();
        let (Some(route), None) = (routes.next(), routes.next()) else { return false };
        let Some(first) = self.routes[route.0 as usize].legs.first() else { return false };
        let element = first.hop.element;
        self.upstream[element.0 as usize] == Upstream::Agent(AgentId(agent as u32))
            && self.is_closed_form(element)
    }

    /// True where all packets of the closed-form link `to` come from `from`, in order.
    fn is_only_upstream(&self, from: ElementId, to: ElementId) -> bool {
        self.upstream[to.0 as usize] == Upstream::Element(from) && self.is_closed_form(to)
    }

    /// The bound for an agent at the end of `route`; `None` where an element of the route has no least delay.
    fn bound(&self, route: usize) -> Option<Bound> {
        let (mut whole, mut behind) = (TimeDelta::ZERO, Vec::new());
        for (index, leg) in self.routes[route].legs.iter().rev().enumerate() {
            let element = leg.hop.element;
            // Packets that have left the last link are in the inbox.
            if index > 0 {
                behind.push((element, whole));
            }
            whole += self.link(element)?.least_delay()?;
        }
        Some(Bound { route: whole, behind })
    }
}
