//! Sequence numbers.

use std::ops::Add;

/// The number of a data packet: 31 bits, the first one follows the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sequence(u32);

impl Sequence {
    const MASK: u32 = 0x7fff_ffff;

    /// The number with these lower 31 bits.
    pub const fn new(value: u32) -> Self {
        Self(value & Self::MASK)
    }

    /// The number.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// How many packets this one is behind `earlier`; negative where it is before it.
    pub const fn since(self, earlier: Self) -> i32 {
        ((self.0.wrapping_sub(earlier.0) << 1) as i32) >> 1
    }
}

impl Add<u32> for Sequence {
    type Output = Self;
    fn add(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_at_31_bits() {
        let last = Sequence::new(u32::MAX);
        assert_eq!(last.value(), 0x7fff_ffff);
        assert_eq!((last + 3).value(), 2);
        assert_eq!((last + 3).since(last), 3);
        assert_eq!(last.since(last + 3), -3);
        assert_eq!(Sequence::new(0).since(Sequence::new(0x4000_0000)), -0x4000_0000);
    }
}
