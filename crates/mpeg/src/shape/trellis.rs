//! Trellis quantisation of one block: which codes are kept, lowered by one or dropped, for the least distortion plus
//! lambda times rate. A Viterbi path search over the codes with two states: whether the code before is kept. All costs
//! are in bits: squared error over lambda.

use super::lengths::{Lengths, RunStart, SHORTEST};
use super::levels::{Choice, NewScale, SameScale};
use crate::picture::{Code, bits_of_first};
use std::ops::Range;

/// Bits of a coded block beside its codes and its end: its share of the pattern and the macroblock type.
const BLOCK_OVERHEAD: u32 = 1;
/// The largest share of a code's bits that lowering its level by one saves; a bound for all but a few codes.
const LOWERING_SAVES: f32 = 0.5;
/// Bits of the longest code; MPEG-1's longest escapes are ignored.
const LONGEST: f32 = 24.0;
/// The squared error of lowering a level by one: a step of two half steps.
const STEP: f32 = 4.0;

/// The least squared error of dropping or lowering a code, over the share of its bits that this saves: in intra blocks,
/// and in others, where a level of 1 stands for one and a half.
const LEAST_LOSS: [f32; 2] = [4.0, STEP / LOWERING_SAVES];

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

/// Weights by scan position, or by code of the block.
pub(super) type Weights = [f32; 64];

/// Working memory for the codes of a block.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Bits that each code gains with its level, ...
    gains: Weights,
    /// ... and how many less with the level lowered by one.
    losses: Weights,
    /// The new magnitude, where the scale changes.
    magnitudes: [u8; 64],
    /// The predecessors of the surviving paths: indices of [`TRACE`] without the state.
    steps: [u8; 64],
}

impl Default for Scratch {
    fn default() -> Self {
        Self { gains: [0.0; 64], losses: [0.0; 64], magnitudes: [0; 64], steps: [0; 64] }
    }
}

impl Scratch {
    /// Sets what a code gains, and how much less with its level lowered by one.
    pub(super) fn set(&mut self, index: usize, gain: f32, loss: f32, magnitude: i32) {
        self.gains[index] = gain;
        self.losses[index] = loss;
        self.magnitudes[index] = magnitude.min(Code::MAGNITUDES as i32 - 1) as u8;
    }
}

/// Rate and distortion of the choices, summed up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RdChange {
    pub(super) saved_bits: f32,
    /// Squared error over lambda, in bits.
    pub(super) error: f32,
    /// Dropped codes, and blocks that lost all of them.
    pub(super) lost: [u64; 2],
}

/// Chooses the levels of a block whose scale is unchanged. `places` are the weights by scan position.
#[inline]
pub(super) fn choose(
    scratch: &mut Scratch,
    codes: &[Code],
    places: &Weights,
    model: &CostModel,
    same: SameScale<'_>,
    change: &mut RdChange,
) -> Choice {
    // Dropping codes saves at most their own bits, because longer runs take no less.
    let keeps_above = LEAST_LOSS[usize::from(!model.intra)].recip();
    let mut total = 0.0;
    let mut end = 0;
    // Codes that may be dropped or lowered. A branch on them would be unpredictable, so there is none.
    let mut open = 0u64;
    for (i, ((&code, gain), loss)) in
        codes.iter().zip(&mut scratch.gains).zip(&mut scratch.losses).enumerate()
    {
        let weight = places[usize::from(code.position())] * model.factor;
        *gain = weight * same.squares[code.level_index()];
        *loss = weight * STEP;
        total += *gain;
        let before = std::mem::replace(&mut end, code.end());
        open |= u64::from(weight < keeps_above * f32::from(end - before)) << i;
    }
    let bits = u32::from(end);
    let block_bits = model.block_bits();
    if open == 0 && total >= (bits + block_bits) as f32 {
        return Choice::ALL;
    }
    if !model.intra && total <= (SHORTEST + block_bits) as f32 {
        return drop_block(codes, bits + block_bits, total, change);
    }
    let first = (open.trailing_zeros() as usize).min(codes.len());
    let last = (64 - open.leading_zeros() as usize).max(first);
    // Codes before the range, and behind the code that follows it, are kept.
    let behind = codes.get(last).map_or(0, |next| bits - u32::from(next.end()));
    let outside = bits_of_first(codes, first) + behind;
    let span = CodeRange { range: first..last, open, outside, bits, total, lost: 0.0 };
    let choice =
        search_path(scratch, codes, model, span, |code, _| same.magnitudes[code.level_index()], change);
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
    let (mut total, mut lost) = (0.0, 0.0);
    for (i, &code) in codes.iter().enumerate().take(64) {
        let weight = places[usize::from(code.position())] * model.factor;
        let level = changed.level(code);
        scratch.gains[i] = weight * level.gain;
        scratch.losses[i] = weight * level.loss;
        scratch.magnitudes[i] = level.nearest.min(Code::MAGNITUDES as i32 - 1) as u8;
        total += weight * level.gain;
        lost += weight * (level.energy - level.gain);
    }
    let bits = bits_of_first(codes, codes.len());
    let span = CodeRange { range: 0..codes.len().min(64), open: u64::MAX, outside: 0, bits, total, lost };
    search_path(scratch, codes, model, span, |_, &magnitude| magnitude, change)
}

/// Chooses the levels of a block whose new codes are in `scratch`; `total` is what they gain.
pub(super) fn choose_prepared(
    scratch: &mut Scratch,
    codes: &[Code],
    model: &CostModel,
    total: f32,
    change: &mut RdChange,
) -> Choice {
    let span =
        CodeRange { range: 0..codes.len().min(64), open: u64::MAX, outside: 0, bits: 0, total, lost: 0.0 };
    search_path(scratch, codes, model, span, |_, &magnitude| magnitude, change)
}

#[inline(never)]
fn drop_block(codes: &[Code], bits: u32, error: f32, change: &mut RdChange) -> Choice {
    change.saved_bits += bits as f32;
    change.error += error;
    change.lost[0] += codes.len() as u64;
    change.lost[1] += 1;
    Choice::NOTHING
}

/// The cost of an impossible path: more than any other.
const IMPOSSIBLE: f32 = 1e30;
/// The cost of dropping a code that must be kept, and one that may be dropped.
static DROPPING: [f32; 2] = [IMPOSSIBLE, 0.0];

// Bits of a step. The surviving path that keeps the code lowers it, behind a kept code or behind a dropped one; the
// path that drops the code has dropped the one before; and so has the path that keeps it.
const LOWERED_BEHIND_KEPT: u8 = 1;
const LOWERED_BEHIND_DROPPED: u8 = 2;
const DROPPED_BEFORE: u8 = 4;
const KEPT_BEHIND_DROPPED: u8 = 8;

/// Traceback by step, and in bit 4 by whether the code is dropped. From bit 0 up: the code is kept; it is lowered; the
/// code before is dropped.
static TRACE: [u8; 32] = trace();

const fn trace() -> [u8; 32] {
    let mut trace = [0; 32];
    let mut step = 0u8;
    while step < 16 {
        let behind_dropped = step & KEPT_BEHIND_DROPPED != 0;
        let lowered = step & if behind_dropped { LOWERED_BEHIND_DROPPED } else { LOWERED_BEHIND_KEPT } != 0;
        trace[step as usize] = 1 | (lowered as u8) << 1 | (behind_dropped as u8) << 2;
        trace[step as usize + 16] = ((step & DROPPED_BEFORE != 0) as u8) << 2;
        step += 1;
    }
    trace
}

/// The range of a block's codes that the path search covers.
struct CodeRange {
    range: Range<usize>,
    /// Codes that may be dropped, by bit; the others are kept, and so is the code behind the range.
    open: u64,
    /// Bits of the codes outside of the range that the search does not price.
    outside: u32,
    /// Bits of all codes of the block.
    bits: u32,
    /// The gain of all codes.
    total: f32,
    /// The error that remains even if all codes are kept.
    lost: f32,
}

/// Finds the cheapest path through the codes; drops the whole block where that is cheaper. `magnitude` gives the new
/// magnitude of a code, which may be in [`Scratch`].
#[inline(always)]
fn search_path(
    scratch: &mut Scratch,
    codes: &[Code],
    model: &CostModel,
    span: CodeRange,
    magnitude: impl Fn(Code, &u8) -> u8,
    change: &mut RdChange,
) -> Choice {
    let CodeRange { range, open, outside, bits, total, lost } = span;
    let Scratch { gains, losses, magnitudes, steps } = scratch;
    let lengths = model.lengths;
    // The surviving paths that keep the code before, and that drop it: their cost less their gain, and where the run
    // begins.
    let (mut kept, mut dropped) = (0.0, IMPOSSIBLE);
    let before = range.start.checked_sub(1).map(|before| RunStart::behind(codes[before].position()));
    let mut kept_run = before.unwrap_or(RunStart::start(model.intra));
    let mut dropped_run = kept_run;
    let mut gained = 0.0;
    let mut left = open >> (range.start & 63);
    let all = codes[range.clone()].iter().zip(&gains[range.clone()]).zip(&losses[range.clone()]);
    let all = all.zip(&magnitudes[range.clone()]).zip(&mut steps[range.clone()]);
    for ((((&code, &gain), &loss), stored), step) in all {
        let position = code.position();
        let magnitude = magnitude(code, stored);
        let [high, low] = lengths.pair(position, magnitude, kept_run);
        let low = low + loss;
        let behind_kept = kept + lower(low, high);
        let mut taken = u8::from(low < high) * LOWERED_BEHIND_KEPT;
        let [high, low] = lengths.pair(position, magnitude, dropped_run);
        let low = low + loss;
        let behind_dropped = dropped + lower(low, high);
        taken |= u8::from(low < high) * LOWERED_BEHIND_DROPPED;
        // Of the paths that drop this code only the cheapest survives. In a few blocks another one with a shorter run
        // would cost some bits less in the end.
        let drops = dropped < kept;
        taken |= u8::from(drops) * DROPPED_BEFORE;
        dropped_run = RunStart(std::hint::select_unpredictable(drops, dropped_run.0, kept_run.0));
        dropped = lower(dropped, kept) + DROPPING[(left & 1) as usize];
        left >>= 1;
        taken |= u8::from(behind_dropped < behind_kept) * KEPT_BEHIND_DROPPED;
        kept = lower(behind_dropped, behind_kept) - gain;
        kept_run = RunStart::behind(position);
        gained += gain;
        *step = taken;
    }
    if let Some(&behind) = codes.get(range.end) {
        let bits = |next| lengths.pair(behind.position(), behind.magnitude(), next)[0];
        kept += bits(kept_run);
        dropped += bits(dropped_run);
    }
    let (cost, drops) = (lower(kept, dropped), dropped < kept);
    let block_bits = model.block_bits();
    // Codes outside of the range gain the rest of the total. A dropped block has neither their cost nor their gain.
    if !model.intra && cost + (outside + block_bits) as f32 >= total - gained {
        return drop_block(codes, bits + block_bits, total + lost, change);
    }
    let mut choice = Choice { kept: 0, lowered: 0 };
    let mut state = u8::from(drops) << 4;
    let mut error = 0.0;
    let all = gains[range.clone()].iter().zip(&losses[range.clone()]).zip(&steps[range.clone()]);
    for ((&gain, &loss), &step) in all.rev() {
        let back = TRACE[usize::from(state | step) % TRACE.len()];
        choice.kept = choice.kept << 1 | u64::from(back & 1);
        choice.lowered = choice.lowered << 1 | u64::from(back >> 1 & 1);
        error += only(gain, !back) + only(loss, back >> 1);
        state = back << 2 & 16;
    }
    let inside = bits_below(range.end) & !bits_below(range.start);
    choice.kept = choice.kept << (range.start & 63) & inside | bits_below(codes.len()) & !inside;
    choice.lowered = choice.lowered << (range.start & 63) & inside;
    if !model.intra && choice.kept == 0 {
        return drop_block(codes, bits + block_bits, total + lost, change);
    }
    // The cost of the path is its bits less the gain of its codes.
    change.saved_bits += (bits - outside) as f32 - (cost + gained - error);
    change.error += error + lost;
    change.lost[0] += codes.len() as u64 - u64::from(choice.kept.count_ones());
    choice
}

/// `value` where the lowest bit of `bit` is set, else 0.
#[inline(always)]
fn only(value: f32, bit: u8) -> f32 {
    f32::from_bits(value.to_bits() & u32::from(bit & 1).wrapping_neg())
}

/// The lower of two values, by one instruction.
#[inline(always)]
fn lower(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline]
fn bits_below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::levels::{Level, Levels};
    use proptest::prelude::*;

    /// Bits and error of a choice in a non-intra block.
    fn cost(codes: &[Code], gains: &[f32], losses: &[f32], choice: Choice) -> f32 {
        let lengths = Lengths::of(false);
        let mut next = RunStart::start(false);
        let mut cost = if choice.kept == 0 { 0.0 } else { (lengths.end + BLOCK_OVERHEAD) as f32 };
        for (i, &code) in codes.iter().enumerate() {
            let [kept, lowered] = [choice.kept, choice.lowered].map(|bits| bits >> i & 1 != 0);
            if kept {
                let [high, low] = lengths.pair(code.position(), code.magnitude(), next);
                cost += if lowered { low + losses[i] } else { high };
                next = RunStart::behind(code.position());
            } else {
                cost += gains[i];
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
        let nearest = |code: &Code| Code::new(changed.level(*code).nearest as i16, code.position());
        let nearest: Vec<Code> = codes.iter().map(nearest).collect();
        let of = |choice| cost(&nearest, &scratch.gains, &scratch.losses, choice);
        let subsets = 0..1u64 << codes.len();
        let all = subsets.clone().flat_map(|kept| subsets.clone().map(move |lowered| (kept, lowered & kept)));
        let best = all.map(|(kept, lowered)| of(Choice { kept, lowered })).fold(f32::MAX, f32::min);
        [of(choice), best]
    }
}
