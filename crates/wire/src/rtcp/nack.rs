//! Generic NACK (RFC 4585 section 6.2.1): which packets to send again.

use super::feedback::{self, Kind};
use super::{Packet, packet_type};
use crate::bytes::{put_u16, u16_at};
use crate::{Error, List, Record};

const KIND: Kind = Kind { packet_type: packet_type::RTPFB, format: feedback::NACK, name: "generic NACK" };

/// A negative acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack<'a> {
    /// SSRC of the requester.
    pub sender_ssrc: u32,
    /// The stream that lost packets.
    pub media_ssrc: u32,
    /// The lost packets; [`NackEntry::pack`] makes them from sequence numbers.
    pub entries: List<'a, NackEntry>,
}

/// Up to seventeen lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NackEntry {
    /// PID: sequence number of a lost packet.
    pub packet_id: u16,
    /// BLP: bit i, from zero, says that packet `packet_id + 1 + i` is lost too. A zero does not mean that it was received.
    pub bitmask: u16,
}

impl<'a> Nack<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Another type or format, or not one whole entry.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let (sender_ssrc, media_ssrc, bytes) = KIND.parse(packet, NackEntry::SIZE)?;
        Ok(Self { sender_ssrc, media_ssrc, entries: List::on_wire(&bytes[feedback::field::FCI..]) })
    }

    /// The requested sequence numbers, in the order of the report.
    pub fn sequence_numbers(&self) -> impl Iterator<Item = u16> + use<'a> {
        self.entries.iter().flat_map(NackEntry::sequence_numbers)
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        feedback::field::FCI + self.entries.buffer_len()
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// More entries than a packet holds, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let packet = KIND.emit(buffer, self.buffer_len(), self.sender_ssrc, self.media_ssrc)?;
        self.entries.write(&mut packet[feedback::field::FCI..]);
        Ok(packet.len())
    }
}

impl NackEntry {
    /// The lost packets, first `packet_id`, then ascending modulo 2^16.
    pub fn sequence_numbers(self) -> impl Iterator<Item = u16> {
        let follow = (0..16).filter(move |bit| self.bitmask >> bit & 1 == 1);
        std::iter::once(self.packet_id).chain(follow.map(move |bit| self.packet_id.wrapping_add(bit + 1)))
    }

    /// The entries for these lost packets, given in ascending order modulo 2^16.
    pub fn pack(lost: impl IntoIterator<Item = u16>) -> impl Iterator<Item = Self> {
        let mut lost = lost.into_iter().peekable();
        std::iter::from_fn(move || {
            let mut entry = Self { packet_id: lost.next()?, bitmask: 0 };
            while let Some(bit) = lost.peek().and_then(|&number| entry.bit_of(number)) {
                entry.bitmask |= bit;
                lost.next();
            }
            Some(entry)
        })
    }

    /// The bit for `number`; none for `packet_id` itself, which the entry names.
    fn bit_of(self, number: u16) -> Option<u16> {
        match number.wrapping_sub(self.packet_id) {
            0 => Some(0),
            ahead @ 1..=16 => Some(1 << (ahead - 1)),
            _ => None,
        }
    }
}

impl Record for NackEntry {
    const SIZE: usize = 4;

    fn read(bytes: &[u8]) -> Self {
        Self { packet_id: u16_at(bytes, 0), bitmask: u16_at(bytes, 2) }
    }

    fn write(self, bytes: &mut [u8]) {
        put_u16(bytes, 0, self.packet_id);
        put_u16(bytes, 2, self.bitmask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_above_seventeen_needs_another_entry() {
        let lost = [65_534, 65_535, 0, 14, 15, 300];
        let entries: Vec<_> = NackEntry::pack(lost).collect();
        assert_eq!(entries[0], NackEntry { packet_id: 65_534, bitmask: 0b1000_0000_0000_0011 });
        assert_eq!(entries[1], NackEntry { packet_id: 15, bitmask: 0 });
        let nack = Nack { sender_ssrc: 1, media_ssrc: 2, entries: List::from(&entries[..]) };
        assert_eq!(nack.sequence_numbers().collect::<Vec<_>>(), lost);
        let mut buffer = [0; 24];
        assert_eq!(nack.emit(&mut buffer), Ok(24));
        assert_eq!(buffer[..4], [0x81, 205, 0, 5]);
        assert_eq!(buffer[12..16], [0xFF, 0xFE, 0x80, 0x03]);
        assert_eq!(Nack::parse(Packet::parse(&buffer).unwrap().0), Ok(nack));
    }

    #[test]
    fn one_number_twice_is_one() {
        assert_eq!(NackEntry::pack([7, 7, 8]).collect::<Vec<_>>(), [NackEntry { packet_id: 7, bitmask: 1 }]);
    }
}
