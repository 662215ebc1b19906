//! Variable length codes as lookup tables, built at compile time from the tables of the standard.

use crate::bits::{BitReader, BitWriter};
use crate::header::PictureContext;
use crate::picture::Code;
use crate::tables::coefficients as table;
use crate::tables::macroblock as mb;

/// A code of the macroblock layer: its value and its length, which is 0 for an undefined code.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    value: u8,
    bits: u8,
}

/// Decodes and encodes one table of the macroblock layer. `SIZE` is two to the length of the longest code.
#[derive(Debug)]
pub(crate) struct Lookup<const SIZE: usize> {
    decode: [Symbol; SIZE],
    encode: [(u16, u8); 64],
}

impl<const SIZE: usize> Lookup<SIZE> {
    const WIDTH: u32 = SIZE.trailing_zeros();

    const fn new(entries: &[mb::Entry]) -> Self {
        let mut decode = [Symbol { value: 0, bits: 0 }; SIZE];
        let mut encode = [(0, 0); 64];
        let mut i = 0;
        while i < entries.len() {
            let (value, code) = entries[i];
            let (pattern, bits) = parse_code(code);
            let spare = Self::WIDTH - bits as u32;
            let mut slot = (pattern as usize) << spare;
            let end = (pattern as usize + 1) << spare;
            while slot < end {
                decode[slot] = Symbol { value, bits };
                slot += 1;
            }
            encode[value as usize] = (pattern, bits);
            i += 1;
        }
        Self { decode, encode }
    }

    /// Value and length of the code that begins with these bits, as many as the longest code has; 0 bits for an undefined one.
    pub(crate) const fn at(&self, bits: usize) -> (u32, u32) {
        let Symbol { value, bits } = self.decode[bits];
        (value as u32, bits as u32)
    }

    /// Reads one code; 16 bits must be available. `None` for an undefined code.
    #[inline]
    pub(crate) fn read(&self, reader: &mut BitReader<'_>) -> Option<u8> {
        let symbol = self.decode[reader.peek(Self::WIDTH) as usize];
        reader.skip(u32::from(symbol.bits));
        if symbol.bits == 0 { None } else { Some(symbol.value) }
    }

    /// Writes the code of a value of the table.
    pub(crate) fn write(&self, writer: &mut BitWriter, value: u8) {
        let (pattern, bits) = self.encode[usize::from(value)];
        debug_assert!(bits > 0, "no code for {value}");
        writer.put(u32::from(pattern), u32::from(bits));
    }

    /// Length in bits of a value's code, 0 where it has none.
    pub(crate) fn length(&self, value: u8) -> u32 {
        u32::from(self.encode[usize::from(value)].1)
    }
}

pub(crate) static ADDRESS_INCREMENT: Lookup<2048> = Lookup::new(&mb::ADDRESS_INCREMENT);
pub(crate) static TYPE_I: Lookup<64> = Lookup::new(&mb::TYPE_I);
pub(crate) static TYPE_P: Lookup<64> = Lookup::new(&mb::TYPE_P);
pub(crate) static TYPE_B: Lookup<64> = Lookup::new(&mb::TYPE_B);
pub(crate) static TYPE_D: Lookup<64> = Lookup::new(&mb::TYPE_D);
pub(crate) static PATTERN_420: Lookup<512> = Lookup::new(&mb::PATTERN_420);
pub(crate) const MOTION_CODES: Lookup<1024> = Lookup::new(&mb::MOTION);
pub(crate) static MOTION: Lookup<1024> = Lookup::new(&mb::MOTION);
pub(crate) static DC_SIZE_LUMA: Lookup<512> = Lookup::new(&mb::DC_SIZE_LUMA);
pub(crate) static DC_SIZE_CHROMA: Lookup<1024> = Lookup::new(&mb::DC_SIZE_CHROMA);

/// The kind of a run-level code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CodeKind {
    Coefficient,
    EndOfBlock,
    Escape,
    Invalid,
}

/// One entry of the coefficient lookup, in one word: level, run, bits, kind. The sign is part of the code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunLevel(u32);

impl RunLevel {
    pub(crate) const fn new(kind: CodeKind, run: u8, level: i8, bits: u8) -> Self {
        Self(u32::from_be_bytes([level as u8, run, bits, kind as u8]))
    }

    #[inline]
    pub(crate) const fn level(self) -> i16 {
        (self.0 as i32 >> 24) as i16
    }

    #[inline]
    pub(crate) const fn run(self) -> u32 {
        self.0 >> 16 & 0xff
    }

    /// Length of the code; of an escape, of its prefix.
    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        self.0 >> 8 & 0xff
    }

    #[inline]
    pub(crate) const fn kind(self) -> CodeKind {
        match self.0 & 0xff {
            0 => CodeKind::Coefficient,
            1 => CodeKind::EndOfBlock,
            2 => CodeKind::Escape,
            _ => CodeKind::Invalid,
        }
    }
}

/// Width of the lookup of codes with fewer than six leading zeros, sign included.
const SHORT: u32 = 9;
/// Width of the lookup of codes with six leading zeros or more, without these zeros.
const LONG: u32 = 11;
/// Leading zeros from which on a code is in the second lookup.
const LEADING: u32 = 6;
const ESCAPE_LEVEL: usize = 41;

/// The next bits, decoded as far as they reach: up to two codes and the end of block. Two words to be added to the
/// position in the block, with fields as in [`Code`]: the lower one for the first code, the upper one for the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodedBits(u64);

impl DecodedBits {
    /// Number of bits that are decoded at once.
    pub(crate) const WIDTH: u32 = 12;
    /// The block ends, or another code follows that does not fit.
    const SPECIAL: u64 = 1 << Code::UNUSED;
    /// There are two codes.
    const TWO: u64 = Self::SPECIAL << 32;
    /// An escape, a longer code, or an undefined one. The codes stored for it are discarded.
    const OTHER: u64 = Self::SPECIAL | 1 << Code::FIRST;
    /// The end of the block without a code: steps back from the position behind the last code.
    const NO_CODE: u64 = Self::SPECIAL | (1 << Code::FIRST | 0x7f << Code::POSITION) << 32;

    /// The step for `bits`.
    const fn new(bits: u32, table: &Coefficients) -> Self {
        let (first, rest) = Self::split(bits, 0, table);
        if matches!(first.kind(), CodeKind::EndOfBlock) {
            return Self(Self::NO_CODE);
        }
        if !matches!(first.kind(), CodeKind::Coefficient) || rest > Self::WIDTH {
            return Self(Self::OTHER);
        }
        let word = Self::word(first.level(), first.run(), first.bits()) as u64;
        let (second, rest) = Self::split(bits, rest, table);
        if rest > Self::WIDTH {
            return Self(word << 32 | word);
        }
        match second.kind() {
            CodeKind::EndOfBlock => Self(Self::SPECIAL | word << 32 | word),
            CodeKind::Escape | CodeKind::Invalid => Self(word << 32 | word),
            CodeKind::Coefficient => {
                let run = first.run() + 1 + second.run();
                let both = Self::word(second.level(), run, first.bits() + second.bits()) as u64;
                let (third, rest) = Self::split(bits, rest, table);
                let ends = rest <= Self::WIDTH && matches!(third.kind(), CodeKind::EndOfBlock);
                Self(if ends { Self::SPECIAL } else { 0 } | Self::TWO | both << 32 | word)
            }
        }
    }

    /// The code behind `skipped` bits, and where it ends.
    pub(crate) const fn split(bits: u32, skipped: u32, table: &Coefficients) -> (RunLevel, u32) {
        let left = bits << skipped & ((1 << Self::WIDTH) - 1);
        let code = table.at(left << (LEADING + LONG - Self::WIDTH));
        (code, skipped + code.bits())
    }

    /// Fields of a code, to be added to the position where it begins.
    pub(crate) const fn word(level: i16, run: u32, bits: u32) -> u32 {
        (level as u32) << Code::LEVEL | run << Code::POSITION | bits << Code::END
    }

    /// Fields up to the first code.
    #[inline]
    pub(crate) const fn first(self) -> u32 {
        self.0 as u32
    }

    /// Fields up to the last code.
    #[inline]
    pub(crate) const fn last(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// True for one or two codes without an end.
    #[inline]
    pub(crate) const fn is_plain(self) -> bool {
        self.0 & Self::SPECIAL == 0
    }

    #[inline]
    pub(crate) const fn codes(self) -> usize {
        let last = self.last();
        1 + (last >> Code::UNUSED & 1) as usize - (last >> Code::FIRST & 1) as usize
    }

    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        self.last() >> Code::END & 0x3f
    }

    /// True where a step that is not plain ends the block.
    #[inline]
    pub(crate) const fn ends(self) -> bool {
        self.first() & 1 << Code::FIRST == 0
    }
}

/// Decodes and encodes run-level codes of table B.14 or B.15 (with B.16, the escapes).
#[derive(Debug)]
pub(crate) struct Coefficients {
    short: [RunLevel; 1 << SHORT],
    long: [RunLevel; 1 << LONG],
    steps: [DecodedBits; 1 << DecodedBits::WIDTH],
    encode: [[(u16, u8); ESCAPE_LEVEL]; 32],
    end_of_block: (u16, u8),
}

/// Table B.14.
pub(crate) static TABLE_ZERO: Coefficients =
    Coefficients::new(&table::ZERO, table::END_OF_BLOCK_ZERO).with_steps();
/// Table B.15.
pub(crate) static TABLE_ONE: Coefficients =
    Coefficients::new(&table::ONE, table::END_OF_BLOCK_ONE).with_steps();

impl Coefficients {
    const fn new(own: &[table::Entry], end_of_block: &str) -> Self {
        let none = RunLevel::new(CodeKind::Invalid, 0, 0, 0);
        let mut built = Self {
            short: [none; 1 << SHORT],
            long: [none; 1 << LONG],
            steps: [DecodedBits(DecodedBits::OTHER); 1 << DecodedBits::WIDTH],
            encode: [[(0, 0); ESCAPE_LEVEL]; 32],
            end_of_block: parse_code(end_of_block),
        };
        built = built.with_marker(end_of_block, CodeKind::EndOfBlock);
        built = built.with_marker(table::ESCAPE, CodeKind::Escape);
        built.with_entries(own).with_entries(&table::COMMON)
    }

    const fn with_entries(mut self, entries: &[table::Entry]) -> Self {
        let mut i = 0;
        while i < entries.len() {
            let (run, level, code) = entries[i];
            let (pattern, bits) = parse_code(code);
            self.encode[run as usize][level as usize] = (pattern, bits);
            let positive = RunLevel::new(CodeKind::Coefficient, run, level as i8, bits + 1);
            let negative = RunLevel::new(CodeKind::Coefficient, run, -(level as i8), bits + 1);
            self = self.with_code(pattern << 1, positive).with_code(pattern << 1 | 1, negative);
            i += 1;
        }
        self
    }

    const fn with_marker(self, code: &str, kind: CodeKind) -> Self {
        let (pattern, bits) = parse_code(code);
        self.with_code(pattern, RunLevel::new(kind, 0, 0, bits))
    }

    /// Enters a code of `entry.bits` bits wherever it is the prefix.
    const fn with_code(mut self, pattern: u16, entry: RunLevel) -> Self {
        let bits = entry.bits();
        let pattern = pattern as usize;
        let is_short = bits <= SHORT && pattern >> (bits.saturating_sub(LEADING)) > 0;
        let spare = if is_short { SHORT - bits } else { LEADING + LONG - bits };
        let mut slot = pattern << spare;
        while slot < (pattern + 1) << spare {
            if is_short {
                self.short[slot] = entry;
            } else {
                self.long[slot] = entry;
            }
            slot += 1;
        }
        self
    }

    /// Fills the lookup of steps.
    const fn with_steps(mut self) -> Self {
        let mut bits = 0;
        while bits < 1 << DecodedBits::WIDTH {
            self.steps[bits] = DecodedBits::new(bits as u32, &self);
            bits += 1;
        }
        self
    }

    /// The step at the reader's position; it is not skipped. 12 bits must be available.
    #[inline]
    pub(crate) fn peek_step(&self, reader: &BitReader<'_>) -> DecodedBits {
        self.steps[reader.peek(DecodedBits::WIDTH) as usize]
    }

    /// The code at the reader's position; it is not skipped. 17 bits must be available.
    #[inline]
    pub(crate) fn peek(&self, reader: &BitReader<'_>) -> RunLevel {
        self.at(reader.peek(LEADING + LONG))
    }

    const fn at(&self, bits: u32) -> RunLevel {
        if bits >> LONG != 0 {
            self.short[(bits >> (LEADING + LONG - SHORT)) as usize]
        } else {
            self.long[bits as usize]
        }
    }

    /// Length of `End of block` in bits.
    #[inline]
    pub(crate) fn end_of_block_bits(&self) -> u32 {
        u32::from(self.end_of_block.1)
    }

    #[inline]
    pub(crate) fn write_end_of_block(&self, writer: &mut BitWriter) {
        let (bits, length) = self.end_of_block();
        writer.put(bits, length);
    }

    /// The end of a block and its length.
    #[inline]
    pub(crate) fn end_of_block(&self) -> (u32, u32) {
        (u32::from(self.end_of_block.0), u32::from(self.end_of_block.1))
    }

    /// Length in bits of a code, sign included; 0 where it needs an escape.
    #[inline]
    pub(crate) fn length(&self, run: u32, magnitude: u32) -> u32 {
        match self.encode.get(run as usize).and_then(|row| row.get(magnitude as usize)) {
            Some(&(_, bits)) if bits > 0 => u32::from(bits) + 1,
            _ => 0,
        }
    }

    /// Bits of the codes of a block, with its end; an escape of MPEG-1 counts as one of MPEG-2.
    pub(crate) fn block_bits(&self, codes: &[Code], intra: bool) -> u32 {
        let (mut next, mut bits) = (u32::from(intra), self.end_of_block_bits());
        for code in codes {
            let (position, magnitude) = (u32::from(code.position()), u32::from(code.level().unsigned_abs()));
            bits += match self.length(position - next, magnitude) {
                _ if position == 0 && magnitude == 1 => 2,
                0 => 24,
                bits => bits,
            };
            next = position + 1;
        }
        bits
    }

    /// The bits of a code and its length, sign included; `None` where it needs an escape.
    #[inline(always)]
    pub(crate) fn code(&self, run: u32, level: i32) -> Option<(u32, u32)> {
        let &(pattern, bits) = self.encode.get(run as usize)?.get(level.unsigned_abs() as usize)?;
        (bits > 0).then(|| (u32::from(pattern) << 1 | u32::from(level < 0), u32::from(bits) + 1))
    }
}

/// Lengths of the codes of intra blocks with both tables, by run and [`Code::magnitude`]: with table B.14 in the lower half of a word and
/// with B.15 in the upper one, so that both are added at once. An escape has the length of one of MPEG-2.
#[derive(Debug)]
pub(crate) struct IntraLengths([[u32; Code::MAGNITUDES]; 64]);

pub(crate) static INTRA_LENGTHS: IntraLengths = IntraLengths::new([&TABLE_ZERO, &TABLE_ONE]);

impl IntraLengths {
    const ESCAPE: u32 = 24;

    const fn new(tables: [&Coefficients; 2]) -> Self {
        let mut built = Self([[Self::ESCAPE << 16 | Self::ESCAPE; Code::MAGNITUDES]; 64]);
        let mut at = 0;
        while at < 32 * ESCAPE_LEVEL {
            let (run, magnitude) = (at / ESCAPE_LEVEL, at % ESCAPE_LEVEL);
            let [zero, one] = tables;
            built.0[run][magnitude] =
                Self::bits(one.encode[run][magnitude].1) << 16 | Self::bits(zero.encode[run][magnitude].1);
            at += 1;
        }
        built
    }

    /// Length of a code without its sign; 0 for none.
    const fn bits(length: u8) -> u32 {
        if length > 0 { length as u32 + 1 } else { Self::ESCAPE }
    }

    /// Bits of the codes of an intra block with table B.14, and with B.15, and of its end.
    pub(crate) fn block_bits(&self, codes: &[Code]) -> [u32; 2] {
        let (mut next, mut bits) = (1, 0);
        for code in codes {
            let position = usize::from(code.position());
            let run = position.wrapping_sub(std::mem::replace(&mut next, position + 1)) % 64;
            bits += self.0[run][usize::from(code.magnitude())];
        }
        [(bits & 0xffff) + TABLE_ZERO.end_of_block_bits(), (bits >> 16) + TABLE_ONE.end_of_block_bits()]
    }
}

/// The table of a block's run-level codes.
pub(crate) fn coefficients(context: &PictureContext, intra: bool) -> &'static Coefficients {
    intra_coefficients(intra && context.coding.intra_vlc_format)
}

/// The table of an intra block for this `intra_vlc_format`.
pub(crate) fn intra_coefficients(intra_vlc_format: bool) -> &'static Coefficients {
    if intra_vlc_format { &TABLE_ONE } else { &TABLE_ZERO }
}

/// The `intra_vlc_format` whose table takes fewer bits, the `present` one where both take as many; and how many fewer.
pub(crate) fn cheaper_intra_table(present: bool, bits: [u64; 2]) -> (bool, u64) {
    let [now, other] = [present, !present].map(|format| bits[usize::from(format)]);
    if other < now { (!present, now - other) } else { (present, 0) }
}

/// Bits and length of a code given as text.
const fn parse_code(code: &str) -> (u16, u8) {
    let text = code.as_bytes();
    let mut pattern = 0;
    let mut i = 0;
    while i < text.len() {
        pattern = pattern << 1 | (text[i] - b'0') as u16;
        i += 1;
    }
    (pattern, text.len() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escapes, the short first code of a block that is not intra, and the end.
    #[test]
    fn bits_of_a_block_are_those_of_its_codes() {
        let codes = [Code::new(1, 0), Code::new(-3, 2), Code::new(100, 40)];
        // `1s`; run 1, level 3: 0010 0101 s; an escape; `10`.
        assert_eq!(TABLE_ZERO.block_bits(&codes, false), 2 + 9 + 24 + 2);
        // Run 1, level 3 in table B.15: 1111 001 s; an escape; `0110`.
        assert_eq!(TABLE_ONE.block_bits(&codes[1..], true), 8 + 24 + 4);
    }

    #[test]
    fn bits_of_an_intra_block_are_those_of_either_table() {
        let codes = [(-1, 1), (3, 3), (-40, 4), (41, 6), (2000, 9), (-15, 40), (1, 63)];
        let codes = codes.map(|(level, position)| Code::new(level, position));
        for count in 0..=codes.len() {
            let either = [&TABLE_ZERO, &TABLE_ONE].map(|table| table.block_bits(&codes[..count], true));
            assert_eq!(INTRA_LENGTHS.block_bits(&codes[..count]), either);
        }
    }

    #[test]
    fn the_table_changes_only_where_that_saves_bits() {
        assert_eq!(cheaper_intra_table(false, [100, 90]), (true, 10));
        assert_eq!(cheaper_intra_table(true, [100, 90]), (true, 0));
        assert_eq!(cheaper_intra_table(true, [90, 100]), (false, 10));
        assert_eq!(
            [false, true].map(|present| cheaper_intra_table(present, [7; 2])),
            [(false, 0), (true, 0)]
        );
    }

    /// Every run and level of a table is read back.
    #[test]
    fn coefficients_round_trip() {
        for coefficients in [&TABLE_ZERO, &TABLE_ONE] {
            let mut count = 0;
            for run in 0..64 {
                for level in (-64..=64i32).filter(|&level| level != 0) {
                    let Some((word, bits)) = coefficients.code(run, level) else {
                        assert_eq!(coefficients.length(run, level.unsigned_abs()), 0);
                        continue;
                    };
                    count += 1;
                    assert_eq!(bits, coefficients.length(run, level.unsigned_abs()));
                    let bytes = (word << (32 - bits)).to_be_bytes();
                    let code = coefficients.peek(&BitReader::new(&bytes));
                    assert_eq!(
                        (code.run(), code.level(), code.bits(), code.kind()),
                        (run, level as i16, bits, CodeKind::Coefficient)
                    );
                }
            }
            assert_eq!(count, 2 * 111, "table B.14 and B.15 have 111 pairs each");
        }
    }

    /// A step holds the same as its codes one by one.
    #[test]
    fn steps_equal_single_codes() {
        for table in [&TABLE_ZERO, &TABLE_ONE] {
            for bits in 0..1u32 << DecodedBits::WIDTH {
                let bytes = (bits << (32 - DecodedBits::WIDTH)).to_be_bytes();
                let mut reader = BitReader::new(&bytes);
                let step = table.peek_step(&reader);
                let (mut count, mut sum, mut position) = (0, 0, 0);
                let mut words = [0; 2];
                let left = |sum: u32, code: RunLevel| sum + code.bits() <= DecodedBits::WIDTH;
                let mut code = table.peek(&reader);
                while count < 2 && code.kind() == CodeKind::Coefficient && left(sum, code) {
                    sum += code.bits();
                    position += code.run();
                    words[count..].fill(DecodedBits::word(code.level(), position, sum));
                    position += 1;
                    count += 1;
                    reader.skip(code.bits());
                    code = table.peek(&reader);
                }
                let ends = code.kind() == CodeKind::EndOfBlock && left(sum, code);
                assert_eq!(step.is_plain(), count > 0 && !ends, "{bits:012b}");
                if count > 0 || ends {
                    let spare = !(1 << Code::UNUSED);
                    assert_eq!((step.codes(), step.bits()), (count, sum), "{bits:012b}");
                    assert!(
                        count == 0 || [step.first() & spare, step.last() & spare] == words,
                        "{bits:012b}"
                    );
                }
                assert_eq!(!step.is_plain() && step.ends(), ends, "{bits:012b}");
            }
        }
    }

    #[test]
    fn markers_are_recognised() {
        let kind = |table: &Coefficients, byte| table.peek(&BitReader::new(&[byte, 0, 0])).kind();
        assert_eq!(kind(&TABLE_ZERO, 0b1000_0000), CodeKind::EndOfBlock);
        assert_eq!(kind(&TABLE_ONE, 0b0110_0000), CodeKind::EndOfBlock);
        assert_eq!(kind(&TABLE_ZERO, 0b0000_0100), CodeKind::Escape);
        assert_eq!(kind(&TABLE_ONE, 0b0000_0100), CodeKind::Escape);
        assert_eq!(kind(&TABLE_ZERO, 0), CodeKind::Invalid);
        assert_eq!(kind(&TABLE_ONE, 0), CodeKind::Invalid);
    }

    fn round_trip<const SIZE: usize>(lookup: &Lookup<SIZE>, entries: &[mb::Entry]) {
        for &(value, code) in entries {
            let mut writer = BitWriter::default();
            lookup.write(&mut writer, value);
            assert_eq!(writer.bit_length(), code.len());
            assert_eq!(lookup.length(value) as usize, code.len());
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            assert_eq!(lookup.read(&mut reader), Some(value));
            assert_eq!(reader.position(), code.len());
        }
    }

    #[test]
    fn macroblock_codes_round_trip() {
        round_trip(&ADDRESS_INCREMENT, &mb::ADDRESS_INCREMENT);
        round_trip(&TYPE_I, &mb::TYPE_I);
        round_trip(&TYPE_P, &mb::TYPE_P);
        round_trip(&TYPE_B, &mb::TYPE_B);
        round_trip(&TYPE_D, &mb::TYPE_D);
        round_trip(&PATTERN_420, &mb::PATTERN_420);
        round_trip(&MOTION, &mb::MOTION);
        round_trip(&DC_SIZE_LUMA, &mb::DC_SIZE_LUMA);
        round_trip(&DC_SIZE_CHROMA, &mb::DC_SIZE_CHROMA);
    }
}
