//! Requantisation in a closed loop: each block is coded anew from its coefficients less the error of its prediction, so that
//! the errors of earlier pictures do not add up (Assunção and Ghanbari, "A frequency-domain video transcoder for dynamic
//! bit-rate reduction of MPEG-2 bit streams", 1998; here the error is predicted in samples).

mod forms;
mod scales;

use super::coder::Coder;
use super::drift::{Drift, ErrorSink, PredictedError};
use super::motion_choice::MotionChoice;
use super::recode::dither;
use crate::decode::prediction_loop::PredictionLoop;
use crate::header::PictureContext;
use crate::picture::{Code, Macroblock, Picture};
use crate::vlc::{Coefficients, TABLE_ONE, TABLE_ZERO, cheaper_intra_table};
use crate::write::form::Form;
use crate::write::rewrite::{Codes, Content, NewBlocks, code_bits};
use forms::Moving;

/// Chosen by 15 streams at 0.6 and 0.5 of their rate.
const POWER_OF_IMPORTANCE: f32 = 0.85;

/// The weight of an error in a macroblock of this importance: a little less than in proportion, because importance is an estimate.
fn weight_of(importance: f32) -> f32 {
    libm::powf(importance, POWER_OF_IMPORTANCE)
}

/// One macroblock of the output.
#[derive(Debug, Clone, Copy)]
struct Coded {
    quantiser: u8,
    /// Coded blocks by bit, block 0 in bit 0.
    blocks: u16,
    /// Index of its first block in the input.
    first_block: u32,
    /// Index of its first code, and of the first of its blocks' ends.
    first_code: u32,
    first_end: u32,
    /// Index of its first DC coefficient, if it is intra.
    first_dc: u32,
    intra: bool,
}

/// A picture that is coded anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClosedLoop {
    macroblocks: Vec<Coded>,
    codes: Vec<Code>,
    /// The end of each coded block, counted from the first code of its macroblock.
    ends: Vec<u16>,
    /// The DC coefficients of all blocks of intra macroblocks.
    dc: Vec<i16>,
    /// By macroblock, where forms were chosen, and the lambda for which they were.
    forms: Vec<Form>,
    form_lambda: f32,
    /// `intra_vlc_format` of the output.
    intra_vlc_format: bool,
    /// Macroblocks may have other scales than the usual one.
    pub(crate) chooses_scales: bool,
    /// Mean scale of the output over that of the input.
    pub(crate) quantiser_factor: f64,
    /// Squared error of the coefficients, with that of the prediction.
    pub(crate) distortion: f64,
}

impl Content for ClosedLoop {
    fn codes(&self, macroblock: usize, block: usize) -> Codes<'_> {
        // Of an intra macroblock all blocks are coded.
        let blocks = self.blocks_of(macroblock);
        let index = block - self.macroblocks[macroblock].first_block as usize;
        let first = index.checked_sub(1).map_or(0, |before| usize::from(blocks.ends[before]));
        Codes::New(&blocks.codes[first..usize::from(blocks.ends[index])])
    }

    fn quantiser(&self, macroblock: usize) -> u8 {
        self.macroblocks[macroblock].quantiser
    }

    fn is_unchanged(&self, _: usize) -> bool {
        false
    }

    fn coded_blocks(&self, index: usize, _: &Macroblock) -> u16 {
        self.macroblocks[index].blocks
    }

    fn new_blocks(&self, macroblock: usize) -> Option<NewBlocks<'_>> {
        Some(self.blocks_of(macroblock))
    }

    fn intra_vlc_format(&self, _: &PictureContext) -> bool {
        self.intra_vlc_format
    }

    fn forms(&self) -> Option<&[Form]> {
        (!self.forms.is_empty()).then_some(&self.forms)
    }
}

impl ClosedLoop {
    /// Number of codes.
    pub(crate) fn codes(&self) -> u64 {
        self.codes.len() as u64
    }

    /// Number of coded blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.ends.len() as u64
    }

    fn blocks_of(&self, index: usize) -> NewBlocks<'_> {
        let coded = self.macroblocks[index];
        let ends = &self.ends[coded.first_end as usize..][..coded.blocks.count_ones() as usize];
        let first = coded.first_code as usize;
        let count = ends.last().map_or(0, |&end| usize::from(end));
        let dc = &self.dc[coded.first_dc as usize..][..if coded.intra { ends.len() } else { 0 }];
        NewBlocks { coded: coded.blocks, codes: &self.codes[first..first + count], ends, dc }
    }

    /// Codes a picture that is opened in `drift`, for `lambda`, squared error a bit. `context` has the `intra_vlc_format` of the output.
    /// `importance` is the weight of an error by macroblock. `inputs` has the reference frames of the input, where they are known.
    pub(crate) fn code(
        &mut self,
        context: &PictureContext,
        parsed: &Picture,
        drift: &mut Drift,
        importance: &[f32],
        lambda: f32,
        inputs: Option<&PredictionLoop>,
    ) {
        self.intra_vlc_format = context.coding.intra_vlc_format;
        self.macroblocks.clear();
        self.codes.clear();
        self.ends.clear();
        self.dc.clear();
        self.distortion = 0.0;
        let weights = importance.iter().map(|&importance| weight_of(importance) / lambda);
        let mut weights: Vec<f32> = weights.collect();
        weights.resize(parsed.macroblocks.len(), lambda.recip());
        let picture = u32::from(context.header.temporal_reference);
        for (weight, macroblock) in weights.iter_mut().zip(&parsed.macroblocks) {
            *weight /= dither(macroblock.address + picture);
        }
        // Slices that are damaged are copied.
        for slice in parsed.slices.iter().filter(|slice| slice.damage.is_some()) {
            weights[slice.macroblocks.clone()].fill(f32::INFINITY);
        }
        let mut coder = Coder::new(context, &weights);
        if let Some((choice, inputs)) = MotionChoice::new(context).zip(inputs) {
            let known = self.known_forms(lambda, weights.len());
            let moving = Moving { coder: &mut coder, choice, parsed };
            self.code_with_forms(moving, drift, inputs, &weights, known.as_deref());
        } else {
            self.forms.clear();
            let mut index = 0;
            drift.follow(context, parsed, |macroblock, error, sink| {
                if coder.begin(macroblock, weights[index]) {
                    self.push_at_cheapest_scale(&mut coder, parsed, macroblock, error, sink);
                } else {
                    self.begin(macroblock, macroblock.quantiser);
                }
                index += 1;
            });
        }
        let [before, after] = coder.sums;
        self.quantiser_factor = if before > 0.0 { f64::from(after / before) } else { 1.0 };
    }

    /// Has the table written with which the codes of intra blocks take fewer bits; returns its `intra_vlc_format`.
    pub(crate) fn choose_intra_table(&mut self) -> bool {
        let intra = (0..self.macroblocks.len()).filter(|&index| self.macroblocks[index].intra);
        let bits = |table: &Coefficients| -> u64 {
            intra.clone().map(|index| u64::from(code_bits(table, self.blocks_of(index)))).sum()
        };
        self.intra_vlc_format =
            cheaper_intra_table(self.intra_vlc_format, [&TABLE_ZERO, &TABLE_ONE].map(bits)).0;
        self.intra_vlc_format
    }

    /// What is known of another picture is forgotten.
    pub(crate) fn forget(&mut self) {
        self.forms.clear();
    }

    /// Begins a macroblock with this scale and no codes.
    fn begin(&mut self, macroblock: &Macroblock, quantiser: u8) {
        self.macroblocks.push(Coded {
            quantiser,
            blocks: 0,
            first_block: macroblock.first_block,
            first_code: self.codes.len() as u32,
            first_end: self.ends.len() as u32,
            first_dc: self.dc.len() as u32,
            intra: false,
        });
    }

    /// Codes a macroblock whose blocks are those of the input less `error`.
    fn push(
        &mut self,
        coder: &mut Coder<'_>,
        parsed: &Picture,
        macroblock: &Macroblock,
        error: Option<&PredictedError>,
        mut sink: Option<&mut ErrorSink<'_, '_>>,
    ) {
        self.begin(macroblock, coder.quantiser);
        coder.weighted = 0.0;
        let first = self.codes.len();
        let mut coded = 0;
        let mut old = parsed.blocks_of(macroblock).iter().peekable();
        for index in 0..coder.context.chroma.blocks() as u8 {
            let block = old.next_if(|block| block.index() == index);
            let codes = block.map(|block| parsed.codes_of(block));
            if coder.intra {
                self.dc.extend(block.map(|block| block.dc));
            }
            let before = self.codes.len();
            if !coder.code(macroblock, index, codes, error, &mut self.codes) {
                continue;
            }
            if self.codes.len() > before || coder.intra {
                coded |= 1 << index;
                self.ends.push((self.codes.len() - first) as u16);
            }
            if let Some(sink) = &mut sink {
                coder.pass_on(macroblock, index, &self.codes[before..], sink);
            }
        }
        self.end(coder, coded);
    }

    /// Ends a macroblock with these coded blocks.
    fn end(&mut self, coder: &mut Coder<'_>, coded: u16) {
        self.distortion += std::mem::take(&mut coder.distortion);
        if let Some(last) = self.macroblocks.last_mut() {
            (last.blocks, last.intra) = (coded, coder.intra);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Inputs;
    use super::super::picture::PictureShaper;
    use super::super::report::LeftAlone;
    use super::*;
    use crate::decode::frame::{DIFFERENCE, Frame};
    use crate::decode::predict::Motion;
    use crate::decode::{Decoded, Decoder};
    use crate::header::{PictureKind, SequenceState};
    use crate::unit::AccessUnit;
    use std::sync::Arc;

    const STREAM: &[u8] = include_bytes!("../../tests/fixtures/elementary.m2v");
    /// Frames of two fields, many with a vector for each.
    const INTERLACED: &[u8] = include_bytes!("../../tests/fixtures/interlaced.m2v");
    const LAMBDA: f32 = 300.0;

    /// How each picture is coded.
    #[derive(Clone, Copy)]
    enum How {
        /// As if there were none before it.
        Alone,
        InTurn,
        /// P pictures are copied.
        WithCopies,
        WithMotion,
    }

    #[derive(Default)]
    struct Output {
        bytes: Vec<u8>,
        drift: Drift,
        distortion: f64,
        /// Of each picture, by the address of its macroblocks; empty without other forms.
        forms: Vec<Vec<(u32, Form)>>,
        /// Macroblocks with other motion or none, with another DCT type, and that are intra alone in the output.
        moved: usize,
        turned: usize,
        intra: usize,
    }

    fn coded(stream: &[u8], how: How) -> Output {
        let (mut out, mut inputs) = (Output::default(), Inputs::default());
        for (unit, context) in units(stream) {
            let mut picture = PictureShaper::default();
            (picture.unit, picture.context) = (unit, context);
            picture.parse();
            picture.count_intra_bits();
            picture.choose_intra_table();
            match how {
                How::WithMotion => inputs.decode(std::slice::from_mut(&mut picture)),
                How::Alone => out.drift = Drift::default(),
                How::WithCopies if picture.report.kind == Some(PictureKind::P) => {
                    picture.report.left_alone = Some(LeftAlone::NothingToDo);
                }
                How::InTurn | How::WithCopies => {}
            }
            picture.write_closed(LAMBDA, &mut out.drift);
            out.bytes.extend_from_slice(picture.writer.bytes());
            out.distortion += picture.report.distortion;
            let Some(context) = &picture.context else { continue };
            let forms = picture.parsed.macroblocks.iter().zip(&picture.closed.forms);
            for (macroblock, form) in forms.clone() {
                let of_input = Form::of(context, macroblock);
                out.moved += usize::from(!form.motion.is_as(&of_input.motion));
                out.turned += usize::from(form.field_dct != of_input.field_dct);
                out.intra += usize::from(form.motion.is_intra() && !macroblock.is_intra());
            }
            out.forms.push(forms.map(|(macroblock, &form)| (macroblock.address, form)).collect());
        }
        out
    }

    fn units(stream: &[u8]) -> Vec<(AccessUnit, Option<PictureContext>)> {
        let mut state = SequenceState::default();
        let read = |unit: AccessUnit| {
            let context = unit.read_headers(&mut state);
            (unit, context)
        };
        AccessUnit::all_of(stream).into_iter().map(read).collect()
    }

    fn decoded(data: &[u8]) -> Vec<Arc<Frame>> {
        let mut decoder = Decoder::new();
        decoder.push(data);
        decoder.finish();
        assert_eq!(decoder.stats().damaged_slices, 0);
        std::iter::from_fn(|| decoder.pull()).map(|Decoded { frame, .. }| frame).collect()
    }

    /// Squared error of these components.
    fn error(a: &[Arc<Frame>], b: &[Arc<Frame>], components: std::ops::Range<usize>) -> f64 {
        assert_eq!(a.len(), b.len());
        let square = |(&a, &b): (&u8, &u8)| f64::from(a.abs_diff(b)) * f64::from(a.abs_diff(b));
        let frames = a.iter().zip(b);
        let planes =
            frames.flat_map(|(a, b)| a.planes[components.clone()].iter().zip(&b.planes[components.clone()]));
        planes.flat_map(|(a, b)| a.data.iter().zip(&b.data)).map(square).sum()
    }

    #[test]
    fn drift_is_the_difference_of_the_decoded_frames() {
        for (stream, how) in [
            (STREAM, How::InTurn),
            (STREAM, How::WithCopies),
            (STREAM, How::WithMotion),
            (INTERLACED, How::InTurn),
            (INTERLACED, How::WithMotion),
        ] {
            let Output { bytes, drift, .. } = coded(stream, how);
            assert!(bytes.len() * 10 < stream.len() * 8);
            let [before, after] = [stream, &bytes].map(decoded);
            // The last frame in display order is the newest reference frame.
            let (before, after) = (before.last().unwrap(), after.last().unwrap());
            let errors = drift.newest();
            let errors = errors.as_ref().expect("a reference frame");
            for component in 0..3 {
                let [a, b] = [before, after].map(|frame| &frame.planes[component].data);
                let error = &errors.planes[component].data;
                let real = |i: usize| f64::from(b[i]) - f64::from(a[i]);
                let miss = |i: usize| f64::from(error[i]) / f64::from(DIFFERENCE) - real(i);
                let square = |of: &dyn Fn(usize) -> f64| (0..a.len()).map(|i| of(i) * of(i)).sum::<f64>();
                // Both decoders round each prediction.
                let (missed, all) = (square(&miss), square(&real));
                assert!(missed < 0.2 * all, "component {component}: {missed} of {all}");
            }
        }
    }

    #[test]
    fn errors_do_not_add_up() {
        let input = decoded(STREAM);
        let [closed, open] =
            [How::InTurn, How::Alone].map(|how| error(&decoded(&coded(STREAM, how).bytes), &input, 0..1));
        assert!(closed < 0.9 * open, "{closed} beside {open}");
    }

    /// Where the writer's predictors of vectors or DC coefficients were others than the decoder's, all behind would be others too.
    #[test]
    fn the_output_has_the_forms_that_were_chosen() {
        let out = coded(INTERLACED, How::WithMotion);
        assert!(
            out.moved > 150 && out.turned > 10 && out.intra > 5,
            "{} {} {}",
            out.moved,
            out.turned,
            out.intra
        );
        let (mut parsed, mut skipped) = (Picture::default(), 0);
        for ((unit, context), forms) in units(&out.bytes).into_iter().zip(&out.forms) {
            let context = context.expect("a picture");
            parsed.clear();
            unit.read_slices(&context, &mut parsed);
            for (address, form) in forms {
                let found = parsed.macroblocks.iter().rfind(|macroblock| macroblock.address <= *address);
                let found = found.expect("the first of a slice is there");
                let is_skipped = found.address < *address;
                skipped += usize::from(is_skipped);
                let motion = match is_skipped {
                    true => Motion::skipped(&context, found),
                    false => Form::of(&context, found).motion,
                };
                assert!(
                    motion.is_as(&form.motion),
                    "{:?}, {address}: {motion:?}, not {form:?}",
                    context.kind()
                );
                assert!(is_skipped || found.blocks == 0 || found.field_dct == form.field_dct);
            }
        }
        assert!(skipped > 50, "{skipped}");
    }

    /// They are predicted from others where a macroblock between them became intra or predicted.
    #[test]
    fn intra_macroblocks_that_stay_keep_their_dc_coefficients() {
        let out = coded(INTERLACED, How::WithMotion);
        let mut count = 0;
        for (input, output) in units(INTERLACED).into_iter().zip(units(&out.bytes)) {
            let [input, output] = [input, output].map(|(unit, context)| {
                let mut parsed = Picture::default();
                unit.read_slices(&context.expect("a picture"), &mut parsed);
                parsed
            });
            let dc = |picture: &Picture, macroblock: &Macroblock| {
                picture.blocks_of(macroblock).iter().map(|block| block.dc).collect::<Vec<_>>()
            };
            for macroblock in input.macroblocks.iter().filter(|macroblock| macroblock.is_intra()) {
                let place = |of: &Macroblock| (of.address, of.is_intra(), of.field_dct);
                let found = output.macroblocks.iter().find(|found| place(found) == place(macroblock));
                assert!(found.is_none_or(|found| dc(&output, found) == dc(&input, macroblock)));
                count += usize::from(found.is_some());
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn other_motion_costs_less() {
        let input = decoded(INTERLACED);
        let [before, after] = [How::InTurn, How::WithMotion].map(|how| coded(INTERLACED, how));
        let real = error(&decoded(&after.bytes), &input, 0..3);
        assert!((0.9..1.1).contains(&(real / after.distortion)), "{real} beside {}", after.distortion);
        let cost = |out: &Output| {
            error(&decoded(&out.bytes), &input, 0..3) + f64::from(LAMBDA) * 8.0 * out.bytes.len() as f64
        };
        assert!(after.bytes.len() < before.bytes.len());
        assert!(cost(&after) < cost(&before), "{} beside {}", cost(&after), cost(&before));
    }
}
