//! Group of pictures header (13818-2, 6.2.2.6).

use crate::bits::BitReader;

/// The header of a group of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupHeader {
    /// `closed_gop`: its first B pictures do not use the group before.
    pub closed: bool,
}

impl GroupHeader {
    /// Reads the bytes behind the start code; `None` where they end too early.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = BitReader::new(payload);
        let _time_code = reader.bits(25);
        let header = Self { closed: reader.flag() };
        let _broken_link = reader.flag();
        (!reader.overrun()).then_some(header)
    }
}
