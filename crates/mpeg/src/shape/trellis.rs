//! Choosing the levels of one block: which codes stay, which are lowered, which go, for the least distortion plus
//! lambda times rate. A shortest path through the block's codes (as in trellis quantisation), exact for the run-level
//! tables.

use crate::picture::{Code, bits_of_first};
use crate::vlc::{Coefficients, TABLE_ONE, TABLE_ZERO};
use std::ops::Range;
use std::sync::LazyLock;

/// A bit, in the steps that gains and costs are counted by: squared error over lambda is counted by them, too.
pub(super) const BIT: f32 = 256.0;

/// Bits that a coded block costs beside its codes and its end: its share of the pattern and the type.
const BLOCK_OVERHEAD: u32 = 1;
/// The share of its bits that lowering a level by one saves at most; a bound that holds for all but a handful of
/// codes.
const LOWERING_SAVES: f32 = 0.5;
/// No code is longer but those of MPEG-1's largest levels.
const LONGEST: f32 = 24.0;
/// The shortest code.
const SHORTEST: u32 = 2;

/// What is lost with a code of level 1, or where a higher one is lowered, over what that saves at most, by weight: intra
/// and not. Twice the level, squared, and above level 1 the square of one step of two.
const LOSSES: [f32; 2] = [4.0, 4.0 / LOWERING_SAVES];

/// The least weight, by steps of a bit, for which the longest code stays whatever its level.
pub(super) fn weight_for_all(intra: bool) -> f32 {
    LONGEST * BIT / LOSSES[usize::from(!intra)]
}

/// Costs of codes by run and magnitude, escapes included.
pub(super) struct Lengths {
    costs: [[u32; Lengths::MAGNITUDES]; Lengths::RUNS],
    /// What is left of a block without codes.
    end: u32,
}

static ZERO: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ZERO));
static ONE: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ONE));

impl Lengths {
    /// Magnitudes that are told apart: larger ones are escapes.
    const MAGNITUDES: usize = 64;
    const HIGHEST: u8 = Self::MAGNITUDES as u8 - 1;
    /// Runs, and from [`Lengths::FIRST`] on those of the code at the start of a non-intra block, where `1s` is (0, 1).
    const RUNS: usize = 128;
    const FIRST: usize = 64;
    /// MPEG-1's escapes are 20 or 28 bits; 24 serves both.
    const ESCAPE: u32 = 24;
    /// There is no code for a level of 0: more bits than any has.
    const NONE: u32 = 255;

    fn new(table: &Coefficients) -> Self {
        let bits = |run: usize, magnitude: usize| match (run, magnitude) {
            (_, 0) => Self::NONE,
            (Self::FIRST, 1) => SHORTEST,
            _ => match table.length((run % Self::FIRST) as u32, magnitude as u32) {
                0 => Self::ESCAPE,
                bits => bits,
            },
        };
        let costs = std::array::from_fn(|run| {
            std::array::from_fn(|magnitude| Cost::of_bits(bits(run, magnitude)).0 as u32)
        });
        Self { costs, end: table.end_of_block_bits() }
    }

    /// Those of table B.15, or of B.14.
    pub(super) fn of(one: bool) -> &'static Self {
        if one { &ONE } else { &ZERO }
    }

    /// The costs of a code at a position behind another, and of one that is lower by one.
    #[inline(always)]
    fn pair(&self, position: u32, before: u32, magnitude: u8) -> (Cost, Cost) {
        let row = &self.costs[position.wrapping_sub(before).wrapping_sub(1) as usize % Self::RUNS];
        let cost = |magnitude: u8| Cost(i64::from(row[usize::from(magnitude) % Self::MAGNITUDES]));
        (cost(magnitude), cost(magnitude.wrapping_sub(1)))
    }
}

/// What becomes of a level where the quantiser scale changes, in squares of half steps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    /// Its square: what is lost without it.
    energy: f32,
    /// What is gained with the nearest level of the new scale, and how much less with the one below.
    gain: f32,
    loss: f32,
    /// The nearest, 63 at most.
    nearest: u8,
}

/// Levels below this are looked up.
pub(super) const LEVELS: usize = 32;

impl Level {
    /// `offset` is 1 in non-intra blocks, where levels stand for the middle of their interval, and 0 in intra blocks.
    pub(super) fn new(magnitude: i32, offset: f32, from: f32, to: f32) -> Self {
        let value = (2.0 * magnitude as f32 + offset) * from;
        let nearest = Self::nearest(magnitude, offset, from, to);
        let error = value - (2.0 * nearest as f32 + offset) * to;
        let below = error + 2.0 * to;
        Self {
            energy: value * value,
            gain: value * value - error * error,
            // There is none below 1, however near it were.
            loss: (below * below - error * error).max(0.0),
            nearest: nearest.min(i32::from(Lengths::HIGHEST)) as u8,
        }
    }

    fn nearest(magnitude: i32, offset: f32, from: f32, to: f32) -> i32 {
        let value = (2.0 * magnitude as f32 + offset) * from;
        (((value / to - offset) * 0.5 + 0.5) as i32).max(1)
    }
}

/// What the choice in the blocks of one macroblock depends on.
pub(super) struct Terms<'a> {
    /// What squares are multiplied by beside the weight of their place, for steps of a bit.
    pub(super) factor: f32,
    /// By magnitude.
    pub(super) levels: &'a [Level; LEVELS],
    pub(super) lengths: &'static Lengths,
    pub(super) intra: bool,
    /// Quantiser scales, old and new; equal where the scale stays.
    pub(super) scales: [f32; 2],
}

impl Terms<'_> {
    fn offset(&self) -> f32 {
        f32::from(u8::from(!self.intra))
    }

    #[inline(always)]
    fn level(&self, code: Code) -> Level {
        let magnitude = code.level().unsigned_abs();
        match self.levels.get(usize::from(magnitude)) {
            Some(&level) => level,
            None => self.high_level(magnitude),
        }
    }

    #[cold]
    fn high_level(&self, magnitude: u16) -> Level {
        Level::new(i32::from(magnitude), self.offset(), self.scales[0], self.scales[1])
    }

    /// The nearest level of the new scale.
    #[inline]
    pub(super) fn nearest(&self, code: Code) -> i32 {
        match self.level(code).nearest {
            Lengths::HIGHEST => {
                Level::nearest(i32::from(code.level()).abs(), self.offset(), self.scales[0], self.scales[1])
            }
            nearest => i32::from(nearest),
        }
    }

    /// Bits that a block costs beside its codes, where it may go as a whole.
    #[inline]
    fn block_bits(&self) -> u32 {
        if self.intra { 0 } else { self.lengths.end + BLOCK_OVERHEAD }
    }
}

/// Bits less gains since the start of the search, by steps of a bit, and below them the bits alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost(i64);

impl Cost {
    /// More than any way costs; what is added to it changes little.
    const NO_WAY: Self = Self(1 << 60);
    const SHIFT: u32 = 16;
    /// Of larger gains, in bits, the rest makes no difference: it outweighs a whole block.
    const MOST: f32 = 16_000.0;

    #[inline(always)]
    const fn of_bits(bits: u32) -> Self {
        Self(bits as i64 * ((BIT as i64) << Self::SHIFT | 1))
    }

    /// A gain from 0 up.
    #[inline(always)]
    fn gain(gain: f32) -> Self {
        const MOST: f32 = Cost::MOST * BIT;
        // Added to 2^23, whole numbers stand in the lowest bits: rounded without the checks of a conversion.
        const WHOLE: f32 = 8_388_608.0;
        let gain = if gain < MOST { gain } else { MOST };
        Self(i64::from((gain + WHOLE).to_bits() - WHOLE.to_bits()) << Self::SHIFT)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    /// In steps of a bit.
    #[inline]
    fn value(self) -> f32 {
        (self.0 >> Self::SHIFT) as i32 as f32
    }

    #[inline]
    fn bits(self) -> u32 {
        u32::from(self.0 as u16)
    }
}

/// What was chosen for a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Choice {
    /// All codes stay.
    All,
    /// None does, nor the block's end; this much error, by steps of a bit, comes of it.
    Nothing { bits: u32, error: f32 },
    /// Codes that stay and those of them that are lowered by one, by bit; bits that are saved.
    Some { kept: u64, lowered: u64, saved: i32, error: f32 },
}

/// The weights of a block's codes, by steps of a bit.
pub(super) type Weights = [f32; 64];

/// Where the scale stays: finds what is certain, and searches for the rest. `places` are the weights by scan position.
#[inline]
pub(super) fn choose(weights: &mut Weights, codes: &[Code], places: &Weights, terms: &Terms<'_>) -> Choice {
    // Leaving codes out saves their own bits at most, for longer runs cost no less.
    let stays_above = BIT / LOSSES[usize::from(!terms.intra)];
    let mut total = 0.0;
    // Codes of which nothing is certain; gathered without a branch, for none could be foreseen.
    let mut open = 0u64;
    let mut before = 0;
    for ((i, &code), to) in codes.iter().enumerate().zip(weights.iter_mut()) {
        let bits = std::mem::replace(&mut before, code.end());
        let bits = before - bits;
        let weight = places[usize::from(code.position() & 63)] * terms.factor;
        *to = weight;
        total += weight * terms.level(code).energy;
        open |= u64::from(weight < stays_above * f32::from(bits)) << i;
    }
    let bits = bits_of_first(codes, codes.len());
    let block_bits = terms.block_bits();
    let needed = |bits: u32| (bits + block_bits) as f32 * BIT;
    if open == 0 && total >= needed(bits) {
        return Choice::All;
    }
    if !terms.intra && total <= needed(SHORTEST) {
        return Choice::Nothing { bits: bits + block_bits, error: total };
    }
    let first = (open.trailing_zeros() as usize).min(codes.len());
    let last = (64 - open.leading_zeros() as usize).max(first);
    let way = walk::<true>(weights, codes, terms, open, first..last);
    // What stays for certain: codes before the way and behind the one that follows it.
    let behind = codes.get(last).map_or(0, |next| bits - u32::from(next.end()));
    let outside = Outside {
        bits: bits_of_first(codes, first) + behind,
        gains: total - way.gains.value(),
        lost: 0.0,
    };
    match settle(codes, terms, &way, &outside, bits, total) {
        Choice::Some { kept, lowered: 0, .. } if kept == bits_below(codes.len()) => Choice::All,
        choice => choice,
    }
}

/// The same with another scale, where nothing is certain.
#[inline]
pub(super) fn choose_anew(
    weights: &mut Weights,
    codes: &[Code],
    places: &Weights,
    terms: &Terms<'_>,
) -> Choice {
    let (mut total, mut lost) = (0.0, 0.0);
    for (&code, to) in codes.iter().zip(weights.iter_mut()) {
        let weight = places[usize::from(code.position() & 63)] * terms.factor;
        let level = terms.level(code);
        *to = weight;
        total += weight * level.energy;
        lost += weight * (level.energy - level.gain);
    }
    let way = walk::<false>(weights, codes, terms, u64::MAX, 0..codes.len().min(64));
    let outside = Outside { bits: 0, gains: 0.0, lost };
    settle(codes, terms, &way, &outside, bits_of_first(codes, codes.len()), total)
}

/// The best way through some of the codes of a block.
struct Way {
    cost: Cost,
    kept: u64,
    lowered: u64,
    /// What all its codes gain.
    gains: Cost,
}

/// A way up to a code.
#[derive(Clone, Copy)]
struct Start {
    cost: Cost,
    /// The position of the code kept last.
    position: u32,
    kept: u64,
    lowered: u64,
}

impl Start {
    /// The other one where that is so; without a branch, for none could be foreseen.
    #[inline(always)]
    fn or_if(self, so: bool, other: Self) -> Self {
        Self {
            cost: if so { other.cost } else { self.cost },
            position: if so { other.position } else { self.position },
            kept: if so { other.kept } else { self.kept },
            lowered: if so { other.lowered } else { self.lowered },
        }
    }

    /// Goes on to a code that is kept, at the lower of the costs of its two levels; gains are left out.
    #[inline(always)]
    fn then(self, i: usize, (high, low): (Cost, Cost)) -> Self {
        Self {
            cost: self.cost.plus(if low < high { low } else { high }),
            lowered: self.lowered | u64::from(low < high) << i,
            ..self
        }
    }
}

/// Walks through codes `range`, of which those in `open` may go; the code behind them stays.
#[inline]
fn walk<const SAME_SCALE: bool>(
    weights: &Weights,
    codes: &[Code],
    terms: &Terms<'_>,
    open: u64,
    range: Range<usize>,
) -> Way {
    let lengths = terms.lengths;
    let before = range.start.checked_sub(1).map(|before| u32::from(codes[before].position()));
    // As far before the block's first code as the lengths of a first code are apart.
    let start = if terms.intra { 0 } else { 0u32.wrapping_sub(Lengths::FIRST as u32 + 1) };
    let position = before.unwrap_or(start);
    let mut here = Start { cost: Cost(0), position, kept: bits_below(range.start), lowered: 0 };
    let mut passed = Start { cost: Cost::NO_WAY, ..here };
    let mut gains = Cost(0);
    for i in range.clone() {
        let (Some(&code), Some(&weight)) = (codes.get(i), weights.get(i)) else { break };
        let position = u32::from(code.position());
        let level = terms.level(code);
        let gain = Cost::gain(weight * level.gain);
        let loss = Cost::gain(weight * level.loss);
        let magnitude = if SAME_SCALE { code.magnitude() } else { level.nearest };
        let costs = |before| {
            let (high, low) = lengths.pair(position, before, magnitude);
            (high, low.plus(loss))
        };
        let kept = here.then(i, costs(here.position));
        let skipped = passed.then(i, costs(passed.position));
        // Longer runs cost no less: of those that pass this code over only the cheapest can be the better start.
        passed = here.or_if(passed.cost < here.cost, passed);
        passed.cost = if open >> i & 1 == 0 { Cost::NO_WAY } else { passed.cost };
        here = kept.or_if(skipped.cost < kept.cost, skipped);
        here.cost = here.cost.minus(gain);
        here.position = position;
        here.kept |= 1 << i;
        gains = gains.plus(gain);
    }
    if let Some(&next) = codes.get(range.end) {
        let cost = |before| lengths.pair(u32::from(next.position()), before, next.magnitude()).0;
        here.cost = here.cost.plus(cost(here.position));
        passed.cost = passed.cost.plus(cost(passed.position));
    }
    let Start { cost, kept, lowered, .. } = here.or_if(passed.cost < here.cost, passed);
    Way { cost, kept: kept | bits_below(codes.len()) & !bits_below(range.end), lowered, gains }
}

/// What is certain of a block.
struct Outside {
    /// Bits and gains of the codes that stay beside the way.
    bits: u32,
    gains: f32,
    /// What is lost whatever stays.
    lost: f32,
}

/// Decides whether the block stays at all.
#[inline]
fn settle(
    codes: &[Code],
    terms: &Terms<'_>,
    way: &Way,
    outside: &Outside,
    bits: u32,
    total: f32,
) -> Choice {
    let block_bits = terms.block_bits();
    let cost = way.cost.value() + (outside.bits + block_bits) as f32 * BIT - outside.gains;
    if !terms.intra && (way.kept == 0 || cost >= 0.0) && !codes.is_empty() {
        return Choice::Nothing { bits: bits + block_bits, error: total };
    }
    let kept_gains = way.cost.bits() as f32 * BIT - way.cost.value();
    Choice::Some {
        kept: way.kept,
        lowered: way.lowered,
        saved: bits as i32 - (outside.bits + way.cost.bits()) as i32,
        error: (way.gains.value() - kept_gains).max(0.0) + outside.lost,
    }
}

/// The lowest bits, 0 to 64.
#[inline]
fn bits_below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
