//! Choosing the levels of one block: which codes stay, which are lowered, which go, for the least distortion plus
//! lambda times rate. A shortest path through the block's codes (as in trellis quantisation), by the run-level tables, of
//! two states: whether the code before is kept. Gains and costs are counted in bits: squared error over lambda.

use super::energy::Squares;
use crate::picture::{Code, bits_of_first};
use crate::vlc::{Coefficients, TABLE_ONE, TABLE_ZERO};
use std::ops::Range;
use std::sync::LazyLock;

/// Bits that a coded block costs beside its codes and its end: its share of the pattern and the type.
const BLOCK_OVERHEAD: u32 = 1;
/// The share of its bits that lowering a level by one saves at most; a bound that holds for all but a handful of
/// codes.
const LOWERING_SAVES: f32 = 0.5;
/// No code is longer but those of MPEG-1's largest levels.
const LONGEST: f32 = 24.0;
/// The shortest code.
const SHORTEST: u32 = 2;
/// What is lost where a level is lowered by one: a step of two half levels.
const STEP: f32 = 4.0;

/// The least that is lost with a code or a step of it, over the share of its bits that saves, by weight: in intra and in
/// other blocks, where a level of 1 stands for one and a half.
const LEAST_LOSS: [f32; 2] = [4.0, STEP / LOWERING_SAVES];

/// The weight from which on the longest code stays whatever its level.
pub(super) fn weight_for_all(intra: bool) -> f32 {
    LONGEST / LEAST_LOSS[usize::from(!intra)]
}

/// Bits of codes by run and magnitude, escapes included, and of the code lower by one.
pub(super) struct Lengths {
    pairs: [[f32; 2]; Lengths::RUNS * Code::MAGNITUDES],
    /// What is left of a block without codes.
    end: u32,
}

static ZERO: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ZERO));
static ONE: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ONE));

/// A position in a block, to be subtracted from that of a code for its run.
#[derive(Clone, Copy)]
struct Next(u32);

impl Next {
    /// Behind a code at a position.
    #[inline(always)]
    fn behind(position: u8) -> Self {
        Self((u32::from(position) + 1) * Code::MAGNITUDES as u32)
    }

    /// At the start of a block: where its first code may have a form of its own, far before it.
    fn start(intra: bool) -> Self {
        if intra {
            Self::behind(0)
        } else {
            Self(0u32.wrapping_sub((Lengths::FIRST * Code::MAGNITUDES) as u32))
        }
    }
}

impl Lengths {
    /// Runs, and from [`Lengths::FIRST`] on those of the code at the start of a non-intra block, where `1s` is (0, 1).
    const RUNS: usize = 128;
    const FIRST: usize = 64;
    /// MPEG-1's escapes are 20 or 28 bits; 24 serves both.
    const ESCAPE: u32 = 24;
    /// There is no code for a level of 0.
    const NONE: f32 = 1e9;

    fn new(table: &Coefficients) -> Self {
        let bits = |run: usize, magnitude: usize| match (run, magnitude) {
            (_, 0) => Self::NONE,
            (Self::FIRST, 1) => SHORTEST as f32,
            _ => match table.length((run % Self::FIRST) as u32, magnitude as u32) {
                0 => Self::ESCAPE as f32,
                bits => bits as f32,
            },
        };
        let pairs = std::array::from_fn(|index| {
            let (run, magnitude) = (index / Code::MAGNITUDES, index % Code::MAGNITUDES);
            [bits(run, magnitude), bits(run, magnitude.saturating_sub(1))]
        });
        Self { pairs, end: table.end_of_block_bits() }
    }

    /// Those of table B.15, or of B.14.
    pub(super) fn of(one: bool) -> &'static Self {
        if one { &ONE } else { &ZERO }
    }

    /// Bits of a code, and of one lower by one, at a position where `next` is the first that is free.
    #[inline(always)]
    fn pair(&self, position: u8, magnitude: u8, next: Next) -> [f32; 2] {
        let place = u32::from(position) * Code::MAGNITUDES as u32 + u32::from(magnitude);
        self.pairs[place.wrapping_sub(next.0) as usize % (Self::RUNS * Code::MAGNITUDES)]
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
    nearest: i32,
}

impl Level {
    /// `offset` is 1 in non-intra blocks, where levels stand for the middle of their interval, and 0 in intra blocks.
    pub(super) fn new(magnitude: i32, offset: f32, [from, to]: [f32; 2]) -> Self {
        let value = (2.0 * magnitude as f32 + offset) * from;
        let nearest = (((value / to - offset) * 0.5 + 0.5) as i32).max(1);
        let error = value - (2.0 * nearest as f32 + offset) * to;
        let below = error + 2.0 * to;
        Self {
            energy: value * value,
            gain: value * value - error * error,
            // There is none below 1, however near it were.
            loss: (below * below - error * error).max(0.0),
            nearest,
        }
    }
}

/// Levels below this are looked up.
const LEVELS: usize = 32;
/// By magnitude.
pub(super) type Levels = [Level; LEVELS];

/// [`Code::magnitude`] by [`Code::level_index`].
pub(super) type Magnitudes = [u8; Code::LEVELS];
pub(super) static MAGNITUDES: LazyLock<Magnitudes> =
    LazyLock::new(|| std::array::from_fn(|index| Code::new(Code::level_of(index) as i16, 0).magnitude()));

/// Levels where the scale stays.
#[derive(Clone, Copy)]
pub(super) struct Same<'a> {
    pub(super) squares: &'a Squares,
    pub(super) magnitudes: &'a Magnitudes,
}

/// What the choice in the blocks of one macroblock depends on.
pub(super) struct Terms {
    /// What squares are multiplied by beside the weight of their place, for bits.
    pub(super) factor: f32,
    pub(super) lengths: &'static Lengths,
    pub(super) intra: bool,
}

impl Terms {
    /// Bits that a block costs beside its codes, where it may go as a whole.
    #[inline]
    fn block_bits(&self) -> u32 {
        if self.intra { 0 } else { self.lengths.end + BLOCK_OVERHEAD }
    }
}

/// What becomes of levels where the scale changes from one to another.
#[derive(Clone, Copy)]
pub(super) struct Changed<'a> {
    pub(super) levels: &'a Levels,
    pub(super) scales: [f32; 2],
    pub(super) intra: bool,
}

impl Changed<'_> {
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
        Level::new(i32::from(magnitude), f32::from(u8::from(!self.intra)), self.scales)
    }

    /// Puts down the codes of a block that stay.
    pub(super) fn recode(&self, out: &mut Vec<Code>, codes: &[Code], choice: Choice) {
        let mut left = choice.kept;
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(&code) = codes.get(i) else { break };
            let level = self.level(code).nearest - (choice.lowered >> i & 1) as i32;
            out.push(Code::new(if code.level() < 0 { -level } else { level } as i16, code.position()));
        }
    }
}

/// Weights by scan position, or by code of a block.
pub(super) type Weights = [f32; 64];

/// What was worked out about the codes of a block.
#[derive(Debug)]
pub(super) struct Sight {
    /// What each gains with the higher of its levels, and how much less with the lower one.
    gains: Weights,
    losses: Weights,
    /// The magnitude of the higher, where the scale changes.
    magnitudes: [u8; 64],
    /// How the best ways came to each: an index of [`TRACE`], the state left out.
    steps: [u8; 64],
}

impl Default for Sight {
    fn default() -> Self {
        Self { gains: [0.0; 64], losses: [0.0; 64], magnitudes: [0; 64], steps: [0; 64] }
    }
}

/// What was chosen, summed up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) saved_bits: f32,
    /// By bits, that is, over lambda.
    pub(super) error: f32,
    /// Codes and blocks.
    pub(super) lost: [u64; 2],
}

/// What becomes of a block: codes that stay and those of them that are lowered by one, by bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) kept: u64,
    pub(super) lowered: u64,
}

impl Choice {
    pub(super) const ALL: Self = Self { kept: u64::MAX, lowered: 0 };
    pub(super) const NOTHING: Self = Self { kept: 0, lowered: 0 };
}

/// Chooses for a block, where the scale stays. `places` are the weights by scan position.
#[inline]
pub(super) fn choose(
    sight: &mut Sight,
    codes: &[Code],
    places: &Weights,
    terms: &Terms,
    same: Same<'_>,
    tally: &mut Tally,
) -> Choice {
    // Leaving codes out saves their own bits at most, for longer runs cost no less.
    let stays_above = LEAST_LOSS[usize::from(!terms.intra)].recip();
    let mut total = 0.0;
    let mut end = 0;
    // Codes of which nothing is certain; gathered without a branch, for none could be foreseen.
    let mut open = 0u64;
    for (i, ((&code, gain), loss)) in codes.iter().zip(&mut sight.gains).zip(&mut sight.losses).enumerate() {
        let weight = places[usize::from(code.position())] * terms.factor;
        *gain = weight * same.squares[code.level_index()];
        *loss = weight * STEP;
        total += *gain;
        let before = std::mem::replace(&mut end, code.end());
        open |= u64::from(weight < stays_above * f32::from(end - before)) << i;
    }
    let bits = u32::from(end);
    let block_bits = terms.block_bits();
    if open == 0 && total >= (bits + block_bits) as f32 {
        return Choice::ALL;
    }
    if !terms.intra && total <= (SHORTEST + block_bits) as f32 {
        return drop_block(codes, bits + block_bits, total, tally);
    }
    let first = (open.trailing_zeros() as usize).min(codes.len());
    let last = (64 - open.leading_zeros() as usize).max(first);
    // What stays for certain: codes before the way and behind the one that follows it.
    let behind = codes.get(last).map_or(0, |next| bits - u32::from(next.end()));
    let outside = bits_of_first(codes, first) + behind;
    let span = Span { range: first..last, open, outside, bits, total, lost: 0.0 };
    let choice = walk(sight, codes, terms, span, |code, _| same.magnitudes[code.level_index()], tally);
    if choice.kept == bits_below(codes.len()) && choice.lowered == 0 { Choice::ALL } else { choice }
}

/// The same where the scale changes, and nothing is certain.
#[inline]
pub(super) fn choose_anew(
    sight: &mut Sight,
    codes: &[Code],
    places: &Weights,
    terms: &Terms,
    changed: Changed<'_>,
    tally: &mut Tally,
) -> Choice {
    let (mut total, mut lost) = (0.0, 0.0);
    for (i, &code) in codes.iter().enumerate().take(64) {
        let weight = places[usize::from(code.position())] * terms.factor;
        let level = changed.level(code);
        sight.gains[i] = weight * level.gain;
        sight.losses[i] = weight * level.loss;
        sight.magnitudes[i] = level.nearest.min(Code::MAGNITUDES as i32 - 1) as u8;
        total += weight * level.gain;
        lost += weight * (level.energy - level.gain);
    }
    let bits = bits_of_first(codes, codes.len());
    let span = Span { range: 0..codes.len().min(64), open: u64::MAX, outside: 0, bits, total, lost };
    walk(sight, codes, terms, span, |_, &magnitude| magnitude, tally)
}

/// A block loses all its codes.
#[inline(never)]
fn drop_block(codes: &[Code], bits: u32, error: f32, tally: &mut Tally) -> Choice {
    tally.saved_bits += bits as f32;
    tally.error += error;
    tally.lost[0] += codes.len() as u64;
    tally.lost[1] += 1;
    Choice::NOTHING
}

/// More than any way costs.
const NO_WAY: f32 = 1e30;
/// What it costs to pass over a code that stays for certain, and one that may go.
static PASSING: [f32; 2] = [NO_WAY, 0.0];

/// Bits of a step: the code is lowered behind one that was kept, or behind one that was passed over; the one that passes
/// it over passes over the one before, too; and so does the one that keeps it.
const LOWERED_BEHIND_KEPT: u8 = 1;
const LOWERED_BEHIND_PASSED: u8 = 2;
const PASSED_BEFORE: u8 = 4;
const KEPT_BEHIND_PASSED: u8 = 8;

/// One step back: by step and, from bit 4 on, by whether the code was passed over; whether it is kept, whether it is
/// lowered, and whether the one before was passed over, from bit 0 up.
static TRACE: [u8; 32] = trace();

const fn trace() -> [u8; 32] {
    let mut trace = [0; 32];
    let mut step = 0u8;
    while step < 16 {
        let behind_passed = step & KEPT_BEHIND_PASSED != 0;
        let lowered = step & if behind_passed { LOWERED_BEHIND_PASSED } else { LOWERED_BEHIND_KEPT } != 0;
        trace[step as usize] = 1 | (lowered as u8) << 1 | (behind_passed as u8) << 2;
        trace[step as usize + 16] = ((step & PASSED_BEFORE != 0) as u8) << 2;
        step += 1;
    }
    trace
}

/// The codes of a block that a walk goes through.
struct Span {
    range: Range<usize>,
    /// Those that may go, by bit; the others stay, and so does the code behind the range.
    open: u64,
    /// Bits of what stays beside the way, and of all codes.
    outside: u32,
    bits: u32,
    /// What all codes gain, and what is lost whatever stays.
    total: f32,
    lost: f32,
}

/// Finds the best way through codes, and decides whether the block stays at all. `magnitude` is the higher one of a
/// code, which may be in [`Sight`].
#[inline(always)]
fn walk(
    sight: &mut Sight,
    codes: &[Code],
    terms: &Terms,
    span: Span,
    magnitude: impl Fn(Code, &u8) -> u8,
    tally: &mut Tally,
) -> Choice {
    let Span { range, open, outside, bits, total, lost } = span;
    let Sight { gains, losses, magnitudes, steps } = sight;
    let lengths = terms.lengths;
    // Ways that keep the code before, and that pass it over: what they cost less their gains, and where runs begin.
    let (mut kept, mut passed) = (0.0, NO_WAY);
    let before = range.start.checked_sub(1).map(|before| Next::behind(codes[before].position()));
    let mut kept_next = before.unwrap_or(Next::start(terms.intra));
    let mut passed_next = kept_next;
    let mut walked = 0.0;
    let mut left = open >> (range.start & 63);
    let all = codes[range.clone()].iter().zip(&gains[range.clone()]).zip(&losses[range.clone()]);
    let all = all.zip(&magnitudes[range.clone()]).zip(&mut steps[range.clone()]);
    for ((((&code, &gain), &loss), seen), step) in all {
        let position = code.position();
        let magnitude = magnitude(code, seen);
        let [high, low] = lengths.pair(position, magnitude, kept_next);
        let low = low + loss;
        let behind_kept = kept + lower(low, high);
        let mut taken = u8::from(low < high) * LOWERED_BEHIND_KEPT;
        let [high, low] = lengths.pair(position, magnitude, passed_next);
        let low = low + loss;
        let behind_passed = passed + lower(low, high);
        taken |= u8::from(low < high) * LOWERED_BEHIND_PASSED;
        // Of the ways that pass this code over only the cheapest is followed. Another with a shorter run may win some bits
        // back later, in few blocks.
        let passes = passed < kept;
        taken |= u8::from(passes) * PASSED_BEFORE;
        passed_next = Next(std::hint::select_unpredictable(passes, passed_next.0, kept_next.0));
        passed = lower(passed, kept) + PASSING[(left & 1) as usize];
        left >>= 1;
        taken |= u8::from(behind_passed < behind_kept) * KEPT_BEHIND_PASSED;
        kept = lower(behind_passed, behind_kept) - gain;
        kept_next = Next::behind(position);
        walked += gain;
        *step = taken;
    }
    if let Some(&behind) = codes.get(range.end) {
        let bits = |next| lengths.pair(behind.position(), behind.magnitude(), next)[0];
        kept += bits(kept_next);
        passed += bits(passed_next);
    }
    let (cost, passes) = (lower(kept, passed), passed < kept);
    let block_bits = terms.block_bits();
    // What is kept for certain gains the rest of the total. Without codes there is none of these costs.
    if !terms.intra && cost + (outside + block_bits) as f32 >= total - walked {
        return drop_block(codes, bits + block_bits, total + lost, tally);
    }
    let mut choice = Choice { kept: 0, lowered: 0 };
    let mut state = u8::from(passes) << 4;
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
    if !terms.intra && choice.kept == 0 {
        return drop_block(codes, bits + block_bits, total + lost, tally);
    }
    // What the way costs is its bits less what its codes gain.
    tally.saved_bits += (bits - outside) as f32 - (cost + walked - error);
    tally.error += error + lost;
    tally.lost[0] += codes.len() as u64 - u64::from(choice.kept.count_ones());
    choice
}

/// The value where the lowest bit is set, or 0.
#[inline(always)]
fn only(value: f32, bit: u8) -> f32 {
    f32::from_bits(value.to_bits() & u32::from(bit & 1).wrapping_neg())
}

/// The lower one, by one instruction.
#[inline(always)]
fn lower(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The lowest bits, 0 to 64.
#[inline]
fn bits_below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bits and error of a choice in a block that is not intra.
    fn cost(codes: &[Code], gains: &[f32], losses: &[f32], choice: Choice) -> f32 {
        let lengths = Lengths::of(false);
        let mut next = Next::start(false);
        let mut cost = if choice.kept == 0 { 0.0 } else { (lengths.end + BLOCK_OVERHEAD) as f32 };
        for (i, &code) in codes.iter().enumerate() {
            let [kept, lowered] = [choice.kept, choice.lowered].map(|bits| bits >> i & 1 != 0);
            if kept {
                let [high, low] = lengths.pair(code.position(), code.magnitude(), next);
                cost += if lowered { low + losses[i] } else { high };
                next = Next::behind(code.position());
            } else {
                cost += gains[i];
            }
        }
        cost
    }

    proptest! {
        /// Nearly as good as the best of all choices: over many blocks, for in one of them a start that was given up may
        /// have saved some bits.
        #[test]
        fn no_choice_is_much_better(
            blocks in proptest::collection::vec(proptest::collection::vec((1u8..8, 1i16..5, 0.05f32..4.0), 1..6), 200),
            anew in any::<bool>(),
        ) {
            let scales = if anew { [2.0, 3.0] } else { [1.0, 1.0] };
            let levels: Levels = std::array::from_fn(|magnitude| Level::new(magnitude as i32, 1.0, scales));
            let changed = Changed { levels: &levels, scales, intra: false };
            let costs = blocks.iter().map(|steps| chosen_and_best(steps, changed));
            let [chosen, best] = costs.fold([0.0, 0.0], |[a, b], [chosen, best]| [a + chosen, b + best]);
            prop_assert!(chosen <= 1.002 * best, "{chosen} beside {best}");
        }
    }

    /// What the choice for a block of runs, levels and weights costs, and what the best of all does.
    fn chosen_and_best(steps: &[(u8, i16, f32)], changed: Changed<'_>) -> [f32; 2] {
        let mut position = 0;
        let mut places = [0.0; 64];
        let mut codes = Vec::new();
        for &(run, level, weight) in steps {
            position += run;
            codes.push(Code::new(level, position - 1));
            places[usize::from(position - 1)] = weight;
        }
        let terms = Terms { factor: 1.0, lengths: Lengths::of(false), intra: false };
        let (mut sight, mut tally) = (Sight::default(), Tally::default());
        let choice = choose_anew(&mut sight, &codes, &places, &terms, changed, &mut tally);
        let nearest = |code: &Code| Code::new(changed.level(*code).nearest as i16, code.position());
        let nearest: Vec<Code> = codes.iter().map(nearest).collect();
        let of = |choice| cost(&nearest, &sight.gains, &sight.losses, choice);
        let subsets = 0..1u64 << codes.len();
        let all = subsets.clone().flat_map(|kept| subsets.clone().map(move |lowered| (kept, lowered & kept)));
        let best = all.map(|(kept, lowered)| of(Choice { kept, lowered })).fold(f32::MAX, f32::min);
        [of(choice), best]
    }
}
