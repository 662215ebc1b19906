//! The motion of B pictures in a closed loop. At low rates vectors take the larger part of their bits. So a macroblock may get
//! other motion that is cheaper to code: one direction in place of two, one vector in place of one for each field, or that of
//! the macroblock before; and then it may be skipped. P pictures keep their motion: what a worse prediction costs them goes on
//! to others, and tried on them the choice lost as much as it gained.

use super::drift::{MotionError, PredictedError};
use super::recode::CHROMA_WEIGHT;
use crate::decode::block::dequantise;
use crate::decode::frame::{DIFFERENCE, Sample};
use crate::decode::idct;
use crate::decode::predict::{Motion, Prediction};
use crate::decode::reconstruct::BlockPlace;
use crate::header::{Chroma, PictureContext, PictureKind};
use crate::motion::{Predictors, directions};
use crate::picture::{Macroblock, MotionType, Picture, Vector};
use crate::tables::macroblock::{BACKWARD, FORWARD, PATTERN};
use crate::vlc;

/// Finds motion for the macroblocks of a B picture, in their order.
pub(super) struct MotionChoice<'a> {
    context: &'a PictureContext,
    /// Behind the last macroblock of the output.
    predictors: Predictors,
    /// What a skipped macroblock would have behind it.
    skipped: Option<Motion>,
    /// The present macroblock: what the input adds to its prediction.
    residual: Prediction<i16>,
}

impl<'a> MotionChoice<'a> {
    /// `None` where all motion stays as it is.
    pub(super) fn new(context: &'a PictureContext) -> Option<Self> {
        let is_plain = !context.coding.concealment_motion_vectors && context.header.full_pel == [false; 2];
        (context.kind() == PictureKind::B && is_plain).then(|| Self {
            context,
            predictors: Predictors::default(),
            skipped: None,
            residual: Prediction::new(),
        })
    }

    /// A slice begins, or a macroblock without prediction has come.
    pub(super) fn reset(&mut self) {
        (self.predictors, self.skipped) = (Predictors::default(), None);
    }

    /// The next macroblock has this motion and these blocks in the output.
    pub(super) fn take(&mut self, motion: &Motion, coded: u16, inner: bool) {
        // A skipped one leaves the predictors as they are.
        if !self.is_skipped(motion, coded, inner) {
            self.predictors.follow(self.context, motion);
            self.skipped = Some(motion.repeated(self.context));
        }
    }

    fn is_skipped(&self, motion: &Motion, coded: u16, inner: bool) -> bool {
        inner && coded == 0 && self.skipped.is_some_and(|skipped| skipped.is_as(motion))
    }

    /// Bits of a macroblock beside its codes and the ends of its blocks. `coded` are its coded blocks, the first in bit 0. An
    /// `inner` one may be skipped.
    pub(super) fn bits(&self, motion: &Motion, coded: u16, inner: bool) -> u32 {
        if self.is_skipped(motion, coded, inner) {
            return 1;
        }
        let in_field = self.context.is_field();
        let either = in_field || !self.context.coding.frame_pred_frame_dct;
        let dct_type = u32::from(either && !in_field && coded != 0);
        let flags = motion.flags | if coded == 0 { 0 } else { PATTERN };
        let modes = 1 + vlc::TYPE_B.length(flags) + 2 * u32::from(either) + dct_type;
        modes + self.predictors.bits(self.context, motion) + pattern_bits(self.context.chroma, coded)
    }

    /// The motion that costs least without any code: bits, and the squared error times `weight`. `None` for that of the input.
    pub(super) fn cheapest(
        &mut self,
        parsed: &Picture,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        weight: f32,
        inner: bool,
    ) -> Option<Motion> {
        let (address, motion) = (macroblock.address, Motion::of(self.context, macroblock));
        let most = self.bits(&motion, 0, inner);
        // What the cheapest one costs, where any may be cheaper at all.
        let (mut least, mut best) = (None, None);
        for other in self.others(&motion) {
            let bits = self.bits(&other, 0, inner);
            if bits >= most || !self.is_inside(address, &other) {
                continue;
            }
            let cheapest = least.unwrap_or_else(|| {
                errors.begin(address, &motion);
                self.read_residual(parsed, macroblock);
                weight * self.distance(errors.of_input(address, &motion)) + most as f32
            });
            let cost = weight * self.distance(errors.of_other(address, &other)) + bits as f32;
            if cost < cheapest {
                best = Some(other);
            }
            least = Some(cheapest.min(cost));
        }
        best
    }

    /// Motion that may be cheaper.
    fn others(&self, motion: &Motion) -> impl Iterator<Item = Motion> + use<> {
        let whole = self.whole(motion);
        one_direction(*motion)
            .chain(whole)
            .chain(whole.into_iter().flat_map(one_direction))
            .chain(self.skipped)
            .chain(self.skipped.into_iter().flat_map(one_direction))
    }

    /// The mean of the vectors of both fields of a frame picture, for the frame.
    fn whole(&self, motion: &Motion) -> Option<Motion> {
        let in_frame = motion.motion == MotionType::Field && !self.context.is_field();
        in_frame.then(|| {
            let mean =
                |[top, bottom]: [Vector; 2]| Vector { x: (top.x + bottom.x) >> 1, y: top.y + bottom.y };
            let vectors = motion.vectors.map(|pair| [mean(pair); 2]);
            Motion { flags: motion.flags, vectors, ..Motion::zero(self.context) }
        })
    }

    /// True where all vectors have a code and point into the picture.
    fn is_inside(&self, address: u32, motion: &Motion) -> bool {
        let context = self.context;
        let (column, row) = (address as usize % context.columns, address as usize / context.columns);
        // Lines of the frame or the field that is predicted from, and how many of them a vector takes.
        let in_fields = motion.motion == MotionType::Field && !context.is_field();
        let all = (16 * context.rows) >> u8::from(in_fields);
        let rows = if in_fields || motion.motion == MotionType::Split { 8 } else { 16 };
        let fits = |at: usize, size: usize, all: usize, half_samples: i16| {
            let first = 2 * at as i32 + i32::from(half_samples);
            first >= 0 && first + 2 * size as i32 <= 2 * all as i32
        };
        directions(motion).all(|s| {
            let [across, down] = context.coding.f_code[s].map(|f_code| 8 << f_code.min(9));
            motion.vectors[s].iter().enumerate().all(|(r, &Vector { x, y })| {
                let line = if motion.motion == MotionType::Split { 16 * row + 8 * r } else { rows * row };
                (-across..across).contains(&i32::from(x))
                    && (-down..down).contains(&i32::from(y))
                    && fits(16 * column, 16, 16 * context.columns, x)
                    && fits(line, rows, all, y)
            })
        })
    }

    fn read_residual(&mut self, parsed: &Picture, macroblock: &Macroblock) {
        self.residual.planes = [[0; 256]; 3];
        let mut samples = [0; 64];
        for block in parsed.blocks_of(macroblock) {
            dequantise(self.context, macroblock, block, parsed.codes_of(block), &mut samples);
            idct::inverse(&mut samples);
            let place = BlockPlace::of(self.context, macroblock, block.index);
            let plane = &mut self.residual.planes[place.component];
            for (at, samples) in place.lines().zip(samples.chunks_exact(8)) {
                for (sample, &value) in plane[at..at + 8].iter_mut().zip(samples) {
                    *sample = i16::intra(DIFFERENCE * value);
                }
            }
        }
    }

    /// The squared error of the macroblock without codes.
    fn distance(&self, error: &PredictedError) -> f32 {
        let (dx, dy) = self.context.chroma.shift();
        let mut distance = 0.0;
        for (component, (residual, error)) in self.residual.planes.iter().zip(&error.0.planes).enumerate() {
            let (width, height) = if component == 0 { (16, 16) } else { (16 >> dx, 16 >> dy) };
            let mut sums = [0.0; 16];
            for (residual, error) in residual.chunks_exact(16).zip(error.chunks_exact(16)).take(height) {
                for (sum, (&residual, &error)) in sums[..width].iter_mut().zip(residual.iter().zip(error)) {
                    let difference = f32::from(residual) - f32::from(error);
                    *sum += difference * difference;
                }
            }
            distance += sums.iter().sum::<f32>() * if component == 0 { 1.0 } else { CHROMA_WEIGHT };
        }
        distance / (DIFFERENCE * DIFFERENCE) as f32
    }
}

/// Either direction alone, of motion that has both.
fn one_direction(motion: Motion) -> impl Iterator<Item = Motion> {
    let both = directions(&motion).count() == 2;
    [FORWARD, BACKWARD].into_iter().filter(move |_| both).map(move |flags| Motion { flags, ..motion })
}

/// Bits of `coded_block_pattern`; none without coded blocks.
fn pattern_bits(chroma: Chroma, coded: u16) -> u32 {
    if coded == 0 {
        return 0;
    }
    let blocks = chroma.blocks() as u32;
    let pattern = coded.reverse_bits() >> (16 - blocks);
    vlc::PATTERN_420.length((pattern >> (blocks - 6)) as u8) + blocks - 6
}
