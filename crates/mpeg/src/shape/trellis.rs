//! Trellis quantisation of one block: which codes are kept, lowered by one or dropped, for the least distortion plus
//! lambda times rate. A Viterbi path search over the codes with two states: whether the code before is kept. All costs
//! are in bits: squared error over lambda.

use super::candidates::{Candidate, Scratch, UNITS};
use super::lengths::{Lengths, RunStart, SHORTEST, STEP, UNIT};
use super::levels::{Choice, Level, NewScale, SameLevels};
use super::path::{Edits, Path, ShortPath};
use crate::picture::{Code, bits_of_first};
use std::hint::select_unpredictable;

/// Bits of a coded block beside its codes and its end: its share of the pattern and the macroblock type.
const BLOCK_OVERHEAD: u32 = 1;
/// Bits of the longest code; MPEG-1's longest escapes are ignored.
const LONGEST: f32 = 24.0;
/// The least squared error of dropping or lowering a code, over the share of its bits that this saves: in intra blocks,
/// and in others, where a level of 1 stands for one and a half.
const LEAST_LOSS: [f32; 2] = [4.0, 8.0];

/// The weight above which even the longest code is kept, whatever its level.
pub(super) fn weight_for_all(intra: bool) -> f32 {
    LONGEST / LEAST_LOSS[usize::from(!intra)]
}

/// The cost model of the blocks of one macroblock.
pub(super) struct CostModel {
    /// Bits by squared half steps, times the weight of the position.
    pub(super) factor: f32,
    pub(super) lengths: &'static Lengths,
    pub(super) intra: bool,
}

impl CostModel {
    /// Bits of a block beside its codes; 0 for an intra block, which cannot be dropped.
    #[inline]
    fn block_bits(&self) -> u32 {
        if self.intra { 0 } else { self.lengths.end + BLOCK_OVERHEAD }
    }
}

/// Weights by scan position.
pub(super) type Weights = [f32; 64];

/// Rate and distortion of the choices, summed up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RdChange {
    pub(super) saved_bits: f32,
    /// Squared error over lambda, in bits.
    pub(super) error: f32,
    pub(super) lost: Lost,
}

/// Dropped codes in the lower half, and blocks that lost all of them in the upper one, so that both are added at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lost(u64);

impl Lost {
    #[inline(always)]
    fn new(codes: u32, blocks: u32) -> Self {
        Self(u64::from(blocks) << 32 | u64::from(codes))
    }

    #[inline(always)]
    pub(super) fn add(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }

    pub(super) fn codes(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }

    pub(super) fn blocks(self) -> u64 {
        self.0 >> 32
    }
}

/// Chooses the levels of a block whose scale is unchanged.
#[inline]
pub(super) fn choose(
    scratch: &mut Scratch,
    codes: &[Code],
    places: &Weights,
    model: &CostModel,
    same: &SameLevels,
    change: &mut RdChange,
) -> Choice {
    let thresholds = model.lengths.thresholds(model.intra);
    let mut run = RunStart::start(model.intra);
    let factor = UNITS * STEP * model.factor;
    let mut total = 0.0;
    // Codes that may be dropped or lowered. A branch on them would be unpredictable, so there is none.
    let mut open = 0u64;
    for (i, (&code, candidate)) in codes.iter().zip(&mut scratch.codes).enumerate() {
        let position = code.position();
        // The error of lowering the level by a step.
        let step = places[usize::from(position)] * factor;
        let level = same[code.level_index()];
        let gain = step * level.energy;
        let place = run.pass(position, level.magnitude as u8);
        *candidate = Candidate::new(gain, step, place);
        total += gain;
        open |= u64::from(step < thresholds.of(place)) << i;
    }
    let bits = bits_of_first(codes, codes.len());
    let block_bits = model.block_bits();
    if open == 0 && total >= UNITS * (bits + block_bits) as f32 {
        return Choice::ALL;
    }
    if !model.intra && total <= UNITS * (SHORTEST + block_bits) as f32 {
        return drop_block(codes, bits + block_bits, total, change);
    }
    let block = BlockCost { open, bits, kept: Some(bits as i32 * UNIT), total, lost: 0.0 };
    let choice = choose_open(scratch, codes, model, block, change);
    if choice.kept == bits_below(codes.len()) && choice.lowered == 0 { Choice::ALL } else { choice }
}

/// Chooses the levels of a block whose scale changes.
#[inline]
pub(super) fn choose_at_new_scale(
    scratch: &mut Scratch,
    codes: &[Code],
    places: &Weights,
    model: &CostModel,
    changed: NewScale<'_>,
    change: &mut RdChange,
) -> Choice {
    let mut run = RunStart::start(model.intra);
    let factor = UNITS * model.factor;
    let (mut total, mut lost) = (0.0, 0.0);
    let mut high = Level::default();
    for (&code, candidate) in codes.iter().zip(&mut scratch.codes) {
        let position = code.position();
        let weight = places[usize::from(position)] * factor;
        let level = changed.level(code, &mut high);
        let (gain, loss) = (weight * level.gain, weight * level.loss);
        let place = run.pass(position, level.nearest.min(Code::MAGNITUDES as i32 - 1) as u8);
        *candidate = Candidate::new(gain, loss, place);
        total += gain;
        lost += weight * level.energy - gain;
    }
    let bits = bits_of_first(codes, codes.len());
    let open = bits_below(codes.len());
    choose_open(scratch, codes, model, BlockCost { open, bits, kept: None, total, lost }, change)
}

/// Chooses the levels of a block whose new codes are in `scratch`; `total` is what they gain.
pub(super) fn choose_prepared(
    scratch: &mut Scratch,
    codes: &[Code],
    model: &CostModel,
    total: f32,
    change: &mut RdChange,
) -> Choice {
    let open = bits_below(codes.len());
    choose_open(
        scratch,
        codes,
        model,
        BlockCost { open, bits: 0, kept: None, total: UNITS * total, lost: 0.0 },
        change,
    )
}

#[inline(always)]
fn drop_block(codes: &[Code], bits: u32, error: f32, change: &mut RdChange) -> Choice {
    change.saved_bits += bits as f32;
    change.error += error / UNITS;
    change.lost.add(Lost::new(codes.len() as u32, 1));
    Choice::NOTHING
}

/// A block before the choice among its codes.
#[derive(Clone, Copy)]
struct BlockCost {
    /// Codes that may be dropped or lowered, by bit; the others are kept.
    open: u64,
    /// Bits of all codes in the input.
    bits: u32,
    /// Length of all at their new levels, where some codes are not open. In units, as all below.
    kept: Option<i32>,
    /// The gain of all codes.
    total: f32,
    /// The error that remains even if all codes are kept.
    lost: f32,
}

/// The choices made so far.
#[derive(Default)]
struct Chosen {
    dropped: u64,
    lowered: u64,
    /// Length of the open codes with their new levels, and what the choices save of it, in units.
    open: i32,
    saved: i32,
    /// The error of the choices.
    error: i32,
}

/// Chooses among the codes that are open; drops the whole block where that is cheaper.
#[inline(always)]
fn choose_open(
    scratch: &Scratch,
    codes: &[Code],
    model: &CostModel,
    block: BlockCost,
    change: &mut RdChange,
) -> Choice {
    let BlockCost { open, bits, kept: length, total, lost } = block;
    let count = codes.len();
    let mut chosen = Chosen::default();
    let mut left = open;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let lowest = left & left.wrapping_neg();
        // The codes kept in between separate runs of open ones from each other.
        let rest = left & left.wrapping_add(lowest);
        if left ^ rest == lowest {
            choose_one(scratch, model.lengths, first, count, &mut chosen);
        } else {
            let length = (!(left >> first)).trailing_zeros() as usize;
            let end = first + length;
            if length <= ShortPath::CODES {
                choose_several::<ShortPath>(scratch, model.lengths, first, end, count, &mut chosen);
            } else {
                choose_several::<Edits>(scratch, model.lengths, first, end, count, &mut chosen);
            }
        }
        left = rest;
    }
    let Chosen { dropped, lowered, open, saved, error } = chosen;
    let length = length.unwrap_or(open) - saved;
    let block_bits = model.block_bits();
    let cost = length + error + block_bits as i32 * UNIT;
    let kept = bits_below(count) & !dropped;
    if !model.intra && (cost as f32 >= total || kept == 0) {
        return drop_block(codes, bits + block_bits, total + lost, change);
    }
    change.saved_bits += bits as f32 - length as f32 / UNITS;
    change.error += (error as f32 + lost) / UNITS;
    change.lost.add(Lost::new(dropped.count_ones(), 0));
    Choice { kept, lowered }
}

/// Chooses for a code between two that are kept.
#[inline(always)]
fn choose_one(scratch: &Scratch, lengths: &Lengths, index: usize, count: usize, chosen: &mut Chosen) {
    let Candidate { gain, loss, place } = scratch.codes[index & 63];
    let next = scratch.next(index + 1, count);
    let [high, low] = lengths.pair(place);
    // What is saved, less its cost.
    let dropping = high + lengths.pair(next)[0] - lengths.pair(next.behind(place.length()))[0];
    let lowering = high - low;
    let lowers = lowering > loss;
    let drops = dropping - gain > if lowers { lowering - loss } else { 0 };
    chosen.dropped |= u64::from(drops) << index;
    chosen.lowered |= u64::from(lowers & !drops) << index;
    chosen.open += high;
    chosen.saved += if drops {
        dropping
    } else if lowers {
        lowering
    } else {
        0
    };
    chosen.error += if drops {
        gain
    } else if lowers {
        loss
    } else {
        0
    };
}

/// The cost of an impossible path: more than any other.
const IMPOSSIBLE: i32 = 1 << 29;

/// Finds the cheapest path through the codes `first..end`, between two codes that are kept.
#[inline]
fn choose_several<P: Path>(
    scratch: &Scratch,
    lengths: &Lengths,
    first: usize,
    end: usize,
    count: usize,
    chosen: &mut Chosen,
) {
    // The surviving paths that keep the code before, and that drop it: their cost less their gain, and how much longer
    // the run of the latter is.
    let (mut kept, mut dropped) = (0, IMPOSSIBLE);
    let mut kept_path = P::default();
    let mut dropped_path = kept_path;
    let mut longer = 0;
    let (mut gained, mut whole) = (0, 0);
    for (index, &Candidate { gain, loss, place }) in scratch.codes[first..end].iter().enumerate() {
        let lowers = P::lowers(index, loss);
        let [high, low] = lengths.pair(place);
        whole += high;
        let low = low + loss;
        let behind_kept = kept + low.min(high);
        let mut path = kept_path.with(lowers.or(P::default(), high <= low));
        let [high, low] = lengths.pair(place.behind(longer));
        let low = low + loss;
        let behind_dropped = dropped + low.min(high);
        let lowered = dropped_path.with(lowers.or(P::default(), high <= low));
        path = path.or(lowered, behind_dropped < behind_kept);
        // Of the paths that drop this code only the cheapest survives. In a few blocks another one with a shorter run
        // would cost some bits less in the end.
        let drops = dropped < kept;
        longer = select_unpredictable(drops, longer, 0) + place.length();
        dropped_path = kept_path.or(dropped_path, drops).with(P::drops(index, gain));
        dropped = dropped.min(kept);
        kept = behind_dropped.min(behind_kept) - gain;
        kept_path = path;
        gained += gain;
    }
    chosen.open += whole;
    let next = scratch.next(end, count);
    let bits = lengths.pair(next)[0];
    whole += bits;
    kept += bits;
    dropped += lengths.pair(next.behind(longer))[0];
    let path = kept_path.or(dropped_path, dropped < kept);
    let Edits { dropped: drops, lowered, error } = path.edits();
    chosen.dropped |= drops << first;
    chosen.lowered |= lowered << first;
    // The cost of the path is its bits less the gain of its codes.
    chosen.saved += whole - (kept.min(dropped) + gained - error);
    chosen.error += error;
}

#[inline]
fn bits_below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::levels::Levels;
    use proptest::prelude::*;

    /// Bits and error of a choice in a non-intra block.
    fn cost(codes: &[Code], candidates: &[Candidate], choice: Choice) -> f32 {
        let lengths = Lengths::of(false);
        let (mut run, mut longer) = (RunStart::start(false), 0);
        let mut cost = if choice.kept == 0 { 0.0 } else { (lengths.end + BLOCK_OVERHEAD) as f32 };
        for (i, &code) in codes.iter().enumerate() {
            let [kept, lowered] = [choice.kept, choice.lowered].map(|bits| bits >> i & 1 != 0);
            let place = run.pass(code.position(), code.magnitude());
            if kept {
                let [high, low] = lengths.pair(place.behind(longer));
                cost += (if lowered { low + candidates[i].loss } else { high }) as f32 / UNITS;
                longer = 0;
            } else {
                cost += candidates[i].gain as f32 / UNITS;
                longer += place.length();
            }
        }
        cost
    }

    proptest! {
        /// The choices cost nearly the least possible, over many blocks: in a single block, a path that did not survive
        /// may have cost a few bits less.
        #[test]
        fn no_choice_is_much_better(
            blocks in proptest::collection::vec(proptest::collection::vec((1u8..8, 1i16..5, 0.05f32..4.0), 1..6), 200),
            new_scale in any::<bool>(),
        ) {
            let scales = if new_scale { [2.0, 3.0] } else { [1.0, 1.0] };
            let levels: Levels = std::array::from_fn(|magnitude| Level::new(magnitude as i32, 1.0, scales));
            let changed = NewScale { levels: &levels, scales, intra: false };
            let costs = blocks.iter().map(|steps| chosen_and_best(steps, changed));
            let [chosen, best] = costs.fold([0.0, 0.0], |[a, b], [chosen, best]| [a + chosen, b + best]);
            prop_assert!(chosen <= 1.002 * best, "{chosen} beside {best}");
        }
    }

    /// The cost of the choice for a block of runs, levels and weights, and the least cost of all choices.
    fn chosen_and_best(steps: &[(u8, i16, f32)], changed: NewScale<'_>) -> [f32; 2] {
        let mut position = 0;
        let mut places = [0.0; 64];
        let mut codes = Vec::new();
        for &(run, level, weight) in steps {
            position += run;
            codes.push(Code::new(level, position - 1));
            places[usize::from(position - 1)] = weight;
        }
        let model = CostModel { factor: 1.0, lengths: Lengths::of(false), intra: false };
        let (mut scratch, mut change) = (Scratch::default(), RdChange::default());
        let choice = choose_at_new_scale(&mut scratch, &codes, &places, &model, changed, &mut change);
        let nearest = |code: &Code| {
            Code::new(changed.level(*code, &mut Level::default()).nearest as i16, code.position())
        };
        let nearest: Vec<Code> = codes.iter().map(nearest).collect();
        let of = |choice| cost(&nearest, &scratch.codes, choice);
        let subsets = 0..1u64 << codes.len();
        let all = subsets.clone().flat_map(|kept| subsets.clone().map(move |lowered| (kept, lowered & kept)));
        let best = all.map(|(kept, lowered)| of(Choice { kept, lowered })).fold(f32::MAX, f32::min);
        [of(choice), best]
    }
}
