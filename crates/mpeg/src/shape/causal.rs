//! The causally optimal algorithm (S002, equations 9 to 11): two prediction loops, one as the input is decoded
//! and one as the output will be, tell which error is already there.

use super::parallel;
use super::work::Work;
use crate::decode::block::dequantise;
use crate::decode::idct;
use crate::decode::predict::{Movement, Prediction, predict};
use crate::decode::prediction_loop::{Opened, PredictionLoop};
use crate::decode::reconstruct::BlockPlace;
use crate::header::PictureContext;
use crate::picture::{Block, Code, Macroblock, Picture};
use std::num::NonZeroUsize;
use std::ops::Range;

/// Both loops.
#[derive(Debug, Default)]
pub(super) struct Causal {
    input: PredictionLoop,
    output: PredictionLoop,
    /// Whether the picture at hand can be decoded.
    decodes: bool,
}

/// Macroblocks of a picture that one thread looks at, and what their codes are worth.
struct Part<'a> {
    macroblocks: Range<usize>,
    /// The first of their codes.
    first: usize,
    worth: &'a mut [f32],
}

/// As many parts as there are threads.
fn split<'a>(picture: &Picture, mut worth: &'a mut [f32], threads: NonZeroUsize) -> Vec<Part<'a>> {
    let count = picture.macroblocks.len();
    let size = count.div_ceil(threads.get()).max(1);
    let first_code =
        |index: usize| match picture.macroblocks[index..].iter().find(|macroblock| macroblock.blocks > 0) {
            Some(macroblock) => picture.blocks[macroblock.first_block as usize].first as usize,
            None => picture.codes.len(),
        };
    let mut parts = Vec::new();
    let mut first = 0;
    for start in (0..count).step_by(size) {
        let end = (start + size).min(count);
        let next = if end < count { first_code(end) } else { picture.codes.len() };
        let (own, rest) = worth.split_at_mut(next - first);
        parts.push(Part { macroblocks: start..end, first, worth: own });
        (worth, first) = (rest, next);
    }
    parts
}

/// The largest frame that is decoded, in macroblocks.
const LARGEST_FRAME: usize = 1 << 18;

impl Causal {
    /// What each code of a picture is worth: `2 A(k) E(k) + E(k)^2`. Opens the picture in both loops.
    pub(super) fn worth(&mut self, work: &Work, threads: NonZeroUsize) -> Vec<f32> {
        let mut worth = vec![0.0; work.picture.codes.len()];
        let Some(context) = work.context.as_ref() else { return worth };
        let opened = |loops: &mut PredictionLoop| {
            let fits = context.columns * context.rows <= LARGEST_FRAME;
            fits && !matches!(loops.open(context, work.closed_group), Opened::Undecodable(_))
        };
        self.decodes = opened(&mut self.input) & opened(&mut self.output);
        let mut parts = split(&work.picture, &mut worth, threads);
        parallel::for_each(threads, &mut parts, |part| self.fill_part(context, &work.picture, part));
        worth
    }

    fn fill_part(&self, context: &PictureContext, picture: &Picture, part: &mut Part<'_>) {
        for macroblock in &picture.macroblocks[part.macroblocks.clone()] {
            let differences = self.prediction_error(context, macroblock);
            for block in picture.blocks_of(macroblock) {
                let there = differences.as_ref().map(|error| error.coefficients(context, macroblock, block));
                let codes = block.codes();
                let worth = &mut part.worth[codes.start - part.first..codes.end - part.first];
                fill(worth, context, macroblock, block, picture.codes_of(block), there.as_ref());
            }
        }
    }

    /// Decodes a picture in both loops: as it came, and with the codes that were kept.
    pub(super) fn follow(&mut self, work: &Work, threads: NonZeroUsize) {
        let Some(context) = work.context.as_ref().filter(|_| self.decodes) else { return };
        let picture = &work.picture;
        let shaped = work.is_shapeable();
        let as_it_came = |index: usize| picture.codes_of(&picture.blocks[index]);
        let as_it_goes = |index: usize| {
            let codes = as_it_came(index);
            if shaped { &codes[..usize::from(work.keep[index]).min(codes.len())] } else { codes }
        };
        let mut loops = [(&mut self.input, true), (&mut self.output, false)];
        parallel::for_each(threads, &mut loops, |(prediction_loop, whole)| {
            if *whole {
                prediction_loop.paint(context, picture, as_it_came);
            } else {
                prediction_loop.paint(context, picture, as_it_goes);
            }
        });
    }

    /// `a`, the difference of the two predictions; `None` where nothing is predicted.
    fn prediction_error(&self, context: &PictureContext, macroblock: &Macroblock) -> Option<Differences> {
        if macroblock.is_intra() || !self.decodes {
            return None;
        }
        let address = macroblock.address as usize;
        let (column, row) = (address % context.columns, address / context.columns);
        let movement = Movement::of(context, macroblock);
        let predicted = |loops: &PredictionLoop| {
            let mut prediction = Prediction::new();
            loops.with_references(context, |references| {
                predict(context, references, &movement, column, row, &mut prediction);
            });
            prediction
        };
        Some(Differences { input: predicted(&self.input), output: predicted(&self.output) })
    }
}

/// The two predictions of a macroblock.
struct Differences {
    input: Prediction,
    output: Prediction,
}

impl Differences {
    /// `A`, output less input, of one block.
    fn coefficients(&self, context: &PictureContext, macroblock: &Macroblock, block: &Block) -> [f32; 64] {
        let place = BlockPlace::of(context, macroblock, block.index);
        let (input, output) = (&self.input.planes[place.component], &self.output.planes[place.component]);
        let step = if place.interleaved { 32 } else { 16 };
        idct::forward(&std::array::from_fn(|i| {
            let at = 16 * place.line + place.x + step * (i / 8) + i % 8;
            f32::from(output[at]) - f32::from(input[at])
        }))
    }
}

/// Keeping a code leaves the error `A`; dropping it leaves `A - E`.
fn fill(
    worth: &mut [f32],
    context: &PictureContext,
    macroblock: &Macroblock,
    block: &Block,
    codes: &[Code],
    there: Option<&[f32; 64]>,
) {
    let mut coefficients = [0; 64];
    dequantise(context, macroblock, block, codes, &mut coefficients);
    let scan = context.scan();
    for (worth, code) in worth.iter_mut().zip(codes) {
        let position = usize::from(scan[usize::from(code.position())]);
        let value = coefficients[position] as f32;
        let error = there.map_or(0.0, |there| there[position]);
        *worth = value * value - 2.0 * error * value;
    }
}
