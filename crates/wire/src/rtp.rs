//! The RTP packet (RFC 3550 section 5.1).

use crate::bytes::{fits, padded, put_u16, put_u32, room, take, u16_at, u32_at};
use crate::{Error, List};

/// Octets of a header without contributing sources and extension.
pub const HEADER_LEN: usize = 12;

const VERSION: u8 = 2;

mod field {
    /// V(2) P(1) X(1) CC(4).
    pub(super) const FLAGS: usize = 0;
    /// M(1) PT(7).
    pub(super) const MARKER_TYPE: usize = 1;
    pub(super) const SEQUENCE: usize = 2;
    pub(super) const TIMESTAMP: usize = 4;
    pub(super) const SSRC: usize = 8;
    pub(super) const CSRC: usize = 12;
}

const PADDING: u8 = 0x20;
const EXTENSION: u8 = 0x10;
const MARKER: u8 = 0x80;

/// The header. [`Packet`] keeps the padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header<'a> {
    /// Set on the last packet of a picture by every video format here.
    pub marker: bool,
    /// 0 to 127.
    pub payload_type: u8,
    /// Counts packets, modulo 2^16.
    pub sequence_number: u16,
    /// Sampling instant; 90 kHz for video.
    pub timestamp: u32,
    /// Synchronisation source.
    pub ssrc: u32,
    /// Contributing sources, at most 15.
    pub csrc: List<'a, u32>,
    /// The header extension.
    pub extension: Option<Extension<'a>>,
}

/// A header extension (RFC 3550 section 5.3.1); [`crate::extension`] reads and writes its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// 16 bits "defined by profile".
    pub profile: u16,
    /// The words after the length. `emit` fills the last word with zeros.
    pub data: &'a [u8],
}

/// A whole packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packet<'a> {
    /// The header.
    pub header: Header<'a>,
    /// What the payload type describes, without padding.
    pub payload: &'a [u8],
    /// Octets of padding after the payload, their count included; 0 is no padding.
    pub padding: u8,
}

impl<'a> Header<'a> {
    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        let extension = self.extension.map_or(0, |extension| 4 + padded(extension.data.len()));
        HEADER_LEN + self.csrc.buffer_len() + extension
    }

    /// Writes the header of a packet without padding to the front of `buffer`. A payload may be written
    /// straight behind it.
    ///
    /// # Errors
    /// More than 15 contributing sources, a payload type above 127, an extension above 65 535 words, or a
    /// buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let count = fits(self.csrc.len() as u64, 15, "RTP CSRC count")? as u8;
        let payload_type = fits(self.payload_type, 127, "RTP payload type")?;
        let buffer = room(buffer, self.buffer_len(), "RTP header")?;
        let extension_bit = if self.extension.is_some() { EXTENSION } else { 0 };
        let (fixed, rest) = buffer.split_at_mut(field::CSRC);
        fixed[field::FLAGS] = VERSION << 6 | extension_bit | count;
        fixed[field::MARKER_TYPE] = if self.marker { MARKER } else { 0 } | payload_type;
        put_u16(fixed, field::SEQUENCE, self.sequence_number);
        put_u32(fixed, field::TIMESTAMP, self.timestamp);
        put_u32(fixed, field::SSRC, self.ssrc);
        let (csrc, rest) = rest.split_at_mut(self.csrc.buffer_len());
        self.csrc.write(csrc);
        if let Some(extension) = self.extension {
            extension.emit(rest)?;
        }
        Ok(self.buffer_len())
    }

    /// The header and the number of octets it takes.
    fn parse(bytes: &'a [u8]) -> Result<(Self, usize), Error> {
        let fixed = take(bytes, 0, HEADER_LEN, "RTP header")?;
        let flags = fixed[field::FLAGS];
        if flags >> 6 != VERSION {
            let seen = u64::from(flags >> 6);
            return Err(Error::Invalid { field: "RTP version", offset: field::FLAGS, seen, expected: "2" });
        }
        let csrc = take(bytes, field::CSRC, 4 * usize::from(flags & 0x0F), "RTP CSRC list")?;
        let mut len = HEADER_LEN + csrc.len();
        let mut extension = None;
        if flags & EXTENSION != 0 {
            let found = Extension::parse(bytes, len)?;
            len += 4 + found.data.len();
            extension = Some(found);
        }
        let header = Self {
            marker: fixed[field::MARKER_TYPE] & MARKER != 0,
            payload_type: fixed[field::MARKER_TYPE] & !MARKER,
            sequence_number: u16_at(fixed, field::SEQUENCE),
            timestamp: u32_at(fixed, field::TIMESTAMP),
            ssrc: u32_at(fixed, field::SSRC),
            csrc: List::on_wire(csrc),
            extension,
        };
        Ok((header, len))
    }
}

impl<'a> Extension<'a> {
    fn parse(bytes: &'a [u8], offset: usize) -> Result<Self, Error> {
        let head = take(bytes, offset, 4, "RTP extension header")?;
        let words = usize::from(u16_at(head, 2));
        let data = take(bytes, offset + 4, 4 * words, "RTP extension")?;
        Ok(Self { profile: u16_at(head, 0), data })
    }

    fn emit(&self, buffer: &mut [u8]) -> Result<(), Error> {
        let words = fits((padded(self.data.len()) / 4) as u64, u16::MAX.into(), "RTP extension length")?;
        put_u16(buffer, 0, self.profile);
        put_u16(buffer, 2, words as u16);
        let (data, fill) = buffer[4..].split_at_mut(self.data.len());
        data.copy_from_slice(self.data);
        fill.fill(0);
        Ok(())
    }
}

impl<'a> Packet<'a> {
    /// Reads a whole datagram.
    ///
    /// # Errors
    /// A version other than 2, lengths beyond the end, or padding larger than what follows the header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (header, start) = Header::parse(bytes)?;
        let rest = &bytes[start..];
        let padding = if bytes[field::FLAGS] & PADDING != 0 { trailing_padding(rest, start)? } else { 0 };
        let payload = &rest[..rest.len() - usize::from(padding)];
        Ok(Self { header, payload, padding })
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        self.header.buffer_len() + self.payload.len() + usize::from(self.padding)
    }

    /// Writes header, payload and padding to the front of `buffer`.
    ///
    /// # Errors
    /// As [`Header::emit`].
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, self.buffer_len(), "RTP packet")?;
        let start = self.header.emit(buffer)?;
        let (payload, padding) = buffer[start..].split_at_mut(self.payload.len());
        payload.copy_from_slice(self.payload);
        padding.fill(0);
        if let Some(count) = padding.last_mut() {
            *count = self.padding;
            buffer[field::FLAGS] |= PADDING;
        }
        Ok(self.buffer_len())
    }
}

/// The last octet counts the padding, itself included (RFC 3550 section 5.1).
fn trailing_padding(rest: &[u8], start: usize) -> Result<u8, Error> {
    let field = "RTP padding count";
    let Some(&count) = rest.last() else {
        return Err(Error::Truncated { field, offset: start, needed: 1, available: 0 });
    };
    if count == 0 || usize::from(count) > rest.len() {
        let expected = "1 to the octets after the header";
        return Err(Error::Invalid { field, offset: start + rest.len() - 1, seen: count.into(), expected });
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_rfc_3550_puts_them() {
        let packet = Packet {
            header: Header {
                marker: true,
                payload_type: 96,
                sequence_number: 0x0102,
                timestamp: 0x0304_0506,
                ssrc: 0x0708_090A,
                csrc: List::from(&[0x0B0C_0D0E][..]),
                extension: Some(Extension { profile: 0xBEDE, data: &[0x10, 0xAA] }),
            },
            payload: &[1, 2, 3],
            padding: 2,
        };
        let expected = [
            0xB1, 0xE0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, //
            0xBE, 0xDE, 0, 1, 0x10, 0xAA, 0, 0, 1, 2, 3, 0, 2,
        ];
        let mut buffer = [0xEE; 40];
        assert_eq!(packet.emit(&mut buffer), Ok(29));
        assert_eq!(buffer[..29], expected);
        let parsed = Packet::parse(&expected).unwrap();
        assert_eq!(parsed.header.csrc.iter().collect::<Vec<_>>(), [0x0B0C_0D0E]);
        assert_eq!((parsed.payload, parsed.padding), (&[1, 2, 3][..], 2));
    }

    #[test]
    fn padding_beyond_the_payload_is_refused() {
        let mut bytes = [0; 15];
        bytes[0] = 0xA0;
        for (count, good) in [(0, false), (1, true), (3, true), (4, false), (255, false)] {
            bytes[14] = count;
            assert_eq!(Packet::parse(&bytes).is_ok(), good, "{count}");
        }
        let expected = "1 to the octets after the header";
        let beyond = Error::Invalid { field: "RTP padding count", offset: 14, seen: 255, expected };
        assert_eq!(Packet::parse(&bytes), Err(beyond));
        assert!(Packet::parse(&bytes[..12]).is_err());
    }

    #[test]
    fn another_version_is_refused() {
        let mut bytes = [0; 12];
        for version in [0, 1, 3] {
            bytes[0] = version << 6;
            let seen = u64::from(version);
            let expected = Error::Invalid { field: "RTP version", offset: 0, seen, expected: "2" };
            assert_eq!(Packet::parse(&bytes), Err(expected));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut buffer = [0; 100];
        let sources = [0; 16];
        let header = Header { csrc: List::from(&sources[..]), ..Header::default() };
        assert_eq!(
            header.emit(&mut buffer),
            Err(Error::TooLarge { field: "RTP CSRC count", seen: 16, limit: 15 })
        );
        let header = Header { payload_type: 128, ..Header::default() };
        assert!(header.emit(&mut buffer).is_err());
        assert!(Header::default().emit(&mut buffer[..11]).is_err());
        let data = vec![0; 4 * 65_536];
        let mut large = vec![0; 300_000];
        let header = Header { extension: Some(Extension { profile: 0, data: &data }), ..Header::default() };
        assert!(header.emit(&mut large).is_err());
    }
}
