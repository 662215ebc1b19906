//! Choosing levels anew, block by block: which codes stay, which are lowered, which go, for the least distortion
//! plus lambda times rate. A shortest path through the block's codes (as in trellis quantisation), exact for the
//! run-level tables.

use crate::header::PictureContext;
use crate::picture::{Code, Macroblock, Picture, bits_of_first};
use crate::vlc::{Coefficients, TABLE_ONE, TABLE_ZERO};
use crate::write::rewrite::{Codes, Content};
use std::sync::LazyLock;

/// Bits that a coded block costs beside its codes and its end: its share of the pattern and the type.
const BLOCK_OVERHEAD: f32 = 1.0;

/// Lengths of codes by run and magnitude, escapes included.
struct Lengths {
    bits: [u8; Lengths::ROW * (Lengths::FIRST as usize + 1)],
}

static ZERO: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ZERO));
static ONE: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ONE));

impl Lengths {
    /// Magnitudes that are told apart: larger ones are escapes.
    const ROW: usize = 64;
    /// The row of a code at the start of a non-intra block, where `1s` is (0, 1).
    const FIRST: i32 = 64;
    /// MPEG-1's escapes are 20 or 28 bits; 24 serves both.
    const ESCAPE: u8 = 24;
    /// There is no code for a level of 0.
    const NONE: u8 = u8::MAX;

    fn new(table: &Coefficients) -> Self {
        let length = |index: usize| {
            let (run, magnitude) = (index / Self::ROW, index % Self::ROW);
            let first = run == Self::FIRST as usize;
            match (magnitude, table.length(if first { 0 } else { run as u32 }, magnitude as u32)) {
                (0, _) => Self::NONE,
                (1, _) if first => 2,
                (_, 0) => Self::ESCAPE,
                (_, bits) => bits as u8,
            }
        };
        Self { bits: std::array::from_fn(length) }
    }

    /// The lengths of a code at a position behind another; one below that by magnitude lower by one.
    #[inline]
    fn row(position: i32, before: i32) -> usize {
        // Only a non-intra block has a code at 0, and it is the first.
        let run = if position == 0 { Self::FIRST } else { (position - before - 1) & 63 };
        run as usize * Self::ROW
    }

    #[inline]
    fn of(&self, row: usize, magnitude: u8) -> u8 {
        self.bits[row + usize::from(magnitude & 63)]
    }
}

/// What was chosen for a block.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// Codes that stay and those of them that are lowered by one, by bit.
    Edited { kept: u64, lowered: u64 },
    /// So many codes, from this one of [`Recoded::codes`] on.
    New { first: u32, count: u8 },
}

impl Choice {
    const ALL: Self = Self::Edited { kept: u64::MAX, lowered: 0 };
    const NONE: Self = Self::Edited { kept: 0, lowered: 0 };
}

/// New content of a picture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recoded {
    codes: Vec<Code>,
    choices: Vec<Choice>,
    quantisers: Vec<u8>,
    /// By macroblock: whether all is as it was.
    unchanged: Vec<bool>,
    /// Bits that blocks take less than before.
    pub(crate) saved_bits: f64,
    /// Squared error added.
    pub(crate) distortion: f64,
    /// Codes and blocks that are gone.
    pub(crate) lost: [u64; 2],
}

impl Content for Recoded {
    fn codes(&self, block: usize) -> Codes<'_> {
        match self.choices[block] {
            Choice::Edited { kept, lowered } => Codes::Edited { kept, lowered },
            Choice::New { first, count } => {
                Codes::New(&self.codes[first as usize..first as usize + usize::from(count)])
            }
        }
    }

    fn quantiser(&self, macroblock: usize) -> u8 {
        self.quantisers[macroblock]
    }

    fn is_unchanged(&self, macroblock: usize) -> bool {
        self.unchanged[macroblock]
    }
}

impl Recoded {
    /// Begins anew, for so many blocks.
    pub(crate) fn clear(&mut self, blocks: usize) {
        self.codes.clear();
        // Each block's is written before it is read.
        self.choices.resize(blocks, Choice::ALL);
        self.quantisers.clear();
        self.unchanged.clear();
        self.saved_bits = 0.0;
        self.distortion = 0.0;
        self.lost = [0; 2];
    }

    /// A block loses all its codes, and `energy` with them.
    fn drop_block(&mut self, block: usize, codes: usize, energy: f32, bits: f32) {
        self.saved_bits += f64::from(bits);
        self.choices[block] = Choice::NONE;
        self.lost[0] += codes as u64;
        self.lost[1] += 1;
        self.distortion += f64::from(energy);
    }

    /// Recodes the next macroblock; they come in the picture's order. `lambda` is in units of squared error a
    /// bit, after division by the macroblock's importance.
    pub(crate) fn push(
        &mut self,
        recoder: &Recoder,
        path: &mut Path,
        picture: &Picture,
        macroblock: &Macroblock,
        quantiser: u8,
        lambda: f32,
    ) {
        self.quantisers.push(quantiser);
        let mut unchanged = quantiser == macroblock.quantiser;
        if unchanged && recoder.every_code_pays(macroblock, lambda) {
            self.choices[macroblock.block_range()].fill(Choice::ALL);
            return self.unchanged.push(true);
        }
        let blocks = macroblock.block_range();
        let luma_end = blocks.start + usize::from(macroblock.luma_blocks);
        for (chroma, blocks) in [(false, blocks.start..luma_end), (true, luma_end..blocks.end)] {
            let terms = recoder.terms(macroblock, chroma, quantiser, lambda);
            for index in blocks {
                let codes = picture.codes_of(&picture.blocks[index]);
                unchanged &= path.choose(self, index, codes, &terms);
            }
        }
        self.unchanged.push(unchanged);
    }
}

/// Tables for the blocks of one picture.
#[derive(Debug)]
pub(crate) struct Recoder {
    /// `W / 32` by class (as in [`super::energy::Energy`]) and scan position, squared.
    weights: [[f32; 64]; 4],
    scales: [f32; 32],
    intra_vlc_format: bool,
    /// The smallest weight in intra and in non-intra blocks.
    smallest: [f32; 2],
}

/// What the codes of a block may become.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// What each code gains with the higher of its two levels, in bits.
    gain: [f32; 64],
    /// With another scale: how much less with the lower one.
    loss: [f32; 64],
    /// With another scale: the higher level; above 63 all are one.
    level: [u8; 64],
}

/// A way through the codes of a block.
#[derive(Debug, Clone, Copy)]
struct Way {
    cost: Cost,
    /// The position of the code kept last.
    position: i32,
    kept: u64,
    lowered: u64,
}

/// Bits less gains since the start of the search, and below them the bits alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost(i64);

impl Cost {
    const NOTHING: Self = Self(0);
    /// More than any way costs; what is added to it changes little.
    const NO_WAY: Self = Self(1 << 60);
    const BITS: u32 = 16;
    /// A bit that is paid, in steps of a cost.
    const ONE: f32 = 256.0;
    /// A gain that outweighs a whole block; what is above makes no difference.
    const MOST: f32 = 1e6;

    #[inline(always)]
    fn length(bits: u8) -> Self {
        Self(i64::from(bits) * ((Self::ONE as i64) << Self::BITS | 1))
    }

    #[inline(always)]
    fn loss(bits: f32) -> Self {
        Self(((bits.min(Self::MOST) * Self::ONE) as i32 as i64) << Self::BITS)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    fn value(self) -> f32 {
        (self.0 >> Self::BITS) as f32 / Self::ONE
    }

    fn bits(self) -> f32 {
        f32::from(self.0 as u16)
    }
}

impl Recoder {
    /// Chrominance errors weigh this much of luminance errors.
    const CHROMA_WEIGHT: f32 = 0.5;

    pub(crate) fn new(context: &PictureContext) -> Self {
        let scan = context.scan();
        let weights = std::array::from_fn(|class| {
            let matrix = &context.matrices.matrices[class];
            let component = if class >= 2 { Self::CHROMA_WEIGHT } else { 1.0 };
            scan.map(|position| {
                let weight = f32::from(matrix[usize::from(position)]) / 32.0;
                weight * weight * component
            })
        });
        let least =
            |class: usize| weights[class].iter().chain(&weights[class + 2]).copied().fold(f32::MAX, f32::min);
        Self {
            smallest: [least(0), least(1)],
            weights,
            scales: context.quantiser_scales().map(f32::from),
            intra_vlc_format: context.coding.intra_vlc_format,
        }
    }

    /// True where the least code gains more than the longest costs, dropped or lowered.
    fn every_code_pays(&self, macroblock: &Macroblock, lambda: f32) -> bool {
        let (least, offset) =
            if macroblock.is_intra() { (self.smallest[0], 0.0) } else { (self.smallest[1], 1.0) };
        let scale = self.scales[usize::from(macroblock.quantiser)];
        let step = scale * scale * least;
        let level = 2.0 + offset;
        level * level * step >= LONGEST * lambda && 4.0 * step >= LONGEST * LOWERING_SAVES * lambda
    }

    /// What choices in a macroblock depend on.
    #[inline]
    fn terms(&self, macroblock: &Macroblock, chroma: bool, quantiser: u8, lambda: f32) -> Terms<'_> {
        let intra = macroblock.is_intra();
        let one = intra && self.intra_vlc_format;
        let from = self.scales[usize::from(macroblock.quantiser)];
        Terms {
            weights: &self.weights[usize::from(!intra) + 2 * usize::from(chroma)],
            from,
            to: self.scales[usize::from(quantiser)],
            scale: from * from / lambda,
            over_lambda: lambda.recip(),
            over_to: self.scales[usize::from(quantiser)].recip(),
            same_scale: quantiser == macroblock.quantiser,
            intra,
            lambda,
            lengths: if one { &ONE } else { &ZERO },
            end_bits: if one { 4.0 } else { 2.0 },
        }
    }
}

/// What the choice in one block depends on.
struct Terms<'a> {
    /// `(W / 32)^2` by scan position.
    weights: &'a [f32; 64],
    /// Quantiser scales, old and new.
    from: f32,
    to: f32,
    /// The old one squared, over lambda.
    scale: f32,
    /// One over lambda, and over the new scale.
    over_lambda: f32,
    over_to: f32,
    same_scale: bool,
    intra: bool,
    lambda: f32,
    lengths: &'a Lengths,
    end_bits: f32,
}

/// What is certain of a block without a search. All gains and costs are in bits: squared error over lambda.
struct Sight {
    /// Codes before this one stay as they are.
    first: usize,
    /// Codes from this one on stay as they are, too.
    last: usize,
    /// The gains of all codes.
    total: f32,
    /// Bits of all codes.
    bits: f32,
    /// Codes of which nothing is certain, by bit.
    open: u64,
}

/// The share of its bits that lowering a level by one saves at most; a bound that holds for all but a handful of
/// codes.
const LOWERING_SAVES: f32 = 0.5;
/// No code is longer but those of MPEG-1's largest levels.
const LONGEST: f32 = 24.0;

impl Terms<'_> {
    /// What a code costs whose run begins behind a position.
    #[inline]
    fn bits_behind(&self, before: i32, code: Code) -> u8 {
        let magnitude = i32::from(code.level()).abs().min(63) as u8;
        self.lengths.of(Lengths::row(i32::from(code.position()), before), magnitude)
    }

    fn offset(&self) -> f32 {
        if self.intra { 0.0 } else { 1.0 }
    }

    /// What a block costs beside its codes, where it may go as a whole.
    fn block_bits(&self) -> f32 {
        if self.intra { 0.0 } else { self.end_bits + BLOCK_OVERHEAD }
    }

    /// Finds what is certain at the same scale. Leaving codes out saves their own bits at most, for longer runs cost
    /// no less.
    #[inline]
    fn look(&self, codes: &[Code], path: &mut Path) -> Sight {
        let scale = self.scale;
        let offset = i32::from(!self.intra);
        // What a code gains over being dropped or, above level 1, over what lowering saves at most. Lowering errs by one
        // step, which is two half levels.
        let (alone, above) = ((2.0 + offset as f32).powi(2), 4.0 / LOWERING_SAVES);
        let needed = [alone, alone, above, above];
        let mut total = 0.0;
        // Codes of which nothing is certain; gathered without a branch, for none could be foreseen.
        let mut open = 0u64;
        for ((i, code), to) in codes.iter().enumerate().zip(&mut path.gain) {
            let weight = self.weights[usize::from(code.position() & 63)] * scale;
            let magnitude = i32::from(code.level()).abs();
            let doubled = (2 * magnitude + offset) as f32;
            let bits = f32::from(code.bits());
            let gain = doubled * doubled * weight;
            *to = gain;
            total += gain;
            let stays = needed[magnitude.min(3) as usize] * weight >= bits;
            open |= u64::from(!stays) << i;
        }
        let bits = bits_of_first(codes, codes.len()) as f32;
        let first = (open.trailing_zeros() as usize).min(codes.len());
        let last = (64 - open.leading_zeros() as usize).max(first);
        Sight { first, last, total, bits, open }
    }

    /// The same with another scale, where nothing is certain: the nearest level of the new scale, and the one below it.
    #[inline]
    fn look_anew(&self, codes: &[Code], path: &mut Path) -> Sight {
        let offset = self.offset();
        let mut total = 0.0;
        for (i, code) in codes.iter().take(64).enumerate() {
            let weight = self.weights[usize::from(code.position() & 63)] * self.over_lambda;
            let value = (2.0 * f32::from(code.level()).abs() + offset) * self.from;
            let nearest = (((value * self.over_to - offset) * 0.5 + 0.5) as i32).max(1);
            let error = value - (2.0 * nearest as f32 + offset) * self.to;
            let below = error + 2.0 * self.to;
            let energy = value * value * weight;
            path.gain[i] = energy - error * error * weight;
            // There is none below 1, however near it were.
            path.loss[i] = ((below * below - error * error) * weight).max(0.0);
            path.level[i] = nearest.min(63) as u8;
            total += energy;
        }
        let bits = bits_of_first(codes, codes.len()) as f32;
        Sight { first: 0, last: codes.len(), total, bits, open: u64::MAX }
    }

    /// The nearest level of the new scale.
    fn level(&self, code: Code) -> i32 {
        let value = (2.0 * f32::from(code.level()).abs() + self.offset()) * self.from;
        (((value * self.over_to - self.offset()) * 0.5 + 0.5) as i32).max(1)
    }
}

impl Default for Path {
    fn default() -> Self {
        Self { gain: [0.0; 64], loss: [0.0; 64], level: [0; 64] }
    }
}

impl Path {
    /// Chooses for one block; true where all codes stay.
    #[inline]
    fn choose(&mut self, out: &mut Recoded, block: usize, codes: &[Code], terms: &Terms<'_>) -> bool {
        if !terms.same_scale {
            let sight = terms.look_anew(codes, self);
            return finish(out, block, codes, terms, &sight, self.walk::<false>(codes, terms, &sight));
        }
        let sight = terms.look(codes, self);
        if sight.open == 0 && sight.total >= sight.bits + terms.block_bits() {
            out.choices[block] = Choice::ALL;
            return true;
        }
        finish(out, block, codes, terms, &sight, self.walk::<true>(codes, terms, &sight))
    }

    /// Walks through the codes of which nothing is certain. Returns the best way that keeps the last of them, and the
    /// best that does not, and what all of them gain.
    #[inline]
    fn walk<const SAME_SCALE: bool>(
        &self,
        codes: &[Code],
        terms: &Terms<'_>,
        sight: &Sight,
    ) -> ([Way; 2], f32) {
        let before = sight.first.checked_sub(1).map(|before| i32::from(codes[before].position()));
        let position = before.unwrap_or(if terms.intra { 0 } else { -1 });
        let kept = (1u64 << sight.first).wrapping_sub(1);
        let mut here = Way { cost: Cost::NOTHING, position, kept, lowered: 0 };
        let mut passed = Way { cost: Cost::NO_WAY, ..here };
        let mut gains = 0.0;
        for (i, code) in codes.iter().enumerate().take(sight.last.min(64)).skip(sight.first) {
            let position = i32::from(code.position());
            gains += self.gain[i];
            let (level, loss) = if SAME_SCALE {
                let weight = terms.weights[usize::from(code.position() & 63)] * terms.scale;
                (code.level().unsigned_abs().min(63) as u8, 4.0 * weight)
            } else {
                (self.level[i], self.loss[i])
            };
            let step = Step { i, position, level, loss: Cost::loss(loss), gain: Cost::loss(self.gain[i]) };
            let kept = step.behind(here, terms.lengths);
            let skipped = step.behind(passed, terms.lengths);
            // Longer runs cost no less: of those that pass this code over only the cheapest can be the better start.
            passed = here.or_if(passed.cost < here.cost, passed);
            passed.cost = if sight.open >> i & 1 == 0 { Cost::NO_WAY } else { passed.cost };
            here = Way { position, ..kept.or_if(skipped.cost < kept.cost, skipped) };
        }
        ([here, passed], gains)
    }
}

/// A code on the way.
struct Step {
    i: usize,
    position: i32,
    /// The higher of its levels; what it gains, and how much less the lower one does.
    level: u8,
    gain: Cost,
    loss: Cost,
}

impl Step {
    /// Keeps it behind a way, with the better of its levels.
    #[inline(always)]
    fn behind(&self, way: Way, lengths: &Lengths) -> Way {
        let row = Lengths::row(self.position, way.position);
        let high = Cost::length(lengths.of(row, self.level));
        let low = Cost::length(lengths.of(row, self.level - 1)).plus(self.loss);
        Way {
            cost: way.cost.plus(high.min(low)).minus(self.gain),
            position: self.position,
            kept: way.kept | 1 << self.i,
            lowered: way.lowered | u64::from(low < high) << self.i,
        }
    }
}

impl Way {
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
}

/// Chooses the better way, and puts down what was chosen; true where all codes stay.
#[inline]
fn finish(
    out: &mut Recoded,
    block: usize,
    codes: &[Code],
    terms: &Terms<'_>,
    sight: &Sight,
    (ways, walked): ([Way; 2], f32),
) -> bool {
    // The next code stays, but its run begins where the way ends.
    let next = codes.get(sight.last);
    let behind = |way: &Way| next.map_or(0, |&code| terms.bits_behind(way.position, code));
    let (behind, behind_passed) = (behind(&ways[0]), behind(&ways[1]));
    let passes = ways[1].cost.plus(Cost::length(behind_passed)) < ways[0].cost.plus(Cost::length(behind));
    let way = ways[0].or_if(passes, ways[1]);
    let before = bits_of_first(codes, sight.first);
    let behind = u32::from(if passes { behind_passed } else { behind })
        + next.map_or(0, |code| bits_of_first(codes, codes.len()) - u32::from(code.end()));
    let bits = way.cost.bits() + (before + behind) as f32;
    let outside = if terms.same_scale { sight.total - walked } else { 0.0 };
    let gains = outside + way.cost.bits() - way.cost.value();
    let kept = way.kept | bits_below(codes.len()) & !bits_below(sight.last);
    let block_bits = terms.end_bits + BLOCK_OVERHEAD;
    if !terms.intra && (kept == 0 || bits + block_bits >= gains) {
        out.drop_block(block, codes.len(), sight.total * terms.lambda, sight.bits + block_bits);
        return codes.is_empty();
    }
    out.saved_bits += f64::from(sight.bits - bits);
    out.distortion += f64::from(((sight.total - gains) * terms.lambda).max(0.0));
    out.lost[0] += codes.len() as u64 - u64::from(kept.count_ones());
    if terms.same_scale {
        out.choices[block] = Choice::Edited { kept, lowered: way.lowered };
        return kept == bits_below(codes.len()) && way.lowered == 0;
    }
    let first = out.codes.len() as u32;
    let stay = codes.iter().enumerate().filter(|(i, _)| kept >> i & 1 != 0);
    out.codes.extend(stay.map(|(i, &code)| {
        let level = terms.level(code) - (way.lowered >> i & 1) as i32;
        Code::new(if code.level() < 0 { -level } else { level } as i16, code.position())
    }));
    out.choices[block] = Choice::New { first, count: kept.count_ones() as u8 };
    false
}

/// The lowest bits, 0 to 64.
#[inline]
fn bits_below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
