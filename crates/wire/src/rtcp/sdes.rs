//! Source description with the one item that every compound packet carries: the canonical name (RFC 3550 section 6.5).

use super::{Packet, emit_header, packet_type};
use crate::Error;
use crate::bytes::{fits, padded, put_u32, take, u32_at};

/// The canonical name of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceName<'a> {
    /// The source.
    pub ssrc: u32,
    /// Its canonical name, UTF-8 as the sender claims, at most 255 octets.
    pub cname: &'a [u8],
}

const SSRC: usize = 4;
const ITEMS: usize = 8;
const CNAME: u8 = 1;
const END: u8 = 0;

impl<'a> SourceName<'a> {
    /// Reads the first chunk of a packet.
    ///
    /// # Errors
    /// Another type, an item beyond the end, or no canonical name in the first chunk.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::SDES, ITEMS, "source description")?;
        let mut at = ITEMS;
        loop {
            let kind = take(bytes, at, 1, "source description item")?[0];
            if kind == END {
                let expected = "a canonical name";
                return Err(Error::Invalid { field: "source description", offset: at, seen: 0, expected });
            }
            let len = usize::from(take(bytes, at + 1, 1, "source description item")?[0]);
            let text = take(bytes, at + 2, len, "source description item")?;
            if kind == CNAME {
                return Ok(Self { ssrc: u32_at(bytes, SSRC), cname: text });
            }
            at += 2 + len;
        }
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        // At least one zero ends the list of items.
        ITEMS + padded(2 + self.cname.len() + 1)
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// A name above 255 octets, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let len = fits(self.cname.len() as u64, 255, "canonical name")? as u8;
        let packet = emit_header(buffer, 1, packet_type::SDES, self.buffer_len(), "source description")?;
        put_u32(packet, SSRC, self.ssrc);
        let items = &mut packet[ITEMS..];
        items.fill(END);
        (items[0], items[1]) = (CNAME, len);
        items[2..2 + self.cname.len()].copy_from_slice(self.cname);
        Ok(packet.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_with_a_zero_on_a_word() {
        let mut buffer = [0xEE; 24];
        let name = SourceName { ssrc: 0x0102_0304, cname: b"a@b.c" };
        assert_eq!(name.emit(&mut buffer), Ok(16));
        assert_eq!(&buffer[..16], b"\x81\xCA\0\x03\x01\x02\x03\x04\x01\x05a@b.c\0");
        assert_eq!(SourceName::parse(Packet::parse(&buffer).unwrap().0), Ok(name));
        // One octet more, and the zero takes a word of its own.
        assert_eq!(SourceName { cname: b"a@b.cd", ..name }.buffer_len(), 20);
        assert!(SourceName { cname: &[b'x'; 256], ..name }.emit(&mut [0; 300]).is_err());
    }

    #[test]
    fn other_items_are_passed_over() {
        let bytes = b"\x81\xCA\0\x04\0\0\0\x09\x02\x02no\x01\x02me\0\0\0\0";
        let name = SourceName::parse(Packet::parse(bytes).unwrap().0).unwrap();
        assert_eq!((name.ssrc, name.cname), (9, &b"me"[..]));
        let without = b"\x81\xCA\0\x02\0\0\0\x09\0\0\0\0";
        assert!(SourceName::parse(Packet::parse(without).unwrap().0).is_err());
        let beyond = b"\x81\xCA\0\x02\0\0\0\x09\x01\x09ab";
        assert!(SourceName::parse(Packet::parse(beyond).unwrap().0).is_err());
    }

    /// An item of five octets before the name.
    #[test]
    fn an_item_is_passed_over_by_its_own_length() {
        let bytes = b"\x81\xCA\0\x05\0\0\0\x09\x02\x05third\x01\x02me\0\0\0\0\0";
        let name = SourceName::parse(Packet::parse(bytes).unwrap().0).unwrap();
        assert_eq!((name.ssrc, name.cname), (9, &b"me"[..]));
        // The list ends where the packet does, and an item there has no length.
        let cut = b"\x81\xCA\0\x02\0\0\0\x09\x02\x01a\x01";
        let error = SourceName::parse(Packet::parse(cut).unwrap().0).unwrap_err();
        assert_eq!(
            error,
            Error::Truncated { field: "source description item", offset: 12, needed: 1, available: 0 }
        );
    }
}
