//! SRTP (RFC 3711) with AEAD_AES_128_GCM (RFC 7714), sealed in place; header extensions are encrypted (RFC 9335).

mod cipher;
mod source;

use crate::Error;
use crate::replay::ReplayWindow;
use bytes::{Bytes, BytesMut};
use cipher::Cipher;
pub(crate) use cipher::TAG_LEN;
use std::collections::BTreeMap;
use std::fmt;

const RTP_HEADER_LEN: usize = 12;
/// Octets of an RTCP header with its source.
const RTCP_HEADER_LEN: usize = 8;
/// Octets of the index behind the tag, whose first bit says that the packet is encrypted.
const SRTCP_INDEX_LEN: usize = 4;
const ENCRYPTED: u32 = 1 << 31;
/// RTCP packets that one key protects; the index of the next would be that of the first (RFC 3711 section 9.2).
const MOST_REPORTS: u32 = 1 << 31;
/// Octets of an extension's profile and length.
const EXTENSION_HEAD_LEN: usize = 4;
/// Profiles of a header extension in clear, and of the same encrypted (RFC 9335 section 4).
const PROFILES: [([u8; 2], [u8; 2]); 2] = [([0xBE, 0xDE], [0xC0, 0xDE]), ([0x10, 0x00], [0xC2, 0xDE])];

/// A master key with its salt, for the packets of one direction.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    key: [u8; 16],
    salt: [u8; 12],
}

impl MasterKey {
    /// From its octets.
    pub const fn new(key: [u8; 16], salt: [u8; 12]) -> Self {
        Self { key, salt }
    }

    /// Key and salt in hexadecimal digits, the form that GStreamer's `srtpdec` and others take.
    pub fn to_hex(&self) -> String {
        self.key.iter().chain(&self.salt).map(|octet| format!("{octet:02x}")).collect()
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(secret)")
    }
}

/// The master keys of both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SrtpKeys {
    /// For the packets that leave.
    pub send: MasterKey,
    /// For the packets that come.
    pub receive: MasterKey,
}

/// Consecutive synchronisation sources, modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRange {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl SourceRange {
    const fn contains(self, ssrc: u32) -> bool {
        ssrc.wrapping_sub(self.first) < self.count
    }
}

/// SRTP of both directions. A replay window holds 128 octets for each source of the peer, and these are bounded: state is made for
/// a source inside the range alone, by an authentic packet.
pub struct Srtp {
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Srtp {
    pub(crate) fn new(keys: &SrtpKeys, peer: SourceRange) -> Result<Self, Error> {
        Ok(Self { outgoing: Outgoing::new(&keys.send)?, incoming: Incoming::new(&keys.receive, peer)? })
    }

    pub(crate) fn seal(&mut self, datagram: &mut Vec<u8>) -> Result<(), Error> {
        match is_rtcp(datagram) {
            true => self.outgoing.seal_rtcp(datagram),
            false => self.outgoing.seal_rtp(datagram),
        }
    }

    pub(crate) fn open(&mut self, datagram: &[u8]) -> Result<Bytes, Error> {
        match is_rtcp(datagram) {
            true => self.incoming.open_rtcp(datagram),
            false => self.incoming.open_rtp(datagram),
        }
    }
}

impl fmt::Debug for Srtp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Srtp").field("peer", &self.incoming.peer).finish_non_exhaustive()
    }
}

/// The packets that leave.
struct Outgoing {
    /// In the order of their numbers.
    sources: Vec<(u32, source::Outgoing)>,
    rtp: Cipher,
    rtcp: Cipher,
    /// RTCP packets that were protected, of all sources.
    reports: u32,
}

impl Outgoing {
    fn new(key: &MasterKey) -> Result<Self, Error> {
        let (rtp, rtcp) = (Cipher::of_rtp(key)?, Cipher::of_rtcp(key)?);
        Ok(Self { sources: Vec::new(), rtp, rtcp, reports: 0 })
    }

    fn source(&mut self, ssrc: u32) -> usize {
        self.sources.binary_search_by_key(&ssrc, |(ssrc, _)| *ssrc).unwrap_or_else(|at| {
            self.sources.insert(at, (ssrc, source::Outgoing::default()));
            at
        })
    }

    fn seal_rtp(&mut self, datagram: &mut Vec<u8>) -> Result<(), Error> {
        let header = Header::read(datagram).ok_or(Error::Malformed)?;
        let at = self.source(header.ssrc);
        let source = &mut self.sources[at].1;
        let index = source.index(header.number);
        if index >= source::MOST {
            return Err(Error::KeyUsedUp);
        }
        if !source.is_fresh(index) {
            return Err(Error::Replayed);
        }
        if header.has_extension {
            swap_profile(datagram, |(clear, encrypted)| (clear, encrypted))?;
        }
        self.rtp.seal(header.ssrc, index, None, header.len, datagram)?;
        source.accept(index);
        Ok(())
    }

    fn seal_rtcp(&mut self, datagram: &mut Vec<u8>) -> Result<(), Error> {
        let ssrc = word(datagram, RTCP_HEADER_LEN - 4).ok_or(Error::Malformed)?;
        if self.reports + 1 >= MOST_REPORTS {
            return Err(Error::KeyUsedUp);
        }
        self.reports += 1;
        let head = head_of_rtcp(datagram, ENCRYPTED | self.reports);
        self.rtcp.seal(ssrc, self.reports.into(), Some(&head), RTCP_HEADER_LEN, datagram)?;
        datagram.extend_from_slice(&head[RTCP_HEADER_LEN..]);
        Ok(())
    }
}

/// The packets that come.
struct Incoming {
    rtp: Cipher,
    rtcp: Cipher,
    peer: SourceRange,
    sources: BTreeMap<u32, source::Incoming>,
    reports: BTreeMap<u32, ReplayWindow<16>>,
}

impl Incoming {
    fn new(key: &MasterKey, peer: SourceRange) -> Result<Self, Error> {
        let (rtp, rtcp) = (Cipher::of_rtp(key)?, Cipher::of_rtcp(key)?);
        Ok(Self { rtp, rtcp, peer, sources: BTreeMap::new(), reports: BTreeMap::new() })
    }

    fn open_rtp(&mut self, datagram: &[u8]) -> Result<Bytes, Error> {
        let header = Header::read(datagram).ok_or(Error::Malformed)?;
        self.check_source(header.ssrc)?;
        let is_known = |profile| PROFILES.iter().any(|(_, encrypted)| encrypted == profile);
        if header.has_extension && !is_known(&datagram[RTP_HEADER_LEN..RTP_HEADER_LEN + 2]) {
            return Err(Error::Malformed);
        }
        let (sealed, tag) = split_tag(datagram, header.len)?;
        let new = source::Incoming::default();
        let source = self.sources.get(&header.ssrc).unwrap_or(&new);
        let indices = [source.index(header.number), source.index_after_loss(header.number)];
        let fresh = indices.map(|index| source.is_fresh(index).then_some(index));
        for index in fresh.into_iter().flatten() {
            let mut opened = BytesMut::from(sealed);
            let (head, text) = opened.split_at_mut(header.len);
            if self.rtp.open(header.ssrc, index, head, text, tag).is_ok() {
                self.sources.entry(header.ssrc).or_default().accept(index);
                if header.has_extension {
                    swap_profile(&mut opened, |(clear, encrypted)| (encrypted, clear))?;
                }
                return Ok(opened.freeze());
            }
        }
        Err(if fresh[0].is_some() { Error::NotAuthentic } else { Error::Replayed })
    }

    fn open_rtcp(&mut self, datagram: &[u8]) -> Result<Bytes, Error> {
        let ssrc = word(datagram, RTCP_HEADER_LEN - 4).ok_or(Error::Malformed)?;
        self.check_source(ssrc)?;
        let (datagram, flagged) = datagram.split_last_chunk::<SRTCP_INDEX_LEN>().ok_or(Error::Malformed)?;
        let flagged = u32::from_be_bytes(*flagged);
        let (sealed, tag) = split_tag(datagram, RTCP_HEADER_LEN)?;
        // A peer encrypts all of its reports.
        if flagged & ENCRYPTED == 0 {
            return Err(Error::NotAuthentic);
        }
        let index = u64::from(flagged & !ENCRYPTED);
        if self.reports.get(&ssrc).is_some_and(|window| !window.is_fresh(index)) {
            return Err(Error::Replayed);
        }
        let mut opened = BytesMut::from(sealed);
        let (head, text) = opened.split_at_mut(RTCP_HEADER_LEN);
        self.rtcp.open(ssrc, index, &head_of_rtcp(head, flagged), text, tag)?;
        self.reports.entry(ssrc).or_default().accept(index);
        Ok(opened.freeze())
    }

    fn check_source(&self, ssrc: u32) -> Result<(), Error> {
        if self.peer.contains(ssrc) { Ok(()) } else { Err(Error::UnknownSource) }
    }
}

/// RFC 5761 section 4.
fn is_rtcp(datagram: &[u8]) -> bool {
    datagram.get(1).is_some_and(|packet_type| (192..=223).contains(packet_type))
}

fn word(datagram: &[u8], at: usize) -> Option<u32> {
    datagram.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

/// What is authenticated and not encrypted of an RTCP packet: its header, and the index with its flag (RFC 7714 section 9.2).
fn head_of_rtcp(header: &[u8], flagged: u32) -> [u8; RTCP_HEADER_LEN + SRTCP_INDEX_LEN] {
    let mut head = [0; RTCP_HEADER_LEN + SRTCP_INDEX_LEN];
    head[..RTCP_HEADER_LEN].copy_from_slice(&header[..RTCP_HEADER_LEN]);
    head[RTCP_HEADER_LEN..].copy_from_slice(&flagged.to_be_bytes());
    head
}

/// What the tag at the end covers, which begins with a header of this length, and the tag.
fn split_tag(datagram: &[u8], header_len: usize) -> Result<(&[u8], [u8; TAG_LEN]), Error> {
    let (sealed, tag) = datagram.split_last_chunk().ok_or(Error::Malformed)?;
    if sealed.len() < header_len { Err(Error::Malformed) } else { Ok((sealed, *tag)) }
}

/// What protection needs of an RTP header.
#[derive(Debug, Clone, Copy)]
struct Header {
    ssrc: u32,
    number: u16,
    has_extension: bool,
    /// Octets up to where encryption begins: behind the profile and the length of an extension, which are authenticated.
    len: usize,
}

impl Header {
    /// No endpoint here sends contributing sources, which RFC 9335 would encrypt too.
    fn read(datagram: &[u8]) -> Option<Self> {
        let ssrc = word(datagram, RTP_HEADER_LEN - 4)?;
        let (version, has_extension, sources) =
            (datagram[0] >> 6, datagram[0] & 0x10 != 0, datagram[0] & 0x0F);
        let len = RTP_HEADER_LEN + if has_extension { EXTENSION_HEAD_LEN } else { 0 };
        let number = u16::from_be_bytes([datagram[2], datagram[3]]);
        let is_ours = version == 2 && sources == 0 && datagram.len() >= len;
        is_ours.then_some(Self { ssrc, number, has_extension, len })
    }
}

type Pair = ([u8; 2], [u8; 2]);

/// Replaces the profile of a header extension.
fn swap_profile(datagram: &mut [u8], direction: impl Fn(Pair) -> Pair) -> Result<(), Error> {
    let profile = datagram.get_mut(RTP_HEADER_LEN..RTP_HEADER_LEN + 2).ok_or(Error::Malformed)?;
    let (_, other) =
        PROFILES.map(direction).into_iter().find(|(from, _)| from == profile).ok_or(Error::Malformed)?;
    profile.copy_from_slice(&other);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: SourceRange = SourceRange { first: u32::MAX - 1, count: 4 };

    fn pair() -> (Srtp, Srtp) {
        let (there, back) = (MasterKey::new([7; 16], [8; 12]), MasterKey::new([9; 16], [10; 12]));
        let near = SrtpKeys { send: there.clone(), receive: back.clone() };
        let far = SrtpKeys { send: back, receive: there };
        (Srtp::new(&near, PEER).unwrap(), Srtp::new(&far, PEER).unwrap())
    }

    /// An RTP packet with a header extension of the two-byte form.
    fn rtp(ssrc: u32, number: u16) -> Vec<u8> {
        let mut packet = vec![0x90, 96];
        packet.extend(number.to_be_bytes());
        packet.extend([0, 0, 0, 5]);
        packet.extend(ssrc.to_be_bytes());
        packet.extend([0x10, 0x00, 0, 1, 3, 2, 0xAA, 0xBB]);
        packet.extend(b"picture");
        packet
    }

    fn rtcp(ssrc: u32) -> Vec<u8> {
        let mut packet = vec![0x80, 201, 0, 1];
        packet.extend(ssrc.to_be_bytes());
        packet
    }

    fn sealed(srtp: &mut Srtp, packet: &[u8]) -> Vec<u8> {
        let mut datagram = packet.to_vec();
        srtp.seal(&mut datagram).unwrap();
        datagram
    }

    fn octets(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            hex.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    /// RFC 9335 appendix A.2: packets with either form of header extension, and what they become.
    #[test]
    fn the_packets_of_the_rfc() {
        let key = MasterKey::new(
            std::array::from_fn(|index| index as u8),
            std::array::from_fn(|index| 0xA0 | index as u8),
        );
        let keys = SrtpKeys { send: key.clone(), receive: key };
        let peer = SourceRange { first: 0xCAFE_BABE, count: 1 };
        let (mut near, mut far) = (Srtp::new(&keys, peer).unwrap(), Srtp::new(&keys, peer).unwrap());
        let payload = "abababab abababab abababab abababab";
        for (head, protected) in [
            (
                "900f1235 decafbad cafebabe bede0001 51000200",
                "900f1235 decafbad cafebabe c0de0001 39972dc9 572c4d99 e8fc355d e743fb2e 94f9d8ff 54e72f41 93bbc5c7 \
                 4ffab0fa 9fa0fbeb",
            ),
            (
                "900f1236 decafbad cafebabe 10000001 05020002",
                "900f1236 decafbad cafebabe c2de0001 bb75a4c5 45cd1f41 3bdb7daa 2b1e3263 de313667 c9632490 81b35a65 \
                 f5cb6c88 b394235f",
            ),
        ] {
            let packet = octets(&format!("{head}{payload}"));
            let datagram = sealed(&mut near, &packet);
            assert_eq!(datagram, octets(protected));
            assert_eq!(far.open(&datagram).unwrap(), packet);
        }
    }

    #[test]
    fn nothing_behind_the_fixed_header_is_readable() {
        let (mut near, mut far) = pair();
        let packet = rtp(0, 7);
        let datagram = sealed(&mut near, &packet);
        assert_eq!(datagram.len(), packet.len() + TAG_LEN);
        assert_eq!(datagram[..12], packet[..12]);
        assert_eq!(datagram[12..16], [0xC2, 0xDE, 0, 1], "RFC 9335 section 4");
        assert!(!datagram.windows(4).any(|octets| octets == [3, 2, 0xAA, 0xBB] || octets == b"pict"));
        assert_eq!(far.open(&datagram).unwrap(), packet);
        let report = rtcp(1);
        let datagram = sealed(&mut near, &report);
        assert_eq!(datagram.len(), report.len() + TAG_LEN + 4);
        assert_eq!(far.open(&datagram).unwrap(), report);
    }

    #[test]
    fn each_flipped_bit_and_each_cut_is_refused_and_changes_nothing() {
        let (mut near, mut far) = pair();
        for packet in [rtp(0, 7), rtcp(0)] {
            let datagram = sealed(&mut near, &packet);
            for bit in 0..datagram.len() * 8 {
                let mut changed = datagram.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(far.open(&changed).is_err(), "bit {bit}");
            }
            for len in 0..datagram.len() {
                assert!(far.open(&datagram[..len]).is_err(), "{len} octets");
            }
            assert_eq!(far.open(&datagram).unwrap(), packet);
            assert_eq!(far.open(&datagram), Err(Error::Replayed));
        }
    }

    #[test]
    fn unauthenticated_sources_get_no_state() {
        let (mut near, mut far) = pair();
        for ssrc in [2, 77, u32::MAX - 2] {
            for packet in [rtp(ssrc, 1), rtcp(ssrc)] {
                let datagram = sealed(&mut near, &packet);
                assert_eq!(far.open(&datagram), Err(Error::UnknownSource));
            }
        }
        for ssrc in [u32::MAX - 1, u32::MAX, 0, 1] {
            let packet = rtp(ssrc, 1);
            assert_eq!(far.open(&sealed(&mut near, &packet)).unwrap(), packet);
        }
    }

    #[test]
    fn the_rollover_counter_follows_numbers_that_wrap() {
        let (mut near, mut far) = pair();
        for number in (65_000..65_536).chain(0..65_536).chain(0..10) {
            let packet = rtp(0, number as u16);
            let datagram = sealed(&mut near, &packet);
            // Every third is lost.
            if number % 3 > 0 {
                assert_eq!(far.open(&datagram).unwrap(), packet, "{number}");
            }
        }
    }

    #[test]
    fn a_key_ends_before_its_reports_begin_again() {
        let (mut near, _) = pair();
        near.outgoing.reports = MOST_REPORTS - 2;
        near.seal(&mut rtcp(0)).unwrap();
        assert_eq!(near.seal(&mut rtcp(0)), Err(Error::KeyUsedUp));
        near.seal(&mut rtp(0, 1)).unwrap();
    }

    #[test]
    fn the_other_direction_has_another_key() {
        let (mut near, _) = pair();
        let datagram = sealed(&mut near, &rtp(0, 1));
        assert_eq!(near.open(&datagram), Err(Error::NotAuthentic), "reflected");
    }

    /// A sender that is under way took a new key shortly before its numbers began again; and an outage of 40 000 packets.
    #[test]
    fn a_rollover_in_an_outage_is_followed() {
        let (mut near, mut far) = pair();
        for lost in [65_530..65_536, 65_636..105_636] {
            for number in lost.clone() {
                sealed(&mut near, &rtp(0, number as u16));
            }
            for number in lost.end..lost.end + 100 {
                let packet = rtp(0, number as u16);
                assert_eq!(far.open(&sealed(&mut near, &packet)).unwrap(), packet, "{number}");
            }
        }
    }

    #[test]
    fn no_packet_number_is_sealed_twice() {
        let (mut near, _) = pair();
        near.seal(&mut rtp(0, 7)).unwrap();
        near.seal(&mut rtp(0, 6)).unwrap();
        assert_eq!(near.seal(&mut rtp(0, 7)), Err(Error::Replayed));
        near.seal(&mut rtp(1, 7)).unwrap();
    }
}
