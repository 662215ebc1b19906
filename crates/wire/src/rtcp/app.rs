//! Application-defined packet (RFC 3550 section 6.7), the container of this project's own reports.

use super::{Packet, emit_header, packet_type};
use crate::Error;
use crate::bytes::{padded, put_u32, u32_at};

/// An application-defined packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct App<'a> {
    /// 0 to 31.
    pub subtype: u8,
    /// Who sends it.
    pub ssrc: u32,
    /// Four ASCII characters.
    pub name: [u8; 4],
    /// Whole 32-bit words; `emit` fills the last with zeros.
    pub data: &'a [u8],
}

mod field {
    use std::ops::Range;

    pub(super) const SSRC: usize = 4;
    pub(super) const NAME: Range<usize> = 8..12;
    pub(super) const DATA: usize = 12;
}

impl<'a> App<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Another type, or fewer than 12 octets.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::APP, field::DATA, "application-defined packet")?;
        let mut name = [0; 4];
        name.copy_from_slice(&bytes[field::NAME]);
        // Padding that is no multiple of four may end inside a word.
        let end = bytes.len() / 4 * 4;
        Ok(Self {
            subtype: packet.count(),
            ssrc: u32_at(bytes, field::SSRC),
            name,
            data: &bytes[field::DATA..end],
        })
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        field::DATA + padded(self.data.len())
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// A subtype above 31, more data than a packet holds, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let name = "application-defined packet";
        let packet = emit_header(buffer, self.subtype, packet_type::APP, self.buffer_len(), name)?;
        put_u32(packet, field::SSRC, self.ssrc);
        packet[field::NAME].copy_from_slice(&self.name);
        let (data, fill) = packet[field::DATA..].split_at_mut(self.data.len());
        data.copy_from_slice(self.data);
        fill.fill(0);
        Ok(packet.len())
    }
}

/// One of this project's reports: a name, a subtype and a body of fixed length that begins with the SSRC of
/// the media stream it is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) name: &'static [u8; 4],
    pub(super) subtype: u8,
    /// Octets after the name.
    pub(super) body_len: usize,
    /// What errors call it.
    pub(super) field: &'static str,
}

impl Kind {
    /// Octets of the packet.
    pub(super) const fn packet_len(&self) -> usize {
        field::DATA + self.body_len
    }

    /// SSRC of the reporter and the body.
    pub(super) fn parse<'a>(&self, packet: Packet<'a>) -> Result<(u32, &'a [u8]), Error> {
        let bytes = packet.expect(packet_type::APP, self.packet_len(), self.field)?;
        let app = App::parse(packet)?;
        if app.name != *self.name || app.subtype != self.subtype {
            let seen = u32_at(bytes, field::NAME.start).into();
            let expected = "the name and subtype of this report";
            return Err(Error::Invalid { field: self.field, offset: field::NAME.start, seen, expected });
        }
        Ok((app.ssrc, app.data))
    }

    /// Writes all but the body and returns the body, zeroed.
    pub(super) fn emit<'b>(&self, buffer: &'b mut [u8], ssrc: u32) -> Result<&'b mut [u8], Error> {
        let packet = emit_header(buffer, self.subtype, packet_type::APP, self.packet_len(), self.field)?;
        put_u32(packet, field::SSRC, ssrc);
        packet[field::NAME].copy_from_slice(self.name);
        let body = &mut packet[field::DATA..];
        body.fill(0);
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_filled_to_words() {
        let app = App { subtype: 31, ssrc: 0x0102_0304, name: *b"ABCD", data: &[9, 8, 7, 6, 5] };
        let mut buffer = [0xEE; 20];
        assert_eq!(app.emit(&mut buffer), Ok(20));
        assert_eq!(buffer, *b"\x9F\xCC\0\x04\x01\x02\x03\x04ABCD\x09\x08\x07\x06\x05\0\0\0");
        let parsed = App::parse(Packet::parse(&buffer).unwrap().0).unwrap();
        assert_eq!(parsed, App { data: &[9, 8, 7, 6, 5, 0, 0, 0], ..app });
        assert!(App { subtype: 32, ..app }.emit(&mut buffer).is_err());
        // One octet of padding: three of the last word are left.
        buffer[0] |= 0x20;
        buffer[19] = 1;
        let parsed = App::parse(Packet::parse(&buffer).unwrap().0).unwrap();
        assert_eq!(parsed.data, [9, 8, 7, 6]);
    }
}
