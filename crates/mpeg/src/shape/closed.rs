//! Requantisation in a closed loop: each block is coded anew from its coefficients less the error of its prediction, so that
//! the errors of earlier pictures do not add up (Assunção and Ghanbari, "A frequency-domain video transcoder for dynamic
//! bit-rate reduction of MPEG-2 bit streams", 1998; here the error is predicted in samples).

use super::candidates::Scratch;
use super::drift::{Drift, ErrorSink, PredictedError, energy};
use super::lengths::{Lengths, RunStart, SHORTEST};
use super::levels::Choice;
use super::recode::{CHROMA_WEIGHT, dither, spread};
use super::trellis::{self, CostModel, RdChange};
use crate::decode::block::dequantise_codes;
use crate::header::PictureContext;
use crate::picture::{Code, Macroblock, Picture};
use crate::write::rewrite::{Codes, Content, NewBlocks};

/// The lambda that suits a scale, squared error a bit, over the square of half the scale; as in the test model of H.263
/// (TMN-10).
const LAMBDA_OF_SCALE: f32 = 0.85;
/// A scale is made coarser by this factor at least: levels that lie between two of the old ones cost more than they gain.
const LEAST_FACTOR: f32 = 1.25;
/// The lambda that suits a quantiser scale.
pub(super) fn best_lambda(scale: f32) -> f32 {
    LAMBDA_OF_SCALE * (scale / 2.0) * (scale / 2.0)
}

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
    /// macroblock.
    pub(crate) fn code(
        &mut self,
        context: &PictureContext,
        parsed: &Picture,
        drift: &mut Drift,
        importance: &[f32],
        lambda: f32,
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
        let mut index = 0;
        let mut scales = [0.0, 0.0];
        drift.follow(context, parsed, |macroblock, error, sink| {
            let quantiser = coder.quantiser(macroblock);
            if weights[index].is_finite() {
                scales[0] += coder.scales[usize::from(macroblock.quantiser)];
                scales[1] += coder.scales[usize::from(quantiser)];
                coder.begin(macroblock, quantiser, weights[index]);
                self.push(&mut coder, parsed, macroblock, error, sink);
            } else {
                self.begin(macroblock, macroblock.quantiser);
            }
            index += 1;
        });
        self.quantiser_factor = if scales[0] > 0.0 { f64::from(scales[1] / scales[0]) } else { 1.0 };
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

/// Codes block after block.
struct Coder<'a> {
    context: &'a PictureContext,
    scales: [f32; 32],
    /// Half steps at a scale of 1 by scan position, for luminance of intra and other blocks, and chrominance.
    steps: [[f32; 64]; 4],
    /// The scale that suits lambda.
    wanted: f32,
    scratch: Scratch,
    intra: bool,
    quantiser: u8,
    /// Weight of a squared error over lambda.
    weight: f32,
    /// Coefficients of the present block in the input and in the output, in raster order.
    input: [i32; 64],
    output: [i32; 64],
    distortion: f64,
}

/// Below so many half steps a coefficient of a block that is not intra is nearer to 0 than to a level of 1, but for a part
/// that costs more than it gains; in an intra block it is 1.
const LEAST: [f32; 2] = [1.0, 1.6];
/// The least bits of a block that was not coded: its shortest code, its end, and a share of the pattern.
const LEAST_BITS: u32 = SHORTEST + 3;

/// An error of the prediction that costs fewer bits than this is not corrected.
const LEAST_CORRECTED: f32 = 0.2;

impl<'a> Coder<'a> {
    fn new(context: &'a PictureContext, weights: &[f32]) -> Self {
        let known = weights.iter().filter(|weight| weight.is_finite());
        let mean = known.clone().sum::<f32>() / known.count().max(1) as f32;
        Self {
            context,
            scales: context.quantiser_scales().map(f32::from),
            steps: std::array::from_fn(|class| {
                let matrix = context.matrices.of(class % 2 == 0, class >= 2);
                context.scan().map(|position| f32::from(matrix[usize::from(position)]) / 32.0)
            }),
            // As in `best_lambda`.
            wanted: 2.0 / (LAMBDA_OF_SCALE * mean).sqrt(),
            scratch: Scratch::default(),
            intra: false,
            quantiser: 1,
            weight: 0.0,
            input: [0; 64],
            output: [0; 64],
            distortion: 0.0,
        }
    }

    /// The scale code for the wanted scale, where that is coarser than the one of the input by enough. Between two scales,
    /// rows of macroblocks alternate so that the mean is right and sizes follow lambda smoothly.
    fn quantiser(&self, macroblock: &Macroblock) -> u8 {
        let old = macroblock.quantiser;
        let place = spread(macroblock.address / self.context.columns as u32);
        if self.wanted.is_nan()
            || self.wanted < (LEAST_FACTOR - 0.1 + 0.2 * place) * self.scales[usize::from(old)]
        {
            return old;
        }
        let scale = |code: u8| self.scales[usize::from(code)];
        let above = (old + 1..32).find(|&code| scale(code) >= self.wanted).unwrap_or(31).max(1);
        let below = above - 1;
        let share = (self.wanted - scale(below)) / (scale(above) - scale(below));
        if share > place { above } else { below.max(old) }
    }

    fn begin(&mut self, macroblock: &Macroblock, quantiser: u8, weight: f32) {
        self.intra = macroblock.is_intra();
        self.quantiser = quantiser;
        self.weight = weight;
    }

    /// Appends the new codes of a block, whose old ones are `codes` where it was coded. False where it stays without codes.
    fn code(
        &mut self,
        macroblock: &Macroblock,
        index: u8,
        codes: Option<&[Code]>,
        error: Option<&PredictedError>,
        out: &mut Vec<Code>,
    ) -> bool {
        let error = error.map(|error| error.samples(self.context, macroblock, index));
        let weight = self.weight * if index >= 4 { CHROMA_WEIGHT } else { 1.0 };
        if codes.is_none() {
            let energy = error.as_ref().map_or(0.0, |error| energy(&error.0));
            if weight * energy < LEAST_BITS as f32 {
                self.distortion += f64::from(energy);
                return false;
            }
        }
        let codes = codes.unwrap_or_default();
        dequantise_codes(self.context, self.intra, index, macroblock.quantiser, codes, &mut self.input);
        let mut target = self.input.map(|value| value as f32);
        if let Some(error) = error.filter(|error| weight * energy(&error.0) >= LEAST_CORRECTED) {
            target.iter_mut().zip(error.coefficients()).for_each(|(target, error)| *target -= error);
        }
        let first = out.len();
        let gain = self.quantise(&target, index, weight, out);
        let lengths = Lengths::of(self.intra && self.context.coding.intra_vlc_format);
        let model = CostModel { factor: weight, lengths, intra: self.intra };
        let mut change = RdChange::default();
        let choice = match &out[first..] {
            [] => Choice::NOTHING,
            codes => trellis::choose_prepared(&mut self.scratch, codes, &model, gain, &mut change),
        };
        apply(out, first, choice);
        self.distortion += f64::from(energy(&target) + (change.error - gain) / weight);
        true
    }

    /// Gives the error of the block that was coded last to `sink`.
    fn pass_on(&mut self, macroblock: &Macroblock, index: u8, codes: &[Code], sink: &mut ErrorSink<'_, '_>) {
        dequantise_codes(self.context, self.intra, index, self.quantiser, codes, &mut self.output);
        sink.add(macroblock, index, &self.output, &self.input);
    }

    /// Appends the nearest codes of a block, and notes what they gain; returns what they gain in all.
    fn quantise(&mut self, target: &[f32; 64], index: u8, weight: f32, out: &mut Vec<Code>) -> f32 {
        let class = usize::from(!self.intra);
        let steps = &self.steps[class + 2 * usize::from(index >= 4)];
        let scale = self.scales[usize::from(self.quantiser)];
        let least = LEAST[class] * scale;
        let offset = class as f32;
        let first = out.len();
        let mut total = 0.0;
        let mut run = RunStart::start(self.intra);
        let scan = self.context.scan();
        let scanned: [f32; 64] = std::array::from_fn(|i| target[usize::from(scan[i]) & 63]);
        // The DC coefficient of an intra block stays as it is.
        let mut left = reaching(&scanned, steps, least) & !u64::from(self.intra);
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            let (value, half_step) = (scanned[place], scale * steps[place]);
            let steps = value.abs() / half_step;
            let nearest = (((steps - offset) * 0.5 + 0.5) as i32).clamp(1, self.highest_level());
            let error = steps - (2.0 * nearest as f32 + offset);
            // The level below 1 is none, so lowering never gains.
            let below = if nearest == 1 { steps } else { error + 2.0 };
            let weight = weight * half_step * half_step;
            let gain = weight * (steps * steps - error * error);
            let loss = weight * (below * below - error * error).max(0.0);
            self.scratch.set(out.len() - first, gain, loss, (nearest, place as u8), &mut run);
            total += gain;
            out.push(Code::new(if value < 0.0 { -nearest } else { nearest } as i16, place as u8));
        }
        total
    }

    /// The largest level that has a code (13818-2, table B.16; 11172-2, table 2-B.5g).
    fn highest_level(&self) -> i32 {
        if self.context.mpeg2 { 2047 } else { 255 }
    }
}

/// The values whose magnitude is `least` times their step or more, by bit.
fn reaching(values: &[f32; 64], steps: &[f32; 64], least: f32) -> u64 {
    let mut reached = 0;
    for (i, (values, steps)) in values.chunks_exact(8).zip(steps.chunks_exact(8)).enumerate() {
        let mut flags = [0; 8];
        for (flag, (value, step)) in flags.iter_mut().zip(values.iter().zip(steps)) {
            *flag = u8::from(value.abs() >= least * step);
        }
        // Eight octets of 0 or 1 become eight bits.
        reached |= (u64::from_le_bytes(flags).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    reached
}

/// Drops and lowers the codes from `first` on.
fn apply(codes: &mut Vec<Code>, first: usize, choice: Choice) {
    let mut kept = first;
    for i in 0..(codes.len() - first).min(64) {
        if choice.kept >> i & 1 != 0 {
            let code = codes[first + i];
            let lower = (choice.lowered >> i & 1) as i16 * code.level().signum();
            codes[kept] = Code::new(code.level() - lower, code.position());
            kept += 1;
        }
    }
    codes.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::super::picture::PictureShaper;
    use super::*;
    use crate::decode::frame::{DIFFERENCE, Frame};
    use crate::decode::{Decoded, Decoder};
    use crate::header::SequenceState;
    use crate::unit::Splitter;
    use std::sync::Arc;

    const STREAM: &[u8] = include_bytes!("../../tests/fixtures/elementary.m2v");
    const LAMBDA: f32 = 300.0;

    /// The stream coded anew, and its drift. With `forget` each picture is coded as if there were none before it.
    fn coded(forget: bool) -> (Vec<u8>, Drift) {
        let (mut splitter, mut state) = (Splitter::default(), SequenceState::default());
        splitter.push(STREAM);
        splitter.finish();
        let (mut out, mut drift) = (Vec::new(), Drift::default());
        while let Some(unit) = splitter.pull() {
            let context = unit.read_headers(&mut state);
            let mut picture = PictureShaper::default();
            (picture.unit, picture.context) = (unit, context);
            picture.parse();
            picture.write_closed(LAMBDA, &mut drift);
            out.extend_from_slice(picture.writer.bytes());
            drift = if forget { Drift::default() } else { drift };
        }
        (out, drift)
    }

    fn decoded(data: &[u8]) -> Vec<Arc<Frame>> {
        let mut decoder = Decoder::new();
        decoder.push(data);
        decoder.finish();
        assert_eq!(decoder.stats().damaged_slices, 0);
        std::iter::from_fn(|| decoder.pull()).map(|Decoded { frame, .. }| frame).collect()
    }

    /// Mean squared error of luminance.
    fn mse(a: &Frame, b: &Frame) -> f64 {
        let [a, b] = [a, b].map(|frame| &frame.planes[0].data);
        let square = |(&a, &b): (&u8, &u8)| f64::from(a.abs_diff(b)) * f64::from(a.abs_diff(b));
        a.iter().zip(b).map(square).sum::<f64>() / a.len() as f64
    }

    #[test]
    fn drift_is_the_difference_of_the_decoded_frames() {
        let (out, drift) = coded(false);
        assert!(out.len() * 10 < STREAM.len() * 8);
        let [before, after] = [STREAM, &out].map(decoded);
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

    #[test]
    fn errors_do_not_add_up() {
        let [closed, open] = [false, true].map(|forget| decoded(&coded(forget).0));
        let input = decoded(STREAM);
        let error =
            |frames: Vec<Arc<Frame>>| -> f64 { frames.iter().zip(&input).map(|(a, b)| mse(a, b)).sum() };
        let [closed, open] = [closed, open].map(error);
        assert!(closed < 0.9 * open, "{closed} beside {open}");
    }
}
