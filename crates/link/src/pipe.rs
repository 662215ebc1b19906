//! The propagation path: what has been sent arrives after a delay.

use crate::jitter::Jitter;
use crate::node::Packet;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Packets on their way, in the order in which they arrive.
#[derive(Debug, Clone)]
pub(crate) struct Pipe<P> {
    delay: TimeDelta,
    jitter: Option<Jitter>,
    flying: VecDeque<(Timestamp, Packet<P>)>,
}

impl<P> Pipe<P> {
    pub(crate) fn new(delay: TimeDelta, jitter: Option<Jitter>) -> Self {
        Self { delay, jitter, flying: VecDeque::new() }
    }

    /// Sends `packet` on its way at `now`, when serialising it at `rate` has just ended.
    pub(crate) fn push(&mut self, now: Timestamp, packet: Packet<P>, rate: Bitrate) {
        let unvaried = now + self.delay;
        let arrival = match &mut self.jitter {
            Some(jitter) => jitter.arrival(unvaried, rate.time_to_send(packet.size).unwrap_or_default()),
            None => unvaried,
        };
        // Equal instants keep the order of sending.
        let behind = self.flying.iter().rev().take_while(|(at, _)| *at > arrival).count();
        match behind {
            0 => self.flying.push_back((arrival, packet)),
            _ => self.flying.insert(self.flying.len() - behind, (arrival, packet)),
        }
    }

    /// The next packet that has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Packet<P>> {
        if self.next_arrival()? > now {
            return None;
        }
        self.flying.pop_front().map(|(_, packet)| packet)
    }

    /// How long every packet takes; `None` where it varies.
    pub(crate) const fn constant_delay(&self) -> Option<TimeDelta> {
        match self.jitter {
            Some(_) => None,
            None => Some(self.delay),
        }
    }

    pub(crate) fn next_arrival(&self) -> Option<Timestamp> {
        self.flying.front().map(|(at, _)| *at)
    }

    pub(crate) fn len(&self) -> usize {
        self.flying.len()
    }
}
