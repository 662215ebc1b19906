//! Splits a program or system stream into pack headers and packets.

use crate::container::pes;
use crate::startcode;

const END_CODE: u8 = 0xb9;
const PACK: u8 = 0xba;

/// The next part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// A pack header with its stuffing.
    Pack(Vec<u8>),
    /// A system header, map, or packet of any stream.
    Packet(Vec<u8>),
    /// An end code, zero bytes, or anything unreadable.
    Junk(Vec<u8>),
}

/// The kind and length of the next element.
enum Next {
    Pack(usize),
    Packet(usize),
    Junk(usize),
    More,
}

/// Finds the elements. After junk it resumes at the next start code of the system layer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    at: usize,
    complete: bool,
}

impl Reader {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn finish(&mut self) {
        self.complete = true;
    }

    pub(super) fn is_finished(&self) -> bool {
        self.complete && self.at == self.bytes.len()
    }

    pub(super) fn poll(&mut self) -> Option<Element> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let (len, element): (usize, fn(Vec<u8>) -> Element) = match next(rest) {
            Next::Pack(len) if len <= rest.len() => (len, Element::Pack),
            Next::Packet(len) if len <= rest.len() => (len, Element::Packet),
            Next::Junk(len) => (len, Element::Junk),
            // An element that is cut short at the end is copied.
            _ if self.complete => (rest.len(), Element::Junk),
            _ => return None,
        };
        let bytes = rest[..len].to_vec();
        self.at += len;
        Some(element(bytes))
    }
}

fn next(bytes: &[u8]) -> Next {
    let [0, 0, 1, code, ..] = *bytes else {
        return if bytes.len() < 4 && [0, 0, 1].starts_with(&bytes[..bytes.len().min(3)]) {
            Next::More
        } else {
            Next::Junk(junk(bytes))
        };
    };
    match code {
        PACK => pack(bytes),
        0xbb.. => match bytes.get(4..pes::START) {
            Some(&[high, low]) => Next::Packet(pes::START + usize::from(u16::from_be_bytes([high, low]))),
            _ => Next::More,
        },
        END_CODE => Next::Junk(4),
        _ => Next::Junk(junk(bytes)),
    }
}

fn pack(bytes: &[u8]) -> Next {
    match bytes.get(4) {
        None => Next::More,
        Some(byte) if byte >> 4 == 0b0010 => Next::Pack(12),
        Some(byte) if byte >> 6 == 0b01 => match bytes.get(13) {
            Some(stuffing) => Next::Pack(14 + usize::from(stuffing & 0b111)),
            None => Next::More,
        },
        Some(_) => Next::Junk(junk(bytes)),
    }
}

/// Bytes up to the next start code of the system layer, or as many as certainly contain none.
fn junk(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = startcode::find(bytes, at) {
        if bytes[found + 3] >= END_CODE {
            return found;
        }
        at = found + 3;
    }
    at.max(bytes.len().saturating_sub(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(stream: &[u8], chunk: usize) -> Vec<Element> {
        let mut reader = Reader::default();
        let mut elements = Vec::new();
        for chunk in stream.chunks(chunk) {
            reader.push(chunk);
            elements.extend(std::iter::from_fn(|| reader.poll()));
        }
        reader.finish();
        elements.extend(std::iter::from_fn(|| reader.poll()));
        assert!(reader.is_finished());
        elements
    }

    fn bytes(element: &Element) -> &[u8] {
        match element {
            Element::Pack(bytes) | Element::Packet(bytes) | Element::Junk(bytes) => bytes,
        }
    }

    #[test]
    fn packs_packets_and_junk_are_found_in_pieces_of_any_size() {
        let mut stream = vec![0, 0, 1, 0xba, 0x44, 0, 4, 0, 4, 1, 0, 1, 0x8b, 0xfa, 0xff, 0xff];
        stream.extend([0, 0, 1, 0xbb, 0, 2, 0x80, 0x01]);
        stream.extend([0, 0, 1, 0xe0, 0, 4, 0x80, 0, 0, 0x55]);
        stream.extend([9, 9, 0, 0, 1, 0x22, 9]); // not of the system layer
        stream.extend([0, 0, 1, 0xba, 0x21, 0, 1, 0, 1, 0x80, 0, 1]);
        stream.extend([0, 0, 1, 0xb9]);
        for chunk in [1, 2, 3, 5, 100] {
            let elements = elements(&stream, chunk);
            let all: Vec<u8> = elements.iter().flat_map(bytes).copied().collect();
            assert_eq!(all, stream);
            let packs = elements.iter().filter(|element| matches!(element, Element::Pack(_))).count();
            let packets = elements.iter().filter(|element| matches!(element, Element::Packet(_))).count();
            assert_eq!((packs, packets), (2, 2), "chunk {chunk}: {elements:?}");
        }
        for cut in 0..stream.len() {
            let all: Vec<u8> = elements(&stream[..cut], 7).iter().flat_map(bytes).copied().collect();
            assert_eq!(all, stream[..cut]);
        }
    }
}
