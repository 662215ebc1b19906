//! Levels chosen anew, macroblock by macroblock, for a lambda and a quantiser scale.

use super::trellis::{self, BIT, Choice, LEVELS, Lengths, Level, Terms, Weights, weight_for_all};
use crate::header::PictureContext;
use crate::picture::{Code, Macroblock, Picture};
use crate::write::rewrite::{Codes, Content};

/// What becomes of a block.
#[derive(Debug, Clone, Copy)]
enum Recipe {
    /// Codes that stay and those of them that are lowered by one, by bit.
    Edited { kept: u64, lowered: u64 },
    /// So many codes, from this one of [`Recoded::codes`] on.
    New { first: u32, count: u8 },
}

impl Recipe {
    const ALL: Self = Self::Edited { kept: u64::MAX, lowered: 0 };
    const NOTHING: Self = Self::Edited { kept: 0, lowered: 0 };
}

/// What becomes of a macroblock.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    quantiser: u8,
    /// All is as it was.
    unchanged: bool,
    /// Blocks that still have codes, by bit, the macroblock's first lowest.
    coded: u16,
}

/// New content of a picture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recoded {
    codes: Vec<Code>,
    recipes: Vec<Recipe>,
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
    fn codes(&self, block: usize) -> Codes<'_> {
        match self.recipes[block] {
            Recipe::Edited { kept, lowered } => Codes::Edited { kept, lowered },
            Recipe::New { first, count } => {
                Codes::New(&self.codes[first as usize..first as usize + usize::from(count)])
            }
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
        // Each block's is written before it is read.
        self.recipes.resize(blocks, Recipe::ALL);
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
        let same_scale = quantiser == macroblock.quantiser;
        let blocks = macroblock.block_range();
        let all = ((1u32 << blocks.len()) - 1) as u16;
        let unchanged = Outcome { quantiser, unchanged: true, coded: all };
        if same_scale && recoder.every_code_pays(macroblock, importance) {
            self.recipes[blocks].fill(Recipe::ALL);
            return self.outcomes.push(unchanged);
        }
        let mut outcome = Outcome { unchanged: same_scale, ..unchanged };
        let (places, terms, weights) = recoder.terms(macroblock, quantiser, importance);
        let (mut saved, mut error) = (0, 0.0);
        for (i, index) in blocks.enumerate() {
            let block = &picture.blocks[index];
            let codes = picture.codes_of(block);
            let places = places[usize::from(block.is_chroma())];
            let choice = if same_scale {
                trellis::choose(weights, codes, places, &terms)
            } else {
                trellis::choose_anew(weights, codes, places, &terms)
            };
            outcome.unchanged &= choice == Choice::All;
            self.recipes[index] = match choice {
                Choice::All => Recipe::ALL,
                Choice::Nothing { bits, error: energy } => {
                    saved += bits as i32;
                    error += energy;
                    self.lost[0] += codes.len() as u64;
                    self.lost[1] += 1;
                    outcome.coded &= !(1 << i);
                    Recipe::NOTHING
                }
                Choice::Some { kept, lowered, saved: bits, error: energy } => {
                    saved += bits;
                    error += energy;
                    self.lost[0] += codes.len() as u64 - u64::from(kept.count_ones());
                    if same_scale {
                        Recipe::Edited { kept, lowered }
                    } else {
                        recode(&mut self.codes, codes, &terms, kept, lowered)
                    }
                }
            };
        }
        self.saved_bits += f64::from(saved);
        self.distortion += f64::from(error / (importance * BIT));
        self.outcomes.push(outcome);
    }
}

/// Puts down the codes of a block with a new scale.
fn recode(out: &mut Vec<Code>, codes: &[Code], terms: &Terms<'_>, kept: u64, lowered: u64) -> Recipe {
    let first = out.len() as u32;
    let mut left = kept;
    while left != 0 {
        let i = left.trailing_zeros() as usize;
        left &= left - 1;
        let Some(&code) = codes.get(i) else { break };
        let level = terms.nearest(code) - (lowered >> i & 1) as i32;
        out.push(Code::new(if code.level() < 0 { -level } else { level } as i16, code.position()));
    }
    Recipe::New { first, count: kept.count_ones() as u8 }
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
    /// Levels where the scale stays, in intra and in non-intra blocks, by steps of the scale.
    same: [[Level; LEVELS]; 2],
    /// Those where it changes, by class and code, with the new code they were made for.
    changed: Vec<(u8, [Level; LEVELS])>,
    /// Memory for the codes of a block.
    weights: Weights,
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
            same: [0.0, 1.0].map(|offset| levels(offset, 1.0, 1.0)),
            changed: Vec::new(),
            weights: [0.0; 64],
        }
    }

    /// True where the least code gains more than the longest costs, dropped or lowered.
    fn every_code_pays(&self, macroblock: &Macroblock, importance: f32) -> bool {
        let intra = macroblock.is_intra();
        let scale = self.scales[usize::from(macroblock.quantiser)];
        scale * scale * self.smallest[usize::from(!intra)] * importance * BIT >= weight_for_all(intra)
    }

    /// What choices in a macroblock depend on: weights of luminance and chrominance, and the rest.
    #[inline]
    fn terms(
        &mut self,
        macroblock: &Macroblock,
        quantiser: u8,
        importance: f32,
    ) -> ([&Weights; 2], Terms<'_>, &mut Weights) {
        let intra = macroblock.is_intra();
        let class = usize::from(!intra);
        let [from, to] = [macroblock.quantiser, quantiser].map(|code| self.scales[usize::from(code & 31)]);
        let same_scale = quantiser == macroblock.quantiser;
        if !same_scale {
            self.make_levels(class, macroblock.quantiser, quantiser);
        }
        let (levels, factor, scales) = if same_scale {
            (&self.same[class], from * from, [1.0; 2])
        } else {
            (&self.changed[place(class, macroblock.quantiser)].1, 1.0, [from, to])
        };
        let terms = Terms {
            factor: factor * importance * BIT,
            levels,
            lengths: Lengths::of(intra && self.intra_vlc_format),
            intra,
            scales,
        };
        ([&self.places[class], &self.places[class + 2]], terms, &mut self.weights)
    }

    /// Makes the levels of a class and scale, unless they were made last for the same new scale.
    #[inline]
    fn make_levels(&mut self, class: usize, from: u8, to: u8) {
        if self.changed.is_empty() {
            self.changed.resize(64, (0, [Level::default(); LEVELS]));
        }
        let entry = &mut self.changed[place(class, from)];
        if entry.0 != to {
            let [from, to_scale] = [from, to].map(|code| self.scales[usize::from(code & 31)]);
            *entry = (to, levels(class as f32, from, to_scale));
        }
    }
}

/// Where levels of a class and a scale stand.
fn place(class: usize, quantiser: u8) -> usize {
    class << 5 | usize::from(quantiser & 31)
}

fn levels(offset: f32, from: f32, to: f32) -> [Level; LEVELS] {
    std::array::from_fn(|magnitude| Level::new(magnitude as i32, offset, from, to))
}
