//! Receiver estimated maximum bitrate (draft-alvestrand-rmcat-remb-03 section 2.2).

use super::feedback::{self, Kind};
use super::{Packet, packet_type};
use crate::bytes::{fits, put_u24, take, u24_at};
use crate::{Error, List};
use seaway_units::Bitrate;

const KIND: Kind = Kind { packet_type: packet_type::PSFB, format: feedback::APPLICATION, name: "REMB" };

/// The most a receiver thinks it can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remb<'a> {
    /// Who reports.
    pub sender_ssrc: u32,
    /// The limit of all streams together; written as 18 significant bits, rounded down.
    pub bitrate: Bitrate,
    /// The streams it holds for, at most 255.
    pub media_ssrcs: List<'a, u32>,
}

mod field {
    use std::ops::Range;

    pub(super) const IDENTIFIER: Range<usize> = 12..16;
    pub(super) const SSRC_COUNT: usize = 16;
    /// Exponent(6) mantissa(18).
    pub(super) const BITRATE: usize = 17;
    pub(super) const SSRCS: usize = 20;
}

/// The identifier that distinguishes it from other application-layer feedback.
const IDENTIFIER: &[u8; 4] = b"REMB";
const MANTISSA_BITS: u32 = 18;

impl<'a> Remb<'a> {
    /// True where an application-layer feedback message is this one.
    pub(super) fn is(packet: Packet<'_>) -> bool {
        packet.bytes().get(field::IDENTIFIER).is_some_and(|identifier| identifier == IDENTIFIER)
    }

    /// Reads a packet.
    ///
    /// # Errors
    /// Another type, format or identifier, or fewer octets than the count of streams requires.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let (sender_ssrc, _, bytes) = KIND.parse(packet, field::SSRCS - feedback::field::FCI)?;
        if !Self::is(packet) {
            let seen = crate::bytes::u32_at(bytes, field::IDENTIFIER.start).into();
            let offset = field::IDENTIFIER.start;
            return Err(Error::Invalid { field: KIND.name, offset, seen, expected: "the letters REMB" });
        }
        let ssrcs = take(bytes, field::SSRCS, 4 * usize::from(bytes[field::SSRC_COUNT]), "REMB streams")?;
        let bits = u24_at(bytes, field::BITRATE);
        let (exponent, mantissa) = (bits >> MANTISSA_BITS, u128::from(bits & ((1 << MANTISSA_BITS) - 1)));
        let bps = u64::try_from(mantissa << exponent).unwrap_or(u64::MAX);
        Ok(Self { sender_ssrc, bitrate: Bitrate::from_bps(bps), media_ssrcs: List::on_wire(ssrcs) })
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        field::SSRCS + self.media_ssrcs.buffer_len()
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// More than 255 streams, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let count = fits(self.media_ssrcs.len() as u64, 255, "REMB stream count")? as u8;
        let packet = KIND.emit(buffer, self.buffer_len(), self.sender_ssrc, 0)?;
        packet[field::IDENTIFIER].copy_from_slice(IDENTIFIER);
        packet[field::SSRC_COUNT] = count;
        let bps = self.bitrate.as_bps();
        let exponent = (u64::BITS - bps.leading_zeros()).saturating_sub(MANTISSA_BITS);
        put_u24(packet, field::BITRATE, exponent << MANTISSA_BITS | (bps >> exponent) as u32);
        self.media_ssrcs.write(&mut packet[field::SSRCS..]);
        Ok(packet.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mantissa_and_exponent() {
        for (bps, written) in [
            (0, 0),
            (1, 1),
            (262_143, 262_143),
            (262_145, 262_144),
            (8_927_168, 8_927_168),
            (u64::MAX, 0x3FFFF << 46),
        ] {
            let ssrcs = [0x4807_5C17];
            let remb =
                Remb { sender_ssrc: 1, bitrate: Bitrate::from_bps(bps), media_ssrcs: List::from(&ssrcs[..]) };
            let mut buffer = [0; 24];
            assert_eq!(remb.emit(&mut buffer), Ok(24));
            assert_eq!(buffer[..4], [0x8F, 206, 0, 5]);
            assert_eq!(buffer[8..17], *b"\0\0\0\0REMB\x01");
            let parsed = Remb::parse(Packet::parse(&buffer).unwrap().0).unwrap();
            assert_eq!(parsed, Remb { bitrate: Bitrate::from_bps(written), ..remb });
        }
    }

    #[test]
    fn any_exponent_is_a_rate() {
        let mut bytes = *b"\x8F\xCE\0\x04\0\0\0\x01\0\0\0\0REMB\0\xFF\xFF\xFF";
        let parsed = Remb::parse(Packet::parse(&bytes).unwrap().0).unwrap();
        assert_eq!(parsed.bitrate, Bitrate::MAX);
        bytes[16] = 1;
        assert!(Remb::parse(Packet::parse(&bytes).unwrap().0).is_err(), "one stream announced, none there");
    }

    #[test]
    fn another_identifier_and_a_short_packet_are_refused() {
        let other = *b"\x8F\xCE\0\x04\0\0\0\x01\0\0\0\0RAMB\0\0\0\0";
        let expected = "the letters REMB";
        let error = Error::Invalid { field: KIND.name, offset: 12, seen: 0x5241_4D42, expected };
        assert_eq!(Remb::parse(Packet::parse(&other).unwrap().0), Err(error));
        let short = *b"\x8F\xCE\0\x03\0\0\0\x01\0\0\0\0REMB";
        assert!(Remb::parse(Packet::parse(&short).unwrap().0).is_err());
    }
}
