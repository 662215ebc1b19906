//! Unwraps the counters of packets.

/// Follows a counter of `BITS` bits: each number is taken for the one nearest to the highest seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceUnwrapper<const BITS: u32> {
    highest: u64,
}

impl<const BITS: u32> SequenceUnwrapper<BITS> {
    /// Begins at `first`, one whole turn above zero, so that there are numbers before it.
    pub(crate) fn new(first: u32) -> Self {
        Self { highest: (1 << BITS) + u64::from(first) }
    }

    /// Goes on from `highest`.
    pub(crate) fn at(highest: u64) -> Self {
        Self { highest }
    }

    /// The highest number seen.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Unwraps `number`; the highest seen does not change.
    pub(crate) fn peek(&self, number: u32) -> u64 {
        nearest::<BITS>(self.highest, number)
    }

    /// Unwraps `number`, and remembers it where it is the highest.
    pub(crate) fn next(&mut self, number: u32) -> u64 {
        let unwrapped = self.peek(number);
        self.reach(unwrapped);
        unwrapped
    }

    /// Remembers an unwrapped number where it is the highest.
    pub(crate) fn reach(&mut self, unwrapped: u64) {
        self.highest = self.highest.max(unwrapped);
    }
}

/// The value nearest to `near` whose low `BITS` bits are `number`.
pub(crate) fn nearest<const BITS: u32>(near: u64, number: u32) -> u64 {
    let ahead = number.wrapping_sub(near as u32) << (32 - BITS);
    let ahead = i64::from(ahead as i32 >> (32 - BITS));
    let value = near.wrapping_add_signed(ahead);
    // Nearly always the sum is in range, and the test for it is quicker.
    if (near | value) >> 63 == 0 { value } else { near.saturating_add_signed(ahead) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_both_ways() {
        let mut sequence = SequenceUnwrapper::<16>::new(65_534);
        let base = (1 << 16) + 65_534;
        assert_eq!(sequence.next(0), base + 2);
        assert_eq!(sequence.next(65_535), base + 1);
        assert_eq!(sequence.next(5), base + 7);
        assert_eq!(sequence.peek(40_000), base - 25_534);
        let mut frames = SequenceUnwrapper::<12>::new(4_095);
        assert_eq!(frames.next(0), 8_192);
        assert_eq!(SequenceUnwrapper::<32>::new(u32::MAX).next(0), 1 << 33);
    }

    #[test]
    fn never_below_zero_nor_beyond_the_most() {
        for (near, number, nearest_is) in [
            (3, 65_535, 0),
            (2, 65_534, 0),
            (3, 1, 1),
            (u64::MAX - 1, 1, u64::MAX),
            (u64::MAX - 1, 2, u64::MAX),
            (u64::MAX, 65_530, u64::MAX - 5),
        ] {
            assert_eq!(nearest::<16>(near, number), nearest_is, "{near} {number}");
        }
    }
}
