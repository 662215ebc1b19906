//! Drop-tail: what does not fit is refused. With a lifetime, also: what has waited too long is not sent.

use super::fifo::{Fifo, Waiting};
use super::{Ledger, Limit, Transmitter};
use crate::node::{DropCause, Packet};
use seaway_units::{TimeDelta, Timestamp};

#[derive(Debug, Clone)]
pub(super) struct DropTail<P> {
    pub(super) fifo: Fifo<P>,
    limit: Limit,
    lifetime: Option<TimeDelta>,
    drop_front: bool,
}

impl<P> DropTail<P> {
    pub(super) fn new(limit: Limit, lifetime: Option<TimeDelta>, drop_front: bool) -> Self {
        Self { fifo: Fifo::new(), limit, lifetime, drop_front }
    }

    /// The limit, where that is all there is.
    pub(super) const fn plain_limit(&self) -> Option<Limit> {
        if self.drop_front || self.lifetime.is_some() { None } else { Some(self.limit) }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<P>,
        transmitter: Transmitter,
        ledger: &mut Ledger<P>,
    ) {
        if self.drop_front {
            while !self.limit.admits(&self.fifo, packet.size, transmitter) {
                let Some(head) = self.fifo.pop() else { break };
                ledger.drop(now, DropCause::Tail, head.packet);
            }
        }
        if self.limit.admits(&self.fifo, packet.size, transmitter) {
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
