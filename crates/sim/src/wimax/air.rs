//! What happens to packets between a queue and the far end.

use super::Arrival;
use crate::bearer::Whole;
use seaway_link::{DropCause, Dropped, Port, RandomStream};
use seaway_units::{Probability, Timestamp};
use std::collections::VecDeque;

/// The way of a burst: what the channel takes of it, and when the rest arrives where.
#[derive(Debug)]
pub(super) struct Air<'c, P> {
    pub(super) arriving: &'c mut VecDeque<Arrival<P>>,
    pub(super) dropped: &'c mut VecDeque<Dropped<P>>,
    pub(super) channel: &'c mut Channel,
    pub(super) octets_per_slot: u64,
    pub(super) station: usize,
    /// The queue that is being served.
    pub(super) queue: usize,
    pub(super) leaves_by: Port,
    pub(super) at: Timestamp,
}

/// Loss of slots.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) slot_loss: Probability,
    pub(super) random: RandomStream,
}

impl<P> Air<'_, P> {
    /// Whether the channel takes a piece of that many octets: any of its slots.
    pub(super) fn loses(&mut self, octets: u64) -> bool {
        let survives = self.channel.slot_loss.complement().get();
        if survives >= 1.0 {
            return false;
        }
        let slots = octets.div_ceil(self.octets_per_slot);
        self.channel.random.chance(1.0 - libm::pow(survives, slots as f64))
    }

    /// A packet has been sent to its end.
    pub(super) fn carry(&mut self, now: Timestamp, packet: Whole<P>) {
        match packet {
            Whole::Sent(packet) => self.arriving.push_back(Arrival {
                at: self.at,
                leaves_by: self.leaves_by,
                station: self.station,
                queue: self.queue,
                packet,
            }),
            Whole::Lost(packet) => {
                self.dropped.push_back(Dropped { at: now, cause: DropCause::Channel, packet });
            }
        }
    }
}
