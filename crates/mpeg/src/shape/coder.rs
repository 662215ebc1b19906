//! Codes blocks anew: the nearest levels to their coefficients less the error of their prediction, then the trellis.

use super::candidates::Scratch;
use super::drift::{ErrorSink, PredictedError, energy};
use super::lengths::{Lengths, RunStart, SHORTEST};
use super::levels::Choice;
use super::recode::{CHROMA_WEIGHT, spread};
use super::scale_choice::ScaleChoice;
use super::trellis::{self, CostModel, RdChange};
use crate::decode::block::dequantise_codes;
use crate::header::PictureContext;
use crate::picture::{Code, Macroblock};

/// The lambda that suits a scale, squared error a bit, over the square of half the scale; as in the test model of H.263
/// (TMN-10).
const LAMBDA_OF_SCALE: f32 = 0.85;
/// The same for a closed loop; chosen by nine streams at 0.6 and 0.5 of their rate, on which it gains 0.02 dB in the mean.
const LAMBDA_OF_CLOSED_SCALE: f32 = 0.95;
/// A scale is made coarser by this factor at least: levels that lie between two of the old ones cost more than they gain.
const LEAST_FACTOR: f32 = 1.25;
/// The lambda that suits a quantiser scale.
pub(super) fn best_lambda(scale: f32) -> f32 {
    LAMBDA_OF_SCALE * (scale / 2.0) * (scale / 2.0)
}

/// Codes block after block.
pub(super) struct Coder<'a> {
    pub(super) context: &'a PictureContext,
    scales: [f32; 32],
    /// Half steps at a scale of 1 by scan position, for luminance of intra and other blocks, and chrominance.
    steps: [[f32; 64]; 4],
    /// The scale that suits lambda.
    wanted: f32,
    scratch: Scratch,
    pub(super) intra: bool,
    pub(super) quantiser: u8,
    /// Weight of a squared error over lambda.
    pub(super) weight: f32,
    /// Coefficients of the present block in the input and in the output, in raster order.
    pub(super) input: [i32; 64],
    output: [i32; 64],
    pub(super) distortion: f64,
    /// Of the present macroblock, times its weight.
    pub(super) weighted: f32,
    /// Scales of the input and of the output.
    pub(super) sums: [f32; 2],
    scale_choice: ScaleChoice,
}

/// Below so many half steps a coefficient of a block that is not intra is nearer to 0 than to a level of 1, but for a part
/// that costs more than it gains; in an intra block it is 1.
const LEAST: [f32; 2] = [1.0, 1.6];
/// The least bits of a block that was not coded: its shortest code, its end, and a share of the pattern.
const LEAST_BITS: u32 = SHORTEST + 3;

/// An error of the prediction that costs fewer bits than this is not corrected.
const LEAST_CORRECTED: f32 = 0.2;

impl<'a> Coder<'a> {
    pub(super) fn new(context: &'a PictureContext, weights: &[f32]) -> Self {
        let known = weights.iter().filter(|weight| weight.is_finite());
        let mean = known.clone().sum::<f32>() / known.count().max(1) as f32;
        Self {
            context,
            scales: context.quantiser_scales().map(f32::from),
            steps: std::array::from_fn(|class| {
                let matrix = context.matrices.of(class % 2 == 0, class >= 2);
                context.scan().map(|position| f32::from(matrix[usize::from(position)]) / 32.0)
            }),
            wanted: 2.0 / (LAMBDA_OF_CLOSED_SCALE * mean).sqrt(),
            scratch: Scratch::default(),
            intra: false,
            quantiser: 1,
            weight: 0.0,
            input: [0; 64],
            output: [0; 64],
            distortion: 0.0,
            weighted: 0.0,
            sums: [0.0; 2],
            scale_choice: ScaleChoice::default(),
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

    /// The next macroblock; false where it is copied.
    pub(super) fn begin(&mut self, macroblock: &Macroblock, weight: f32) -> bool {
        if !weight.is_finite() {
            return false;
        }
        self.intra = macroblock.is_intra();
        self.quantiser = self.quantiser(macroblock);
        self.weight = weight;
        true
    }

    /// Codes of scales to try beside the usual one.
    pub(super) fn other_scales(
        &self,
        macroblock: &Macroblock,
        usual: u8,
    ) -> impl Iterator<Item = u8> + use<> {
        self.scale_choice.others(self.context, macroblock, usual)
    }

    /// Bits that the present scale takes in a macroblock with coded blocks.
    pub(super) fn scale_bits(&self, macroblock: &Macroblock) -> f32 {
        self.scale_choice.bits(self.context, macroblock, self.quantiser)
    }

    /// The macroblock has the present scale in the output, with these blocks coded.
    pub(super) fn take_scale(&mut self, macroblock: &Macroblock, coded: u16) {
        if coded != 0 {
            self.scale_choice.take(self.context, macroblock, self.quantiser);
        }
        let scales = [macroblock.quantiser, self.quantiser].map(|code| self.scales[usize::from(code)]);
        self.sums.iter_mut().zip(scales).for_each(|(sum, scale)| *sum += scale);
    }

    /// Appends the new codes of a block, whose old ones are `codes` where it was coded. False where it stays without codes.
    pub(super) fn code(
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
                self.weighted += weight * energy;
                return false;
            }
        }
        let codes = codes.unwrap_or_default();
        dequantise_codes(self.context, self.intra, index, macroblock.quantiser, codes, &mut self.input);
        let mut target = self.input.map(|value| value as f32);
        if let Some(error) = error.filter(|error| weight * energy(&error.0) >= LEAST_CORRECTED) {
            target.iter_mut().zip(error.coefficients()).for_each(|(target, error)| *target -= error);
        }
        self.code_target(&target, index, weight, out);
        true
    }

    /// Appends the new codes of a block of a macroblock whose error is `bare` where nothing is coded, and the DC coefficient of an intra
    /// one. False where it stays without codes. `macroblock` has the DCT type of the output.
    pub(super) fn code_bare(
        &mut self,
        macroblock: &Macroblock,
        index: u8,
        bare: &PredictedError,
        dc: &mut Vec<i16>,
        out: &mut Vec<Code>,
    ) -> bool {
        let weight = self.weight * if index >= 4 { CHROMA_WEIGHT } else { 1.0 };
        let bare = bare.samples(self.context, macroblock, index);
        let energy = energy(&bare.0);
        if !self.intra && weight * energy < LEAST_BITS as f32 {
            self.distortion += f64::from(energy);
            self.weighted += weight * energy;
            return false;
        }
        let mut target = bare.coefficients().map(|value| -value);
        if self.intra {
            let (step, highest) = self.dc_steps();
            let nearest = (target[0] / step + 0.5).clamp(0.0, highest) as i16;
            target[0] -= step * f32::from(nearest);
            dc.push(nearest);
        }
        self.code_target(&target, index, weight, out);
        true
    }

    /// The step of a DC coefficient, and the highest one in steps (13818-2, 7.4.1).
    fn dc_steps(&self) -> (f32, f32) {
        let precision = self.context.coding.intra_dc_precision;
        (f32::from(8u8 >> precision), f32::from((256u16 << precision) - 1))
    }

    /// Appends the codes that bring a block nearest to its coefficients `target` at the least cost.
    fn code_target(&mut self, target: &[f32; 64], index: u8, weight: f32, out: &mut Vec<Code>) {
        let first = out.len();
        let gain = self.quantise(target, index, weight, out);
        let lengths = Lengths::of(self.intra && self.context.coding.intra_vlc_format);
        let model = CostModel { factor: weight, lengths, intra: self.intra };
        let mut change = RdChange::default();
        let choice = match &out[first..] {
            [] => Choice::NOTHING,
            codes => trellis::choose_prepared(&mut self.scratch, codes, &model, gain, &mut change),
        };
        apply(out, first, choice);
        let error = weight * energy(target) + change.error - gain;
        self.distortion += f64::from(error / weight);
        self.weighted += error;
    }

    /// Gives the error of a block to `sink`, to which the error without any code was given. `dc` is the DC coefficient of an intra block.
    pub(super) fn pass_on_bare(
        &mut self,
        macroblock: &Macroblock,
        index: u8,
        (dc, codes): (Option<&i16>, &[Code]),
        sink: &mut ErrorSink<'_, '_>,
    ) {
        dequantise_codes(self.context, dc.is_some(), index, self.quantiser, codes, &mut self.output);
        if let Some(&dc) = dc {
            self.output[0] = i32::from(dc) * (8 >> self.context.coding.intra_dc_precision);
        }
        sink.add_whole(macroblock, index, self.output);
    }

    /// Gives the error of a block to `sink`, which has the codes `old` in the input and `new` in the output.
    pub(super) fn pass_on_between(
        &mut self,
        macroblock: &Macroblock,
        index: u8,
        [old, new]: [&[Code]; 2],
        sink: &mut ErrorSink<'_, '_>,
    ) {
        dequantise_codes(self.context, self.intra, index, macroblock.quantiser, old, &mut self.input);
        self.pass_on(macroblock, index, new, sink);
    }

    /// Gives the error of the block that was coded last to `sink`.
    pub(super) fn pass_on(
        &mut self,
        macroblock: &Macroblock,
        index: u8,
        codes: &[Code],
        sink: &mut ErrorSink<'_, '_>,
    ) {
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
