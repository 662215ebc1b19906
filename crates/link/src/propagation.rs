//! The propagation path: a served packet arrives after a delay.

use crate::jitter::Jitter;
use crate::node::Packet;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;

/// Packets in flight, in the order of their arrival.
#[derive(Debug, Clone)]
pub(crate) struct Propagation<P> {
    delay: TimeDelta,
    /// Later delays, and from when; so many of them are past.
    steps: Arc<[(Timestamp, TimeDelta)]>,
    past: usize,
    jitter: Option<Jitter>,
    in_flight: VecDeque<(Timestamp, Packet<P>)>,
}

impl<P> Propagation<P> {
    pub(crate) fn new(
        delay: TimeDelta,
        steps: Arc<[(Timestamp, TimeDelta)]>,
        jitter: Option<Jitter>,
    ) -> Self {
        Self { delay, steps, past: 0, jitter, in_flight: VecDeque::new() }
    }

    /// Takes `packet` at `now`, the end of its serialisation at `rate`.
    pub(crate) fn push(&mut self, now: Timestamp, packet: Packet<P>, rate: Bitrate) {
        while let Some((_, delay)) = self.steps.get(self.past).filter(|(from, _)| *from <= now) {
            self.delay = *delay;
            self.past += 1;
        }
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
    pub(crate) fn constant_delay(&self) -> Option<TimeDelta> {
        if self.jitter.is_none() && self.steps.is_empty() { Some(self.delay) } else { None }
    }

    pub(crate) fn next_arrival(&self) -> Option<Timestamp> {
        self.in_flight.front().map(|(at, _)| *at)
    }

    pub(crate) fn len(&self) -> usize {
        self.in_flight.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{DataSize, Ecn};

    #[test]
    fn packets_of_a_shorter_route_overtake_those_of_the_longer() {
        let ms = TimeDelta::from_millis;
        let at = |time| Timestamp::ZERO + ms(time);
        let steps = [(at(10), ms(50)), (at(20), ms(5))];
        let mut path = Propagation::new(ms(20), steps.into(), None);
        for (packet, sent) in [9, 10, 19, 20].into_iter().enumerate() {
            path.push(
                at(sent),
                Packet::new(DataSize::from_bytes(1), Ecn::NotEct, packet),
                Bitrate::from_mbps(1),
            );
        }
        let arrived: Vec<_> =
            std::iter::from_fn(|| path.pop(at(100))).map(|(at, packet)| (at, packet.payload)).collect();
        assert_eq!(arrived, [(at(25), 3), (at(29), 0), (at(60), 1), (at(69), 2)]);
        // An event-driven host must not take it for constant.
        assert_eq!(path.constant_delay(), None);
    }
}
