//! The MPEG-2 part of the payload header (RFC 2250 section 3.4.1): the picture coding extension, so that a
//! decoder can begin where the picture header was lost.

use crate::Error;
use crate::bytes::{fits, padded, put_u32, room, take, u32_at};

/// The fields of a picture coding extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mpeg2Header<'a> {
    /// f_code: forward horizontal, forward vertical, backward horizontal, backward vertical; 4 bits each.
    pub f_codes: [u8; 4],
    /// DC, 2 bits.
    pub intra_dc_precision: u8,
    /// PS, 2 bits: 1 top field, 2 bottom field, 3 frame.
    pub picture_structure: u8,
    /// T P C Q V A R H G.
    pub flags: PictureFlags,
    /// D: the 20 bits of composite display information.
    pub composite: Option<u32>,
    /// E: further extensions of the picture, their start codes included, in whole words; `emit` fills the last
    /// with zeros.
    pub extensions: Option<&'a [u8]>,
}

/// Flags of a picture coding extension, as they stand in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PictureFlags(u16);

impl PictureFlags {
    /// T.
    pub const TOP_FIELD_FIRST: Self = Self(1 << 9);
    /// P.
    pub const FRAME_PRED_FRAME_DCT: Self = Self(1 << 8);
    /// C.
    pub const CONCEALMENT_MOTION_VECTORS: Self = Self(1 << 7);
    /// Q.
    pub const Q_SCALE_TYPE: Self = Self(1 << 6);
    /// V.
    pub const INTRA_VLC_FORMAT: Self = Self(1 << 5);
    /// A.
    pub const ALTERNATE_SCAN: Self = Self(1 << 4);
    /// R.
    pub const REPEAT_FIRST_FIELD: Self = Self(1 << 3);
    /// H.
    pub const CHROMA_420_TYPE: Self = Self(1 << 2);
    /// G.
    pub const PROGRESSIVE_FRAME: Self = Self(1 << 1);

    /// Without the lowest bit, D, which `composite` stands for.
    const ALL: u16 = 0x3FE;

    /// These flags and `other`.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True where all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

const WORD: usize = 4;
const COMPOSITE_BITS: u32 = 0x000F_FFFF;
/// extension_start_code_identifier.
const PICTURE_CODING: u8 = 8;

/// Lowest bit of each field in the first word: X(1) E(1) f_codes(16) DC(2) PS(2) T P C Q V A R H G D.
mod field {
    pub(super) const EXTENSIONS: u32 = 30;
    pub(super) const F_CODES: [u32; 4] = [26, 22, 18, 14];
    pub(super) const DC_PRECISION: u32 = 12;
    pub(super) const STRUCTURE: u32 = 10;
    pub(super) const COMPOSITE: u32 = 0;
}

impl<'a> Mpeg2Header<'a> {
    /// The header that begins at `offset` of a payload.
    pub(super) fn parse(payload: &'a [u8], offset: usize) -> Result<Self, Error> {
        let word = u32_at(take(payload, offset, WORD, "MPEG-2 header")?, 0);
        let mut at = offset + WORD;
        let mut composite = None;
        if word >> field::COMPOSITE & 1 == 1 {
            composite =
                Some(u32_at(take(payload, at, WORD, "composite display information")?, 0) & COMPOSITE_BITS);
            at += WORD;
        }
        let has_extensions = word >> field::EXTENSIONS & 1 == 1;
        let extensions = if has_extensions { Some(parse_extensions(payload, at)?) } else { None };
        Ok(Self { composite, extensions, ..Self::of_word(word) })
    }

    /// The header of the extension that begins at `offset` of a coded picture, behind its start code; `None` where that
    /// is no picture coding extension (ISO/IEC 13818-2 section 6.2.3.1). Behind its identifier (4 bits) stand the 30 bits
    /// of the header's word, and where the last is set, 20 more.
    ///
    /// # Errors
    /// An extension that is cut off.
    pub fn of_extension(coded: &[u8], offset: usize) -> Result<Option<Self>, Error> {
        let name = "picture coding extension";
        let identifier = take(coded, offset, 1, name)?[0] >> 4;
        if identifier != PICTURE_CODING {
            return Ok(None);
        }
        let bits = |len| -> Result<u64, Error> {
            Ok(take(coded, offset, len, name)?.iter().fold(0, |bits, &octet| bits << 8 | u64::from(octet)))
        };
        let word = (bits(5)? >> 6 & 0x3FFF_FFFF) as u32;
        let has_composite = word >> field::COMPOSITE & 1 == 1;
        let composite = if has_composite { Some((bits(7)? >> 2) as u32 & COMPOSITE_BITS) } else { None };
        Ok(Some(Self { composite, ..Self::of_word(word) }))
    }

    /// The fields of the first word.
    fn of_word(word: u32) -> Self {
        Self {
            f_codes: field::F_CODES.map(|at| (word >> at & 0xF) as u8),
            intra_dc_precision: (word >> field::DC_PRECISION & 3) as u8,
            picture_structure: (word >> field::STRUCTURE & 3) as u8,
            flags: PictureFlags(word as u16 & PictureFlags::ALL),
            composite: None,
            extensions: None,
        }
    }

    pub(super) fn buffer_len(&self) -> usize {
        let composite = if self.composite.is_some() { WORD } else { 0 };
        WORD + composite + self.extensions.map_or(0, |data| padded(1 + data.len()))
    }

    /// Writes the header to the front of `buffer`, which has room for it.
    pub(super) fn emit(&self, buffer: &mut [u8]) -> Result<(), Error> {
        let mut word = u32::from(self.extensions.is_some()) << field::EXTENSIONS
            | u32::from(fits(self.intra_dc_precision, 3, "intra_dc_precision")?) << field::DC_PRECISION
            | u32::from(fits(self.picture_structure, 3, "picture_structure")?) << field::STRUCTURE
            | u32::from(self.flags.0)
            | u32::from(self.composite.is_some()) << field::COMPOSITE;
        for (f_code, at) in self.f_codes.into_iter().zip(field::F_CODES) {
            word |= u32::from(fits(f_code, 15, "f_code")?) << at;
        }
        put_u32(buffer, 0, word);
        let mut rest = &mut buffer[WORD..];
        if let Some(composite) = self.composite {
            put_u32(rest, 0, fits(composite, COMPOSITE_BITS.into(), "composite display information")?);
            rest = &mut rest[WORD..];
        }
        if let Some(data) = self.extensions {
            emit_extensions(data, rest)?;
        }
        Ok(())
    }
}

/// The first octet counts words, its own included.
fn parse_extensions(payload: &[u8], at: usize) -> Result<&[u8], Error> {
    let field = "MPEG-2 extension data";
    let words = take(payload, at, 1, field)?[0];
    if words == 0 {
        return Err(Error::Invalid { field, offset: at, seen: 0, expected: "a length of 1 word or more" });
    }
    take(payload, at, WORD * usize::from(words), field).map(|data| &data[1..])
}

fn emit_extensions(data: &[u8], buffer: &mut [u8]) -> Result<(), Error> {
    let len = padded(1 + data.len());
    let words = fits((len / WORD) as u64, 255, "MPEG-2 extension data")? as u8;
    let buffer = room(buffer, len, "MPEG-2 extension data")?;
    buffer.fill(0);
    buffer[0] = words;
    buffer[1..=data.len()].copy_from_slice(data);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ISO/IEC 13818-2 section 6.2.3.1: f_codes 3, 4, 15 and 15, DC 1, structure 3, T and G; then D, and 20 bits where it is set.
    #[test]
    fn a_picture_coding_extension_has_the_fields_of_the_header() {
        let word: u64 = 3 << 26 | 4 << 22 | 15 << 18 | 15 << 14 | 1 << 12 | 3 << 10 | 1 << 9 | 1 << 1;
        let bits = ((8 << 30 | word | 1) << 22 | 0xA_BCDE << 2).to_be_bytes();
        let header = Mpeg2Header {
            f_codes: [3, 4, 15, 15],
            intra_dc_precision: 1,
            picture_structure: 3,
            flags: PictureFlags::TOP_FIELD_FIRST.with(PictureFlags::PROGRESSIVE_FRAME),
            composite: Some(0xA_BCDE),
            extensions: None,
        };
        assert_eq!(Mpeg2Header::of_extension(&bits, 1), Ok(Some(header)));
        assert!(Mpeg2Header::of_extension(&bits[..7], 1).is_err(), "two bits are missing");
        let plain = ((8 << 30 | word) << 22).to_be_bytes();
        let header = Mpeg2Header { composite: None, ..header };
        assert_eq!(Mpeg2Header::of_extension(&plain[..6], 1), Ok(Some(header)));
        assert!(Mpeg2Header::of_extension(&plain[..5], 1).is_err());
        let other = ((7 << 30 | word) << 22).to_be_bytes();
        assert_eq!(Mpeg2Header::of_extension(&other, 1), Ok(None));
    }

    /// RFC 2250 section 3.4.1: T P C Q V A R H G, and D below them.
    #[test]
    fn flags_stand_in_order() {
        let flags = [
            PictureFlags::TOP_FIELD_FIRST,
            PictureFlags::FRAME_PRED_FRAME_DCT,
            PictureFlags::CONCEALMENT_MOTION_VECTORS,
            PictureFlags::Q_SCALE_TYPE,
            PictureFlags::INTRA_VLC_FORMAT,
            PictureFlags::ALTERNATE_SCAN,
            PictureFlags::REPEAT_FIRST_FIELD,
            PictureFlags::CHROMA_420_TYPE,
            PictureFlags::PROGRESSIVE_FRAME,
        ];
        assert_eq!(flags.map(|flag| flag.0), [512, 256, 128, 64, 32, 16, 8, 4, 2]);
        let both = flags[0].with(flags[8]);
        assert!(both.contains(flags[8]) && both.contains(both) && !both.contains(flags[1]));
        assert!(!flags[0].contains(both));
    }

    /// The octet that counts, and four: two words.
    #[test]
    fn extensions_fill_words() {
        let extensions = Some(&[1, 2, 3, 4][..]);
        let header = Mpeg2Header { extensions, ..Mpeg2Header::of_word(0) };
        let mut buffer = [9; 12];
        assert_eq!((header.buffer_len(), header.emit(&mut buffer)), (12, Ok(())));
        assert_eq!(buffer[4..], [2, 1, 2, 3, 4, 0, 0, 0]);
    }
}
