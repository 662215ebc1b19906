//! Drop-tail: what does not fit is refused. With a lifetime, also: what has waited too long is not sent.

use super::fifo::{Fifo, Waiting};
use super::{Door, Ledger, Limit, Transmitter};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, TimeDelta, Timestamp};

#[derive(Debug, Clone)]
pub(super) struct DropTail<P> {
    pub(super) fifo: Fifo<P>,
    door: Door,
    lifetime: Option<TimeDelta>,
    drop_front: bool,
}

impl<P> DropTail<P> {
    pub(super) fn new(
        limit: Limit,
        lifetime: Option<TimeDelta>,
        drop_front: bool,
        room: Option<DataSize>,
    ) -> Self {
        let door = Door { limit, room: room.unwrap_or_default() };
        Self { fifo: Fifo::new(), door, lifetime, drop_front }
    }

    /// The door, where that is all there is.
    pub(super) const fn plain_door(&self) -> Option<Door> {
        let is_plain = !self.drop_front && self.lifetime.is_none();
        if is_plain { Some(self.door) } else { None }
    }

    fn admits(&self, size: DataSize, transmitter: Transmitter) -> bool {
        self.door.admits(self.fifo.len(), self.fifo.size(), size, transmitter)
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<P>,
        transmitter: Transmitter,
        ledger: &mut Ledger<P>,
    ) {
        let size = packet.size;
        if self.drop_front {
            while !self.admits(size, transmitter) {
                let Some(head) = self.fifo.pop() else { break };
                ledger.drop(now, DropCause::Tail, head.packet);
            }
        }
        if self.admits(size, transmitter) {
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
