//! An agent and what waits at its two sides.

use crate::engine::RouteId;
use crate::flight::Ticket;
use crate::topology::ElementId;
use seaway_link::Port;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// An agent, what is known to reach it, and what it has given out ahead of time.
#[derive(Debug)]
pub(super) struct Host<A> {
    pub(super) agent: A,
    /// The route behind each port.
    pub(super) ports: Vec<Option<RouteId>>,
    /// Packets that are through the last link of the only way here, and when each arrives, in that order.
    pub(super) inbox: VecDeque<(Timestamp, Port, Ticket)>,
    /// Packets that the agent sends in the future, and when each leaves, in that order.
    pub(super) outbox: VecDeque<(Timestamp, Ticket)>,
    /// The agent has lived to this instant, which may lie ahead of the present,
    pub(super) lived: Timestamp,
    /// and then wanted to be woken at that one, which is no earlier.
    pub(super) timer: Option<Timestamp>,
    pub(super) foresight: Foresight,
}

/// How far the life of an agent may be taken ahead of the present.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    /// What can reach it, and when; `None`: anything at any time.
    pub(super) lead: Option<Lead>,
    /// It has packets when their arrival is known, as it only answers.
    pub(super) is_handed_ahead: bool,
    /// Nobody else sends into the first link of its only way, which foresees: what it sends need not wait for its time.
    pub(super) sends_alone: bool,
}

/// What can reach an agent beside its inbox, and when.
#[derive(Debug)]
pub(super) struct Lead {
    /// From any other agent to this one it takes at least so long,
    pub(super) whole: TimeDelta,
    /// and from the end of each element on the way that holds packets.
    pub(super) rest: Vec<(ElementId, TimeDelta)>,
}

impl<A> Host<A> {
    /// An agent of which nothing is known.
    pub(super) fn new(agent: A) -> Self {
        Self {
            agent,
            ports: Vec::new(),
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            lived: Timestamp::ZERO,
            timer: None,
            foresight: Foresight::default(),
        }
    }

    /// When something arrives.
    #[inline]
    pub(super) fn arrival(&self) -> Option<Timestamp> {
        self.inbox.front().map(|(at, ..)| *at)
    }

    /// When something happens here next. What waits to leave does so before the agent lives on.
    #[inline]
    pub(super) fn due(&self) -> Option<Timestamp> {
        if let Some((departure, _)) = self.outbox.front() {
            return Some(*departure);
        }
        match (self.arrival(), self.timer) {
            (Some(arrival), Some(timer)) => Some(arrival.min(timer)),
            (arrival, timer) => arrival.or(timer),
        }
    }

    /// The agent has done all that is to be done by `now`, and wants to be woken then.
    #[inline]
    pub(super) fn rest(&mut self, now: Timestamp, timer: Option<Timestamp>) {
        self.lived = now;
        self.timer = timer.map(|timer| timer.max(now));
    }
}
