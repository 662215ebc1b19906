//! H.265 over RTP (RFC 7798): single NAL units, aggregation packets and fragmentation units, without decoding order numbers and without
//! PACI packets.

use crate::Error;
use crate::bytes::{room, take, u16_at};
use crate::h264::annex_b;
use crate::nal_units;

/// NAL unit types that this crate distinguishes (ITU-T H.265 table 7-1, RFC 7798 section 4.4).
pub mod nal_type {
    /// Video parameter set.
    pub const VPS: u8 = 32;
    /// Sequence parameter set.
    pub const SPS: u8 = 33;
    /// Picture parameter set.
    pub const PPS: u8 = 34;
    /// Access unit delimiter.
    pub const DELIMITER: u8 = 35;
    /// Supplemental enhancement information before the picture.
    pub const PREFIX_SEI: u8 = 39;
    /// Aggregation packet.
    pub const AGGREGATE: u8 = 48;
    /// Fragmentation unit.
    pub const FRAGMENT: u8 = 49;

    /// Whether a decoder can begin with a slice of this type: that of an intra random access point.
    pub const fn is_random_access(nal_type: u8) -> bool {
        matches!(nal_type, 16..=21)
    }

    /// Whether no picture of the same temporal layer refers to the picture of a slice of this type. In a stream with several temporal
    /// layers pictures of the layers above may.
    pub const fn is_non_reference(nal_type: u8) -> bool {
        nal_type < 16 && nal_type.is_multiple_of(2)
    }
}

/// Octets of a NAL unit's header.
pub const HEADER_LEN: usize = 2;
const FRAGMENT_HEAD: usize = HEADER_LEN + 1;

/// The first two octets of a NAL unit: F(1) Type(6) LayerId(6) TID(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NalHeader(pub [u8; HEADER_LEN]);

impl NalHeader {
    /// The header at the beginning of these octets.
    pub fn of(octets: &[u8]) -> Option<Self> {
        octets.first_chunk().copied().map(Self)
    }

    /// One of [`nal_type`], or another below 64.
    pub const fn nal_type(self) -> u8 {
        self.0[0] >> 1 & 0x3F
    }

    /// `nuh_layer_id`.
    pub const fn layer(self) -> u8 {
        (self.0[0] & 1) << 5 | self.0[1] >> 3
    }

    /// `nuh_temporal_id_plus1`, which is never zero.
    pub const fn temporal_id_plus1(self) -> u8 {
        self.0[1] & 7
    }

    /// This header with another type.
    const fn with_type(self, nal_type: u8) -> Self {
        Self([self.0[0] & 0x81 | nal_type << 1, self.0[1]])
    }
}

/// An RTP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// A whole NAL unit.
    Single(&'a [u8]),
    /// Several whole NAL units of one access unit.
    Aggregate(Aggregate<'a>),
    /// A part of a NAL unit.
    Fragment(Fragment<'a>),
}

/// The NAL units of an aggregation packet, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregate<'a> {
    header: NalHeader,
    /// Size(16) and NAL unit, repeated.
    units: &'a [u8],
}

/// A part of a NAL unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The header of the NAL unit that is cut.
    pub nal_header: NalHeader,
    /// S: its first part.
    pub start: bool,
    /// E: its last part.
    pub end: bool,
    /// This part, without the header of the NAL unit.
    pub data: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// Less than a header, a type that is not received, an aggregate whose sizes do not add up or that holds something other than
    /// single NAL units, a fragment that is start and end at once or that is empty.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        match single(payload) {
            Ok(_) => Ok(Self::Single(payload)),
            Err(error) => match NalHeader::of(payload).map(NalHeader::nal_type) {
                Some(nal_type::AGGREGATE) => Aggregate::parse(payload).map(Self::Aggregate),
                Some(nal_type::FRAGMENT) => Fragment::parse(payload).map(Self::Fragment),
                _ => Err(error),
            },
        }
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        match self {
            Self::Single(nal) => nal.len(),
            Self::Aggregate(aggregate) => HEADER_LEN + aggregate.units.len(),
            Self::Fragment(fragment) => FRAGMENT_HEAD + fragment.data.len(),
        }
    }

    /// Writes the payload to the front of `buffer`.
    ///
    /// # Errors
    /// A buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, self.buffer_len(), "H.265 payload")?;
        match self {
            Self::Single(nal) => buffer.copy_from_slice(nal),
            Self::Aggregate(Aggregate { header, units }) => {
                let (head, rest) = buffer.split_at_mut(HEADER_LEN);
                head.copy_from_slice(&header.0);
                rest.copy_from_slice(units);
            }
            Self::Fragment(fragment) => fragment.emit(buffer),
        }
        Ok(buffer.len())
    }

    /// Appends what this payload carries to a byte stream (Annex B). Payloads in the order of their sequence numbers give back the NAL
    /// units; after a lost fragment the caller leaves out the rest of that unit.
    pub fn append_annex_b(&self, stream: &mut Vec<u8>) {
        match self {
            Self::Single(nal) => annex_b::append(stream, nal),
            Self::Aggregate(aggregate) => aggregate.units().for_each(|nal| annex_b::append(stream, nal)),
            Self::Fragment(fragment) => {
                if fragment.start {
                    annex_b::append(stream, &fragment.nal_header.0);
                }
                stream.extend_from_slice(fragment.data);
            }
        }
    }
}

impl<'a> Aggregate<'a> {
    fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let header = NalHeader([payload[0], payload[1]]);
        nal_units::parse_units(payload, HEADER_LEN, single).map(|units| Self { header, units })
    }

    /// The NAL units in order.
    pub fn units(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        nal_units::units(self.units)
    }
}

impl<'a> Fragment<'a> {
    fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let field = "H.265 fragment header";
        // An octet of data at least.
        let head = take(payload, 0, FRAGMENT_HEAD + 1, field)?;
        let ((start, end), nal_type) = (nal_units::marks(head[2]), head[2] & 0x3F);
        let nal_header = NalHeader([head[0], head[1]]).with_type(nal_type);
        if start && end || nal_type >= nal_type::AGGREGATE || nal_header.temporal_id_plus1() == 0 {
            let expected = "start or end or neither, of a NAL unit of type 0 to 47";
            return Err(Error::Invalid { field, offset: 2, seen: head[2].into(), expected });
        }
        Ok(Self { nal_header, start, end, data: &payload[FRAGMENT_HEAD..] })
    }

    fn emit(&self, buffer: &mut [u8]) {
        let (head, data) = buffer.split_at_mut(FRAGMENT_HEAD);
        let [first, second] = self.nal_header.with_type(nal_type::FRAGMENT).0;
        let marks = nal_units::mark_bits(self.start, self.end);
        head.copy_from_slice(&[first, second, marks | self.nal_header.nal_type()]);
        data.copy_from_slice(self.data);
    }
}

/// The header of a NAL unit that may stand on its own: type 0 to 47.
fn single(nal: &[u8]) -> Result<NalHeader, Error> {
    let field = "H.265 NAL unit";
    let header = NalHeader::of(nal).ok_or(Error::Truncated {
        field,
        offset: 0,
        needed: HEADER_LEN,
        available: nal.len(),
    })?;
    if header.nal_type() >= nal_type::AGGREGATE || header.temporal_id_plus1() == 0 {
        let seen = u16_at(nal, 0).into();
        return Err(Error::Invalid { field, offset: 0, seen, expected: "type 0 to 47 of a temporal layer" });
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(payloads: &[&[u8]]) -> Vec<u8> {
        let mut stream = Vec::new();
        payloads.iter().for_each(|payload| Payload::parse(payload).unwrap().append_annex_b(&mut stream));
        stream
    }

    #[test]
    fn units_alone_together_and_in_parts() {
        let [vps, sps] = [[0x40, 1, 0x0C], [0x42, 1, 0x01]];
        assert_eq!(stream(&[&vps]), [0, 0, 0, 1, 0x40, 1, 0x0C]);
        let aggregate = [&[0x60, 1, 0, 3][..], &vps, &[0, 3], &sps].concat();
        assert_eq!(stream(&[&aggregate]), stream(&[&vps, &sps]));
        // An IDR slice (type 19) in three parts.
        let parts: [&[u8]; 3] = [&[0x62, 1, 0x93, 0xAA], &[0x62, 1, 0x13, 0xBB], &[0x62, 1, 0x53, 0xCC]];
        assert_eq!(stream(&parts), [0, 0, 0, 1, 0x26, 1, 0xAA, 0xBB, 0xCC]);
    }

    /// By ITU-T H.265 table 7-1.
    #[test]
    fn what_a_type_says_of_a_picture() {
        let random_access: Vec<_> = (0..64).filter(|kind| nal_type::is_random_access(*kind)).collect();
        assert_eq!(random_access, [16, 17, 18, 19, 20, 21]);
        let non_reference: Vec<_> = (0..64).filter(|kind| nal_type::is_non_reference(*kind)).collect();
        assert_eq!(non_reference, [0, 2, 4, 6, 8, 10, 12, 14]);
    }

    #[test]
    fn layers_stand_in_both_octets() {
        // Type 32 in layer 33, temporal layer 2; type 1 in layer 2.
        for (octets, fields) in [([0x41, 0x0B], (32, 33, 3)), ([0x02, 0x11], (1, 2, 1))] {
            let header = NalHeader(octets);
            assert_eq!((header.nal_type(), header.layer(), header.temporal_id_plus1()), fields);
        }
    }

    #[test]
    fn damage_is_refused() {
        let wrong: [&[u8]; 10] = [
            &[],
            &[0x40],
            &[0x40, 0, 1],
            &[0x64, 1, 1],
            &[0x60, 1],
            &[0x60, 1, 0, 3, 0x40, 1],
            &[0x60, 1, 0, 2, 0x60, 1],
            &[0x60, 1, 0, 2, 0x40, 1, 0],
            &[0x62, 1, 0x93],
            &[0x62, 1, 0xD3, 0xAA],
        ];
        for payload in wrong {
            assert!(Payload::parse(payload).is_err(), "{payload:x?}");
        }
        assert!(Payload::parse(&[0x62, 1, 0x30, 0xAA]).is_err(), "a fragment of an aggregate");
    }
}
