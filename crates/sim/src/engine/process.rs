//! An agent as a logical process: its own local time, and the packets on their way in and out.

use crate::engine::RouteId;
use crate::engine::lookahead::Lookahead;
use crate::slab::Handle;
use seaway_link::{Outbox, Port};
use seaway_units::Timestamp;
use std::collections::VecDeque;

/// An agent, the packets whose arrival is certain, and those that it sent for a later instant.
#[derive(Debug)]
pub(super) struct Process<P, A> {
    pub(super) agent: A,
    /// The route behind each port.
    pub(super) ports: Vec<Option<RouteId>>,
    /// Packets that have left the last link of the only route here and the instants of their arrival, in order.
    pub(super) inbox: VecDeque<(Timestamp, Port, Handle)>,
    pub(super) outbox: Outbox<P>,
    /// The agent has done everything up to this instant, which may lie after the engine's present.
    pub(super) local_time: Timestamp,
    /// When the agent runs next; no earlier than `local_time`.
    pub(super) wake: Option<Timestamp>,
    pub(super) lookahead: Lookahead,
}

impl<P, A> Process<P, A> {
    pub(super) fn new(agent: A) -> Self {
        Self {
            agent,
            ports: Vec::new(),
            inbox: VecDeque::new(),
            outbox: Outbox::default(),
            local_time: Timestamp::ZERO,
            wake: None,
            lookahead: Lookahead::default(),
        }
    }

    /// When the next packet arrives.
    #[inline]
    pub(super) fn arrival(&self) -> Option<Timestamp> {
        self.inbox.front().map(|(at, ..)| *at)
    }

    /// The next event of this process. What waits in the outbox departs before the agent runs on.
    #[inline]
    pub(super) fn next_event(&self) -> Option<Timestamp> {
        if let Some(departure) = self.outbox.next_departure() {
            return Some(departure);
        }
        match (self.arrival(), self.wake) {
            (Some(arrival), Some(wake)) => Some(arrival.min(wake)),
            (arrival, wake) => arrival.or(wake),
        }
    }

    /// The agent has done everything up to `now`, and runs next at `wake`.
    #[inline]
    pub(super) fn advance_to(&mut self, now: Timestamp, wake: Option<Timestamp>) {
        self.local_time = now;
        self.wake = wake.map(|wake| wake.max(now));
    }
}
