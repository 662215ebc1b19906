//! IP, UDP and TCP headers: what an emulated network looks at, and what a capture shows.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use seaway_units::Ecn;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The fields of an IP packet that a network uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpHeader {
    /// Who sent it.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// Its codepoint.
    pub ecn: Ecn,
    /// A hash of addresses, protocol and ports, by which a fair queue distinguishes flows.
    pub flow: u32,
}

impl IpHeader {
    /// The header at the beginning of `packet`; `None` where it is none.
    pub fn parse(packet: &[u8]) -> Option<Self> {
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

/// Writes the codepoint into a packet that [`IpHeader::parse`] takes; leaves any other unchanged.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    if IpHeader::parse(packet).is_none() {
        return;
    }
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

/// Appends an IP packet with a UDP datagram whose content is `payload`. An address of version 4 beside one of version 6
/// is mapped.
pub fn append_udp(buffer: &mut Vec<u8>, from: SocketAddr, to: SocketAddr, ecn: Ecn, payload: &[u8]) {
    let length = 8 + payload.len();
    append_header(buffer, (from, to), ecn, UDP, length);
    let start = buffer.len();
    for word in [from.port(), to.port(), length as u16, 0] {
        buffer.extend(word.to_be_bytes());
    }
    buffer.extend_from_slice(payload);
    // None at all is written as zero (RFC 768).
    let checksum = match transport_checksum((from, to), UDP, &buffer[start..]) {
        0 => u16::MAX,
        checksum => checksum,
    };
    buffer[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
}

/// A TCP header (RFC 9293 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHeader<'a> {
    /// Of the first octet of payload.
    pub sequence_number: u32,
    /// The octet that is expected next.
    pub acknowledgement_number: u32,
    /// See [`tcp_flag`].
    pub flags: u8,
    /// Octets that may be sent beyond the acknowledgement.
    pub window: u16,
    /// Edges of the blocks that arrived beyond it (RFC 2018); at most four.
    pub sacked: &'a [(u32, u32)],
}

/// The bits of [`TcpHeader::flags`].
pub mod tcp_flag {
    /// No more data.
    pub const FIN: u8 = 1;
    /// The beginning of a connection.
    pub const SYN: u8 = 1 << 1;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 1 << 4;
    /// Congestion was experienced (RFC 3168).
    pub const ECE: u8 = 1 << 6;
    /// The congestion window was reduced.
    pub const CWR: u8 = 1 << 7;
}

/// Appends an IP packet with a TCP segment of so many octets of zeros.
pub fn append_tcp(
    buffer: &mut Vec<u8>,
    from: SocketAddr,
    to: SocketAddr,
    ecn: Ecn,
    header: TcpHeader<'_>,
    length: usize,
) {
    const NO_OPERATION: u8 = 1;
    const SACK: u8 = 5;
    let blocks = &header.sacked[..header.sacked.len().min(4)];
    let options = if blocks.is_empty() { 0 } else { 4 + 8 * blocks.len() };
    append_header(buffer, (from, to), ecn, TCP, 20 + options + length);
    let start = buffer.len();
    buffer.extend(from.port().to_be_bytes());
    buffer.extend(to.port().to_be_bytes());
    buffer.extend(header.sequence_number.to_be_bytes());
    buffer.extend(header.acknowledgement_number.to_be_bytes());
    buffer.extend([((20 + options) as u8 / 4) << 4, header.flags]);
    buffer.extend(header.window.to_be_bytes());
    buffer.extend([0; 4]);
    if !blocks.is_empty() {
        buffer.extend([NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * blocks.len() as u8]);
    }
    for (left, right) in blocks {
        buffer.extend(left.to_be_bytes());
        buffer.extend(right.to_be_bytes());
    }
    buffer.resize(buffer.len() + length, 0);
    let checksum = transport_checksum((from, to), TCP, &buffer[start..]);
    buffer[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
}

/// Over the segment, whose own checksum is still zero, and the addresses before it (RFC 9293 section 3.1, RFC 8200
/// section 8.1).
fn transport_checksum(ends: (SocketAddr, SocketAddr), protocol: u8, segment: &[u8]) -> u16 {
    let (source, destination) = match (ends.0.ip(), ends.1.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => (sum(&source.octets()), sum(&destination.octets())),
        (source, destination) => (sum(&as_v6(source).octets()), sum(&as_v6(destination).octets())),
    };
    let words = [source, destination, u16::from(protocol), segment.len() as u16, sum(segment)];
    !folded(words.into_iter().map(u32::from).sum())
}

fn append_header(
    buffer: &mut Vec<u8>,
    ends: (SocketAddr, SocketAddr),
    ecn: Ecn,
    protocol: u8,
    length: usize,
) {
    const HOPS: u8 = 64;
    match (ends.0.ip(), ends.1.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let start = buffer.len();
            buffer.extend([0x45, ecn.bits()]);
            buffer.extend((20 + length as u16).to_be_bytes());
            buffer.extend([0, 0, 0x40, 0, HOPS, protocol, 0, 0]);
            buffer.extend(source.octets());
            buffer.extend(destination.octets());
            let checksum = !sum(&buffer[start..]);
            buffer[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
        }
        (source, destination) => {
            buffer.extend([0x60 | ecn.bits() >> 4, ecn.bits() << 4, 0, 0]);
            buffer.extend((length as u16).to_be_bytes());
            buffer.extend([protocol, HOPS]);
            buffer.extend(as_v6(source).octets());
            buffer.extend(as_v6(destination).octets());
        }
    }
}

const fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// The sum of the words of up to 64 KiB in one's complement (RFC 1071); an odd octet is filled up with zeros.
fn sum(octets: &[u8]) -> u16 {
    let words = octets.chunks_exact(2);
    let odd = words.remainder().first().map_or(0, |&octet| u32::from(octet) << 8);
    folded(odd + words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u32>())
}

const fn folded(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

/// The checksum after one of its words changed (RFC 1624 equation 3).
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    !folded(u32::from(!checksum) + u32::from(!old) + u32::from(new))
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
        0, 8, 0xc4, 0xc1,
    ];

    #[test]
    fn a_mark_keeps_the_checksum_sound() {
        let mut packet = V4;
        assert_eq!(sum(&packet[..20]), 0xffff);
        for ecn in [Ecn::Ect0, Ecn::Ce, Ecn::Ect1, Ecn::NotEct, Ecn::Ce] {
            set_ecn(&mut packet, ecn);
            assert_eq!(IpHeader::parse(&packet).unwrap().ecn, ecn);
            assert_eq!(sum(&packet[..20]), 0xffff, "{ecn:?}");
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
        // The rest of the traffic class, and the flow label, stay.
        packet[1] = 0xEF;
        set_ecn(&mut packet, Ecn::Ect0);
        assert_eq!(packet[..2], [0x60, 0xEF]);
        set_ecn(&mut packet, Ecn::Ect1);
        assert_eq!(packet[..2], [0x60, 0xDF]);
    }

    /// RFC 1071 section 3 has 0001 f203 f4f5 f6f7, which add up to 2ddf0, so ddf2.
    #[test]
    fn a_sum_of_octets() {
        assert_eq!(sum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        assert_eq!(sum(&[0, 1, 2]), 0x0201);
        assert_eq!((folded(0x2_ddf0), folded(0xffff_ffff)), (0xddf2, 0xffff));
    }

    #[test]
    fn flags_stand_where_rfc_9293_puts_them() {
        use tcp_flag::{ACK, CWR, ECE, FIN, SYN};
        assert_eq!([FIN, SYN, ACK, ECE, CWR], [0x01, 0x02, 0x10, 0x40, 0x80]);
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let (a, b): (SocketAddr, SocketAddr) =
            ("10.0.0.1:5004".parse().unwrap(), "10.0.0.2:5006".parse().unwrap());
        let mut packet = Vec::new();
        append_udp(&mut packet, a, b, Ecn::NotEct, &[]);
        assert_eq!(packet, [&V4[..], &[][..]].concat());
        let mut segment = Vec::new();
        let header = TcpHeader {
            sequence_number: 1,
            acknowledgement_number: 2,
            flags: tcp_flag::ACK,
            window: 0xffff,
            sacked: &[(3, 4), (5, 6)],
        };
        append_tcp(&mut segment, a, b, Ecn::Ce, header, 7);
        assert_eq!((segment.len(), sum(&segment[..20])), (20 + 20 + 4 + 16 + 7, 0xffff));
        assert_eq!((segment[32], &segment[40..44]), (10 << 4, &[1, 1, 5, 18][..]));
        assert_eq!(segment[2..4], [0, 67]);
        assert_eq!(IpHeader::parse(&segment).unwrap().ecn, Ecn::Ce);
        // With the addresses before it, a sound segment adds up to nothing.
        assert_eq!(transport_checksum((a, b), TCP, &segment[20..]), 0);
        let mut long = Vec::new();
        append_udp(&mut long, "[fd00::1]:5".parse().unwrap(), b, Ecn::Ect1, &[7; 10]);
        assert_eq!((&long[..2], long.len()), (&[0x60, 0x10][..], 58));
        assert_eq!(IpHeader::parse(&long).unwrap().ecn, Ecn::Ect1);
        let mut odd = Vec::new();
        append_udp(&mut odd, a, b, Ecn::NotEct, &[0xff, 7, 9]);
        assert_eq!(transport_checksum((a, b), UDP, &odd[20..]), 0);
        assert_ne!(transport_checksum((b, "10.0.0.3:1".parse().unwrap()), UDP, &odd[20..]), 0);
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
