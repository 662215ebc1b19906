//! The packets that are neither acknowledged nor lost, by what a transport reports of them.

use seaway_control::PacketId;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// A transport that declares nothing of a packet for so long has given it up: its number space was discarded
/// with the keys of the handshake, or it carried acknowledgements alone.
const LONGEST_FATE: TimeDelta = TimeDelta::from_secs(10);
/// Packets whose fate may be open.
const MOST_OPEN: usize = 1 << 16;

/// A packet that left and was neither acknowledged nor declared lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) sent: Timestamp,
    /// Where the transport gives it. Each number space has its own numbers.
    pub(crate) number: Option<u64>,
    /// Octets over UDP that are still to be acknowledged.
    pub(crate) left: u64,
    /// Octets over UDP.
    pub(crate) size: u64,
    pub(crate) id: PacketId,
}

/// In order of departure.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenPackets {
    packets: VecDeque<Open>,
    octets: u64,
}

impl OpenPackets {
    /// Octets in flight.
    pub(crate) const fn octets(&self) -> u64 {
        self.octets
    }

    /// A packet left. Gives one that is forgotten for it.
    pub(crate) fn push(
        &mut self,
        sent: Timestamp,
        number: Option<u64>,
        size: u64,
        id: PacketId,
    ) -> Option<Open> {
        let forgotten = if self.packets.len() == MOST_OPEN { self.take(0) } else { None };
        self.octets += size;
        self.packets.push_back(Open { sent, number, left: size, size, id });
        forgotten
    }

    /// A packet that left at `sent` with these octets is acknowledged. Where the transport gives no numbers, packets that left
    /// in one batch are distinguished by their sizes, and the octets of one may complete another.
    pub(crate) fn acknowledge(&mut self, sent: Timestamp, number: Option<u64>, size: u64) -> Vec<Open> {
        let batch = self.packets.partition_point(|open| open.sent < sent)
            ..self.packets.partition_point(|open| open.sent <= sent);
        let exact = batch.clone().find(|&index| {
            let open = &self.packets[index];
            open.number == number && (number.is_some() || open.left == size)
        });
        if let Some(index) = exact {
            return self.take(index).into_iter().collect();
        }
        if number.is_some() {
            return Vec::new();
        }
        let (mut octets, mut done) = (size, Vec::new());
        let index = batch.start;
        for _ in batch {
            let open = &mut self.packets[index];
            if open.left > octets {
                open.left -= octets;
                break;
            }
            octets -= open.left;
            done.extend(self.take(index));
        }
        done
    }

    /// The transport declares the packet of this number lost.
    pub(crate) fn lose(&mut self, number: u64, size: u64) -> Option<Open> {
        let is_it = |open: &Open| open.number == Some(number) && open.size == size;
        self.packets.iter().rposition(is_it).and_then(|index| self.take(index))
    }

    /// The transport declares `octets` lost, in packets that left by `latest`: the oldest are meant.
    pub(crate) fn lose_octets(&mut self, latest: Timestamp, octets: u64) -> Vec<Open> {
        let (mut left, mut lost) = (octets, Vec::new());
        while left > 0 && self.packets.front().is_some_and(|open| open.sent <= latest) {
            let open = self.take(0).expect("the first is there");
            left = left.saturating_sub(open.size);
            lost.push(open);
        }
        lost
    }

    /// The next packet that the transport has given up without a word.
    pub(crate) fn pop_silent(&mut self, now: Timestamp) -> Option<Open> {
        let is_over = self.packets.front().is_some_and(|open| open.sent + LONGEST_FATE <= now);
        if is_over { self.take(0) } else { None }
    }

    fn take(&mut self, index: usize) -> Option<Open> {
        let open = self.packets.remove(index)?;
        self.octets -= open.size;
        Some(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn ids(packets: &[Open]) -> Vec<u64> {
        packets.iter().map(|open| open.id.0).collect()
    }

    #[test]
    fn a_number_is_unambiguous_with_its_instant() {
        let mut open = OpenPackets::default();
        for (id, (millis, number)) in [(0, 0), (5, 0), (5, 1)].into_iter().enumerate() {
            open.push(at(millis), Some(number), 1200, PacketId(id as u64));
        }
        assert_eq!(ids(&open.acknowledge(at(5), Some(0), 1200)), [1], "not the handshake's packet 0");
        assert!(open.acknowledge(at(5), Some(0), 1200).is_empty(), "acknowledged before");
        assert_eq!(open.lose(1, 1200).map(|open| open.id.0), Some(2));
        assert_eq!(open.octets(), 1200);
    }

    #[test]
    fn packets_of_a_batch_are_distinguished_by_their_octets() {
        let mut open = OpenPackets::default();
        for (id, size) in [1200, 1200, 400].into_iter().enumerate() {
            open.push(at(1), None, size, PacketId(id as u64));
        }
        assert_eq!(ids(&open.acknowledge(at(1), None, 400)), [2]);
        // What was taken for two packets of 1200 octets were three of 800.
        assert_eq!(ids(&open.acknowledge(at(1), None, 800)), []);
        assert_eq!(ids(&open.acknowledge(at(1), None, 800)), [0]);
        assert_eq!(ids(&open.acknowledge(at(1), None, 800)), [1]);
        assert_eq!(open.octets(), 0);
        assert!(open.acknowledge(at(1), None, 800).is_empty());
    }

    #[test]
    fn octets_are_lost_from_the_oldest_packet_on() {
        let mut open = OpenPackets::default();
        for id in 0..6 {
            open.push(at(id), None, 1000, PacketId(id));
        }
        assert_eq!(ids(&open.lose_octets(at(4), 3000)), [0, 1, 2]);
        assert_eq!(
            ids(&open.lose_octets(at(3), 9000)),
            [3],
            "the later ones left after the last that was lost"
        );
        assert!(open.pop_silent(at(10_003)).is_none());
        assert_eq!(open.pop_silent(at(10_004)).map(|open| open.id.0), Some(4));
    }
}
