//! Group of pictures header (13818-2, 6.2.2.6).

use crate::bits::BitReader;

/// The header of a group of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupHeader {
    /// `time_code`, 25 bits.
    pub time_code: u32,
    /// `closed_gop`: its first B pictures do not use the group before.
    pub closed: bool,
    /// `broken_link`: its first B pictures cannot be decoded.
    pub broken_link: bool,
}

impl GroupHeader {
    /// Reads the bytes behind the start code; `None` where they end too early.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = BitReader::new(payload);
        let header = Self { time_code: reader.bits(25), closed: reader.flag(), broken_link: reader.flag() };
        (!reader.overrun()).then_some(header)
    }
}
