//! When a queue is full.

use super::Transmitter;
use super::fifo::Fifo;
use seaway_units::{DataSize, TimeDelta};

/// How much a queue holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// This many packets, the one in service included.
    Packets(u64),
    /// This many packets that wait; with the one in service, one more.
    PacketsWaiting(u64),
    /// This many octets that wait.
    Bytes(DataSize),
    /// This many octets, the packet in service included.
    BytesInAll(DataSize),
    /// What the transmitter serves in this time at its present rate; nothing at rate zero.
    LiveTime(TimeDelta),
}

/// Whom a drop-tail queue lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Door {
    pub(crate) limit: Limit,
    /// A packet counts for so much at least when it asks to be let in.
    pub(crate) room: DataSize,
}

impl Door {
    /// Whether a packet of `size` may join so many `packets` that wait, of this size in all.
    pub(crate) fn admits(
        self,
        packets: usize,
        waiting: DataSize,
        size: DataSize,
        transmitter: Transmitter,
    ) -> bool {
        self.limit.holds(packets + 1, waiting + size.max(self.room), transmitter)
    }
}

impl Limit {
    /// Whether a packet of `size` may still join those that wait.
    pub(crate) fn admits<P>(self, fifo: &Fifo<P>, size: DataSize, transmitter: Transmitter) -> bool {
        self.holds(fifo.len() + 1, fifo.size() + size, transmitter)
    }

    /// Whether this many `packets` of this total `size` may wait.
    pub(crate) fn holds(self, packets: usize, size: DataSize, transmitter: Transmitter) -> bool {
        match self {
            Self::Packets(limit) => packets as u64 + u64::from(transmitter.in_service.is_some()) <= limit,
            Self::PacketsWaiting(limit) => packets as u64 <= limit,
            Self::Bytes(limit) => size <= limit,
            Self::BytesInAll(limit) => size + transmitter.in_service.unwrap_or_default() <= limit,
            Self::LiveTime(limit) => size <= transmitter.rate.size_in(limit),
        }
    }
}
