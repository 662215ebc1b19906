//! Sequence header (13818-2, 6.2.2.1; 11172-2, 2.4.2.3).

use super::{Matrix, read_optional_matrix};
use crate::bits::BitReader;

/// The sequence header of MPEG-1 and MPEG-2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceHeader {
    /// `horizontal_size_value`: width in pixels, lowest 12 bits.
    pub width: u16,
    /// `vertical_size_value`: height in pixels, lowest 12 bits.
    pub height: u16,
    /// `frame_rate_code`
    pub frame_rate_code: u8,
    /// `bit_rate_value`, in 400 bit/s, lowest 18 bits; all ones in MPEG-1: variable.
    pub bit_rate: u32,
    /// `vbv_buffer_size_value`, in 16 384 bits, lowest 10 bits.
    pub vbv_buffer_size: u16,
    /// Matrix for intra blocks, where it is loaded.
    pub intra: Option<Matrix>,
    /// Matrix for non-intra blocks, where it is loaded.
    pub non_intra: Option<Matrix>,
}

impl SequenceHeader {
    /// Position of `bit_rate_value`: bits behind the start code, and its length.
    pub const BIT_RATE_FIELD: (usize, u32) = (32, 18);

    /// Reads the bytes behind the start code; `None` where they end too early or the size is zero.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = BitReader::new(payload);
        let width = reader.bits(12) as u16;
        let height = reader.bits(12) as u16;
        let _aspect_ratio = reader.bits(4);
        let frame_rate_code = reader.bits(4) as u8;
        let bit_rate = reader.bits(18);
        let _marker = reader.bits(1);
        let vbv_buffer_size = reader.bits(10) as u16;
        let _constrained_parameters = reader.flag();
        let intra = read_optional_matrix(&mut reader);
        let non_intra = read_optional_matrix(&mut reader);
        let header = Self { width, height, frame_rate_code, bit_rate, vbv_buffer_size, intra, non_intra };
        (!reader.overrun() && width > 0 && height > 0).then_some(header)
    }

    /// Frames per second as a fraction (13818-2, table 6-4); `None` where the code is forbidden or reserved.
    pub fn frame_rate(&self) -> Option<(u32, u32)> {
        const RATES: [(u32, u32); 8] =
            [(24000, 1001), (24, 1), (25, 1), (30000, 1001), (30, 1), (50, 1), (60000, 1001), (60, 1)];
        RATES.get(usize::from(self.frame_rate_code).checked_sub(1)?).copied()
    }
}
