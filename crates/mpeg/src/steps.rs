//! Codes of non-intra blocks, looked up several at a time, with the ends of blocks among them: a reader that knows how
//! many blocks follow needs no branch at the end of each.

use crate::picture::Code;
use crate::vlc::{CodeKind, Coefficients, DecodedBits, RunLevel, TABLE_ZERO};

/// The next bits, decoded as far as they reach: up to two codes and the end of the block. From bit 0 up: six bits of
/// length, six unused, one that is set where the block ends, and the number of codes. The last bit is set for an escape, a
/// longer code, or an undefined one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step(u16);

impl Step {
    /// Number of bits that are decoded at once.
    pub(crate) const WIDTH: u32 = DecodedBits::WIDTH;
    /// The bit at an end. It begins the index of the next step, [`Steps::at`].
    pub(crate) const END: u32 = 1 << Self::WIDTH;
    const CODES: u32 = Self::WIDTH + 1;
    const OTHER: Self = Self(1 << 15);

    const fn new(bits: u32, codes: u32, ends: bool) -> Self {
        Self((bits | codes << Self::CODES | (ends as u32 * Self::END)) as u16)
    }

    /// Its length in the lowest six bits.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// The number of its codes, where it is no other step.
    #[inline(always)]
    pub(crate) const fn codes(self) -> usize {
        (self.0 >> Self::CODES) as usize
    }

    /// True for an escape, a longer code, or an undefined one.
    #[inline(always)]
    pub(crate) const fn is_other(self) -> bool {
        self.0 & Self::OTHER.0 != 0
    }

    /// [`Step::END`] where the block ends, else 0.
    #[inline(always)]
    pub(crate) const fn end(self) -> u32 {
        self.0 as u32 & Self::END
    }
}

/// Steps by whether they begin a block, and by the next bits.
#[derive(Debug)]
pub(crate) struct Steps {
    steps: [Step; Steps::SIZE],
    /// Two words of fields as in [`Code`], to be added to the position where a step begins: the lower one for its first
    /// code, the upper one for its last.
    codes: [u64; Steps::SIZE],
}

/// Steps of table B.14.
pub(crate) static STEPS: Steps = Steps::new(&TABLE_ZERO);

impl Steps {
    const SIZE: usize = 2 << Step::WIDTH;
    /// The end of the block without a code: steps back from the position behind the last code.
    const NO_CODE: u64 = (0x7f << Code::POSITION) << 32;

    const fn new(table: &Coefficients) -> Self {
        let mut built = Self { steps: [Step::OTHER; Self::SIZE], codes: [0; Self::SIZE] };
        let mut index = 0;
        while index < Self::SIZE {
            (built.steps[index], built.codes[index]) = Self::decode(index as u32, table);
            index += 1;
        }
        built
    }

    const fn decode(index: u32, table: &Coefficients) -> (Step, u64) {
        let begins = index >> Step::WIDTH != 0;
        let bits = index & ((1 << Step::WIDTH) - 1);
        let one = RunLevel::new(CodeKind::Coefficient, 0, 1 - 2 * (bits >> (Step::WIDTH - 2) & 1) as i8, 2);
        // At the start of a block `1s` stands for `11s`.
        let is_one = begins && bits >> (Step::WIDTH - 1) != 0;
        let (first, length) = if is_one { (one, 2) } else { DecodedBits::split(bits, 0, table) };
        if matches!(first.kind(), CodeKind::EndOfBlock) {
            return (Step::new(length, 0, true), Self::NO_CODE);
        }
        if !matches!(first.kind(), CodeKind::Coefficient) || length > Step::WIDTH {
            return (Step::OTHER, 0);
        }
        let mark = if begins { 1 << Code::FIRST } else { 0 };
        let word = DecodedBits::word(first.level(), first.run(), first.bits()) as u64;
        let (second, both_length) = DecodedBits::split(bits, length, table);
        let one_code = word << 32 | word | mark;
        if both_length > Step::WIDTH {
            return (Step::new(length, 1, false), one_code);
        }
        match second.kind() {
            CodeKind::EndOfBlock => (Step::new(both_length, 1, true), one_code),
            CodeKind::Escape | CodeKind::Invalid => (Step::new(length, 1, false), one_code),
            CodeKind::Coefficient => {
                let run = first.run() + 1 + second.run();
                let last = DecodedBits::word(second.level(), run, first.bits() + second.bits()) as u64;
                let (third, all) = DecodedBits::split(bits, both_length, table);
                let ends = all <= Step::WIDTH && matches!(third.kind(), CodeKind::EndOfBlock);
                (Step::new(if ends { all } else { both_length }, 2, ends), last << 32 | word | mark)
            }
        }
    }

    /// The step for the next [`Step::WIDTH`] bits, and the fields up to its first and its last code; `begins` is
    /// [`Step::END`] at the start of a block, else 0.
    #[inline(always)]
    pub(crate) fn at(&self, begins: u32, bits: u32) -> (Step, [u32; 2]) {
        let index = (begins | bits) as usize % Self::SIZE;
        let codes = self.codes[index];
        (self.steps[index], [codes as u32, (codes >> 32) as u32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitReader, BitWriter};

    /// A step holds the same as its codes one by one.
    #[test]
    fn steps_equal_single_codes() {
        for begins in [0, 1] {
            for bits in 0..1u32 << Step::WIDTH {
                let (step, words) = STEPS.at(begins * Step::END, bits);
                let mut writer = BitWriter::default();
                // A code at the start of a block is as long as it is elsewhere, but for `1s`.
                let lead = begins & bits >> (Step::WIDTH - 1);
                writer.put(lead, lead);
                writer.put(bits, Step::WIDTH);
                let bytes = writer.finish();
                let mut reader = BitReader::new(&bytes);
                let (mut found, mut position, mut ends) = (Vec::new(), 0, false);
                let fits = |reader: &BitReader<'_>| reader.position() as u32 <= Step::WIDTH + lead;
                while found.len() < 3 && !ends {
                    reader.refill();
                    let code = TABLE_ZERO.peek(&reader);
                    reader.skip(code.bits());
                    if !fits(&reader) || matches!(code.kind(), CodeKind::Escape | CodeKind::Invalid) {
                        break;
                    }
                    ends = code.kind() == CodeKind::EndOfBlock;
                    if !ends {
                        position += code.run();
                        let end = reader.position() as u32 - lead;
                        found.push(DecodedBits::word(code.level(), position, end));
                        position += 1;
                    }
                }
                let ends = ends && found.len() < 3;
                found.truncate(2);
                assert_eq!(step.is_other(), found.is_empty() && !ends, "{begins} {bits:012b}");
                if !step.is_other() {
                    assert_eq!((step.codes(), step.end() != 0), (found.len(), ends), "{begins} {bits:012b}");
                }
                if let [first, .., last] | [first @ last] = found[..] {
                    assert_eq!(words, [first | begins << Code::FIRST, last], "{begins} {bits:012b}");
                    let length = (last >> Code::END & 0x7ff) + if ends { 2 } else { 0 };
                    assert_eq!(step.bits() & 0x3f, length, "{begins} {bits:012b}");
                }
            }
        }
    }
}
