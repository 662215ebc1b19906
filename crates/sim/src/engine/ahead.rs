//! Where packets and agents may be taken ahead of time.

use super::host::{Foresight, Lead};
use super::{AgentId, Element, Engine, Feeders, Observer};
use crate::topology::ElementId;
use seaway_link::{Node, Sends};
use seaway_units::TimeDelta;

/// An agent that nothing reaches lives so far ahead: what it sends takes memory until its time.
const LONE: TimeDelta = TimeDelta::from_millis(10);

/// The routes that lead to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ways {
    None,
    One(usize),
    Many,
}

impl<P: std::fmt::Debug + Send, A: Node<P>, O: Observer<P>> Engine<P, A, O> {
    /// Finds out how far each link's packets and each agent's life may be taken ahead.
    pub(super) fn look_ahead(&mut self) {
        let ways = self.ways();
        for (agent, &ways) in ways.iter().enumerate() {
            self.hosts[agent].foresight = self.foresight(agent, ways);
        }
        for index in 0..self.routes.len() {
            let to = &self.hosts[self.routes[index].to.0.0 as usize].foresight;
            let has_ahead = to.is_handed_ahead || to.lead.is_some();
            for leg in 0..self.routes[index].legs.len() {
                let legs = &self.routes[index].legs;
                let here = legs[leg].hop.element;
                let goes_ahead = match legs.get(leg + 1) {
                    Some(next) => self.feeds_alone(here, next.hop.element),
                    None => has_ahead,
                };
                self.routes[index].legs[leg].goes_ahead = goes_ahead;
            }
        }
    }

    /// Nobody gains where packets would wait for their time all the same.
    fn foresight(&self, agent: usize, ways: Ways) -> Foresight {
        let sends_alone = self.sends_alone(agent);
        let lead = match ways {
            _ if self.is_ordered => None,
            Ways::None => Some(Lead { whole: LONE, rest: Vec::new() }),
            Ways::One(route) => self.lead(route),
            Ways::Many => None,
        };
        let is_handed_ahead = lead.is_some()
            && match self.hosts[agent].agent.sends() {
                Sends::ByItself => false,
                Sends::OneAnswerToEach => sends_alone,
                Sends::FewAnswers => true,
            };
        Foresight { lead: lead.filter(|_| sends_alone && !is_handed_ahead), is_handed_ahead, sends_alone }
    }

    /// The routes that lead to each agent.
    fn ways(&self) -> Vec<Ways> {
        let mut ways = vec![Ways::None; self.hosts.len()];
        for (index, route) in self.routes.iter().enumerate() {
            let ways = &mut ways[route.to.0.0 as usize];
            *ways = if *ways == Ways::None { Ways::One(index) } else { Ways::Many };
        }
        ways
    }

    fn foresees(&self, element: ElementId) -> bool {
        matches!(&self.elements[element.0 as usize], Element::Link(wire) if wire.link.foresees())
    }

    /// True where an agent sends by one route alone, and nobody else into the first link of that, which foresees.
    fn sends_alone(&self, agent: usize) -> bool {
        let mut routes = self.hosts[agent].ports.iter().flatten();
        let (Some(route), None) = (routes.next(), routes.next()) else { return false };
        let Some(first) = self.routes[route.0 as usize].legs.first() else { return false };
        let element = first.hop.element;
        self.feeders[element.0 as usize] == Feeders::Agent(AgentId(agent as u32)) && self.foresees(element)
    }

    /// True where what leaves link `from` is all that comes into link `to`, and `to` may have it ahead of time.
    fn feeds_alone(&self, from: ElementId, to: ElementId) -> bool {
        self.feeders[to.0 as usize] == Feeders::Element(from) && self.foresees(to)
    }

    /// How long what comes by a route takes; `None` where that is not known of each of its elements.
    fn lead(&self, route: usize) -> Option<Lead> {
        let (mut whole, mut rest) = (TimeDelta::ZERO, Vec::new());
        for (index, leg) in self.routes[route].legs.iter().rev().enumerate() {
            let element = leg.hop.element;
            // What is through the last link is in the inbox.
            if index > 0 {
                rest.push((element, whole));
            }
            whole += self.link(element)?.least_delay()?;
        }
        Some(Lead { whole, rest })
    }
}
