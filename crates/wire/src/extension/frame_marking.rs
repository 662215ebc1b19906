//! Which piece of which frame a packet carries. The four bits are those of RFC 9626 section 3.1; that
//! extension has no room for the frame's and the packet's place in the stream, which a receiver needs where
//! one stream is spread over several synchronisation sources.

use crate::Error;
use crate::bytes::{put_u16, take, u16_at};

mod field {
    /// S(1) E(1) I(1) D(1), frame number(12).
    pub(super) const FLAGS_FRAME: usize = 0;
    pub(super) const SEQUENCE: usize = 2;
}

const START: u16 = 0x8000;
const END: u16 = 0x4000;
const INDEPENDENT: u16 = 0x2000;
const DISCARDABLE: u16 = 0x1000;

/// The frame marking, 4 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameMarking {
    /// S: the first packet of a frame.
    pub start: bool,
    /// E: the last packet of a frame.
    pub end: bool,
    /// I: the frame can be decoded without any other.
    pub independent: bool,
    /// D: no other frame needs this one.
    pub discardable: bool,
    /// Counts the stream's frames in decoding order, modulo 2^12; those the sender dropped are counted too.
    pub frame: u16,
    /// Counts the packets of the stream's frames in decoding order, all sources together, modulo 2^16.
    pub sequence_number: u16,
}

impl FrameMarking {
    /// Local identifier where none is agreed.
    pub const DEFAULT_ID: u8 = 3;
    /// Octets of the element's data.
    pub const LEN: usize = 4;

    /// From an element's data.
    ///
    /// # Errors
    /// Fewer than 4 octets.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        let data = take(data, 0, Self::LEN, "frame marking extension")?;
        let bits = u16_at(data, field::FLAGS_FRAME);
        Ok(Self {
            start: bits & START != 0,
            end: bits & END != 0,
            independent: bits & INDEPENDENT != 0,
            discardable: bits & DISCARDABLE != 0,
            frame: bits & 0x0FFF,
            sequence_number: u16_at(data, field::SEQUENCE),
        })
    }

    /// The element's data.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let flag = |set, bit| if set { bit } else { 0 };
        let bits = flag(self.start, START)
            | flag(self.end, END)
            | flag(self.independent, INDEPENDENT)
            | flag(self.discardable, DISCARDABLE)
            | self.frame & 0x0FFF;
        let mut data = [0; Self::LEN];
        put_u16(&mut data, field::FLAGS_FRAME, bits);
        put_u16(&mut data, field::SEQUENCE, self.sequence_number);
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_octets() {
        let marking = FrameMarking {
            start: true,
            end: false,
            independent: true,
            discardable: false,
            frame: 0xABC,
            sequence_number: 0x0102,
        };
        assert_eq!(marking.to_bytes(), [0xAA, 0xBC, 1, 2]);
        assert_eq!(FrameMarking::parse(&marking.to_bytes()), Ok(marking));
        assert!(FrameMarking::parse(&[0; 3]).is_err());
        for bits in 0..=u16::MAX {
            let data = [(bits >> 8) as u8, bits as u8, 0, 7];
            assert_eq!(FrameMarking::parse(&data).unwrap().to_bytes(), data);
        }
    }
}
