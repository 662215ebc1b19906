//! Reconstructs samples from parsed macroblocks.

use super::block::dequantise;
use super::frame::{Frame, Sample};
use super::idct;
use super::predict::{Motion, Prediction, References, predict};
use crate::header::{PictureContext, PictureStructure};
use crate::picture::{Macroblock, Picture};

/// Decodes a picture into `frame`. Returns the number of missing macroblocks; they are predicted with a zero vector.
pub(crate) fn reconstruct(
    context: &PictureContext,
    picture: &Picture,
    references: &References<'_, u8>,
    frame: &mut Frame,
) -> usize {
    let mut coefficients = [0; 64];
    reconstruct_with(context, picture, references, frame, |macroblock, reconstructor| {
        for block in picture.blocks_of(macroblock) {
            dequantise(context, macroblock, block, picture.codes_of(block), &mut coefficients);
            idct::inverse(&mut coefficients);
            reconstructor.add(macroblock, block.index(), &coefficients);
        }
    })
}

/// Predicts a picture into `frame`, and calls `add_blocks` with each coded macroblock once it is predicted. Returns the
/// number of missing macroblocks.
pub(crate) fn reconstruct_with<S: Sample>(
    context: &PictureContext,
    picture: &Picture,
    references: &References<'_, S>,
    frame: &mut Frame<S>,
    mut add_blocks: impl FnMut(&Macroblock, &mut Reconstructor<'_, S>),
) -> usize {
    let mut reconstructor = Reconstructor::new(context, references, frame);
    for slice in &picture.slices {
        let mut before: Option<&Macroblock> = None;
        for macroblock in &picture.macroblocks[slice.macroblocks.clone()] {
            if let Some(before) = before {
                let motion = Motion::skipped(context, before);
                for address in before.address + 1..macroblock.address {
                    reconstructor.predict_macroblock(address, &motion);
                }
            }
            reconstructor.begin_macroblock(macroblock);
            add_blocks(macroblock, &mut reconstructor);
            before = Some(macroblock);
        }
    }
    reconstructor.conceal()
}

/// The position of a block in its macroblock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPlace {
    pub(crate) component: usize,
    pub(crate) x: usize,
    /// Its first line.
    pub(crate) line: usize,
    /// It takes every other line.
    pub(crate) interleaved: bool,
}

impl BlockPlace {
    /// Where each of its eight lines begins in a plane of a [`Prediction`].
    pub(crate) fn lines(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, step) = (16 * self.line + self.x, if self.interleaved { 32 } else { 16 });
        (0..8).map(move |line| first + step * line)
    }

    /// 13818-2, 6.1.3: Cb and Cr alternate. The second pair is below the first, the third and fourth to the right. Blocks
    /// of one field take every other line; chrominance of 4:2:0 is always in frame lines.
    pub(crate) fn of(context: &PictureContext, macroblock: &Macroblock, index: u8) -> Self {
        let index = usize::from(index);
        let (component, x, y, tall) = match index {
            0..4 => (0, 8 * (index & 1), 8 * (index >> 1), true),
            _ => {
                let pair = (index - 4) / 2;
                (1 + (index & 1), 8 * (pair >> 1), 8 * (pair & 1), context.chroma.shift().1 == 0)
            }
        };
        let interleaved = macroblock.field_dct && tall;
        Self { component, x, line: if interleaved { y / 8 } else { y }, interleaved }
    }
}

/// A frame whose macroblocks are predicted one by one.
pub(crate) struct Reconstructor<'a, S> {
    context: &'a PictureContext,
    references: &'a References<'a, S>,
    frame: &'a mut Frame<S>,
    /// Of the macroblock that was begun last, where it is not intra.
    pub(crate) prediction: Prediction<S>,
    done: Vec<bool>,
}

impl<'a, S: Sample> Reconstructor<'a, S> {
    fn new(context: &'a PictureContext, references: &'a References<'a, S>, frame: &'a mut Frame<S>) -> Self {
        Self {
            context,
            references,
            frame,
            prediction: Prediction::new(),
            done: vec![false; context.columns * context.rows],
        }
    }

    fn predict_macroblock(&mut self, address: u32, motion: &Motion) {
        let address = address as usize;
        let (column, row) = (address % self.context.columns, address / self.context.columns);
        predict(self.context, self.references, motion, column, row, &mut self.prediction);
        self.store(column, row);
        self.done[address] = true;
    }

    fn begin_macroblock(&mut self, macroblock: &Macroblock) {
        if macroblock.is_intra() {
            self.done[macroblock.address as usize] = true;
        } else {
            self.predict_macroblock(macroblock.address, &Motion::of(self.context, macroblock));
        }
    }

    /// Replaces the prediction of the macroblock at `address`, to which no block was added yet.
    pub(crate) fn replace(&mut self, address: u32, prediction: &Prediction<S>) {
        self.prediction.clone_from(prediction);
        self.store(address as usize % self.context.columns, address as usize / self.context.columns);
    }

    /// Stores the prediction.
    fn store(&mut self, column: usize, row: usize) {
        let (dx, dy) = self.context.chroma.shift();
        for component in 0..3 {
            let (dx, dy) = if component == 0 { (0, 0) } else { (dx, dy) };
            let (width, height) = (16 >> dx, 16 >> dy);
            let (start, step) = self.place(component, column * width, row * height);
            let lines = self.frame.planes[component].data[start..].chunks_mut(step).take(height);
            for (line, samples) in lines.zip(self.prediction.planes[component].chunks_exact(16)) {
                line[..width].copy_from_slice(&samples[..width]);
            }
        }
    }

    /// The offset of a sample of this picture, and from line to line.
    fn place(&self, component: usize, x: usize, y: usize) -> (usize, usize) {
        let stride = self.frame.planes[component].stride;
        match self.context.coding.structure {
            PictureStructure::Frame => (y * stride + x, stride),
            PictureStructure::TopField => (2 * y * stride + x, 2 * stride),
            PictureStructure::BottomField => ((2 * y + 1) * stride + x, 2 * stride),
        }
    }

    /// Adds a block to the prediction, or stores it where there is none.
    pub(crate) fn add(&mut self, macroblock: &Macroblock, index: u8, differences: &[i32; 64]) {
        let address = macroblock.address as usize;
        let (column, row) = (address % self.context.columns, address / self.context.columns);
        let (dx, dy) = self.context.chroma.shift();
        let BlockPlace { component, x, line, interleaved } = BlockPlace::of(self.context, macroblock, index);
        let (width, height) = if component == 0 { (16, 16) } else { (16 >> dx, 16 >> dy) };
        let (start, step) = self.place(component, column * width + x, row * height + line);
        let step = if interleaved { 2 * step } else { step };
        let intra = macroblock.is_intra();
        let lines = self.frame.planes[component].data[start..].chunks_mut(step);
        for (line, values) in lines.zip(differences.chunks_exact(8)) {
            for (sample, &value) in line[..8].iter_mut().zip(values) {
                *sample = if intra { S::intra(value) } else { sample.plus(value) };
            }
        }
    }

    fn conceal(&mut self) -> usize {
        let missing: Vec<_> = (0..self.done.len()).filter(|&address| !self.done[address]).collect();
        let motion = Motion::zero(self.context);
        missing.iter().for_each(|&address| self.predict_macroblock(address as u32, &motion));
        missing.len()
    }
}
