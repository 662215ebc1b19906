//! Requantisation in a closed loop: each block is coded anew from its coefficients less the error of its prediction, so that
//! the errors of earlier pictures do not add up (Assunção and Ghanbari, "A frequency-domain video transcoder for dynamic
//! bit-rate reduction of MPEG-2 bit streams", 1998; here the error is predicted in samples).

use super::coder::Coder;
use super::drift::{Drift, ErrorSink, MotionError, PredictedError};
use super::motion_choice::MotionChoice;
use super::place::Place;
use super::recode::dither;
use crate::decode::predict::Motion;
use crate::decode::prediction_loop::PredictionLoop;
use crate::header::PictureContext;
use crate::picture::{Code, Macroblock, Picture};
use crate::vlc;
use crate::write::rewrite::{Codes, Content, NewBlocks, code_bits};

/// Motion that was chosen stays while lambda is within this factor.
const SAME_LAMBDA: f32 = 1.25;

/// The weight of an error in a macroblock of this importance: less than in proportion, because later pictures correct a
/// part of it.
fn weight_of(importance: f32) -> f32 {
    let root = importance.sqrt();
    root * root.sqrt()
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
}

/// A picture that is coded anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClosedLoop {
    macroblocks: Vec<Coded>,
    codes: Vec<Code>,
    /// The end of each coded block, counted from the first code of its macroblock.
    ends: Vec<u16>,
    /// By macroblock, where motion was chosen, and the lambda for which it was.
    motions: Vec<Motion>,
    motion_lambda: f32,
    /// Mean scale of the output over that of the input.
    pub(crate) quantiser_factor: f64,
    /// Squared error of the coefficients, with that of the prediction.
    pub(crate) distortion: f64,
}

/// How much was coded.
struct Mark {
    macroblocks: usize,
    codes: usize,
    ends: usize,
    distortion: f64,
}

/// A picture whose macroblocks may get other motion.
struct Moving<'a, 'b> {
    coder: &'a mut Coder<'b>,
    choice: MotionChoice<'b>,
    parsed: &'a Picture,
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

    fn motions(&self) -> Option<&[Motion]> {
        (!self.motions.is_empty()).then_some(&self.motions)
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
        NewBlocks { coded: coded.blocks, codes: &self.codes[first..first + count], ends }
    }

    /// Codes a picture that is opened in `drift`, for `lambda`, squared error a bit. `importance` is the weight of an error by
    /// macroblock. `inputs` has the reference frames of the input, where they are known.
    pub(crate) fn code(
        &mut self,
        context: &PictureContext,
        parsed: &Picture,
        drift: &mut Drift,
        importance: &[f32],
        lambda: f32,
        inputs: Option<&PredictionLoop>,
    ) {
        self.macroblocks.clear();
        self.codes.clear();
        self.ends.clear();
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
            let ratio = lambda / self.motion_lambda;
            let known = std::mem::take(&mut self.motions);
            let stays = known.len() == weights.len() && (1.0 / SAME_LAMBDA..SAME_LAMBDA).contains(&ratio);
            if !stays {
                self.motion_lambda = lambda;
            }
            let mut moving = Moving { coder: &mut coder, choice, parsed };
            let mut places = Place::all(context, parsed, stays.then_some(&known[..])).zip(&weights);
            drift.follow_with_motion(context, parsed, inputs, |macroblock, errors, sink| {
                let Some((place, &weight)) = places.next() else { return };
                let motion = if moving.coder.begin(macroblock, weight) {
                    self.push_with_motion(&mut moving, macroblock, errors, sink, place)
                } else {
                    self.begin(macroblock, macroblock.quantiser);
                    Motion::of(context, macroblock)
                };
                self.motions.push(motion);
            });
        } else {
            self.motions.clear();
            let mut index = 0;
            drift.follow(context, parsed, |macroblock, error, sink| {
                if coder.begin(macroblock, weights[index]) {
                    self.push(&mut coder, parsed, macroblock, error, sink);
                } else {
                    self.begin(macroblock, macroblock.quantiser);
                }
                index += 1;
            });
        }
        let [before, after] = coder.sums;
        self.quantiser_factor = if before > 0.0 { f64::from(after / before) } else { 1.0 };
    }

    /// What is known of another picture is forgotten.
    pub(crate) fn forget(&mut self) {
        self.motions.clear();
    }

    /// Codes a macroblock that may get other motion, or has that which is known; gives that which it has.
    fn push_with_motion(
        &mut self,
        moving: &mut Moving<'_, '_>,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        sink: Option<&mut ErrorSink<'_, '_>>,
        place: Place,
    ) -> Motion {
        let of_input = Motion::of(moving.coder.context, macroblock);
        if place.resets || macroblock.is_intra() {
            moving.choice.reset();
        }
        if macroblock.is_intra() {
            self.push(moving.coder, moving.parsed, macroblock, None, sink);
            return of_input;
        }
        let motion = self.push_cheapest(moving, macroblock, errors, place);
        if let Some(sink) = sink {
            if !motion.is_as(&of_input) {
                sink.predict(macroblock.address, errors.last());
            }
            self.pass_on_last(moving.coder, moving.parsed, macroblock, sink);
        }
        motion
    }

    /// Gives the error of the macroblock that was coded last to `sink`.
    fn pass_on_last(
        &self,
        coder: &mut Coder<'_>,
        parsed: &Picture,
        macroblock: &Macroblock,
        sink: &mut ErrorSink<'_, '_>,
    ) {
        let blocks = self.blocks_of(self.macroblocks.len() - 1);
        let (mut ends, mut first) = (blocks.ends.iter().peekable(), 0);
        let mut old = parsed.blocks_of(macroblock).iter().peekable();
        for index in 0..coder.context.chroma.blocks() as u8 {
            let before = old.next_if(|block| block.index == index).map(|block| parsed.codes_of(block));
            let is_coded = blocks.coded >> index & 1 != 0;
            let end = ends.next_if(|_| is_coded).map_or(first, |&end| usize::from(end));
            let codes = [before.unwrap_or_default(), &blocks.codes[first..end]];
            coder.pass_on_between(macroblock, index, codes, sink);
            first = end;
        }
    }

    /// Codes a macroblock with the motion of the input, or with other motion if that costs less; gives that which it has. Its error
    /// is the last one of `errors`, unless it has the motion of the input.
    fn push_cheapest(
        &mut self,
        Moving { coder, choice, parsed }: &mut Moving<'_, '_>,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        place: Place,
    ) -> Motion {
        let (address, of_input) = (macroblock.address, Motion::of(coder.context, macroblock));
        let mut motion = place.known.unwrap_or(of_input);
        let other = match place.is_repeated || place.known.is_some() {
            true => None,
            false => choice.cheapest(parsed, macroblock, errors, coder.weight, place.is_inner),
        };
        let start = self.mark();
        let error = if motion.is_as(&of_input) {
            errors.of_input(address, &motion)
        } else {
            errors.begin(address, &of_input);
            errors.of_other(address, &motion)
        };
        self.push(coder, parsed, macroblock, Some(error), None);
        if let Some(other) = other {
            let (cost, middle) = (self.last_cost(coder, choice, &motion, place), self.mark());
            self.push(coder, parsed, macroblock, Some(errors.of_other(address, &other)), None);
            if self.last_cost(coder, choice, &other, place) < cost {
                self.remove(&start, &middle);
                motion = other;
            } else {
                self.return_to(&middle);
            }
        }
        choice.take(&motion, self.blocks_of(self.macroblocks.len() - 1).coded, place.is_inner);
        motion
    }

    /// What the macroblock costs that was coded last, in bits with its weighted error.
    fn last_cost(&self, coder: &Coder<'_>, choice: &MotionChoice<'_>, motion: &Motion, place: Place) -> f32 {
        let blocks = self.blocks_of(self.macroblocks.len() - 1);
        let bits = code_bits(&vlc::TABLE_ZERO, blocks) + choice.bits(motion, blocks.coded, place.is_inner);
        coder.weighted + bits as f32
    }

    fn mark(&self) -> Mark {
        Mark {
            macroblocks: self.macroblocks.len(),
            codes: self.codes.len(),
            ends: self.ends.len(),
            distortion: self.distortion,
        }
    }

    fn return_to(&mut self, mark: &Mark) {
        self.macroblocks.truncate(mark.macroblocks);
        self.codes.truncate(mark.codes);
        self.ends.truncate(mark.ends);
        self.distortion = mark.distortion;
    }

    /// Removes what was coded between two marks; one macroblock follows.
    fn remove(&mut self, start: &Mark, end: &Mark) {
        self.macroblocks.drain(start.macroblocks..end.macroblocks);
        self.codes.drain(start.codes..end.codes);
        self.ends.drain(start.ends..end.ends);
        self.distortion -= end.distortion - start.distortion;
        if let Some(last) = self.macroblocks.last_mut() {
            (last.first_code, last.first_end) = (start.codes as u32, start.ends as u32);
        }
    }

    fn begin(&mut self, macroblock: &Macroblock, quantiser: u8) {
        self.macroblocks.push(Coded {
            quantiser,
            blocks: 0,
            first_block: macroblock.first_block,
            first_code: self.codes.len() as u32,
            first_end: self.ends.len() as u32,
        });
    }

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
            let codes = old.next_if(|block| block.index == index).map(|block| parsed.codes_of(block));
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
        self.distortion += std::mem::take(&mut coder.distortion);
        if let Some(last) = self.macroblocks.last_mut() {
            last.blocks = coded;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Inputs;
    use super::super::picture::PictureShaper;
    use super::*;
    use crate::decode::frame::{DIFFERENCE, Frame};
    use crate::decode::{Decoded, Decoder};
    use crate::header::SequenceState;
    use crate::unit::{AccessUnit, Splitter};
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
        WithMotion,
    }

    #[derive(Default)]
    struct Output {
        bytes: Vec<u8>,
        drift: Drift,
        distortion: f64,
        /// Of each picture, by the address of its macroblocks; empty without other motion.
        motions: Vec<Vec<(u32, Motion)>>,
        /// Macroblocks with other motion.
        moved: usize,
    }

    fn coded(stream: &[u8], how: How) -> Output {
        let (mut out, mut inputs) = (Output::default(), Inputs::default());
        for (unit, context) in units(stream) {
            let mut picture = PictureShaper::default();
            (picture.unit, picture.context) = (unit, context);
            picture.parse();
            match how {
                How::WithMotion => inputs.decode(std::slice::from_mut(&mut picture)),
                How::Alone => out.drift = Drift::default(),
                How::InTurn => {}
            }
            picture.write_closed(LAMBDA, &mut out.drift);
            out.bytes.extend_from_slice(picture.writer.bytes());
            out.distortion += picture.report.distortion;
            let Some(context) = &picture.context else { continue };
            let predicted = |(macroblock, _): &(&Macroblock, &Motion)| !macroblock.is_intra();
            let moved = |(macroblock, motion): &(&Macroblock, &Motion)| {
                !motion.is_as(&Motion::of(context, macroblock))
            };
            let motions = picture.parsed.macroblocks.iter().zip(&picture.closed.motions).filter(predicted);
            out.moved += motions.clone().filter(moved).count();
            out.motions.push(motions.map(|(macroblock, &motion)| (macroblock.address, motion)).collect());
        }
        out
    }

    fn units(stream: &[u8]) -> Vec<(AccessUnit, Option<PictureContext>)> {
        let (mut splitter, mut state) = (Splitter::default(), SequenceState::default());
        splitter.push(stream);
        splitter.finish();
        let unit = || splitter.pull().map(|unit| (unit.read_headers(&mut state), unit));
        std::iter::from_fn(unit).map(|(context, unit)| (unit, context)).collect()
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

    /// Where the writer's predictors of vectors were others than the decoder's, all vectors behind would be others too.
    #[test]
    fn the_output_has_the_motion_that_was_chosen() {
        let out = coded(INTERLACED, How::WithMotion);
        assert!(out.moved > 150, "{}", out.moved);
        let (mut parsed, mut skipped) = (Picture::default(), 0);
        for ((unit, context), motions) in units(&out.bytes).into_iter().zip(&out.motions) {
            let context = context.expect("a picture");
            parsed.clear();
            unit.read_slices(&context, &mut parsed);
            for (address, motion) in motions {
                let found = parsed.macroblocks.iter().rfind(|macroblock| macroblock.address <= *address);
                let found = found.expect("the first of a slice is there");
                let is_skipped = found.address < *address;
                skipped += usize::from(is_skipped);
                let found =
                    if is_skipped { Motion::skipped(&context, found) } else { Motion::of(&context, found) };
                assert!(found.is_as(motion), "{:?}, {address}: {found:?}, not {motion:?}", context.kind());
            }
        }
        assert!(skipped > 50, "{skipped}");
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
