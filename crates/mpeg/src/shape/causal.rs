//! The causally optimal algorithm (S002, equations 9 to 11), with the error that earlier pictures have left.

use super::drift::Drift;
use super::parallel;
use super::picture::PictureShaper;
use crate::decode::block::dequantise;
use crate::header::{PictureContext, PictureKind};
use crate::picture::{Block, Code, Macroblock, Picture};
use std::num::NonZeroUsize;
use std::ops::Range;

/// The state from picture to picture.
#[derive(Debug, Default)]
pub(super) struct Causal {
    drift: Drift,
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

impl Causal {
    /// The distortion of dropping each code of a picture, `2 A(k) E(k) + E(k)^2`. Opens the picture.
    pub(super) fn distortion(&mut self, picture: &PictureShaper, threads: NonZeroUsize) -> Vec<f32> {
        let mut distortion = vec![0.0; picture.parsed.codes.len()];
        let Some(context) = picture.context.as_ref() else { return distortion };
        self.drift.open(context, picture.closed_group);
        let mut parts = split(&picture.parsed, &mut distortion, threads);
        parallel::for_each(threads, &mut parts, |part| self.fill_part(context, &picture.parsed, part));
        distortion
    }

    fn fill_part(&self, context: &PictureContext, parsed: &Picture, part: &mut Part<'_>) {
        let macroblocks = &parsed.macroblocks[part.macroblocks.clone()];
        self.drift.visit(context, macroblocks, |macroblock, drift| {
            for block in parsed.blocks_of(macroblock) {
                let codes = block.codes();
                let distortion = &mut part.distortion[codes.start - part.first..codes.end - part.first];
                let error =
                    drift.map(|drift| drift.samples(context, macroblock, block.index()).coefficients());
                fill(distortion, context, macroblock, block, parsed.codes_of(block), error.as_ref());
            }
        });
    }

    /// Takes over the error of the codes that were dropped.
    pub(super) fn record(&mut self, picture: &PictureShaper) {
        let Some(context) = picture.context.as_ref() else { return };
        if context.kind() == PictureKind::B {
            return;
        }
        let parsed = &picture.parsed;
        let shaped = picture.is_shapeable();
        self.drift.follow(context, parsed, |macroblock, _, sink| {
            let Some(sink) = sink else { return };
            for index in macroblock.block_range().filter(|_| shaped) {
                let block = &parsed.blocks[index];
                let codes = parsed.codes_of(block);
                let kept = usize::from(picture.keep[index]);
                if kept < codes.len() {
                    sink.add_dropped(macroblock, block, &codes[kept..]);
                }
            }
        });
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
