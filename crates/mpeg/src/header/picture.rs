//! Picture header (13818-2, 6.2.3; 11172-2, 2.4.2.5).

use crate::bits::BitReader;

/// `picture_coding_type`
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema, serde::Serialize,
)]
pub enum PictureKind {
    /// Intra-coded.
    I,
    /// Predicted from the past reference picture.
    P,
    /// Predicted from two reference pictures; nothing is predicted from it.
    B,
    /// MPEG-1, DC coefficients only.
    D,
}

/// The fields of a picture header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureHeader {
    /// `temporal_reference`: display order inside the group, modulo 1024.
    pub temporal_reference: u16,
    /// `picture_coding_type`
    pub kind: PictureKind,
    /// `vbv_delay`, in periods of the 90 kHz clock; 0xFFFF: variable rate.
    pub vbv_delay: u16,
    /// MPEG-1: `full_pel_forward_vector`, `full_pel_backward_vector`.
    pub full_pel: [bool; 2],
    /// MPEG-1: `forward_f_code`, `backward_f_code`, 1 to 7.
    pub f_code: [u8; 2],
}

impl PictureHeader {
    /// Where `vbv_delay` lies: bits behind the start code, and its length.
    pub const VBV_DELAY_FIELD: (usize, u32) = (13, 16);

    /// Reads the bytes behind the start code; `None` where they end too early or the type is forbidden.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = BitReader::new(payload);
        let temporal_reference = reader.bits(10) as u16;
        let kind = match reader.bits(3) {
            1 => PictureKind::I,
            2 => PictureKind::P,
            3 => PictureKind::B,
            4 => PictureKind::D,
            _ => return None,
        };
        let vbv_delay = reader.bits(16) as u16;
        let mut full_pel = [false; 2];
        let mut f_code = [1; 2];
        let directions = match kind {
            PictureKind::P => 1,
            PictureKind::B => 2,
            PictureKind::I | PictureKind::D => 0,
        };
        for direction in 0..directions {
            full_pel[direction] = reader.flag();
            f_code[direction] = reader.bits(3) as u8;
        }
        let header = Self { temporal_reference, kind, vbv_delay, full_pel, f_code };
        (!reader.overrun()).then_some(header)
    }
}
