//! The propagation path: a served packet arrives after a delay.

use crate::jitter::Jitter;
use crate::node::Packet;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Packets in flight, in the order of their arrival.
#[derive(Debug, Clone)]
pub(crate) struct Propagation<P> {
    delay: TimeDelta,
    jitter: Option<Jitter>,
    in_flight: VecDeque<(Timestamp, Packet<P>)>,
}

impl<P> Propagation<P> {
    pub(crate) fn new(delay: TimeDelta, jitter: Option<Jitter>) -> Self {
        Self { delay, jitter, in_flight: VecDeque::new() }
    }

    /// Takes `packet` at `now`, the end of its serialisation at `rate`.
    pub(crate) fn push(&mut self, now: Timestamp, packet: Packet<P>, rate: Bitrate) {
        let nominal = now + self.delay;
        let arrival = match &mut self.jitter {
            Some(jitter) => jitter.arrival(nominal, rate.time_to_send(packet.size).unwrap_or_default()),
            None => nominal,
        };
        // Packets that arrive at one instant keep their order.
        let behind = self.in_flight.iter().rev().take_while(|(at, _)| *at > arrival).count();
        match behind {
            0 => self.in_flight.push_back((arrival, packet)),
            _ => self.in_flight.insert(self.in_flight.len() - behind, (arrival, packet)),
        }
    }

    /// The next packet that has arrived by `now`, and when.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<(Timestamp, Packet<P>)> {
        self.in_flight.pop_front_if(|(at, _)| *at <= now)
    }

    /// The delay of every packet; `None` where it varies.
    pub(crate) const fn constant_delay(&self) -> Option<TimeDelta> {
        match self.jitter {
            Some(_) => None,
            None => Some(self.delay),
        }
    }

    pub(crate) fn next_arrival(&self) -> Option<Timestamp> {
        self.in_flight.front().map(|(at, _)| *at)
    }

    pub(crate) fn len(&self) -> usize {
        self.in_flight.len()
    }
}
