//! Source description (RFC 3550 section 6.5), which every compound packet has for its CNAME.

use super::{Packet, emit_header, packet_type};
use crate::Error;
use crate::bytes::{fits, padded, put_u32, take, u32_at};

/// A source description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceDescription<'a> {
    /// From the first chunk on; checked by `parse`.
    chunks: &'a [u8],
    count: u8,
}

/// One item of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// The source.
    pub ssrc: u32,
    /// [`SourceDescription::CNAME`] or another.
    pub item_type: u8,
    /// UTF-8, as the sender claims.
    pub text: &'a [u8],
}

const CHUNKS: usize = 4;
const SSRC_LEN: usize = 4;
const ITEM_HEAD: usize = 2;
const END: u8 = 0;

impl<'a> SourceDescription<'a> {
    /// Type of the canonical name, which stays where an SSRC changes.
    pub const CNAME: u8 = 1;

    /// Reads a packet and checks every item.
    ///
    /// # Errors
    /// Another type, or a chunk or item beyond the end.
    pub fn parse(packet: Packet<'a>) -> Result<Self, Error> {
        let bytes = packet.expect(packet_type::SDES, CHUNKS, "source description")?;
        let description = Self { chunks: &bytes[CHUNKS..], count: packet.count() };
        match description.walk().find_map(Result::err) {
            Some(error) => Err(error.moved(CHUNKS)),
            None => Ok(description),
        }
    }

    /// The items of all sources in order.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + Clone + use<'a> {
        self.walk().map_while(Result::ok)
    }

    fn walk(&self) -> Items<'a> {
        Items { bytes: self.chunks, at: 0, chunks_left: self.count, ssrc: None }
    }

    /// Writes a description of one source with nothing but its canonical name.
    ///
    /// # Errors
    /// A name above 255 octets, or a buffer that does not hold it.
    pub fn emit_cname(ssrc: u32, cname: &[u8], buffer: &mut [u8]) -> Result<usize, Error> {
        let name_len = fits(cname.len() as u64, 255, "CNAME")? as u8;
        // The items end with at least one zero octet.
        let chunk_len = SSRC_LEN + padded(ITEM_HEAD + cname.len() + 1);
        let packet = emit_header(buffer, 1, packet_type::SDES, CHUNKS + chunk_len, "source description")?;
        put_u32(packet, CHUNKS, ssrc);
        let (head, rest) = packet[CHUNKS + SSRC_LEN..].split_at_mut(ITEM_HEAD);
        head.copy_from_slice(&[Self::CNAME, name_len]);
        let (text, end) = rest.split_at_mut(cname.len());
        text.copy_from_slice(cname);
        end.fill(END);
        Ok(packet.len())
    }
}

#[derive(Debug, Clone)]
struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
    chunks_left: u8,
    /// Of the chunk that is being read.
    ssrc: Option<u32>,
}

impl<'a> Items<'a> {
    /// The next item; `None` at the end.
    fn step(&mut self) -> Result<Option<Item<'a>>, Error> {
        loop {
            let Some(ssrc) = self.ssrc else {
                if self.chunks_left == 0 {
                    return Ok(None);
                }
                self.ssrc = Some(u32_at(take(self.bytes, self.at, SSRC_LEN, "source description chunk")?, 0));
                self.at += SSRC_LEN;
                self.chunks_left -= 1;
                continue;
            };
            if take(self.bytes, self.at, 1, "source description item")?[0] == END {
                // The next chunk begins at the next word.
                self.at = padded(self.at + 1);
                self.ssrc = None;
                continue;
            }
            let head = take(self.bytes, self.at, ITEM_HEAD, "source description item")?;
            let text = take(self.bytes, self.at + ITEM_HEAD, head[1].into(), "source description item")?;
            self.at += ITEM_HEAD + text.len();
            return Ok(Some(Item { ssrc, item_type: head[0], text }));
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step();
        if item.is_err() {
            *self = Items { chunks_left: 0, ssrc: None, ..*self };
        }
        item.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cname_ends_with_a_zero() {
        let mut buffer = [0xEE; 24];
        assert_eq!(SourceDescription::emit_cname(0x0102_0304, b"ab", &mut buffer), Ok(16));
        assert_eq!(&buffer[..16], b"\x81\xCA\0\x03\x01\x02\x03\x04\x01\x02ab\0\0\0\0");
        assert_eq!(SourceDescription::emit_cname(1, b"a", &mut buffer), Ok(12));
        let (packet, _) = Packet::parse(&buffer).unwrap();
        let items: Vec<_> = SourceDescription::parse(packet).unwrap().items().collect();
        assert_eq!(items, [Item { ssrc: 1, item_type: 1, text: b"a" }]);
    }

    #[test]
    fn several_chunks_and_items() {
        let bytes = b"\x83\xCA\0\x07\0\0\0\x01\x01\x01a\x02\x02bc\0\0\0\0\x02\0\0\0\0\0\0\0\x03\x01\0\0\0";
        let (packet, _) = Packet::parse(bytes).unwrap();
        let description = SourceDescription::parse(packet).unwrap();
        let items: Vec<_> = description.items().map(|item| (item.ssrc, item.item_type, item.text)).collect();
        assert_eq!(items, [(1, 1, &b"a"[..]), (1, 2, b"bc"), (3, 1, b"")]);

        let mut wrong = *bytes;
        wrong[0] = 0x84;
        assert!(SourceDescription::parse(Packet::parse(&wrong).unwrap().0).is_err(), "a chunk too few");
        wrong[0] = 0x83;
        wrong[9] = 200;
        assert!(SourceDescription::parse(Packet::parse(&wrong).unwrap().0).is_err(), "an item too long");
    }
}
