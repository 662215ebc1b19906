//! Choosing levels anew, block by block: which codes stay, which are lowered, which go, for the least distortion
//! plus lambda times rate. A shortest path through the block's codes (as in trellis quantisation), exact for the
//! run-level tables.

use crate::header::PictureContext;
use crate::picture::{Block, Code, Macroblock, Picture};
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
    count: u8,
    is_new: bool,
}

/// New content of a picture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recoded {
    codes: Vec<Code>,
    choices: Vec<Choice>,
    quantisers: Vec<u8>,
    /// Bits that blocks take less than before.
    pub(crate) saved_bits: f64,
    /// Squared error added.
    pub(crate) distortion: f64,
    /// Codes and blocks that are left.
    pub(crate) left: [u64; 2],
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
}

impl Recoded {
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.choices.clear();
        self.quantisers.clear();
        self.saved_bits = 0.0;
        self.distortion = 0.0;
        self.left = [0; 2];
    }

    /// The next block keeps all its codes.
    fn keep(&mut self, count: usize) {
        self.choices.push(Choice { first: 0, count: count as u8, is_new: false });
        self.left[0] += count as u64;
        self.left[1] += 1;
    }

    /// The next block loses all its codes, and `energy` with them.
    fn drop_block(&mut self, energy: f32, bits: f32) {
        self.saved_bits += f64::from(bits);
        self.choices.push(Choice { first: 0, count: 0, is_new: false });
        self.distortion += f64::from(energy);
    }

    /// Recodes the next macroblock; they come in the picture's order. `lambda` is in units of squared error a
    /// bit, after division by the macroblock's importance.
    pub(crate) fn push(
        &mut self,
        recoder: &mut Recoder,
        picture: &Picture,
        macroblock: &Macroblock,
        quantiser: u8,
        lambda: f32,
    ) {
        self.quantisers.push(quantiser);
        for block in picture.blocks_of(macroblock) {
            recoder.choose(self, picture, macroblock, block, quantiser, lambda);
        }
    }
}

/// Tables for the blocks of one picture.
#[derive(Debug)]
pub(crate) struct Recoder {
    /// `W / 32` by class (as in [`super::energy::Energy`]) and scan position, squared.
    weights: [[f32; 64]; 4],
    scales: [f32; 32],
    intra_vlc_format: bool,
    path: Path,
}

/// The states of the shortest path: one a code, and the start.
#[derive(Debug, Clone)]
struct Path {
    /// What each code gains, in bits.
    gain: [f32; 64],
    cost: [f32; 65],
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
        Self {
            weights,
            scales: context.quantiser_scales().map(f32::from),
            intra_vlc_format: context.coding.intra_vlc_format,
            path: Path::default(),
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
            let value = (2 * i32::from(code.level).abs() + offset) as f32 * scale;
            value * value * weights[usize::from(code.position & 63)]
        })
    }

    fn choose(
        &mut self,
        out: &mut Recoded,
        picture: &Picture,
        macroblock: &Macroblock,
        block: &Block,
        quantiser: u8,
        lambda: f32,
    ) {
        let codes = picture.codes_of(block);
        let intra = macroblock.is_intra();
        let one = intra && self.intra_vlc_format;
        let terms = Terms {
            weights: &self.weights[usize::from(!intra) + 2 * usize::from(block.is_chroma())],
            from: self.scales[usize::from(macroblock.quantiser)],
            to: self.scales[usize::from(quantiser)],
            same_scale: quantiser == macroblock.quantiser,
            intra,
            lambda,
            lengths: if one { &ONE } else { &ZERO },
            end_bits: if one { 4.0 } else { 2.0 },
        };
        let sight = terms.look(codes, &mut self.path.gain);
        if terms.same_scale && sight.first == codes.len() && sight.worth >= terms.block_bits() {
            out.keep(codes.len());
        } else {
            self.path.walk(codes, &terms, &sight);
            self.path.finish(out, codes, &terms, &sight);
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
}

/// The share of its bits that lowering a level by one saves at most; a bound that holds for all but a handful of
/// codes.
const LOWERING_SAVES: f32 = 0.5;
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
    fn look(&self, codes: &[Code], gain: &mut [f32; 64]) -> Sight {
        let scale = self.from * self.from / self.lambda;
        let offset = self.offset();
        let (mut total, mut all_bits) = (0.0, 0.0);
        // Codes of which nothing is certain; gathered without a branch, for none could be foreseen.
        let mut open = 0u64;
        for (i, (code, gain)) in codes.iter().zip(gain.iter_mut()).enumerate() {
            let weight = self.weights[usize::from(code.position & 63)] * scale;
            let magnitude = f32::from(code.level).abs();
            let doubled = 2.0 * magnitude + offset;
            let bits = f32::from(code.bits);
            *gain = doubled * doubled * weight;
            total += *gain;
            all_bits += bits;
            // Lowering a level errs by one step, which is two half levels.
            let stays = (*gain >= bits) & ((magnitude < 2.0) | (4.0 * weight >= bits * LOWERING_SAVES));
            open |= u64::from(!stays) << i;
        }
        let mut sight =
            Sight { first: 0, last: codes.len(), end: codes.len(), worth: 0.0, total, bits: all_bits };
        if !self.same_scale {
            return sight;
        }
        sight.first = (open.trailing_zeros() as usize).min(codes.len());
        sight.last = if open == 0 { codes.len() } else { 64 - open.leading_zeros() as usize };
        let searched = sight.first..sight.last;
        let inside = codes[searched.clone()].iter().zip(&gain[searched]);
        let inside: f32 = inside.map(|(code, gain)| gain - f32::from(code.bits)).sum();
        sight.worth = total - all_bits - inside;
        if sight.last == codes.len() {
            while sight.end > sight.first && gain[sight.end - 1] < SHORTEST {
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
            position: [0; 65],
            level: [0; 65],
            before: [0; 65],
            open: [0; 65],
            open_count: 0,
        }
    }
}

impl Path {
    /// Walks through the codes of which nothing is certain, and the one behind them.
    #[inline]
    fn walk(&mut self, codes: &[Code], terms: &Terms<'_>, sight: &Sight) {
        let before = sight.first.checked_sub(1);
        let start = before.map_or(if terms.intra { 0 } else { -1 }, |before| codes[before].position as i8);
        self.position[sight.first] = start;
        self.cost[sight.first] = 0.0;
        self.open[0] = sight.first as u8;
        self.open_count = 1;
        let offset = terms.offset();
        for (i, code) in codes.iter().enumerate().take(sight.last).skip(sight.first) {
            let magnitude = i32::from(code.level).abs();
            let (mut best, mut chosen) = (f32::INFINITY, (0, 0));
            let mut offer = |path: &Self, level: i32, gain: f32| {
                let (cost, before) = path.reach(code.position, level, terms);
                if cost - gain < best {
                    best = cost - gain;
                    chosen = (before, level);
                }
            };
            if terms.same_scale {
                offer(self, magnitude, self.gain[i]);
                if magnitude > 1 {
                    let step = terms.from * terms.from / terms.lambda * 4.0;
                    let loss = step * terms.weights[usize::from(code.position & 63)];
                    offer(self, magnitude - 1, self.gain[i] - loss);
                }
            } else {
                // The nearest level of the new scale, and the one below it.
                let value = (2.0 * magnitude as f32 + offset) * terms.from;
                let nearest = (((value / terms.to - offset) * 0.5 + 0.5) as i32).max(1);
                let weight = terms.weights[usize::from(code.position & 63)] / terms.lambda;
                for level in (nearest - 1).max(1)..=nearest {
                    let error = value - (2.0 * level as f32 + offset) * terms.to;
                    offer(self, level, self.gain[i] - error * error * weight);
                }
            }
            let level = if code.level < 0 { -chosen.1 } else { chosen.1 };
            self.open_state(i + 1, code.position, best, chosen.0, level as i16);
        }
    }

    /// The cheapest way to a code with this level: cost and state before.
    #[inline]
    fn reach(&self, position: u8, level: i32, terms: &Terms<'_>) -> (f32, u8) {
        let mut best = (f32::INFINITY, 0);
        for &state in &self.open[..self.open_count] {
            let run = i32::from(position) - i32::from(self.position[usize::from(state)]) - 1;
            let cost = self.cost[usize::from(state)] + terms.length(position, run, level);
            if cost < best.0 {
                best = (cost, state);
            }
        }
        best
    }

    #[inline]
    fn open_state(&mut self, state: usize, position: u8, cost: f32, before: u8, level: i16) {
        self.cost[state] = cost;
        self.position[state] = position as i8;
        self.level[state] = level;
        self.before[state] = before;
        // Longer runs cost no less: a state that is dearer than a later one is never the better start.
        while self.open_count > 0 && self.cost[usize::from(self.open[self.open_count - 1])] >= cost {
            self.open_count -= 1;
        }
        self.open[self.open_count] = state as u8;
        self.open_count += 1;
    }

    /// Chooses the last state, and puts down what was chosen.
    #[inline]
    fn finish(&self, out: &mut Recoded, codes: &[Code], terms: &Terms<'_>, sight: &Sight) {
        let next = codes[..sight.end].get(sight.last);
        let mut best = (f32::INFINITY, 0);
        for &state in &self.open[..self.open_count] {
            // The next code stays, but its run begins here.
            let behind = next.map_or(0.0, |code| self.bits_behind(state, code, terms));
            let cost = self.cost[usize::from(state)] + behind;
            if cost < best.0 {
                best = (cost, state);
            }
        }
        let (mut cost, mut state) = best;
        if let Some(code) = next {
            cost -= f32::from(code.bits);
        }
        cost -= sight.worth;
        let block_bits = terms.end_bits + BLOCK_OVERHEAD;
        let empty = state as usize == sight.first && sight.first == 0 && next.is_none();
        if !terms.intra && (empty || cost + block_bits >= 0.0) {
            return out.drop_block(sight.total * terms.lambda, sight.bits + block_bits);
        }
        let mut chain = [0u8; 64];
        let mut length = 0;
        while usize::from(state) > sight.first {
            chain[length] = state;
            length += 1;
            state = self.before[usize::from(state)];
        }
        let chain = &mut chain[..length];
        chain.reverse();
        self.put_down(out, codes, terms, sight, chain, cost);
    }

    fn bits_behind(&self, state: u8, code: &Code, terms: &Terms<'_>) -> f32 {
        let run = i32::from(code.position) - i32::from(self.position[usize::from(state)]) - 1;
        terms.length(code.position, run, i32::from(code.level).abs())
    }

    /// Enters the codes before the search, those it chose, and those behind it.
    fn put_down(
        &self,
        out: &mut Recoded,
        codes: &[Code],
        terms: &Terms<'_>,
        sight: &Sight,
        chain: &[u8],
        cost: f32,
    ) {
        let changed = |(i, &state): (usize, &u8)| {
            usize::from(state) != sight.first + i + 1
                || self.level[usize::from(state)] != codes[usize::from(state) - 1].level
        };
        let rest = &codes[sight.last..sight.end];
        let gap = !rest.is_empty() && chain.len() != sight.last - sight.first;
        let is_new = !terms.same_scale || gap || chain.iter().enumerate().any(changed);
        let first = out.codes.len() as u32;
        if is_new {
            out.codes.extend_from_slice(&codes[..sight.first]);
            out.codes.extend(chain.iter().map(|&state| Code {
                level: self.level[usize::from(state)],
                position: self.position[usize::from(state)] as u8,
                bits: 0,
            }));
            out.codes.extend_from_slice(rest);
        }
        let count = sight.first + chain.len() + rest.len();
        out.choices.push(Choice { first, count: count as u8, is_new });
        out.left[0] += count as u64;
        out.left[1] += 1;
        // cost = bits - gain; what was not gained is distortion.
        let bits = self.bits_of(codes, terms, sight, chain);
        out.saved_bits += f64::from(sight.bits - bits);
        out.distortion += f64::from(((sight.total - (bits - cost)) * terms.lambda).max(0.0));
    }

    /// Bits of the codes that are left.
    fn bits_of(&self, codes: &[Code], terms: &Terms<'_>, sight: &Sight, chain: &[u8]) -> f32 {
        let plain = |codes: &[Code]| codes.iter().map(|code| f32::from(code.bits)).sum::<f32>();
        let mut bits = plain(&codes[..sight.first]);
        let mut last = sight.first as u8;
        for &state in chain {
            let before = self.before[usize::from(state)];
            let run = i32::from(self.position[usize::from(state)])
                - i32::from(self.position[usize::from(before)])
                - 1;
            let level = i32::from(self.level[usize::from(state)]).abs();
            bits += terms.length(self.position[usize::from(state)] as u8, run, level);
            last = state;
        }
        if let [next, rest @ ..] = &codes[sight.last..sight.end] {
            bits += self.bits_behind(last, next, terms) + plain(rest);
        }
        bits
    }
}
