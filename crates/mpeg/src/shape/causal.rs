//! The causally optimal algorithm (S002, equations 9 to 11): two prediction loops, of the input and of the output, give
//! the error that earlier pictures have left.

use super::parallel;
use super::picture::PictureShaper;
use crate::decode::block::dequantise;
use crate::decode::idct;
use crate::decode::predict::{Motion, Prediction, predict};
use crate::decode::prediction_loop::{Opened, PredictionLoop};
use crate::decode::reconstruct::BlockPlace;
use crate::header::PictureContext;
use crate::picture::{Block, Code, Macroblock, Picture};
use std::num::NonZeroUsize;
use std::ops::Range;

/// The two prediction loops.
#[derive(Debug, Default)]
pub(super) struct Causal {
    input: PredictionLoop,
    output: PredictionLoop,
    /// The present picture can be decoded.
    decodes: bool,
}

/// Macroblocks of a picture for one thread, and the distortion of their codes.
struct Part<'a> {
    macroblocks: Range<usize>,
    /// Index of the first of their codes.
    first: usize,
    distortion: &'a mut [f32],
}

/// Splits a picture into one part for each thread.
fn split<'a>(parsed: &Picture, mut distortion: &'a mut [f32], threads: NonZeroUsize) -> Vec<Part<'a>> {
    let count = parsed.macroblocks.len();
    let size = count.div_ceil(threads.get()).max(1);
    let first_code =
        |index: usize| match parsed.macroblocks[index..].iter().find(|macroblock| macroblock.blocks > 0) {
            Some(macroblock) => parsed.blocks[macroblock.first_block as usize].first as usize,
            None => parsed.codes.len(),
        };
    let mut parts = Vec::new();
    let mut first = 0;
    for start in (0..count).step_by(size) {
        let end = (start + size).min(count);
        let next = if end < count { first_code(end) } else { parsed.codes.len() };
        let (own, rest) = distortion.split_at_mut(next - first);
        parts.push(Part { macroblocks: start..end, first, distortion: own });
        (distortion, first) = (rest, next);
    }
    parts
}

/// The largest frame that is decoded, in macroblocks.
const LARGEST_FRAME: usize = 1 << 18;

impl Causal {
    /// The distortion of dropping each code of a picture, `2 A(k) E(k) + E(k)^2`. Opens the picture in both loops.
    pub(super) fn distortion(&mut self, picture: &PictureShaper, threads: NonZeroUsize) -> Vec<f32> {
        let mut distortion = vec![0.0; picture.parsed.codes.len()];
        let Some(context) = picture.context.as_ref() else { return distortion };
        let opened = |loops: &mut PredictionLoop| {
            let fits = context.columns * context.rows <= LARGEST_FRAME;
            fits && !matches!(loops.open(context, picture.closed_group), Opened::Undecodable(_))
        };
        self.decodes = opened(&mut self.input) & opened(&mut self.output);
        let mut parts = split(&picture.parsed, &mut distortion, threads);
        parallel::for_each(threads, &mut parts, |part| self.fill_part(context, &picture.parsed, part));
        distortion
    }

    fn fill_part(&self, context: &PictureContext, parsed: &Picture, part: &mut Part<'_>) {
        for macroblock in &parsed.macroblocks[part.macroblocks.clone()] {
            let predictions = self.prediction_error(context, macroblock);
            for block in parsed.blocks_of(macroblock) {
                let error = predictions.as_ref().map(|error| error.coefficients(context, macroblock, block));
                let codes = block.codes();
                let distortion = &mut part.distortion[codes.start - part.first..codes.end - part.first];
                fill(distortion, context, macroblock, block, parsed.codes_of(block), error.as_ref());
            }
        }
    }

    /// Decodes a picture in both loops: with all its codes, and with those that were kept.
    pub(super) fn decode(&mut self, picture: &PictureShaper, threads: NonZeroUsize) {
        let Some(context) = picture.context.as_ref().filter(|_| self.decodes) else { return };
        let parsed = &picture.parsed;
        let shaped = picture.is_shapeable();
        let input_codes = |index: usize| parsed.codes_of(&parsed.blocks[index]);
        let output_codes = |index: usize| {
            let codes = input_codes(index);
            if shaped { &codes[..usize::from(picture.keep[index]).min(codes.len())] } else { codes }
        };
        let mut loops = [(&mut self.input, true), (&mut self.output, false)];
        parallel::for_each(threads, &mut loops, |(prediction_loop, whole)| {
            if *whole {
                prediction_loop.reconstruct(context, parsed, input_codes);
            } else {
                prediction_loop.reconstruct(context, parsed, output_codes);
            }
        });
    }

    /// The predictions of both loops, whose difference is `a`; `None` in an intra macroblock.
    fn prediction_error(&self, context: &PictureContext, macroblock: &Macroblock) -> Option<Predictions> {
        if macroblock.is_intra() || !self.decodes {
            return None;
        }
        let address = macroblock.address as usize;
        let (column, row) = (address % context.columns, address / context.columns);
        let motion = Motion::of(context, macroblock);
        let predicted = |loops: &PredictionLoop| {
            let mut prediction = Prediction::new();
            loops.with_references(context, |references| {
                predict(context, references, &motion, column, row, &mut prediction);
            });
            prediction
        };
        Some(Predictions { input: predicted(&self.input), output: predicted(&self.output) })
    }
}

/// The two predictions of a macroblock.
struct Predictions {
    input: Prediction,
    output: Prediction,
}

impl Predictions {
    /// `A` of one block: the transform of output minus input.
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

/// Keeping a code leaves the error `A`; dropping it leaves `A - E`. `error` is `A`.
fn fill(
    distortion: &mut [f32],
    context: &PictureContext,
    macroblock: &Macroblock,
    block: &Block,
    codes: &[Code],
    error: Option<&[f32; 64]>,
) {
    let mut coefficients = [0; 64];
    dequantise(context, macroblock, block, codes, &mut coefficients);
    let scan = context.scan();
    for (distortion, code) in distortion.iter_mut().zip(codes) {
        let position = usize::from(scan[usize::from(code.position())]);
        let value = coefficients[position] as f32;
        let error = error.map_or(0.0, |error| error[position]);
        *distortion = value * value - 2.0 * error * value;
    }
}
