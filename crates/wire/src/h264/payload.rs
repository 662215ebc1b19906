//! One RTP payload (RFC 6184 sections 5.6 to 5.8).

use super::annex_b;
use super::{NalHeader, nal_type, single};
use crate::Error;
use crate::bytes::{fits, put_u16, room, take};
use crate::nal_units::{self, SIZE_LEN};

const FRAGMENT_HEAD: usize = 2;

/// An RTP payload of packetization mode 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// A whole NAL unit.
    Single(&'a [u8]),
    /// STAP-A: several whole NAL units of one instant.
    Aggregate(Aggregate<'a>),
    /// FU-A: a part of a NAL unit.
    Fragment(Fragment<'a>),
}

/// The NAL units of a STAP-A, at least one; still packed when it was parsed. Two are equal where their units
/// are.
#[derive(Debug, Clone, Copy)]
pub struct Aggregate<'a>(Units<'a>);

#[derive(Debug, Clone, Copy)]
enum Units<'a> {
    /// Behind the STAP-A header: size(16) and NAL unit, repeated.
    Wire(&'a [u8]),
    Values(&'a [&'a [u8]]),
}

/// A part of a NAL unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// First octet of the NAL unit that is cut.
    pub nal_header: NalHeader,
    /// S: its first part.
    pub start: bool,
    /// E: its last part.
    pub end: bool,
    /// This part, without the first octet of the NAL unit.
    pub data: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// An empty payload, a type that mode 1 does not have, an aggregate whose sizes do not add up or that holds
    /// something other than single NAL units, a fragment that is start and end at once or that is empty.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let head = NalHeader(take(payload, 0, 1, "H.264 payload")?[0]);
        match head.nal_type() {
            1..=23 => Ok(Self::Single(payload)),
            nal_type::STAP_A => Aggregate::parse(payload).map(Self::Aggregate),
            nal_type::FU_A => Fragment::parse(payload).map(Self::Fragment),
            other => Err(Error::Invalid {
                field: "H.264 payload type",
                offset: 0,
                seen: other.into(),
                expected: "1 to 24, or 28",
            }),
        }
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        match self {
            Self::Single(nal) => nal.len(),
            Self::Aggregate(aggregate) => aggregate.buffer_len(),
            Self::Fragment(fragment) => FRAGMENT_HEAD + fragment.data.len(),
        }
    }

    /// Writes the payload to the front of `buffer`.
    ///
    /// # Errors
    /// A NAL unit in an aggregate above 65 535 octets, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, self.buffer_len(), "H.264 payload")?;
        match self {
            Self::Single(nal) => buffer.copy_from_slice(nal),
            Self::Aggregate(aggregate) => aggregate.emit(buffer)?,
            Self::Fragment(fragment) => fragment.emit(buffer),
        }
        Ok(buffer.len())
    }

    /// Appends what this payload carries to a byte stream (Annex B). Payloads in the order of their sequence
    /// numbers give back the NAL units; after a lost fragment the caller leaves out the rest of that unit.
    pub fn append_annex_b(&self, stream: &mut Vec<u8>) {
        match self {
            Self::Single(nal) => annex_b::append(stream, nal),
            Self::Aggregate(aggregate) => aggregate.units().for_each(|nal| annex_b::append(stream, nal)),
            Self::Fragment(fragment) => {
                if fragment.start {
                    annex_b::append(stream, &[fragment.nal_header.0]);
                }
                stream.extend_from_slice(fragment.data);
            }
        }
    }
}

impl<'a> Aggregate<'a> {
    /// Octets before the units, and before each unit.
    pub(super) const HEADER_LEN: usize = 1;
    pub(super) const UNIT_HEADER_LEN: usize = SIZE_LEN;

    /// `nals` has been checked: not empty, single units, none above 65 535 octets.
    pub(super) fn of(nals: &'a [&'a [u8]]) -> Self {
        Self(Units::Values(nals))
    }

    /// The NAL units in order.
    pub fn units(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let (wire, values) = match self.0 {
            Units::Wire(bytes) => (bytes, &[][..]),
            Units::Values(values) => (&[][..], values),
        };
        nal_units::units(wire).chain(values.iter().copied())
    }

    fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        nal_units::parse_units(payload, Self::HEADER_LEN, single).map(|units| Self(Units::Wire(units)))
    }

    fn buffer_len(&self) -> usize {
        Self::HEADER_LEN + self.units().map(|unit| SIZE_LEN + unit.len()).sum::<usize>()
    }

    fn emit(&self, buffer: &mut [u8]) -> Result<(), Error> {
        let mut header = NalHeader(nal_type::STAP_A);
        let mut at = Self::HEADER_LEN;
        for unit in self.units() {
            header = header.joined(NalHeader(unit[0]));
            let size = fits(unit.len() as u64, u16::MAX.into(), "STAP-A unit")? as u16;
            put_u16(buffer, at, size);
            at += SIZE_LEN;
            buffer[at..at + unit.len()].copy_from_slice(unit);
            at += unit.len();
        }
        buffer[0] = header.0;
        Ok(())
    }
}

impl PartialEq for Aggregate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.units().eq(other.units())
    }
}

impl Eq for Aggregate<'_> {}

impl<'a> Fragment<'a> {
    /// Octets before the data.
    pub(super) const HEADER_LEN: usize = FRAGMENT_HEAD;

    fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let field = "FU-A header";
        // An octet of data at least.
        let head = take(payload, 0, FRAGMENT_HEAD + 1, field)?;
        let (start, end) = nal_units::marks(head[1]);
        let nal_type = head[1] & 0x1F;
        if start && end || !(1..=23).contains(&nal_type) {
            let expected = "start or end or neither, of a NAL unit of type 1 to 23";
            return Err(Error::Invalid { field, offset: 1, seen: head[1].into(), expected });
        }
        let nal_header = NalHeader(head[0]).with_type(nal_type);
        Ok(Self { nal_header, start, end, data: &payload[FRAGMENT_HEAD..] })
    }

    fn emit(&self, buffer: &mut [u8]) {
        let (head, data) = buffer.split_at_mut(FRAGMENT_HEAD);
        head[0] = self.nal_header.with_type(nal_type::FU_A).0;
        head[1] = nal_units::mark_bits(self.start, self.end) | self.nal_header.nal_type();
        data.copy_from_slice(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emitted(payload: &Payload<'_>) -> Vec<u8> {
        let mut buffer = vec![0xEE; payload.buffer_len()];
        assert_eq!(payload.emit(&mut buffer), Ok(buffer.len()));
        buffer
    }

    #[test]
    fn fragments_of_an_idr_unit() {
        let fragment = |start, end| Fragment { nal_header: NalHeader(0x65), start, end, data: &[0xAA] };
        for (start, end, head) in [(true, false, 0x85), (false, false, 0x05), (false, true, 0x45)] {
            let payload = Payload::Fragment(fragment(start, end));
            let bytes = emitted(&payload);
            assert_eq!(bytes, [0x7C, head, 0xAA]);
            assert_eq!(Payload::parse(&bytes), Ok(payload));
        }
        assert!(Payload::parse(&[0x7C, 0xC5, 0xAA]).is_err(), "start and end at once");
        assert!(Payload::parse(&[0x7C, 0x85]).is_err(), "empty");
        assert!(Payload::parse(&[0x7C, 0x9C, 0xAA]).is_err(), "a fragment of a fragment");
    }

    #[test]
    fn aggregate_takes_the_highest_importance() {
        let units: [&[u8]; 3] = [&[0x67, 1], &[0x88, 2], &[0x06]];
        let payload = Payload::Aggregate(Aggregate::of(&units));
        let bytes = emitted(&payload);
        assert_eq!(bytes, [0xF8, 0, 2, 0x67, 1, 0, 2, 0x88, 2, 0, 1, 0x06]);
        let parsed = Payload::parse(&bytes).unwrap();
        assert_eq!(parsed, payload);
        assert_eq!(emitted(&parsed), bytes);
        for wrong in
            [&[0x78][..], &[0x78, 0, 0], &[0x78, 0, 2, 0x67], &[0x78, 0, 1, 0x7C], &[0x78, 0, 1, 0x67, 0]]
        {
            assert!(Payload::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    /// NRI 1, 2 and 1, of which the second is the highest; F of none.
    #[test]
    fn the_highest_importance_may_come_later() {
        let units: [&[u8]; 3] = [&[0x27, 1], &[0x46, 2], &[0x26]];
        let payload = Payload::Aggregate(Aggregate::of(&units));
        assert_eq!(emitted(&payload)[0], 0x58);
        assert_ne!(payload, Payload::Aggregate(Aggregate::of(&units[..1])));
    }

    /// Of the second unit the nine octets, of the first its type.
    #[test]
    fn an_error_says_which_unit_is_wrong() {
        let (field, offset) = ("NAL unit of an aggregate", 6);
        let beyond = Error::Truncated { field, offset, needed: 9, available: 1 };
        assert_eq!(Payload::parse(&[0x78, 0, 1, 0x67, 0, 9, 1]), Err(beyond));
        let wrong = Payload::parse(&[0x78, 0, 1, 0x7C]);
        assert!(matches!(wrong, Err(Error::Invalid { offset: 3, seen: 28, .. })), "{wrong:?}");
    }

    #[test]
    fn other_modes_are_refused() {
        for first in [0x60, 0x79, 0x7A, 0x7B, 0x7D, 0x7E, 0x7F] {
            assert!(Payload::parse(&[first, 0, 1, 0x65]).is_err(), "{first:#x}");
        }
        assert!(Payload::parse(&[]).is_err());
    }
}
