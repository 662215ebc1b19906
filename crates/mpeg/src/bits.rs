//! Reading and writing single bits, most significant first.

/// Reads bits from borrowed bytes. Past the end it reads zeros; [`BitReader::overrun`] tells.
#[derive(Debug, Clone)]
pub struct BitReader<'a> {
    data: &'a [u8],
    next: usize,
    buffer: u64,
    available: u32,
}

impl<'a> BitReader<'a> {
    /// A reader at the first bit of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        let mut reader = Self { data, next: 0, buffer: 0, available: 0 };
        reader.refill();
        reader
    }

    /// A reader at bit `position` of `data`.
    pub fn at(data: &'a [u8], position: usize) -> Self {
        let mut reader = Self { data, next: position / 8, buffer: 0, available: 0 };
        reader.refill();
        reader.skip((position % 8) as u32);
        reader
    }

    /// Makes at least 56 bits available to [`BitReader::peek`] and [`BitReader::skip`].
    // The bits below `available` may already hold data of the next bytes: they are OR-ed again with the same
    // values, which lets a whole word be loaded without a loop.
    #[inline]
    pub fn refill(&mut self) {
        if let Some(chunk) = self.data.get(self.next..).and_then(<[u8]>::first_chunk::<8>) {
            self.buffer |= u64::from_be_bytes(*chunk) >> self.available;
            self.next += ((63 - self.available) >> 3) as usize;
            self.available |= 56;
        } else {
            self.refill_at_end();
        }
    }

    #[cold]
    fn refill_at_end(&mut self) {
        while self.available < 56 {
            let byte = self.data.get(self.next).copied().unwrap_or(0);
            self.buffer |= u64::from(byte) << (56 - self.available);
            self.next += 1;
            self.available += 8;
        }
    }

    /// The next `count` bits, 1 to 32, without going on. At least that many must be available.
    #[inline]
    pub fn peek(&self, count: u32) -> u32 {
        debug_assert!((1..=32).contains(&count) && count <= self.available);
        (self.buffer >> (64 - count)) as u32
    }

    /// Goes on by `count` available bits, at most 56.
    #[inline]
    pub fn skip(&mut self, count: u32) {
        debug_assert!(count <= self.available);
        self.buffer <<= count;
        self.available -= count;
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
        self.next * 8 - self.available as usize
    }

    /// True once bits past the end have been read.
    #[inline]
    pub fn overrun(&self) -> bool {
        self.position() > self.data.len() * 8
    }

    /// True where nothing but zero bits is left.
    pub fn only_zeros_left(&self) -> bool {
        let position = self.position();
        let Some(rest) = self.data.get(position / 8..) else { return true };
        let Some((&first, rest)) = rest.split_first() else { return true };
        first & (0xff >> (position % 8)) == 0 && rest.iter().all(|&byte| byte == 0)
    }
}

/// Appends bits to bytes. Keep it and [`BitWriter::clear`] it: the memory is used again.
#[derive(Debug, Clone, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    buffer: u64,
    filled: u32,
}

impl BitWriter {
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the lowest `count` bits of `value`, 0 to 32; the bits above must be zero.
    #[inline]
    pub fn put(&mut self, value: u32, count: u32) {
        debug_assert!(count <= 32 && u64::from(value) >> count == 0);
        self.buffer = (self.buffer << count) | u64::from(value);
        self.filled += count;
        if self.filled >= 32 {
            self.filled -= 32;
            self.bytes.extend_from_slice(&((self.buffer >> self.filled) as u32).to_be_bytes());
        }
    }

    /// Appends the bits `from..to` of `source`; what lies past its end reads as zero.
    pub fn copy(&mut self, source: &[u8], from: usize, to: usize) {
        let mut position = from;
        while position + 64 <= to {
            let word = word_at(source, position);
            // The bits that wait come first; as many of the word's last bits then wait.
            let waiting = (u128::from(self.buffer) << 64 | u128::from(word)) >> self.filled;
            self.bytes.extend_from_slice(&(waiting as u64).to_be_bytes());
            self.buffer = word;
            position += 64;
        }
        let rest = (to.max(position) - position) as u32;
        if rest > 32 {
            self.put((word_at(source, position) >> 32) as u32, 32);
            position += 32;
        }
        let rest = rest % 32 + if rest == 32 { 32 } else { 0 };
        if rest > 0 {
            self.put((word_at(source, position) >> (64 - rest)) as u32, rest);
        }
    }

    /// Fills the last byte with zero bits.
    pub fn align(&mut self) {
        self.put(0, self.bit_length().wrapping_neg() as u32 & 7);
        while self.filled > 0 {
            self.filled -= 8;
            self.bytes.push((self.buffer >> self.filled) as u8);
        }
    }

    /// Aligns, then appends whole bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.align();
        self.bytes.extend_from_slice(bytes);
    }

    /// Bits written so far.
    pub fn bit_length(&self) -> usize {
        self.bytes.len() * 8 + self.filled as usize
    }

    /// The whole bytes written so far; all of them once aligned.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.filled = 0;
    }

    /// Aligns and hands out the bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.align();
        self.bytes
    }
}

/// The 64 bits of `source` from bit `position` on.
#[inline]
fn word_at(source: &[u8], position: usize) -> u64 {
    let byte = position / 8;
    let shift = position % 8;
    let (word, next) = match source.get(byte..).and_then(<[u8]>::first_chunk::<9>) {
        Some(&[ref word @ .., next]) => (u64::from_be_bytes(*word), next),
        None => {
            let at = |i: usize| source.get(byte + i).copied().unwrap_or(0);
            ((0..8).fold(0, |word, i| word << 8 | u64::from(at(i))), at(8))
        }
    };
    word << shift | u64::from(next) >> (8 - shift)
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
            let mut writer = BitWriter::new();
            for &(value, count) in &fields {
                writer.put((u64::from(value) & ((1 << count) - 1)) as u32, count);
            }
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            for &(value, count) in &fields {
                prop_assert_eq!(u64::from(reader.bits(count)), u64::from(value) & ((1 << count) - 1));
            }
            prop_assert!(!reader.overrun());
        }

        #[test]
        fn copies_any_span(bytes in proptest::collection::vec(any::<u8>(), 1..60), shift in 0u32..32, a in 0usize..480, b in 0usize..480) {
            let (from, to) = (a.min(b).min(bytes.len() * 8), a.max(b).min(bytes.len() * 8));
            let mut writer = BitWriter::new();
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
