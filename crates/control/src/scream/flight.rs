//! Bytes in flight, counted as RFC 8298 section 4.1.2 does: from behind the highest number acknowledged.

use crate::packet::{PacketId, SentPacket};
use std::collections::VecDeque;

/// The sizes of the packets behind the highest acknowledged one, lost ones included.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    /// Of the first in `sizes`.
    first: u64,
    sizes: VecDeque<u16>,
    bytes: u64,
}

impl Flight {
    /// All the memory that 40 Mbit/s of 1200 B and a second take; it grows to four times that.
    const USUAL: usize = 4096;
    const MOST: usize = 16_384;

    pub(super) fn new() -> Self {
        Self { first: 0, sizes: VecDeque::with_capacity(Self::USUAL), bytes: 0 }
    }

    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        if self.first + self.sizes.len() as u64 != packet.id.0 {
            // The first packet of all, or numbers that do not follow each other.
            self.clear();
            self.first = packet.id.0;
        }
        if self.sizes.len() == Self::MOST {
            self.pop();
        }
        let size = packet.size.as_bytes().min(u64::from(u16::MAX)) as u16;
        self.sizes.push_back(size);
        self.bytes += u64::from(size);
    }

    /// `id` was acknowledged: the octets up to it, that one included, that were out; 0 where it is not new.
    pub(super) fn advance(&mut self, id: PacketId) -> f64 {
        let Some(count) = id.0.checked_sub(self.first).filter(|ahead| *ahead < self.sizes.len() as u64)
        else {
            return 0.0;
        };
        let before = self.bytes;
        for _ in 0..=count {
            self.pop();
        }
        (before - self.bytes) as f64
    }

    /// What is out is given up.
    pub(super) fn clear(&mut self) {
        self.first += self.sizes.len() as u64;
        self.sizes.clear();
        self.bytes = 0;
    }

    /// Octets.
    pub(super) const fn bytes(&self) -> f64 {
        self.bytes as f64
    }

    fn pop(&mut self) {
        if let Some(size) = self.sizes.pop_front() {
            self.bytes -= u64::from(size);
            self.first += 1;
        }
    }
}

/// The greatest flight over about a span, in five slots.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaxFlight {
    slots: [f64; 5],
    /// Number of the newest slot, each a fifth of the span.
    newest: u64,
}

impl MaxFlight {
    pub(super) const fn new() -> Self {
        Self { slots: [0.0; 5], newest: 0 }
    }

    /// `flight` octets at `now` seconds, over `span` seconds.
    pub(super) fn update(&mut self, now: f64, span: f64, flight: f64) {
        let slot = (now / span * 5.0) as u64;
        if slot > self.newest {
            let passed = (slot - self.newest).min(5) as usize;
            self.slots.copy_within(..5 - passed, passed);
            self.slots[..passed].fill(0.0);
            self.newest = slot;
        }
        self.slots[0] = self.slots[0].max(flight);
    }

    pub(super) fn get(&self) -> f64 {
        self.slots.iter().copied().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Content, StreamId, Subflow};
    use seaway_units::DataSize;

    fn packet(id: u64, bytes: u64) -> SentPacket {
        SentPacket {
            id: PacketId(id),
            subflow: Subflow(0),
            sequence: id,
            size: DataSize::from_bytes(bytes),
            content: Content::Media(StreamId(0)),
            probe: None,
            backlog: DataSize::ZERO,
        }
    }

    #[test]
    fn lost_packets_are_out_until_a_later_one_is_acknowledged() {
        let mut flight = Flight::new();
        (10..15).for_each(|id| flight.on_sent(&packet(id, 100 + id)));
        assert_eq!(flight.bytes(), 560.0);
        assert_eq!(flight.advance(PacketId(12)), 333.0, "10, 11 and 12");
        assert_eq!(flight.advance(PacketId(11)), 0.0);
        assert_eq!(flight.advance(PacketId(99)), 0.0, "never sent");
        assert_eq!(flight.bytes(), 227.0);
        flight.clear();
        flight.on_sent(&packet(15, 100));
        assert_eq!((flight.advance(PacketId(14)), flight.bytes()), (0.0, 100.0));
    }

    #[test]
    fn greatest_of_five_seconds() {
        let mut most = MaxFlight::new();
        for second in 0..20 {
            most.update(f64::from(second), 5.0, f64::from(if second == 7 { 900 } else { second }));
            let expected = if (7..12).contains(&second) { 900.0 } else { f64::from(second) };
            assert_eq!(most.get(), expected, "{second}");
        }
    }
}
