//! Packet status chunks (sections 3.1.1 to 3.1.4): runs and vectors of symbols, read and packed.

/// What became of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Symbol {
    /// Not received.
    #[default]
    Missing = 0b00,
    /// Received, delta of one octet.
    Small = 0b01,
    /// Received, signed delta of two octets.
    Large = 0b10,
    /// Never sent.
    Reserved = 0b11,
}

impl Symbol {
    fn from_bits(bits: u16) -> Self {
        match bits & 0b11 {
            0b00 => Self::Missing,
            0b01 => Self::Small,
            0b10 => Self::Large,
            _ => Self::Reserved,
        }
    }

    pub(super) fn delta_len(self) -> usize {
        match self {
            Self::Missing | Self::Reserved => 0,
            Self::Small => 1,
            Self::Large => 2,
        }
    }

    /// The delta this symbol announces, in ticks, and the deltas after it.
    pub(super) fn split_delta(self, deltas: &[u8]) -> Option<(Option<i16>, &[u8])> {
        let (own, rest) = deltas.split_at_checked(self.delta_len())?;
        let delta = match *own {
            [small] => Some(i16::from(small)),
            [high, low] => Some(i16::from_be_bytes([high, low])),
            _ => None,
        };
        Some((delta, rest))
    }
}

/// A packet status chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk(pub(super) u16);

const VECTOR: u16 = 0x8000;
const TWO_BIT: u16 = 0x4000;
const MAX_RUN: usize = 0x1FFF;
const ONE_BIT_SYMBOLS: usize = 14;
const TWO_BIT_SYMBOLS: usize = 7;

impl Chunk {
    /// The symbols with the number of times each follows: one run, or a vector of ones.
    pub(super) fn runs(self) -> impl Iterator<Item = (Symbol, usize)> {
        let (count, run) = match self.0 {
            bits if bits & VECTOR == 0 => (1, usize::from(bits) & MAX_RUN),
            bits if bits & TWO_BIT == 0 => (ONE_BIT_SYMBOLS, 1),
            _ => (TWO_BIT_SYMBOLS, 1),
        };
        (0..count).map(move |index| (self.symbol(index), run))
    }

    pub(super) fn symbols(self) -> impl Iterator<Item = Symbol> {
        self.runs().flat_map(|(symbol, run)| std::iter::repeat_n(symbol, run))
    }

    /// The symbol at `index` of a vector, or that of a run.
    fn symbol(self, index: usize) -> Symbol {
        if self.0 & VECTOR == 0 {
            Symbol::from_bits(self.0 >> 13)
        } else if self.0 & TWO_BIT == 0 {
            Symbol::from_bits(self.0 >> (ONE_BIT_SYMBOLS - 1 - index) & 1)
        } else {
            Symbol::from_bits(self.0 >> (2 * (TWO_BIT_SYMBOLS - 1 - index)))
        }
    }
}

/// Symbols that are not in a chunk yet. Whatever is in it fits one chunk.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The first symbols; all later ones equal the first.
    symbols: [Symbol; ONE_BIT_SYMBOLS],
    len: usize,
}

impl Pending {
    /// Appends a symbol. Where it fits no chunk together with the others, a chunk is made of those first.
    pub(super) fn push(&mut self, symbol: Symbol) -> Option<Chunk> {
        let chunk = if self.fits(symbol) { None } else { Some(self.pop()) };
        if let Some(place) = self.symbols.get_mut(self.len) {
            *place = symbol;
        }
        self.len += 1;
        chunk
    }

    /// The chunk of what is left; `None` where nothing is.
    pub(super) fn finish(self) -> Option<Chunk> {
        match self.len {
            0 => None,
            _ if self.is_run() => Some(self.run()),
            1..=TWO_BIT_SYMBOLS => Some(self.two_bit()),
            _ => Some(self.one_bit()),
        }
    }

    /// True where this symbol can share a chunk with the others.
    pub(super) fn fits(&self, symbol: Symbol) -> bool {
        self.len < TWO_BIT_SYMBOLS
            || self.len < ONE_BIT_SYMBOLS && symbol != Symbol::Large && !self.has_large()
            || self.len < MAX_RUN && self.is_run() && symbol == self.symbols[0]
    }

    /// Makes a chunk of as many as fit one, at least seven. What stays is less than that.
    fn pop(&mut self) -> Chunk {
        let (chunk, taken) = if self.is_run() {
            (self.run(), self.len)
        } else if self.len == ONE_BIT_SYMBOLS {
            (self.one_bit(), ONE_BIT_SYMBOLS)
        } else {
            (self.two_bit(), TWO_BIT_SYMBOLS)
        };
        self.symbols.rotate_left(taken % ONE_BIT_SYMBOLS);
        self.len -= taken;
        chunk
    }

    fn known(&self) -> &[Symbol] {
        &self.symbols[..self.len.min(ONE_BIT_SYMBOLS)]
    }

    fn has_large(&self) -> bool {
        self.known().contains(&Symbol::Large)
    }

    fn is_run(&self) -> bool {
        self.known().iter().all(|&symbol| symbol == self.symbols[0])
    }

    fn run(&self) -> Chunk {
        Chunk((self.symbols[0] as u16) << 13 | self.len as u16)
    }

    fn one_bit(&self) -> Chunk {
        Chunk(VECTOR | self.vector(ONE_BIT_SYMBOLS, 1))
    }

    fn two_bit(&self) -> Chunk {
        Chunk(VECTOR | TWO_BIT | self.vector(TWO_BIT_SYMBOLS, 2))
    }

    /// The first `count` symbols of `bits` each; places after the last stay zero.
    fn vector(&self, count: usize, bits: usize) -> u16 {
        let places = self.known().iter().take(count).enumerate();
        places.fold(0, |vector, (index, &symbol)| vector | (symbol as u16) << (bits * (count - 1 - index)))
    }
}

#[cfg(test)]
mod tests {
    use super::Symbol::{Large, Missing, Reserved, Small};
    use super::*;

    fn packed(symbols: impl IntoIterator<Item = Symbol>) -> Vec<u16> {
        let mut pending = Pending::default();
        let mut chunks: Vec<_> = symbols.into_iter().filter_map(|symbol| pending.push(symbol)).collect();
        chunks.extend(pending.finish());
        chunks.into_iter().map(|chunk| chunk.0).collect()
    }

    fn runs(groups: &[(Symbol, usize)]) -> Vec<Symbol> {
        groups.iter().flat_map(|&(symbol, run)| std::iter::repeat_n(symbol, run)).collect()
    }

    #[test]
    fn chunks_of_the_draft() {
        for (chunk, groups) in [
            (0x00DD, &[(Missing, 221)][..]),
            (0x6018, &[(Reserved, 24)]),
            (0x9F1C, &[(Missing, 1), (Small, 5), (Missing, 3), (Small, 3), (Missing, 2)]),
            (0xCD50, &[(Missing, 1), (Reserved, 1), (Small, 3), (Missing, 2)]),
        ] {
            assert_eq!(Chunk(chunk).symbols().collect::<Vec<_>>(), runs(groups), "{chunk:#06x}");
        }
    }

    #[test]
    fn packing_prefers_runs_then_one_bit_then_two_bit() {
        assert_eq!(packed(runs(&[(Missing, 221)])), [0x00DD]);
        assert_eq!(
            packed(runs(&[(Missing, 1), (Small, 5), (Missing, 3), (Small, 3), (Missing, 2)])),
            [0x9F1C]
        );
        assert_eq!(packed(runs(&[(Small, 8_191), (Small, 1)])), [0x3FFF, 0x2001]);
        assert_eq!(packed([Small, Large, Missing]), [0xC000 | 0b01_10 << 10]);
        // Eight received, one of them with a large delta: a vector of seven, then the eighth.
        assert_eq!(packed(runs(&[(Large, 1), (Small, 7)])), [0xC000 | 0b10_01_01_01_01_01_01, 0x2001]);
        assert_eq!(packed([]), []);
    }
}
