//! Reading and writing single bits, most significant first.

/// Reads bits from borrowed bytes. Past the end it reads zeros, and [`BitReader::overrun`] is true.
#[derive(Debug, Clone)]
pub struct BitReader<'a> {
    data: &'a [u8],
    position: usize,
    /// The bits from `position` on, at the top.
    word: u64,
}

impl<'a> BitReader<'a> {
    /// A reader at the first bit of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self::at(data, 0)
    }

    /// A reader at bit `position` of `data`.
    pub fn at(data: &'a [u8], position: usize) -> Self {
        Self { data, position, word: word_at(data, position) }
    }

    /// A reader at the same bit that needs a refill first. A copy with the bits would load at once what was just stored in parts,
    /// for which the processor waits.
    #[inline(always)]
    pub(crate) fn unfilled(&self) -> Self {
        Self { data: self.data, position: self.position, word: 0 }
    }

    /// Moves to the bit of another reader of the same bytes. It needs a refill then.
    #[inline(always)]
    pub(crate) fn move_to(&mut self, other: &Self) {
        self.position = other.position;
    }

    /// Makes at least 56 bits available to [`BitReader::peek`] and [`BitReader::skip`].
    #[inline]
    pub fn refill(&mut self) {
        self.word = word_at(self.data, self.position);
    }

    /// The next `count` bits, 1 to 32, without skipping them. So many must be available.
    #[inline]
    pub fn peek(&self, count: u32) -> u32 {
        debug_assert!((1..=32).contains(&count));
        (self.word >> (64 - count)) as u32
    }

    /// Skips `count` bits, at most 56, which must be available.
    #[inline]
    pub fn skip(&mut self, count: u32) {
        debug_assert!(count <= 56);
        self.word <<= count;
        self.position += count as usize;
    }

    /// Skips as many bits as the lowest six bits of `count` say, at most 56, which must be available.
    #[inline(always)]
    pub(crate) fn skip_lowest(&mut self, count: u32) {
        // The processor ignores the bits above in a shift.
        self.word = self.word.wrapping_shl(count);
        self.position += (count & 0x3f) as usize;
    }

    /// Inserts `count` ones, 0 or 1, before the next bit, until the next refill; with 1 the next bit must be one.
    #[inline]
    pub(crate) fn repeat_first(&mut self, count: u32) {
        debug_assert!(count == 0 || self.peek(1) == 1);
        self.word = self.word >> count | u64::from(count) << 63;
        self.position = self.position.wrapping_sub(count as usize);
    }

    /// Reads `count` bits, 1 to 32, refilling first.
    #[inline]
    pub fn bits(&mut self, count: u32) -> u32 {
        self.refill();
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// Reads one bit.
    #[inline]
    pub fn flag(&mut self) -> bool {
        self.bits(1) != 0
    }

    /// Bits read so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// True once bits past the end have been read.
    #[inline]
    pub fn overrun(&self) -> bool {
        self.position() > self.data.len() * 8
    }

    /// True where all remaining bits are zero.
    pub fn only_zeros_left(&self) -> bool {
        let position = self.position();
        let Some(rest) = self.data.get(position / 8..) else { return true };
        let Some((&first, rest)) = rest.split_first() else { return true };
        first & (0xff >> (position % 8)) == 0 && rest.iter().all(|&byte| byte == 0)
    }
}

/// Gathers short codes in a register: a [`BitWriter`] stores every write.
#[derive(Debug)]
pub(crate) struct Gathered<'a> {
    writer: &'a mut BitWriter,
    word: u64,
    count: u32,
}

impl<'a> Gathered<'a> {
    #[inline(always)]
    pub(crate) fn new(writer: &'a mut BitWriter) -> Self {
        Self { writer, word: 0, count: 0 }
    }

    /// As [`BitWriter::put`].
    #[inline(always)]
    pub(crate) fn put(&mut self, value: u32, count: u32) {
        if self.count + count > BitWriter::LONGEST {
            self.writer.put_long(self.word, self.count);
            (self.word, self.count) = (0, 0);
        }
        self.word = self.word << count | u64::from(value);
        self.count += count;
    }

    /// Writes what is gathered.
    #[inline(always)]
    pub(crate) fn finish(self) {
        self.writer.put_long(self.word, self.count);
    }
}

/// Appends bits to bytes. Reuse it with [`BitWriter::clear`] to keep its memory.
// Every write stores a whole word, whose last bytes the next write overwrites, so there is no branch on the number of
// pending bits.
#[derive(Debug, Clone, Default)]
pub struct BitWriter {
    /// The bytes written, and room for more.
    memory: Vec<u8>,
    /// Number of whole bytes written.
    length: usize,
    /// Pending bits at the top; zeros below.
    buffer: u64,
    /// Number of pending bits, 0 to 7.
    filled: u32,
}

impl BitWriter {
    /// The most bits of one write.
    const LONGEST: u32 = 56;

    /// Appends the lowest `count` bits of `value`, 0 to 32; the bits above must be zero.
    #[inline]
    pub fn put(&mut self, value: u32, count: u32) {
        debug_assert!(count <= 32);
        self.put_long(u64::from(value), count);
    }

    #[inline]
    fn put_long(&mut self, value: u64, count: u32) {
        debug_assert!(count <= Self::LONGEST && value >> count == 0);
        let total = self.filled + count;
        // In two steps, because a shift by 64 is undefined.
        let word = self.buffer | (value << 1) << (63 - total);
        match self.memory.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut) {
            Some(place) => *place = word.to_be_bytes(),
            None => self.grow(word),
        }
        self.length += total as usize / 8;
        self.buffer = word << (total & !7);
        self.filled = total & 7;
    }

    #[cold]
    fn grow(&mut self, word: u64) {
        self.memory.resize(2 * self.length + 4096, 0);
        self.memory[self.length..][..8].copy_from_slice(&word.to_be_bytes());
    }

    /// Appends the bits `from..to` of `source`; bits past its end are zero.
    #[inline]
    pub fn copy(&mut self, source: &[u8], from: usize, to: usize) {
        const STEP: usize = BitWriter::LONGEST as usize;
        let mut position = from;
        while position + STEP <= to {
            self.put_long(word_at(source, position) >> (64 - STEP), STEP as u32);
            position += STEP;
        }
        let rest = to.max(position) - position;
        self.put_long(word_at(source, position) >> 1 >> (63 - rest), rest as u32);
    }

    /// Fills the last byte with zero bits.
    pub fn align(&mut self) {
        self.put(0, self.filled.wrapping_neg() & 7);
    }

    /// Aligns, then appends whole bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.align();
        let end = self.length + bytes.len();
        if self.memory.len() < end {
            self.memory.resize(2 * end + 4096, 0);
        }
        self.memory[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Bits written so far.
    pub fn bit_length(&self) -> usize {
        self.length * 8 + self.filled as usize
    }

    /// The whole bytes written so far; everything where the writer is aligned.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    /// Clears it; keeps the memory.
    pub fn clear(&mut self) {
        (self.length, self.buffer, self.filled) = (0, 0, 0);
    }

    /// Aligns, and returns the bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.align();
        self.memory.truncate(self.length);
        self.memory
    }
}

/// At least 57 bits of `source` from bit `position` on, at the top of the word.
#[inline]
fn word_at(source: &[u8], position: usize) -> u64 {
    let byte = position / 8;
    let word = match source.get(byte..).and_then(<[u8]>::first_chunk) {
        Some(word) => u64::from_be_bytes(*word),
        None => word_at_end(source, byte),
    };
    word << (position % 8)
}

#[cold]
fn word_at_end(source: &[u8], byte: usize) -> u64 {
    (0..8).fold(0, |word, i| word << 8 | u64::from(source.get(byte + i).copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn past_the_end_reads_zeros() {
        let mut reader = BitReader::new(&[0xff]);
        assert_eq!(reader.bits(8), 0xff);
        assert!(!reader.overrun());
        assert!(reader.only_zeros_left());
        assert_eq!(reader.bits(32), 0);
        assert!(reader.overrun());
    }

    proptest! {
        #[test]
        fn what_was_put_is_read(fields in proptest::collection::vec((any::<u32>(), 1u32..=32), 0..200)) {
            let mut writer = BitWriter::default();
            for &(value, count) in &fields {
                writer.put((u64::from(value) & ((1 << count) - 1)) as u32, count);
            }
            let bytes = writer.finish();
            let mut writer = BitWriter::default();
            let mut gathered = Gathered::new(&mut writer);
            for &(value, count) in &fields {
                gathered.put((u64::from(value) & ((1 << count) - 1)) as u32, count);
            }
            gathered.finish();
            prop_assert_eq!(&writer.finish(), &bytes);
            let mut reader = BitReader::new(&bytes);
            for &(value, count) in &fields {
                prop_assert_eq!(u64::from(reader.bits(count)), u64::from(value) & ((1 << count) - 1));
            }
            prop_assert!(!reader.overrun());
        }

        #[test]
        fn copies_any_span(bytes in proptest::collection::vec(any::<u8>(), 1..60), shift in 0u32..32, a in 0usize..480, b in 0usize..480) {
            let (from, to) = (a.min(b).min(bytes.len() * 8), a.max(b).min(bytes.len() * 8));
            let mut writer = BitWriter::default();
            writer.put(0, shift);
            writer.copy(&bytes, from, to);
            prop_assert_eq!(writer.bit_length(), shift as usize + to - from);
            let copy = writer.finish();
            let (mut left, mut right) = (BitReader::at(&bytes, from), BitReader::at(&copy, shift as usize));
            for _ in from..to {
                prop_assert_eq!(left.flag(), right.flag());
            }
        }
    }
}
