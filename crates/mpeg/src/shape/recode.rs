//! Levels chosen anew, macroblock by macroblock, for a lambda and a quantiser scale.

use super::energy::{SQUARES, Squares};
use super::trellis::{
    self, Changed, Choice, Lengths, Level, Levels, MAGNITUDES, Magnitudes, Same, Sight, Tally, Terms,
    Weights, weight_for_all,
};
use crate::header::PictureContext;
use crate::picture::{Block, Code, Macroblock, Picture};
use crate::write::rewrite::{Codes, Content};

/// What becomes of a macroblock.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    quantiser: u8,
    /// All is as it was.
    unchanged: bool,
    /// Its blocks' codes are written anew.
    anew: bool,
    /// Blocks that still have codes, by bit, the macroblock's first lowest.
    coded: u16,
}

/// New content of a picture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recoded {
    /// New codes of blocks whose scale changes, and where those of each block begin.
    codes: Vec<Code>,
    firsts: Vec<u32>,
    choices: Vec<Choice>,
    outcomes: Vec<Outcome>,
    /// Bits that blocks take less than before.
    pub(crate) saved_bits: f64,
    /// Squared error added.
    pub(crate) distortion: f64,
    /// Codes and blocks that are gone.
    pub(crate) lost: [u64; 2],
}

impl Content for Recoded {
    #[inline]
    fn codes(&self, macroblock: usize, block: usize) -> Codes<'_> {
        let Choice { kept, lowered } = self.choices[block];
        if self.outcomes[macroblock].anew {
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
}

impl Recoded {
    /// Begins anew, for so many blocks.
    pub(crate) fn clear(&mut self, blocks: usize) {
        self.codes.clear();
        // Each block's are written before they are read.
        self.choices.resize(blocks, Choice::ALL);
        self.firsts.resize(blocks, 0);
        self.outcomes.clear();
        self.saved_bits = 0.0;
        self.distortion = 0.0;
        self.lost = [0; 2];
    }

    /// Recodes the next macroblock; they come in the picture's order. `importance` is that of its errors over lambda,
    /// squared error a bit.
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
        let anew = quantiser != macroblock.quantiser;
        let mut outcome = Outcome { quantiser, unchanged: !anew, anew, coded };
        if !anew && recoder.every_code_pays(macroblock, importance) {
            self.choices[blocks].fill(Choice::ALL);
            return self.outcomes.push(outcome);
        }
        let mut tally = Tally::default();
        let (codes_of, index_of) = (|block: &Block| picture.codes_of(block), blocks.start);
        let blocks = picture.blocks[blocks.clone()].iter().zip(&mut self.choices[blocks]).enumerate();
        if anew {
            let (places, terms, changed, sight) = recoder.terms_anew(macroblock, quantiser, importance);
            for (i, (block, choice)) in blocks {
                let (codes, places) = (codes_of(block), places[usize::from(block.is_chroma())]);
                *choice = trellis::choose_anew(sight, codes, places, &terms, changed, &mut tally);
                self.firsts[index_of + i] = self.codes.len() as u32;
                changed.recode(&mut self.codes, codes, *choice);
                outcome.coded &= !(u16::from(choice.kept == 0) << i);
            }
        } else {
            let (places, terms, same, sight) = recoder.terms(macroblock, importance);
            for (i, (block, choice)) in blocks {
                let (codes, places) = (codes_of(block), places[usize::from(block.is_chroma())]);
                *choice = trellis::choose(sight, codes, places, &terms, same, &mut tally);
                outcome.unchanged &= *choice == Choice::ALL;
                outcome.coded &= !(u16::from(choice.kept == 0) << i);
            }
        }
        self.saved_bits += f64::from(tally.saved_bits);
        self.distortion += f64::from(tally.error / importance);
        self.lost = [self.lost[0] + tally.lost[0], self.lost[1] + tally.lost[1]];
        self.outcomes.push(outcome);
    }
}

/// Tables for the blocks of one picture.
#[derive(Debug)]
pub(crate) struct Recoder {
    /// `W / 32` by class (as in [`super::energy::Energy`]) and scan position, squared.
    places: [Weights; 4],
    scales: [f32; 32],
    intra_vlc_format: bool,
    /// The smallest weight in intra and in non-intra blocks.
    smallest: [f32; 2],
    /// Levels where the scale stays.
    squares: &'static [Squares; 2],
    magnitudes: &'static Magnitudes,
    /// Those where it changes, by class and code, with the new code they were made for.
    changed: Vec<(u8, Levels)>,
    /// Memory for the codes of a block.
    sight: Sight,
}

impl Recoder {
    /// Chrominance errors weigh this much of luminance errors.
    const CHROMA_WEIGHT: f32 = 0.5;

    pub(crate) fn new(context: &PictureContext) -> Self {
        let scan = context.scan();
        let places = std::array::from_fn(|class| {
            let matrix = &context.matrices.matrices[class];
            let component = if class >= 2 { Self::CHROMA_WEIGHT } else { 1.0 };
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
            intra_vlc_format: context.coding.intra_vlc_format,
            squares: &SQUARES,
            magnitudes: &MAGNITUDES,
            changed: Vec::new(),
            sight: Sight::default(),
        }
    }

    /// True where the least code gains more than the longest costs, dropped or lowered.
    fn every_code_pays(&self, macroblock: &Macroblock, importance: f32) -> bool {
        let intra = macroblock.is_intra();
        let scale = self.scales[usize::from(macroblock.quantiser)];
        scale * scale * self.smallest[usize::from(!intra)] * importance >= weight_for_all(intra)
    }

    /// What choices in a macroblock depend on whose scale stays: weights of luminance and chrominance, and the rest.
    #[inline]
    fn terms(
        &mut self,
        macroblock: &Macroblock,
        importance: f32,
    ) -> ([&Weights; 2], Terms, Same<'_>, &mut Sight) {
        let intra = macroblock.is_intra();
        let class = usize::from(!intra);
        let scale = self.scales[usize::from(macroblock.quantiser & 31)];
        let lengths = Lengths::of(intra && self.intra_vlc_format);
        let terms = Terms { factor: scale * scale * importance, lengths, intra };
        let same = Same { squares: &self.squares[class], magnitudes: self.magnitudes };
        ([&self.places[class], &self.places[class + 2]], terms, same, &mut self.sight)
    }

    /// The same where the scale changes.
    fn terms_anew(
        &mut self,
        macroblock: &Macroblock,
        quantiser: u8,
        importance: f32,
    ) -> ([&Weights; 2], Terms, Changed<'_>, &mut Sight) {
        let intra = macroblock.is_intra();
        let class = usize::from(!intra);
        let [from, to] = [macroblock.quantiser & 31, quantiser & 31].map(usize::from);
        let scales = [self.scales[from], self.scales[to]];
        if self.changed.is_empty() {
            self.changed.resize(2 * self.scales.len(), (0, Levels::default()));
        }
        let (made_for, levels) = &mut self.changed[class << 5 | from];
        if *made_for != quantiser {
            *made_for = quantiser;
            *levels = std::array::from_fn(|magnitude| Level::new(magnitude as i32, class as f32, scales));
        }
        let terms = Terms { factor: importance, lengths: Lengths::of(intra && self.intra_vlc_format), intra };
        let changed = Changed { levels, scales, intra };
        ([&self.places[class], &self.places[class + 2]], terms, changed, &mut self.sight)
    }
}
