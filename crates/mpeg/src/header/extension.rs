//! Extensions that change how the stream is read (13818-2, 6.2.2.3, 6.2.2.4, 6.2.3.1, 6.2.3.2). Others are
//! recognised and copied.

use super::{Matrix, read_optional_matrix};
use crate::bits::BitReader;

/// `picture_structure`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureStructure {
    /// One field picture, the upper lines.
    TopField,
    /// One field picture, the lower lines.
    BottomField,
    /// A frame picture.
    Frame,
}

/// `sequence_extension`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceExtension {
    /// `progressive_sequence`
    pub progressive: bool,
    /// `chroma_format`: 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4.
    pub chroma_format: u8,
    /// Two more bits above `horizontal_size_value`.
    pub width_extension: u16,
    /// Two more bits above `vertical_size_value`.
    pub height_extension: u16,
    /// Twelve more bits above `bit_rate_value`.
    pub bit_rate_extension: u32,
    /// Eight more bits above `vbv_buffer_size_value`.
    pub vbv_buffer_size_extension: u16,
    /// `frame_rate_extension_n + 1` and `frame_rate_extension_d + 1`.
    pub frame_rate_factor: (u32, u32),
}

/// `quant_matrix_extension`; absent matrices are unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantMatrixExtension {
    /// Luminance intra; also chrominance intra where that is not loaded.
    pub intra: Option<Matrix>,
    /// Luminance non-intra; also chrominance non-intra where that is not loaded.
    pub non_intra: Option<Matrix>,
    /// Chrominance intra, 4:2:2 and 4:4:4 only.
    pub chroma_intra: Option<Matrix>,
    /// Chrominance non-intra, 4:2:2 and 4:4:4 only.
    pub chroma_non_intra: Option<Matrix>,
}

/// `picture_coding_extension`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureCodingExtension {
    /// `f_code[s][t]`: forward or backward, horizontal or vertical; 1 to 9, or 15 where unused.
    pub f_code: [[u8; 2]; 2],
    /// `intra_dc_precision`: 8 bits plus this.
    pub intra_dc_precision: u8,
    /// `picture_structure`
    pub structure: PictureStructure,
    /// `top_field_first`
    pub top_field_first: bool,
    /// `frame_pred_frame_dct`: neither field prediction nor field DCT.
    pub frame_pred_frame_dct: bool,
    /// `concealment_motion_vectors`: intra macroblocks carry vectors.
    pub concealment_motion_vectors: bool,
    /// `q_scale_type`: the non-linear scale.
    pub non_linear_scale: bool,
    /// `intra_vlc_format`: intra blocks use table B.15.
    pub intra_vlc_format: bool,
    /// `alternate_scan`
    pub alternate_scan: bool,
    /// `repeat_first_field`
    pub repeat_first_field: bool,
    /// `progressive_frame`
    pub progressive_frame: bool,
}

/// An extension behind its start code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extension {
    /// Identifier 1.
    Sequence(SequenceExtension),
    /// Identifier 3.
    QuantMatrix(Box<QuantMatrixExtension>),
    /// Identifier 5: the stream is scalable, which is not supported.
    SequenceScalable,
    /// Identifier 8.
    PictureCoding(PictureCodingExtension),
    /// Any other identifier: ignored and copied.
    Other(u8),
}

impl Extension {
    /// Reads the bytes behind the start code; `None` where they end too early or a value is forbidden.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = BitReader::new(payload);
        let extension = match reader.bits(4) as u8 {
            1 => Self::Sequence(SequenceExtension::read(&mut reader)?),
            3 => Self::QuantMatrix(Box::new(QuantMatrixExtension::read(&mut reader))),
            5 => Self::SequenceScalable,
            8 => Self::PictureCoding(PictureCodingExtension::read(&mut reader)?),
            other => Self::Other(other),
        };
        (!reader.overrun()).then_some(extension)
    }
}

impl SequenceExtension {
    fn read(reader: &mut BitReader<'_>) -> Option<Self> {
        let _profile_and_level = reader.bits(8);
        let progressive = reader.flag();
        let chroma_format = reader.bits(2) as u8;
        let width_extension = reader.bits(2) as u16;
        let height_extension = reader.bits(2) as u16;
        let bit_rate_extension = reader.bits(12);
        let _marker = reader.bits(1);
        let vbv_buffer_size_extension = reader.bits(8) as u16;
        let _low_delay = reader.flag();
        let frame_rate_factor = (reader.bits(2) + 1, reader.bits(5) + 1);
        (chroma_format > 0).then_some(Self {
            progressive,
            chroma_format,
            width_extension,
            height_extension,
            bit_rate_extension,
            vbv_buffer_size_extension,
            frame_rate_factor,
        })
    }
}

impl QuantMatrixExtension {
    fn read(reader: &mut BitReader<'_>) -> Self {
        Self {
            intra: read_optional_matrix(reader),
            non_intra: read_optional_matrix(reader),
            chroma_intra: read_optional_matrix(reader),
            chroma_non_intra: read_optional_matrix(reader),
        }
    }
}

impl PictureCodingExtension {
    /// `intra_vlc_format` as a bit of the payload: behind the identifier, `f_code`, `intra_dc_precision`, `picture_structure` and four
    /// flags.
    pub(crate) const INTRA_VLC_FORMAT_BIT: usize = 4 + 16 + 2 + 2 + 4;

    fn read(reader: &mut BitReader<'_>) -> Option<Self> {
        let mut f_code = [[0; 2]; 2];
        for code in f_code.as_flattened_mut() {
            *code = reader.bits(4) as u8;
        }
        let intra_dc_precision = reader.bits(2) as u8;
        let structure = match reader.bits(2) {
            1 => PictureStructure::TopField,
            2 => PictureStructure::BottomField,
            3 => PictureStructure::Frame,
            _ => return None,
        };
        let top_field_first = reader.flag();
        let frame_pred_frame_dct = reader.flag();
        let concealment_motion_vectors = reader.flag();
        let non_linear_scale = reader.flag();
        let intra_vlc_format = reader.flag();
        let alternate_scan = reader.flag();
        let repeat_first_field = reader.flag();
        let _chroma_420_type = reader.flag();
        let progressive_frame = reader.flag();
        Some(Self {
            f_code,
            intra_dc_precision,
            structure,
            top_field_first,
            frame_pred_frame_dct,
            concealment_motion_vectors,
            non_linear_scale,
            intra_vlc_format,
            alternate_scan,
            repeat_first_field,
            progressive_frame,
        })
    }
}
