//! Requantisation of macroblocks, each for a lambda and a quantiser scale.

use super::candidates::Scratch;
use super::lengths::Lengths;
use super::levels::{Choice, Level, Levels, NewScale, SAME_LEVELS, SameLevels};
use super::trellis::{self, CostModel, Lost, RdChange, Weights, weight_for_all};
use crate::header::PictureContext;
use crate::picture::{Code, Macroblock, Picture};
use crate::write::rewrite::{Codes, Content};

#[derive(Debug, Clone, Copy)]
struct Requantised {
    quantiser: u8,
    unchanged: bool,
    /// Its codes have a new scale and are all replaced.
    new_scale: bool,
    /// Blocks that keep codes, by bit, the first in bit 0.
    coded: u16,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Recoded {
    /// New codes of the blocks with a new scale, and where those of each block begin.
    codes: Vec<Code>,
    firsts: Vec<u32>,
    choices: Vec<Choice>,
    outcomes: Vec<Requantised>,
    intra_vlc_format: bool,
    pub(crate) saved_bits: f64,
    pub(crate) distortion: f64,
    /// The same with the weights of the macroblocks, which are over lambda.
    pub(crate) weighted: f64,
    pub(super) lost: Lost,
}

impl Content for Recoded {
    #[inline]
    fn codes(&self, macroblock: usize, block: usize) -> Codes<'_> {
        let Choice { kept, lowered } = self.choices[block];
        if self.outcomes[macroblock].new_scale {
            let first = self.firsts[block] as usize;
            Codes::New(&self.codes[first..first + kept.count_ones() as usize])
        } else {
            Codes::Edited { kept, lowered }
        }
    }

    #[inline]
    fn quantiser(&self, macroblock: usize) -> u8 {
        self.outcomes[macroblock].quantiser
    }

    #[inline]
    fn is_unchanged(&self, macroblock: usize) -> bool {
        self.outcomes[macroblock].unchanged
    }

    #[inline]
    fn coded_blocks(&self, macroblock: usize, _: &Macroblock) -> u16 {
        self.outcomes[macroblock].coded
    }

    fn intra_vlc_format(&self, _: &PictureContext) -> bool {
        self.intra_vlc_format
    }
}

impl Recoded {
    /// Clears it for a picture of `blocks` blocks, whose output has this `intra_vlc_format`.
    pub(crate) fn clear(&mut self, blocks: usize, intra_vlc_format: bool) {
        self.intra_vlc_format = intra_vlc_format;
        self.codes.clear();
        // Every entry is written before it is read.
        if self.choices.len() < blocks {
            self.choices.resize(blocks, Choice::ALL);
            self.firsts.resize(blocks, 0);
        }
        self.outcomes.clear();
        self.saved_bits = 0.0;
        (self.distortion, self.weighted) = (0.0, 0.0);
        self.lost = Lost::default();
    }

    /// Blocks for which it has memory.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.choices.len()
    }

    /// Requantises the next macroblock, in the order of the picture. `importance` is the weight of its errors over lambda.
    pub(crate) fn push(
        &mut self,
        recoder: &mut Recoder,
        picture: &Picture,
        macroblock: &Macroblock,
        quantiser: u8,
        importance: f32,
    ) {
        let blocks = macroblock.block_range();
        let coded = ((1u32 << blocks.len()) - 1) as u16;
        let new_scale = quantiser != macroblock.quantiser;
        let mut outcome = Requantised { quantiser, unchanged: !new_scale, new_scale, coded };
        if !new_scale && recoder.every_code_pays(macroblock, importance) {
            self.choices[blocks].fill(Choice::ALL);
            return self.outcomes.push(outcome);
        }
        outcome.coded = if new_scale {
            self.choose_at_new_scale(recoder, picture, macroblock, quantiser, importance)
        } else {
            let (coded, unchanged) = self.choose(recoder, picture, macroblock, importance);
            outcome.unchanged = unchanged;
            coded
        };
        self.outcomes.push(outcome);
    }

    /// Adds the change of a macroblock. It is added where it is summed up, so that it stays in registers: sums that are stored one by
    /// one and loaded together make the processor wait.
    #[inline(always)]
    fn add(&mut self, change: &RdChange, importance: f32) {
        self.saved_bits += f64::from(change.saved_bits);
        self.distortion += f64::from(change.error / importance);
        self.weighted += f64::from(change.error);
        self.lost.add(change.lost);
    }

    /// Chooses the levels of a macroblock whose scale is unchanged; returns the blocks that keep codes, by bit, and whether
    /// all keep all.
    #[inline(never)]
    fn choose(
        &mut self,
        recoder: &mut Recoder,
        picture: &Picture,
        macroblock: &Macroblock,
        importance: f32,
    ) -> (u16, bool) {
        let mut change = RdChange::default();
        let (places, model, same, scratch) = recoder.unchanged_scale(macroblock, importance);
        let range = macroblock.block_range();
        let blocks = picture.blocks[range.clone()].iter().zip(&mut self.choices[range]);
        let (mut coded, mut bit, mut unchanged) = (0, 1u16, true);
        for (block, choice) in blocks {
            let places = places[usize::from(block.is_chroma())];
            let chosen = trellis::choose(scratch, picture.codes_of(block), places, &model, same, &mut change);
            *choice = chosen;
            unchanged &= (!chosen.kept | chosen.lowered) == 0;
            coded |= if chosen.kept == 0 { 0 } else { bit };
            bit <<= 1;
        }
        self.add(&change, importance);
        (coded, unchanged)
    }

    /// The same for a macroblock whose scale changes; its new codes are appended.
    #[inline(never)]
    fn choose_at_new_scale(
        &mut self,
        recoder: &mut Recoder,
        picture: &Picture,
        macroblock: &Macroblock,
        quantiser: u8,
        importance: f32,
    ) -> u16 {
        let mut change = RdChange::default();
        let (places, model, changed, scratch) = recoder.new_scale(macroblock, quantiser, importance);
        let (mut coded, mut bit) = (0, 1u16);
        for index in macroblock.block_range() {
            let block = &picture.blocks[index];
            let (codes, places) = (picture.codes_of(block), places[usize::from(block.is_chroma())]);
            let choice = trellis::choose_at_new_scale(scratch, codes, places, &model, changed, &mut change);
            self.choices[index] = choice;
            self.firsts[index] = self.codes.len() as u32;
            changed.recode(&mut self.codes, codes, choice);
            coded |= if choice.kept == 0 { 0 } else { bit };
            bit <<= 1;
        }
        self.add(&change, importance);
        coded
    }
}

/// Weight of a chrominance error, relative to luminance.
pub(super) const CHROMA_WEIGHT: f32 = 0.5;

/// Tables for the blocks of one picture.
#[derive(Debug)]
pub(crate) struct Recoder {
    /// `(W / 32)^2` by class (as in [`super::energy::Energy`]) and scan position, weighted by component.
    places: [Weights; 4],
    scales: [f32; 32],
    intra_vlc_format: bool,
    /// The smallest of them in intra and in non-intra blocks.
    smallest: [f32; 2],
    /// Levels whose scale is unchanged.
    same_levels: &'static [SameLevels; 2],
    /// Tables for new scales, each with the new code it was made for, ...
    new_scales: Vec<(u8, Levels)>,
    /// ... and the number of each, from 1 on, by class and old scale code; 0 for none.
    numbers: [u8; 64],
    scratch: Scratch,
}

impl Recoder {
    /// `intra_vlc_format` is that of the output.
    pub(crate) fn new(context: &PictureContext, intra_vlc_format: bool) -> Self {
        let scan = context.scan();
        let places = std::array::from_fn(|class| {
            let matrix = &context.matrices.matrices[class];
            let component = if class >= 2 { CHROMA_WEIGHT } else { 1.0 };
            scan.map(|position| {
                let weight = f32::from(matrix[usize::from(position)]) / 32.0;
                weight * weight * component
            })
        });
        let least =
            |class: usize| places[class].iter().chain(&places[class + 2]).copied().fold(f32::MAX, f32::min);
        Self {
            smallest: [least(0), least(1)],
            places,
            scales: context.quantiser_scales().map(f32::from),
            intra_vlc_format,
            same_levels: &SAME_LEVELS,
            new_scales: Vec::new(),
            numbers: [0; 64],
            scratch: Scratch::default(),
        }
    }

    /// True where keeping even the smallest level is cheaper than dropping or lowering the longest code.
    fn every_code_pays(&self, macroblock: &Macroblock, importance: f32) -> bool {
        let intra = macroblock.is_intra();
        let scale = self.scales[usize::from(macroblock.quantiser)];
        scale * scale * self.smallest[usize::from(!intra)] * importance >= weight_for_all(intra)
    }

    /// The weights of luminance and chrominance and the cost model of a macroblock whose scale is unchanged.
    #[inline]
    fn unchanged_scale(
        &mut self,
        macroblock: &Macroblock,
        importance: f32,
    ) -> ([&Weights; 2], CostModel, &SameLevels, &mut Scratch) {
        let intra = macroblock.is_intra();
        let class = usize::from(!intra);
        let scale = self.scales[usize::from(macroblock.quantiser & 31)];
        let lengths = Lengths::of(intra && self.intra_vlc_format);
        let model = CostModel { factor: scale * scale * importance, lengths, intra };
        let same = &self.same_levels[class];
        ([&self.places[class], &self.places[class + 2]], model, same, &mut self.scratch)
    }

    /// The same for a macroblock whose scale changes.
    fn new_scale(
        &mut self,
        macroblock: &Macroblock,
        quantiser: u8,
        importance: f32,
    ) -> ([&Weights; 2], CostModel, NewScale<'_>, &mut Scratch) {
        let intra = macroblock.is_intra();
        let class = usize::from(!intra);
        let [from, to] = [macroblock.quantiser & 31, quantiser & 31].map(usize::from);
        let scales = [self.scales[from], self.scales[to]];
        let number = &mut self.numbers[class << 5 | from];
        if *number == 0 {
            self.new_scales.push((0, Levels::default()));
            *number = self.new_scales.len() as u8;
        }
        let (made_for, levels) = &mut self.new_scales[usize::from(*number) - 1];
        if *made_for != quantiser {
            *made_for = quantiser;
            *levels = std::array::from_fn(|magnitude| Level::new(magnitude as i32, class as f32, scales));
        }
        let model =
            CostModel { factor: importance, lengths: Lengths::of(intra && self.intra_vlc_format), intra };
        let changed = NewScale { levels, scales, intra };
        ([&self.places[class], &self.places[class + 2]], model, changed, &mut self.scratch)
    }
}

/// Varies lambda from macroblock to macroblock, so that the rate follows lambda smoothly even where many codes have the
/// same slope.
pub(super) fn dither(seed: u32) -> f32 {
    0.92 + 0.16 * spread(seed)
}

/// A number from 0 to 1; those of consecutive seeds are evenly spread, however many.
pub(super) fn spread(seed: u32) -> f32 {
    // Fibonacci hashing: multiples of the golden ratio.
    seed.wrapping_mul(0x9e37_79b9) as f32 / 4_294_967_296.0
}
