//! Choosing levels anew, block by block: which codes stay, which are lowered, which go, for the least distortion
//! plus lambda times rate. A shortest path through the block's codes (as in trellis quantisation), exact for the
//! run-level tables.

use crate::header::PictureContext;
use crate::picture::{Block, Code, Macroblock, Picture, bits_of_first};
use crate::vlc::{Coefficients, TABLE_ONE, TABLE_ZERO};
use crate::write::rewrite::{Codes, Content};
use std::sync::LazyLock;

/// Bits that a coded block costs beside its codes and its end: its share of the pattern and the type.
const BLOCK_OVERHEAD: f32 = 1.0;

/// Lengths of codes by run and magnitude, escapes included.
struct Lengths {
    bits: [f32; 64 * 64],
}

static ZERO: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ZERO));
static ONE: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ONE));

impl Lengths {
    /// MPEG-1's escapes are 20 or 28 bits; 24 serves both.
    const ESCAPE: f32 = 24.0;

    fn new(table: &Coefficients) -> Self {
        let length = |index: usize| match table.length(index as u32 / 64, index as u32 % 64) {
            0 => Self::ESCAPE,
            bits => bits as f32,
        };
        Self { bits: std::array::from_fn(length) }
    }

    #[inline]
    fn of(&self, run: i32, magnitude: i32) -> f32 {
        self.bits[((run as usize & 63) << 6) | (magnitude as usize).min(63)]
    }
}

/// What was chosen for a block.
#[derive(Debug, Clone, Copy)]
struct Choice {
    /// First of its codes in [`Recoded::codes`]; unused where the block keeps codes of the input.
    first: u32,
    /// At most so many; all there are where the block keeps what it has.
    count: u8,
    is_new: bool,
}

impl Choice {
    const ALL: Self = Self { first: 0, count: u8::MAX, is_new: false };
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
        let Choice { first, count, is_new } = self.choices[block];
        if is_new {
            Codes::New(&self.codes[first as usize..first as usize + usize::from(count)])
        } else {
            Codes::First(usize::from(count))
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
        self.choices.clear();
        self.choices.resize(blocks, Choice::ALL);
        self.quantisers.clear();
        self.unchanged.clear();
        self.saved_bits = 0.0;
        self.distortion = 0.0;
        self.lost = [0; 2];
    }

    /// A block keeps its first `count` codes, and loses so many.
    fn keep(&mut self, block: usize, count: usize, lost: usize) {
        self.choices[block] = Choice { first: 0, count: count as u8, is_new: false };
        self.lost[0] += lost as u64;
    }

    /// A block loses all its codes, and `energy` with them.
    fn drop_block(&mut self, block: usize, codes: usize, energy: f32, bits: f32) {
        self.saved_bits += f64::from(bits);
        self.choices[block] = Choice { first: 0, count: 0, is_new: false };
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
            return self.unchanged.push(true);
        }
        let terms = [false, true].map(|chroma| recoder.terms(macroblock, chroma, quantiser, lambda));
        for index in macroblock.block_range() {
            let block = &picture.blocks[index];
            let terms = &terms[usize::from(block.is_chroma())];
            unchanged &= path.choose(self, index, picture.codes_of(block), terms);
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

/// A way to a code.
struct Step {
    cost: f32,
    before: u8,
    level: i32,
    bits: f32,
}

/// The states of the shortest path: one a code, and the start.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// What each code gains, in bits.
    gain: [f32; 64],
    cost: [f32; 65],
    /// Bits on the way to a state, from the start of the search.
    bits: [f32; 65],
    /// Whether all codes on the way to a state stay as they are.
    plain: [bool; 65],
    position: [i8; 65],
    level: [i16; 65],
    before: [u8; 65],
    /// States that may still be continued from, their cost falling.
    open: [u8; 65],
    open_count: usize,
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

    /// Squared reconstruction value of each code, for a first guess at slopes.
    #[inline]
    pub(crate) fn energies<'a>(
        &'a self,
        macroblock: &Macroblock,
        block: &Block,
        codes: &'a [Code],
    ) -> impl Iterator<Item = f32> + 'a {
        let intra = macroblock.is_intra();
        let weights = &self.weights[usize::from(!intra) + 2 * usize::from(block.is_chroma())];
        let offset = i32::from(!intra);
        let scale = self.scales[usize::from(macroblock.quantiser)];
        codes.iter().map(move |code| {
            let value = (2 * i32::from(code.level()).abs() + offset) as f32 * scale;
            value * value * weights[usize::from(code.position() & 63)]
        })
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
    /// Codes from this one on stay as they are, too, ...
    last: usize,
    /// ... but those from this one on go.
    end: usize,
    /// What all that stays for certain gains beyond its bits.
    worth: f32,
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
/// A code that shortens the run behind it saves hardly more; one that costs more beyond its gain is given up.
const RUN_SAVES: f32 = 3.0;
/// No code that stands last is shorter.
const SHORTEST: f32 = 3.0;

impl Terms<'_> {
    fn offset(&self) -> f32 {
        if self.intra { 0.0 } else { 1.0 }
    }

    /// What a block costs beside its codes, where it may go as a whole.
    fn block_bits(&self) -> f32 {
        if self.intra { 0.0 } else { self.end_bits + BLOCK_OVERHEAD }
    }

    /// Finds what is certain. Leaving codes out saves their own bits at most, for longer runs cost no less.
    #[inline]
    fn look(&self, codes: &[Code], path: &mut Path) -> Sight {
        let scale = self.scale;
        let offset = self.offset();
        let mut total = 0.0;
        // Codes of which nothing is certain; gathered without a branch, for none could be foreseen.
        let mut open = 0u64;
        for (i, code) in codes.iter().take(64).enumerate() {
            let weight = self.weights[usize::from(code.position() & 63)] * scale;
            let magnitude = f32::from(code.level()).abs();
            let doubled = 2.0 * magnitude + offset;
            let bits = f32::from(code.bits());
            let gain = doubled * doubled * weight;
            path.gain[i] = gain;
            total += gain;
            // Lowering a level errs by one step, which is two half levels.
            let stays = (gain >= bits) & ((magnitude < 2.0) | (4.0 * weight >= bits * LOWERING_SAVES));
            open |= u64::from(!stays) << i;
        }
        let count = codes.len();
        let all_bits = bits_of_first(codes, count) as f32;
        let mut sight = Sight { first: 0, last: count, end: count, worth: 0.0, total, bits: all_bits, open };
        if !self.same_scale {
            sight.open = u64::MAX;
            return sight;
        }
        sight.first = (open.trailing_zeros() as usize).min(count);
        sight.last = if open == 0 { count } else { 64 - open.leading_zeros() as usize };
        let searched = sight.first..sight.last.max(sight.first);
        let bits = bits_of_first(codes, searched.end) - bits_of_first(codes, searched.start);
        sight.worth = total - all_bits + bits as f32 - path.gain[searched].iter().sum::<f32>();
        if sight.last == count {
            while sight.end > sight.first && path.gain[sight.end - 1] < SHORTEST {
                sight.end -= 1;
            }
            sight.last = sight.end;
        }
        sight
    }

    /// Length of a code; `1s` may open a non-intra block.
    #[inline]
    fn length(&self, position: u8, run: i32, level: i32) -> f32 {
        let short = !self.intra && position == 0 && level == 1;
        if short { 2.0 } else { self.lengths.of(run, level) }
    }
}

impl Default for Path {
    fn default() -> Self {
        Self {
            gain: [0.0; 64],
            cost: [0.0; 65],
            bits: [0.0; 65],
            plain: [false; 65],
            position: [0; 65],
            level: [0; 65],
            before: [0; 65],
            open: [0; 65],
            open_count: 0,
        }
    }
}

impl Path {
    /// Chooses for one block; true where all codes stay.
    #[inline]
    fn choose(&mut self, out: &mut Recoded, block: usize, codes: &[Code], terms: &Terms<'_>) -> bool {
        let sight = terms.look(codes, self);
        if terms.same_scale && sight.first == codes.len() && sight.worth >= terms.block_bits() {
            return true;
        }
        self.walk(codes, terms, &sight);
        self.finish(out, block, codes, terms, &sight)
    }

    /// Walks through the codes of which nothing is certain, and the one behind them.
    #[inline]
    fn walk(&mut self, codes: &[Code], terms: &Terms<'_>, sight: &Sight) {
        let before = sight.first.checked_sub(1);
        let start = before.map_or(if terms.intra { 0 } else { -1 }, |before| codes[before].position() as i8);
        self.position[sight.first] = start;
        self.cost[sight.first] = 0.0;
        self.bits[sight.first] = 0.0;
        self.plain[sight.first] = true;
        self.open[0] = sight.first as u8;
        self.open_count = 1;
        let offset = terms.offset();
        for (i, code) in codes.iter().enumerate().take(sight.last).skip(sight.first) {
            let magnitude = i32::from(code.level()).abs();
            let mut best = Step { cost: f32::INFINITY, before: 0, level: 0, bits: 0.0 };
            if sight.open >> i & 1 == 0 {
                // It stays as it is, so that all goes on from here.
                self.offer(&mut best, code.position(), magnitude, self.gain[i], terms);
                self.open_state(i, code, &best, true);
                self.open[0] = i as u8 + 1;
                self.open_count = 1;
                continue;
            }
            if terms.same_scale {
                self.offer(&mut best, code.position(), magnitude, self.gain[i], terms);
                if magnitude > 1 {
                    let step = terms.scale * 4.0;
                    let loss = step * terms.weights[usize::from(code.position() & 63)];
                    self.offer(&mut best, code.position(), magnitude - 1, self.gain[i] - loss, terms);
                }
            } else {
                // The nearest level of the new scale, and the one below it.
                let value = (2.0 * magnitude as f32 + offset) * terms.from;
                let nearest = (((value / terms.to - offset) * 0.5 + 0.5) as i32).max(1);
                let weight = terms.weights[usize::from(code.position() & 63)] / terms.lambda;
                for level in (nearest - 1).max(1)..=nearest {
                    let error = value - (2.0 * level as f32 + offset) * terms.to;
                    self.offer(
                        &mut best,
                        code.position(),
                        level,
                        self.gain[i] - error * error * weight,
                        terms,
                    );
                }
            }
            if best.cost <= self.cost[usize::from(self.open[0])] + RUN_SAVES {
                self.open_state(i, code, &best, best.level == magnitude);
            }
        }
    }

    /// Tries a level: the cheapest way to it replaces `best` where it is cheaper.
    #[inline]
    fn offer(&self, best: &mut Step, position: u8, level: i32, gain: f32, terms: &Terms<'_>) {
        for &state in &self.open[..self.open_count] {
            let run = i32::from(position) - i32::from(self.position[usize::from(state)]) - 1;
            let bits = terms.length(position, run, level);
            let cost = self.cost[usize::from(state)] + bits - gain;
            if cost < best.cost {
                *best = Step { cost, before: state, level, bits };
            }
        }
    }

    /// Enters the state behind code `i`.
    #[inline]
    fn open_state(&mut self, i: usize, code: &Code, step: &Step, same_level: bool) {
        let (state, before) = (i + 1, usize::from(step.before));
        self.cost[state] = step.cost;
        self.bits[state] = self.bits[before] + step.bits;
        self.plain[state] = self.plain[before] & (before == i) & same_level;
        self.position[state] = code.position() as i8;
        self.level[state] = if code.level() < 0 { -step.level } else { step.level } as i16;
        self.before[state] = step.before;
        // Longer runs cost no less: a state that is dearer than a later one is never the better start.
        while self.open_count > 0 && self.cost[usize::from(self.open[self.open_count - 1])] >= step.cost {
            self.open_count -= 1;
        }
        self.open[self.open_count] = state as u8;
        self.open_count += 1;
    }

    /// Chooses the last state, and puts down what was chosen; true where all codes stay.
    #[inline]
    fn finish(
        &mut self,
        out: &mut Recoded,
        block: usize,
        codes: &[Code],
        terms: &Terms<'_>,
        sight: &Sight,
    ) -> bool {
        let rest = &codes[sight.last..sight.end];
        let mut best = (f32::INFINITY, 0, 0.0);
        for &state in &self.open[..self.open_count] {
            // The next code stays, but its run begins here.
            let bits = rest.first().map_or(0.0, |code| self.bits_behind(state, code, terms));
            let cost = self.cost[usize::from(state)] + bits;
            if cost < best.0 {
                best = (cost, state, bits);
            }
        }
        let (mut cost, state, mut rest_bits) = best;
        if let Some(code) = rest.first() {
            cost -= f32::from(code.bits());
            rest_bits += (bits_of_first(codes, sight.end) - u32::from(code.end())) as f32;
        }
        cost -= sight.worth;
        let block_bits = terms.end_bits + BLOCK_OVERHEAD;
        let chosen = usize::from(state);
        let empty = chosen == 0 && rest.is_empty();
        if !terms.intra && (empty || cost + block_bits >= 0.0) {
            out.drop_block(block, codes.len(), sight.total * terms.lambda, sight.bits + block_bits);
            return codes.is_empty();
        }
        let bits = bits_of_first(codes, sight.first) as f32 + self.bits[chosen] + rest_bits;
        out.saved_bits += f64::from(sight.bits - bits);
        // cost = bits - gain; what was not gained is distortion.
        out.distortion += f64::from(((sight.total - (bits - cost)) * terms.lambda).max(0.0));
        let contiguous = rest.is_empty() || chosen == sight.last;
        if self.plain[chosen] && contiguous && terms.same_scale {
            let count = chosen + rest.len();
            out.keep(block, count, codes.len() - count);
            return count == codes.len();
        }
        self.put_down(out, block, codes, sight, state);
        false
    }

    fn bits_behind(&self, state: u8, code: &Code, terms: &Terms<'_>) -> f32 {
        let run = i32::from(code.position()) - i32::from(self.position[usize::from(state)]) - 1;
        terms.length(code.position(), run, i32::from(code.level()).abs())
    }

    /// Enters the codes before the search, those it chose, and those behind it.
    fn put_down(&self, out: &mut Recoded, block: usize, codes: &[Code], sight: &Sight, last: u8) {
        let mut chain = [0u8; 64];
        let mut length = 0;
        let mut state = last;
        while usize::from(state) > sight.first {
            chain[length] = state;
            length += 1;
            state = self.before[usize::from(state)];
        }
        let rest = &codes[sight.last..sight.end];
        let first = out.codes.len() as u32;
        out.codes.extend_from_slice(&codes[..sight.first]);
        out.codes.extend(chain[..length].iter().rev().map(|&state| {
            Code::new(self.level[usize::from(state)], self.position[usize::from(state)] as u8)
        }));
        out.codes.extend_from_slice(rest);
        let count = sight.first + length + rest.len();
        out.choices[block] = Choice { first, count: count as u8, is_new: true };
        out.lost[0] += (codes.len() - count) as u64;
    }
}
