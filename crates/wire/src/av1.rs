//! AV1 over RTP (AOM, "RTP Payload Format For AV1", version 1.0): OBUs, whole and in parts.

use crate::Error;
use crate::bytes::{room, take};

/// Types of OBUs (AV1 bitstream specification section 6.2.2).
pub mod obu_type {
    /// Sequence header.
    pub const SEQUENCE_HEADER: u8 = 1;
    /// Temporal delimiter, which files of several codecs leave out.
    pub const TEMPORAL_DELIMITER: u8 = 2;
    /// Frame header, with its tiles in other OBUs.
    pub const FRAME_HEADER: u8 = 3;
    /// Frame header and tiles.
    pub const FRAME: u8 = 6;
}

const FIELD: &str = "AV1 payload";
/// Aggregation header: Z(1) Y(1) W(2) N(1) reserved(3).
const CONTINUES: u8 = 0x80;
const CONTINUED: u8 = 0x40;
const BEGINS: u8 = 0x08;
/// Octets of a number in LEB128 at most (section 4.10.5).
const LEB128: usize = 8;
/// OBU header: forbidden(1) type(4) extension(1) has_size(1) reserved(1).
const EXTENSION: u8 = 4;
const HAS_SIZE: u8 = 2;
const FORBIDDEN: u8 = 0x80;

/// An RTP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Z: its first element goes on with the last OBU of the packet before.
    pub continues: bool,
    /// Y: its last OBU goes on in the next packet.
    pub continued: bool,
    /// N: a coded video sequence begins, with a key frame.
    pub begins_sequence: bool,
    /// W: so many elements, the last without a size; 0: any number, each with a size.
    count: u8,
    elements: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// No element, an empty one, sizes that do not add up, or a sequence that begins in the middle of an OBU.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let header = take(payload, 0, 2, FIELD)?[0];
        let parsed = Self {
            continues: header & CONTINUES != 0,
            continued: header & CONTINUED != 0,
            begins_sequence: header & BEGINS != 0,
            count: header >> 4 & 3,
            elements: &payload[1..],
        };
        if parsed.continues && parsed.begins_sequence {
            let expected = "no sequence that begins in the middle of an OBU";
            return Err(Error::Invalid { field: FIELD, offset: 0, seen: header.into(), expected });
        }
        let (mut rest, mut index) = (parsed.elements, 0_usize);
        while !rest.is_empty() {
            index += 1;
            let base = payload.len() - rest.len();
            rest = parsed.split(rest, index).map_err(|error| error.moved(base))?.1;
        }
        if usize::from(parsed.count) > index {
            return Err(Error::Truncated {
                field: FIELD,
                offset: payload.len(),
                needed: usize::from(parsed.count) - index,
                available: 0,
            });
        }
        Ok(parsed)
    }

    /// The elements in order: OBUs, or parts of one.
    pub fn elements(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (payload, mut rest, mut index) = (*self, self.elements, 0);
        // Checked by `parse`.
        std::iter::from_fn(move || {
            index += 1;
            let (element, after) = payload.split(rest, index).ok()?;
            rest = after;
            Some(element)
        })
    }

    /// Element number `index`, from 1 on, at the beginning of these octets, and what follows it.
    fn split(&self, octets: &'a [u8], index: usize) -> Result<(&'a [u8], &'a [u8]), Error> {
        let (size, len) = match self.count {
            count if usize::from(count) == index => (octets.len(), 0),
            _ => leb128(octets)?,
        };
        if size == 0 {
            let expected = "an element with an octet at least";
            return Err(Error::Invalid { field: FIELD, offset: 0, seen: 0, expected });
        }
        let element = take(octets, len, size, FIELD)?;
        Ok((element, &octets[len + size..]))
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        1 + self.elements.len()
    }

    /// Writes the payload to the front of `buffer`.
    ///
    /// # Errors
    /// A buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, self.buffer_len(), FIELD)?;
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.continues, CONTINUES) | flag(self.continued, CONTINUED);
        buffer[0] = flags | self.count << 4 | flag(self.begins_sequence, BEGINS);
        buffer[1..].copy_from_slice(self.elements);
        Ok(buffer.len())
    }
}

/// A number in LEB128 and the octets that it takes.
fn leb128(octets: &[u8]) -> Result<(usize, usize), Error> {
    let mut value = 0_u64;
    for (octet, index) in octets.iter().zip(0..LEB128) {
        value |= u64::from(octet & 0x7F) << (7 * index);
        if octet & 0x80 == 0 {
            let fits = u32::try_from(value).ok().and_then(|value| usize::try_from(value).ok());
            let too_large = Error::TooLarge { field: "AV1 size", seen: value, limit: u32::MAX.into() };
            return Ok((fits.ok_or(too_large)?, index + 1));
        }
    }
    let needed = octets.len().min(LEB128) + 1;
    Err(Error::Truncated { field: "AV1 size", offset: 0, needed, available: octets.len() })
}

/// An OBU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obu<'a> {
    /// The header without its size field: one octet, or two with an extension.
    header: &'a [u8],
    /// What follows the header.
    pub data: &'a [u8],
}

impl<'a> Obu<'a> {
    /// Reads an OBU that fills these octets, with or without a size field.
    ///
    /// # Errors
    /// No header, one whose forbidden bit is set, or a size that is not that of the rest.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let (obu, rest) = Self::split(octets)?;
        if !rest.is_empty() {
            let (offset, seen) = (octets.len() - rest.len(), rest.len() as u64);
            return Err(Error::Invalid { field: "AV1 OBU", offset, seen, expected: "nothing behind it" });
        }
        Ok(obu)
    }

    /// Reads the OBU at the beginning of these octets. One without a size field takes all of them.
    ///
    /// # Errors
    /// No header, one whose forbidden bit is set, or a size beyond the end.
    pub fn split(octets: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let field = "AV1 OBU";
        let first = take(octets, 0, 1, field)?[0];
        if first & FORBIDDEN != 0 {
            let expected = "a forbidden bit that is clear";
            return Err(Error::Invalid { field, offset: 0, seen: first.into(), expected });
        }
        let header = take(octets, 0, if first & EXTENSION == 0 { 1 } else { 2 }, field)?;
        let rest = &octets[header.len()..];
        let (size, len) = if first & HAS_SIZE == 0 { (rest.len(), 0) } else { leb128(rest)? };
        let data = take(rest, len, size, field).map_err(|error| error.moved(header.len()))?;
        Ok((Self { header, data }, &rest[len + size..]))
    }

    /// One of [`obu_type`], or another below 16.
    pub fn obu_type(&self) -> u8 {
        self.header.first().map_or(0, |first| Self::type_of(*first))
    }

    /// The type in the first octet of an OBU.
    pub const fn type_of(first: u8) -> u8 {
        first >> 3 & 0x0F
    }

    /// Appends it with a size field, as files have it.
    pub fn append_sized(&self, stream: &mut Vec<u8>) {
        let (first, extension) =
            self.header.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        stream.push(first | HAS_SIZE);
        stream.extend_from_slice(extension);
        let mut size = self.data.len();
        while size > 0x7F {
            stream.push(0x80 | size as u8);
            size >>= 7;
        }
        stream.push(size as u8);
        stream.extend_from_slice(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(payload: &[u8]) -> Vec<&[u8]> {
        Payload::parse(payload).unwrap().elements().collect()
    }

    #[test]
    fn elements_with_and_without_sizes() {
        assert_eq!(elements(&[0x18, 0x0A, 1, 2]), [&[0x0A, 1, 2][..]], "one, which begins a sequence");
        assert_eq!(elements(&[0x28, 2, 0x0A, 1, 0x30, 9]), [&[0x0A, 1][..], &[0x30, 9]]);
        assert_eq!(elements(&[0x00, 1, 0x0A, 2, 0x30, 9]), [&[0x0A][..], &[0x30, 9]]);
        let payload = Payload::parse(&[0xD0, 7]).unwrap();
        assert!(payload.continues && payload.continued && !payload.begins_sequence);
        let wrong: [&[u8]; 9] = [
            &[],
            &[0x10],
            &[0x98, 1],
            &[0x20, 2, 0x0A, 1],
            &[0x00, 5, 1],
            &[0x00, 0],
            &[0x00, 0x80],
            &[0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1],
            &[0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
        ];
        for payload in wrong {
            assert!(Payload::parse(payload).is_err(), "{payload:x?}");
        }
    }

    #[test]
    fn an_error_says_where_the_payload_is_wrong() {
        let truncated =
            |field, offset, needed, available| Err(Error::Truncated { field, offset, needed, available });
        // The second element, of five octets; a second element; the second octet of a size.
        assert_eq!(Payload::parse(&[0x00, 1, 0x0A, 5, 1]), truncated(FIELD, 4, 5, 1));
        assert_eq!(Payload::parse(&[0x20, 2, 0x0A, 1]), truncated(FIELD, 4, 1, 0));
        assert_eq!(Payload::parse(&[0x00, 0x80]), truncated("AV1 size", 1, 2, 1));
        let behind = Error::Invalid { field: "AV1 OBU", offset: 3, seen: 1, expected: "nothing behind it" };
        assert_eq!(Obu::parse(&[0x0A, 1, 7, 8]), Err(behind));
        assert!(!Payload::parse(&[0x10, 7]).unwrap().continued);
    }

    #[test]
    fn the_type_is_in_the_first_octet() {
        for (first, obu_type) in [(0x0A, obu_type::SEQUENCE_HEADER), (0x34, obu_type::FRAME), (0x7F, 15)] {
            assert_eq!(Obu::type_of(first), obu_type);
        }
        assert_eq!(Obu::parse(&[0x32, 1, 9]).unwrap().obu_type(), obu_type::FRAME);
    }

    /// As many as a large datagram holds: more than an octet counts.
    #[test]
    fn many_small_elements() {
        let payload = [&[0x00][..], &[1, 0x30].repeat(700)].concat();
        assert_eq!(elements(&payload), vec![&[0x30][..]; 700]);
    }

    #[test]
    fn an_obu_gets_its_size() {
        let sized = |octets: &[u8]| {
            let mut stream = Vec::new();
            Obu::parse(octets).unwrap().append_sized(&mut stream);
            stream
        };
        assert_eq!(sized(&[0x08, 7, 8]), [0x0A, 2, 7, 8]);
        assert_eq!(sized(&[0x0A, 2, 7, 8]), [0x0A, 2, 7, 8], "it has one already");
        assert_eq!(sized(&[0x34, 0x48, 9]), [0x36, 0x48, 1, 9], "with an extension");
        for (len, size) in [(300, &[0xAC, 2][..]), (128, &[0x80, 1]), (127, &[0x7F])] {
            let data = vec![5; len];
            assert_eq!(sized(&[&[0x30][..], &data].concat()), [&[0x32][..], size, &data].concat());
        }
        assert!(Obu::parse(&[0x0A, 1, 7, 8]).is_err() && Obu::parse(&[0x0A, 3, 7, 8]).is_err());
        assert!(Obu::parse(&[]).is_err() && Obu::parse(&[0x34]).is_err() && Obu::parse(&[0x88, 7]).is_err());
    }
}
