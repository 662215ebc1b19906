//! The air interface: losses and arrivals of a burst.

use super::Arrival;
use crate::mac_queue::Completed;
use seaway_link::{DropCause, Dropped, Outbox, Port, RandomStream};
use seaway_units::{Probability, Timestamp};
use std::collections::VecDeque;

/// The transmission of a burst: what the channel loses, and when and where the rest arrives.
#[derive(Debug)]
pub(super) struct Air<'c, P> {
    pub(super) arriving: &'c mut VecDeque<Arrival<P>>,
    pub(super) out: &'c mut Outbox<P>,
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
    /// Whether the channel loses a fragment of that many octets: any of its slots.
    pub(super) fn loses(&mut self, octets: u64) -> bool {
        let survives = self.channel.slot_loss.complement().get();
        if survives >= 1.0 {
            return false;
        }
        let slots = octets.div_ceil(self.octets_per_slot);
        self.channel.random.chance(1.0 - libm::pow(survives, slots as f64))
    }

    /// The last fragment of a packet has been sent.
    pub(super) fn carry(&mut self, now: Timestamp, packet: Completed<P>) {
        match packet {
            Completed::Sent(packet) => self.arriving.push_back(Arrival {
                at: self.at,
                leaves_by: self.leaves_by,
                station: self.station,
                queue: self.queue,
                packet,
            }),
            Completed::Lost(packet) => {
                self.out.drop(Dropped { at: now, cause: DropCause::Channel, packet });
            }
        }
    }
}
