//! MPEG-1 and MPEG-2 video over RTP (RFC 2250 section 3): static payload type 32, 90 kHz. A receiver puts the
//! video of the payloads together as it comes.

mod mpeg2;

pub use mpeg2::{Mpeg2Header, PictureFlags};

use crate::Error;
use crate::bytes::{fits, put_u32, room, take, u32_at};

/// The static RTP payload type of MPEG video.
pub const PAYLOAD_TYPE: u8 = 32;

const HEADER_LEN: usize = 4;

/// How a picture is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PictureType {
    /// Intra.
    I = 1,
    /// Predicted.
    P = 2,
    /// Bidirectionally predicted.
    B = 3,
    /// Intra, only the lowest frequency (MPEG-1).
    D = 4,
}

/// The header before the video in each payload (RFC 2250 section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadHeader<'a> {
    /// Place of the picture in its group of pictures in display order, 10 bits.
    pub temporal_reference: u16,
    /// AN: `new_picture_header` means something. Clear in MPEG-1.
    pub active_n: bool,
    /// N: the picture header differs from the last. Clear in MPEG-1.
    pub new_picture_header: bool,
    /// S: a sequence header is in the payload.
    pub sequence_header: bool,
    /// B: the payload begins with a slice, or has one after nothing but headers.
    pub beginning_of_slice: bool,
    /// E: the last octet of the payload ends a slice.
    pub end_of_slice: bool,
    /// P.
    pub picture_type: PictureType,
    /// FBV, BFC, FFV and FFC as they stand in the picture header.
    pub motion: MotionCodes,
    /// T: the MPEG-2 header after this one.
    pub mpeg2: Option<Mpeg2Header<'a>>,
}

/// The motion vector codes of an MPEG-1 picture header; zero where the picture type does not use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MotionCodes {
    /// FBV.
    pub full_pel_backward: bool,
    /// BFC, 3 bits.
    pub backward_f_code: u8,
    /// FFV.
    pub full_pel_forward: bool,
    /// FFC, 3 bits.
    pub forward_f_code: u8,
}

/// Lowest bit of each field in the header's word: MBZ(5) T(1) TR(10) AN(1) N(1) S(1) B(1) E(1) P(3) FBV(1)
/// BFC(3) FFV(1) FFC(3).
mod field {
    pub(super) const MPEG2: u32 = 26;
    pub(super) const TEMPORAL_REFERENCE: u32 = 16;
    pub(super) const ACTIVE_N: u32 = 15;
    pub(super) const NEW_PICTURE_HEADER: u32 = 14;
    pub(super) const SEQUENCE_HEADER: u32 = 13;
    pub(super) const BEGINNING_OF_SLICE: u32 = 12;
    pub(super) const END_OF_SLICE: u32 = 11;
    pub(super) const PICTURE_TYPE: u32 = 8;
    pub(super) const FULL_PEL_BACKWARD: u32 = 7;
    pub(super) const BACKWARD_F_CODE: u32 = 4;
    pub(super) const FULL_PEL_FORWARD: u32 = 3;
    pub(super) const FORWARD_F_CODE: u32 = 0;
}

impl PictureType {
    fn from_bits(bits: u32) -> Result<Self, Error> {
        match bits {
            1 => Ok(Self::I),
            2 => Ok(Self::P),
            3 => Ok(Self::B),
            4 => Ok(Self::D),
            other => Err(Error::Invalid {
                field: "MPEG picture type",
                offset: 2,
                seen: other.into(),
                expected: "1 to 4",
            }),
        }
    }
}

impl<'a> PayloadHeader<'a> {
    /// The header at the front of a payload, and the video after it. The five bits that must be zero are
    /// not looked at.
    ///
    /// # Errors
    /// A picture type other than 1 to 4, or a header beyond the end.
    pub fn parse(payload: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let word = u32_at(take(payload, 0, HEADER_LEN, "MPEG video header")?, 0);
        let flag = |at: u32| word >> at & 1 == 1;
        let bits = |at: u32, width: u32| word >> at & ((1 << width) - 1);
        let mpeg2 = if flag(field::MPEG2) { Some(Mpeg2Header::parse(payload, HEADER_LEN)?) } else { None };
        let header = Self {
            temporal_reference: bits(field::TEMPORAL_REFERENCE, 10) as u16,
            active_n: flag(field::ACTIVE_N),
            new_picture_header: flag(field::NEW_PICTURE_HEADER),
            sequence_header: flag(field::SEQUENCE_HEADER),
            beginning_of_slice: flag(field::BEGINNING_OF_SLICE),
            end_of_slice: flag(field::END_OF_SLICE),
            picture_type: PictureType::from_bits(bits(field::PICTURE_TYPE, 3))?,
            motion: MotionCodes {
                full_pel_backward: flag(field::FULL_PEL_BACKWARD),
                backward_f_code: bits(field::BACKWARD_F_CODE, 3) as u8,
                full_pel_forward: flag(field::FULL_PEL_FORWARD),
                forward_f_code: bits(field::FORWARD_F_CODE, 3) as u8,
            },
            mpeg2,
        };
        Ok((header, &payload[header.buffer_len()..]))
    }

    /// Octets `emit` writes.
    pub fn buffer_len(&self) -> usize {
        HEADER_LEN + self.mpeg2.as_ref().map_or(0, Mpeg2Header::buffer_len)
    }

    /// Writes the header to the front of `buffer`; the video follows directly.
    ///
    /// # Errors
    /// A field that holds more than its bits, or a buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let buffer = room(buffer, self.buffer_len(), "MPEG video header")?;
        let temporal_reference = fits(self.temporal_reference, 0x3FF, "temporal reference")?;
        let backward = fits(self.motion.backward_f_code, 7, "backward_f_code")?;
        let forward = fits(self.motion.forward_f_code, 7, "forward_f_code")?;
        let word = u32::from(self.mpeg2.is_some()) << field::MPEG2
            | u32::from(temporal_reference) << field::TEMPORAL_REFERENCE
            | u32::from(self.active_n) << field::ACTIVE_N
            | u32::from(self.new_picture_header) << field::NEW_PICTURE_HEADER
            | u32::from(self.sequence_header) << field::SEQUENCE_HEADER
            | u32::from(self.beginning_of_slice) << field::BEGINNING_OF_SLICE
            | u32::from(self.end_of_slice) << field::END_OF_SLICE
            | (self.picture_type as u32) << field::PICTURE_TYPE
            | u32::from(self.motion.full_pel_backward) << field::FULL_PEL_BACKWARD
            | u32::from(backward) << field::BACKWARD_F_CODE
            | u32::from(self.motion.full_pel_forward) << field::FULL_PEL_FORWARD
            | u32::from(forward) << field::FORWARD_F_CODE;
        put_u32(buffer, 0, word);
        if let Some(mpeg2) = &self.mpeg2 {
            mpeg2.emit(&mut buffer[HEADER_LEN..])?;
        }
        Ok(buffer.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: PayloadHeader<'static> = PayloadHeader {
        temporal_reference: 0x2A5,
        active_n: false,
        new_picture_header: false,
        sequence_header: false,
        beginning_of_slice: true,
        end_of_slice: true,
        picture_type: PictureType::B,
        motion: MotionCodes {
            full_pel_backward: false,
            backward_f_code: 2,
            full_pel_forward: true,
            forward_f_code: 5,
        },
        mpeg2: None,
    };

    #[test]
    fn mpeg_1_header_is_one_word() {
        let mut buffer = [0xEE; 6];
        assert_eq!(HEADER.emit(&mut buffer), Ok(4));
        let word = 0x2A5 << 16 | 1 << 12 | 1 << 11 | 3 << 8 | 2 << 4 | 1 << 3 | 5u32;
        assert_eq!(buffer[..4], word.to_be_bytes());
        assert_eq!(PayloadHeader::parse(&buffer), Ok((HEADER, &[0xEE, 0xEE][..])));
    }

    #[test]
    fn mpeg_2_header_follows() {
        let mpeg2 = Mpeg2Header {
            f_codes: [3, 4, 15, 15],
            intra_dc_precision: 1,
            picture_structure: 3,
            flags: PictureFlags::TOP_FIELD_FIRST.with(PictureFlags::PROGRESSIVE_FRAME),
            composite: Some(0x000A_BCDE),
            extensions: Some(&[1, 2, 3, 4, 5]),
        };
        let header = PayloadHeader { sequence_header: true, mpeg2: Some(mpeg2), ..HEADER };
        let mut buffer = [0xEE; 24];
        assert_eq!(header.emit(&mut buffer), Ok(20));
        // X 0, E 1, f_codes, DC 1, PS 3, T 1 P C Q V A R H 0 G 1, D 1.
        let word =
            1 << 30 | 3 << 26 | 4 << 22 | 15 << 18 | 15 << 14 | 1 << 12 | 3 << 10 | 1 << 9 | 1 << 1 | 1u32;
        assert_eq!((buffer[0], &buffer[4..8]), (0x06, &word.to_be_bytes()[..]), "T and the highest of TR");
        assert_eq!(buffer[8..20], [0, 0x0A, 0xBC, 0xDE, 2, 1, 2, 3, 4, 5, 0, 0]);
        let (parsed, video) = PayloadHeader::parse(&buffer).unwrap();
        assert_eq!(video, [0xEE; 4]);
        let extensions = Some(&[1, 2, 3, 4, 5, 0, 0][..]);
        assert_eq!(parsed, PayloadHeader { mpeg2: Some(Mpeg2Header { extensions, ..mpeg2 }), ..header });
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut buffer = [0; 4];
        assert!(PayloadHeader { temporal_reference: 1_024, ..HEADER }.emit(&mut buffer).is_err());
        let motion = MotionCodes { forward_f_code: 8, ..HEADER.motion };
        assert!(PayloadHeader { motion, ..HEADER }.emit(&mut buffer).is_err());
        for picture_type in [0, 5, 6, 7] {
            assert!(PayloadHeader::parse(&[0, 0, picture_type, 0]).is_err());
        }
    }
}
