//! Drop-tail: what does not fit is refused. With a lifetime, also: what has waited too long is not sent.

use super::fifo::{Fifo, Waiting};
use super::{Ledger, Limit, Transmitter};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, TimeDelta, Timestamp};

#[derive(Debug, Clone)]
pub(super) struct DropTail<P> {
    pub(super) fifo: Fifo<P>,
    limit: Limit,
    lifetime: Option<TimeDelta>,
    drop_front: bool,
    /// A packet counts for so much at least when it asks to be let in.
    room: DataSize,
}

impl<P> DropTail<P> {
    pub(super) fn new(
        limit: Limit,
        lifetime: Option<TimeDelta>,
        drop_front: bool,
        room: Option<DataSize>,
    ) -> Self {
        Self { fifo: Fifo::new(), limit, lifetime, drop_front, room: room.unwrap_or_default() }
    }

    /// The limit, where that is all there is.
    pub(super) const fn plain_limit(&self) -> Option<Limit> {
        let is_plain = !self.drop_front && self.lifetime.is_none() && self.room.is_zero();
        if is_plain { Some(self.limit) } else { None }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<P>,
        transmitter: Transmitter,
        ledger: &mut Ledger<P>,
    ) {
        let size = packet.size.max(self.room);
        if self.drop_front {
            while !self.limit.admits(&self.fifo, size, transmitter) {
                let Some(head) = self.fifo.pop() else { break };
                ledger.drop(now, DropCause::Tail, head.packet);
            }
        }
        if self.limit.admits(&self.fifo, size, transmitter) {
            self.fifo.push(now, packet);
        } else {
            ledger.drop(now, DropCause::Tail, packet);
        }
    }

    pub(super) fn dequeue(&mut self, now: Timestamp, ledger: &mut Ledger<P>) -> Option<Waiting<P>> {
        if let Some(lifetime) = self.lifetime {
            while self.fifo.head_age(now).is_some_and(|age| age > lifetime) {
                let head = self.fifo.pop()?;
                ledger.drop(now, DropCause::Age, head.packet);
            }
        }
        self.fifo.pop()
    }
}
