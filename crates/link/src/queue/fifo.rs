//! First in, first out, with the arrival times.

use crate::node::Packet;
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// A packet and when it came.
#[derive(Debug, Clone)]
pub(crate) struct Waiting<P> {
    pub(crate) arrived: Timestamp,
    pub(crate) packet: Packet<P>,
}

/// The store below every discipline.
#[derive(Debug, Clone)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    size: DataSize,
}

impl<P> Fifo<P> {
    pub(crate) const fn new() -> Self {
        Self { packets: VecDeque::new(), size: DataSize::ZERO }
    }

    pub(crate) fn push(&mut self, arrived: Timestamp, packet: Packet<P>) {
        self.size += packet.size;
        self.packets.push_back(Waiting { arrived, packet });
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let head = self.packets.pop_front()?;
        self.size -= head.packet.size;
        Some(head)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) const fn size(&self) -> DataSize {
        self.size
    }

    pub(crate) fn head(&self) -> Option<&Waiting<P>> {
        self.packets.front()
    }

    /// How long the head has waited; `None` where nothing waits.
    pub(crate) fn head_age(&self, now: Timestamp) -> Option<TimeDelta> {
        self.head().map(|head| now.since(head.arrived))
    }
}
