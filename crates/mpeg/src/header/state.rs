//! The state of a sequence, and the context that slices are parsed with.

use super::{
    Extension, GroupHeader, Matrix, PictureCodingExtension, PictureHeader, PictureKind, PictureStructure,
    SequenceExtension, SequenceHeader,
};
use crate::startcode::{Span, StartCode};
use crate::tables::quantiser::{DEFAULT_INTRA, LINEAR, NON_LINEAR};
use crate::tables::scan::{ALTERNATE, ZIG_ZAG};
use crate::unit::AccessUnit;
use std::sync::Arc;

/// `chroma_format`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chroma {
    /// 4:2:0
    Yuv420,
    /// 4:2:2
    Yuv422,
    /// 4:4:4
    Yuv444,
}

impl Chroma {
    /// Blocks of a macroblock: 6, 8 or 12.
    pub fn blocks(self) -> usize {
        match self {
            Self::Yuv420 => 6,
            Self::Yuv422 => 8,
            Self::Yuv444 => 12,
        }
    }

    /// Logarithms of the horizontal and vertical subsampling of chrominance.
    pub fn shift(self) -> (u32, u32) {
        match self {
            Self::Yuv420 => (1, 1),
            Self::Yuv422 => (1, 0),
            Self::Yuv444 => (0, 0),
        }
    }
}

/// The four matrices in force, raster order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixSet {
    /// Luminance intra, luminance non-intra, chrominance intra, chrominance non-intra.
    pub matrices: [Matrix; 4],
}

impl Default for MatrixSet {
    fn default() -> Self {
        Self { matrices: [DEFAULT_INTRA, [16; 64], DEFAULT_INTRA, [16; 64]] }
    }
}

impl MatrixSet {
    /// The matrix of a block.
    pub fn of(&self, intra: bool, chroma: bool) -> &Matrix {
        &self.matrices[usize::from(!intra) + 2 * usize::from(chroma)]
    }

    fn load(&mut self, intra: Option<Matrix>, non_intra: Option<Matrix>) {
        for (i, matrix) in [intra, non_intra].into_iter().enumerate() {
            if let Some(matrix) = matrix {
                self.matrices[i] = matrix;
                self.matrices[i + 2] = matrix;
            }
        }
    }
}

/// Everything that the slices of a picture are parsed with.
#[derive(Debug, Clone)]
pub struct PictureContext {
    /// The picture's header.
    pub header: PictureHeader,
    /// MPEG-2's extension of it; in MPEG-1 the equivalent values.
    pub coding: PictureCodingExtension,
    /// False: ISO/IEC 11172-2.
    pub mpeg2: bool,
    /// Width of the luminance in pixels.
    pub width: usize,
    /// Height of the frame's luminance in pixels.
    pub height: usize,
    /// Macroblocks in a row.
    pub columns: usize,
    /// Macroblock rows of this picture; of one field in a field picture.
    pub rows: usize,
    /// `chroma_format`
    pub chroma: Chroma,
    /// `progressive_sequence`
    pub progressive_sequence: bool,
    /// The matrices in force.
    pub matrices: Arc<MatrixSet>,
}

impl PictureContext {
    /// `picture_coding_type`
    pub fn kind(&self) -> PictureKind {
        self.header.kind
    }

    /// True for one field of a frame.
    pub fn is_field(&self) -> bool {
        self.coding.structure != PictureStructure::Frame
    }

    /// True where macroblocks may be predicted from single fields (13818-2, 6.3.17.1).
    pub(crate) fn has_field_motion(&self) -> bool {
        self.is_field() || !self.coding.frame_pred_frame_dct
    }

    /// That of the first picture of a fixture.
    #[cfg(test)]
    pub(crate) fn of_fixture() -> Self {
        let stream = include_bytes!("../../tests/fixtures/elementary.m2v");
        let unit = crate::unit::AccessUnit::all_of(stream).swap_remove(0);
        unit.read_headers(&mut SequenceState::default()).expect("a context")
    }

    /// The same with this `intra_vlc_format`.
    pub(crate) fn with_intra_vlc_format(&self, intra_vlc_format: bool) -> Self {
        let coding = PictureCodingExtension { intra_vlc_format, ..self.coding.clone() };
        Self { coding, ..self.clone() }
    }

    /// Scan position to raster position.
    pub fn scan(&self) -> &'static [u8; 64] {
        if self.coding.alternate_scan { &ALTERNATE } else { &ZIG_ZAG }
    }

    /// `quantiser_scale_code` to `quantiser_scale`, in the units of MPEG-2 (twice MPEG-1's).
    pub fn quantiser_scales(&self) -> &'static [u8; 32] {
        if self.coding.non_linear_scale { &NON_LINEAR } else { &LINEAR }
    }

    /// True where slices carry `slice_vertical_position_extension`.
    pub fn has_row_extension(&self) -> bool {
        self.mpeg2 && self.height > 2800
    }
}

/// The newest headers of a stream.
#[derive(Debug, Clone, Default)]
pub struct SequenceState {
    sequence: Option<SequenceHeader>,
    extension: Option<SequenceExtension>,
    matrices: Arc<MatrixSet>,
    scalable: bool,
    picture: Option<PictureHeader>,
    coding: Option<PictureCodingExtension>,
    group: Option<GroupHeader>,
}

impl SequenceState {
    /// The newest sequence header.
    pub fn sequence(&self) -> Option<&SequenceHeader> {
        self.sequence.as_ref()
    }

    /// The newest sequence extension; `None` in MPEG-1.
    pub fn extension(&self) -> Option<&SequenceExtension> {
        self.extension.as_ref()
    }

    /// The newest group header.
    pub fn group(&self) -> Option<&GroupHeader> {
        self.group.as_ref()
    }

    /// Frames per second as a fraction; `None` before a sequence header or where its code is forbidden.
    pub fn frame_rate(&self) -> Option<(u32, u32)> {
        let (n, d) = self.sequence.as_ref()?.frame_rate()?;
        let (factor_n, factor_d) =
            self.extension.as_ref().map_or((1, 1), |extension| extension.frame_rate_factor);
        Some((n * factor_n, d * factor_d))
    }

    /// How long a unit is shown, in seconds: none without a picture, a frame where its headers are not readable.
    pub fn unit_seconds(&self, unit: &AccessUnit, context: Option<&PictureContext>) -> f64 {
        match context {
            _ if !unit.has_picture() => 0.0,
            Some(context) => self.display_seconds(context),
            None => self.frame_seconds(),
        }
    }

    /// The time of a frame in seconds: 40 ms where no sequence header says it.
    pub fn frame_seconds(&self) -> f64 {
        self.frame_rate().map_or(0.04, |(n, d)| f64::from(d) / f64::from(n))
    }

    /// Display time of a picture in seconds (13818-2, 6.3.10, `repeat_first_field`); at 25 Hz where the frame rate is not
    /// known.
    pub fn display_seconds(&self, picture: &PictureContext) -> f64 {
        let frame = self.frame_seconds();
        let coding = &picture.coding;
        let fields = match (picture.is_field(), coding.repeat_first_field, picture.progressive_sequence) {
            (true, ..) => 1.0,
            (false, false, _) => 2.0,
            (false, true, false) => 3.0,
            (false, true, true) if coding.top_field_first => 6.0,
            (false, true, true) => 4.0,
        };
        frame * fields / 2.0
    }

    /// The declared `bit_rate` in bit/s; `None` where there is none, or MPEG-1 says variable.
    pub fn bit_rate(&self) -> Option<u64> {
        const VARIABLE: u32 = (1 << 18) - 1;
        let low = self.sequence.as_ref()?.bit_rate;
        let rate = match &self.extension {
            None if low == VARIABLE => 0,
            None => low,
            Some(extension) => low | extension.bit_rate_extension << 18,
        };
        (rate > 0).then_some(400 * u64::from(rate))
    }

    /// The declared `vbv_buffer_size` in bits; `None` where there is none.
    pub fn buffer_bits(&self) -> Option<u64> {
        let low = self.sequence.as_ref()?.vbv_buffer_size;
        let high = self.extension.as_ref().map_or(0, |extension| extension.vbv_buffer_size_extension);
        let size = u64::from(low) | u64::from(high) << 10;
        (size > 0).then_some(size << 14)
    }

    /// Reads the next span of a stream. Unreadable headers leave the state unchanged.
    pub fn on_span(&mut self, span: &Span, data: &[u8]) {
        let payload = span.payload(data);
        match span.code {
            StartCode::SequenceHeader => {
                if let Some(header) = SequenceHeader::parse(payload) {
                    self.on_sequence_header(header);
                }
            }
            StartCode::Group => self.group = GroupHeader::parse(payload),
            StartCode::Picture => {
                self.picture = PictureHeader::parse(payload);
                self.coding = None;
            }
            StartCode::Extension => {
                if let Some(extension) = Extension::parse(payload) {
                    self.on_extension(extension);
                }
            }
            _ => {}
        }
    }

    // A header without load flags restores the defaults (13818-2, 6.3.11).
    fn on_sequence_header(&mut self, mut header: SequenceHeader) {
        let mut matrices = MatrixSet::default();
        matrices.load(header.intra.take(), header.non_intra.take());
        self.matrices = Arc::new(matrices);
        self.sequence = Some(header);
        self.extension = None;
        self.scalable = false;
        self.picture = None;
    }

    fn on_extension(&mut self, extension: Extension) {
        match extension {
            Extension::Sequence(extension) => self.extension = Some(extension),
            Extension::SequenceScalable => self.scalable = true,
            Extension::PictureCoding(coding) => self.coding = Some(coding),
            Extension::QuantMatrix(update) => {
                let matrices = Arc::make_mut(&mut self.matrices);
                matrices.load(update.intra, update.non_intra);
                for (i, matrix) in [update.chroma_intra, update.chroma_non_intra].into_iter().enumerate() {
                    matrices.matrices[i + 2] = matrix.unwrap_or(matrices.matrices[i + 2]);
                }
            }
            Extension::Other(_) => {}
        }
    }

    /// The context of the slices behind the newest headers; `None` where headers are missing, forbidden, or of a scalable
    /// layer.
    pub fn picture_context(&self) -> Option<PictureContext> {
        let sequence = self.sequence.as_ref()?;
        let header = self.picture.clone()?;
        if self.scalable {
            return None;
        }
        match &self.extension {
            None => mpeg1_context(sequence, header, &self.matrices),
            Some(extension) => {
                mpeg2_context(sequence, extension, header, self.coding.clone()?, &self.matrices)
            }
        }
    }
}

fn mpeg1_context(
    sequence: &SequenceHeader,
    header: PictureHeader,
    matrices: &Arc<MatrixSet>,
) -> Option<PictureContext> {
    let [forward, backward] = header.f_code;
    if forward == 0 || backward == 0 {
        return None;
    }
    let (width, height) = (usize::from(sequence.width), usize::from(sequence.height));
    Some(PictureContext {
        coding: PictureCodingExtension {
            f_code: [[forward; 2], [backward; 2]],
            intra_dc_precision: 0,
            structure: PictureStructure::Frame,
            top_field_first: false,
            frame_pred_frame_dct: true,
            concealment_motion_vectors: false,
            non_linear_scale: false,
            intra_vlc_format: false,
            alternate_scan: false,
            repeat_first_field: false,
            progressive_frame: true,
        },
        header,
        mpeg2: false,
        width,
        height,
        columns: width.div_ceil(16),
        rows: height.div_ceil(16),
        chroma: Chroma::Yuv420,
        progressive_sequence: true,
        matrices: Arc::clone(matrices),
    })
}

fn mpeg2_context(
    sequence: &SequenceHeader,
    extension: &SequenceExtension,
    mut header: PictureHeader,
    coding: PictureCodingExtension,
    matrices: &Arc<MatrixSet>,
) -> Option<PictureContext> {
    let width = usize::from(sequence.width | extension.width_extension << 12);
    let height = usize::from(sequence.height | extension.height_extension << 12);
    let chroma = match extension.chroma_format {
        1 => Chroma::Yuv420,
        2 => Chroma::Yuv422,
        _ => Chroma::Yuv444,
    };
    // MPEG-2 fixes these fields of MPEG-1, so their values are ignored.
    header.full_pel = [false; 2];
    if header.kind == PictureKind::D {
        return None;
    }
    let field = coding.structure != PictureStructure::Frame;
    let rows = match (extension.progressive, field) {
        (true, true) => return None,
        (true, false) => height.div_ceil(16),
        (false, false) => 2 * height.div_ceil(32),
        (false, true) => height.div_ceil(32),
    };
    Some(PictureContext {
        header,
        coding,
        mpeg2: true,
        width,
        height,
        columns: width.div_ceil(16),
        rows,
        chroma,
        progressive_sequence: extension.progressive,
        matrices: Arc::clone(matrices),
    })
}
