//! MPEG transport streams over RTP (RFC 2250 section 2), and over UDP alone: whole transport packets, and nothing before them.

/// Octets of a transport packet (ISO/IEC 13818-1 section 2.4.3).
pub const PACKET: usize = 188;
/// The first octet of each.
const SYNC: u8 = 0x47;

/// Whether these octets are transport packets, at least one. Whether the packets hold a programme is not looked at.
pub fn is_packets(octets: &[u8]) -> bool {
    let (packets, rest) = octets.as_chunks::<PACKET>();
    !packets.is_empty() && rest.is_empty() && packets.iter().all(|packet| packet[0] == SYNC)
}

/// Where the first transport packet begins in a piece of a transport stream that was cut anywhere: UDP without RTP carries such
/// pieces. `None` where nothing in it can be a transport stream.
pub fn phase(octets: &[u8]) -> Option<usize> {
    let is_begin = |begin: &usize| octets.iter().skip(*begin).step_by(PACKET).all(|octet| *octet == SYNC);
    (0..PACKET.min(octets.len())).find(is_begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_packets_alone() {
        let mut seven = [0; 7 * PACKET];
        seven.iter_mut().step_by(PACKET).for_each(|first| *first = SYNC);
        assert!(is_packets(&seven) && is_packets(&seven[..PACKET]));
        for cut in [0, 1, PACKET - 1, PACKET + 1, 7 * PACKET - 1] {
            assert!(!is_packets(&seven[..cut]), "{cut}");
        }
        for cut in [0, 1, PACKET - 1, PACKET, 3 * PACKET + 7] {
            assert_eq!(phase(&seven[cut..]), Some((PACKET - cut % PACKET) % PACKET), "{cut}");
        }
        seven[3 * PACKET] = 0x48;
        assert!(!is_packets(&seven) && phase(&seven).is_none() && phase(&[]).is_none());
    }
}
