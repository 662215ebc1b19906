//! The few fields of an IP header that an emulated network looks at.

use seaway_units::Ecn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// What a network needs to know of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IpHeader {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) ecn: Ecn,
    /// A hash of addresses, protocol and ports: what a fair queue tells flows apart by.
    pub(crate) flow: u32,
}

impl IpHeader {
    /// The header at the beginning of `packet`; `None` where it is none.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::parse_v4(packet),
            6 => Self::parse_v6(packet),
            _ => None,
        }
    }

    fn parse_v4(packet: &[u8]) -> Option<Self> {
        let length = usize::from(packet[0] & 0x0f) * 4;
        let (header, payload) = packet.split_at_checked(length)?;
        let address =
            |at: usize| Ipv4Addr::from(<[u8; 4]>::try_from(&header[at..at + 4]).unwrap_or_default());
        if length < 20 {
            return None;
        }
        // Only the first fragment shows the ports.
        let is_first = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
        let ports = payload.get(..4).filter(|_| is_first && matches!(header[9], TCP | UDP));
        Some(Self {
            source: address(12).into(),
            destination: address(16).into(),
            ecn: Ecn::from_bits(header[1] & 3),
            flow: hash([&header[12..20], &header[9..10], ports.unwrap_or_default()]),
        })
    }

    fn parse_v6(packet: &[u8]) -> Option<Self> {
        let (header, payload) = packet.split_at_checked(40)?;
        let address =
            |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&header[at..at + 16]).unwrap_or_default());
        let ports = payload.get(..4).filter(|_| matches!(header[6], TCP | UDP));
        Some(Self {
            source: address(8).into(),
            destination: address(24).into(),
            ecn: Ecn::from_bits(header[1] >> 4 & 3),
            flow: hash([&header[8..40], &header[6..7], ports.unwrap_or_default()]),
        })
    }
}

/// Writes the codepoint into a packet that [`IpHeader::parse`] took.
pub(crate) fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !0x30 | ecn.bits() << 4;
        return;
    }
    let old = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] = packet[1] & !3 | ecn.bits();
    let new = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = updated(u16::from_be_bytes([packet[10], packet[11]]), old, new);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The checksum after one of its words changed (RFC 1624 equation 3).
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// FNV-1a: the same on every machine.
fn hash(parts: [&[u8]; 3]) -> u32 {
    let octets = parts.into_iter().flatten();
    octets.fold(0x811c_9dc5, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.0.0.1:5004 to 10.0.0.2:5006 by UDP, with a sound checksum.
    const V4: [u8; 28] = [
        0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0x26, 0xcf, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x8c, 0x13, 0x8e,
        0, 8, 0, 0,
    ];

    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        ((folded & 0xffff) + (folded >> 16)) as u16
    }

    #[test]
    fn a_mark_keeps_the_checksum_sound() {
        let mut packet = V4;
        assert_eq!(checksum(&packet[..20]), 0xffff);
        for ecn in [Ecn::Ect0, Ecn::Ce, Ecn::Ect1, Ecn::NotEct, Ecn::Ce] {
            set_ecn(&mut packet, ecn);
            assert_eq!(IpHeader::parse(&packet).unwrap().ecn, ecn);
            assert_eq!(checksum(&packet[..20]), 0xffff, "{ecn:?}");
        }
    }

    #[test]
    fn the_five_tuple_is_the_flow() {
        let header = IpHeader::parse(&V4).unwrap();
        assert_eq!(
            (header.source, header.destination),
            ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap())
        );
        let mut other = V4;
        other[21] ^= 1;
        assert_ne!(IpHeader::parse(&other).unwrap().flow, header.flow);
        other[6] = 0x20;
        other[7] = 1;
        let fragment = IpHeader::parse(&other).unwrap().flow;
        other[21] ^= 1;
        assert_eq!(IpHeader::parse(&other).unwrap().flow, fragment);
    }

    #[test]
    fn version_6_is_read_and_marked() {
        let mut packet = [0; 44];
        packet[0] = 0x60;
        packet[6] = 17;
        packet[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        set_ecn(&mut packet, Ecn::Ce);
        let header = IpHeader::parse(&packet).unwrap();
        assert_eq!((header.ecn, header.source), (Ecn::Ce, Ipv6Addr::LOCALHOST.into()));
        assert_eq!(packet[0], 0x60);
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        assert!(
            [&[][..], &[0x45], &[0x41; 28], &[0x4f; 40], &[0x60; 39], &[0x15; 60]]
                .into_iter()
                .all(|packet| IpHeader::parse(packet).is_none())
        );
    }
}
