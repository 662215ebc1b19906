//! The paths that survive in the trellis.

use std::hint::select_unpredictable;

/// What a path does with the codes of a run, the first in bit 0.
pub(super) trait Path: Copy + Default {
    /// A code is dropped, with this error, or its level lowered by one.
    fn drops(index: usize, error: i32) -> Self;
    fn lowers(index: usize, error: i32) -> Self;
    /// Both together; they are of different codes.
    fn with(self, other: Self) -> Self;
    /// This path, or the other one. A branch would be unpredictable.
    fn or(self, other: Self, takes_other: bool) -> Self;
    fn edits(self) -> Edits;
}

/// The codes that a path drops and lowers, by bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Edits {
    pub(super) dropped: u64,
    pub(super) lowered: u64,
    /// The error of both.
    pub(super) error: i32,
}

impl Path for Edits {
    #[inline(always)]
    fn drops(index: usize, error: i32) -> Self {
        Self { dropped: 1 << (index & 63), lowered: 0, error }
    }

    #[inline(always)]
    fn lowers(index: usize, error: i32) -> Self {
        Self { dropped: 0, lowered: 1 << (index & 63), error }
    }

    #[inline(always)]
    fn with(self, other: Self) -> Self {
        Self {
            dropped: self.dropped | other.dropped,
            lowered: self.lowered | other.lowered,
            error: self.error + other.error,
        }
    }

    #[inline(always)]
    fn or(self, other: Self, takes_other: bool) -> Self {
        Self {
            dropped: select_unpredictable(takes_other, other.dropped, self.dropped),
            lowered: select_unpredictable(takes_other, other.lowered, self.lowered),
            error: select_unpredictable(takes_other, other.error, self.error),
        }
    }

    #[inline(always)]
    fn edits(self) -> Edits {
        self
    }
}

/// [`Edits`] of a short run in one word, so that a path is chosen by one instruction. From bit 0 up: the error, with its sign,
/// then the codes dropped, then those lowered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShortPath(i64);

impl ShortPath {
    /// Bits of the error: a code has at most 2^22 units, so the sum has one bit to spare.
    const ERROR: u32 = 28;
    /// The most codes of a run.
    pub(super) const CODES: usize = 18;
}

impl Path for ShortPath {
    #[inline(always)]
    fn drops(index: usize, error: i32) -> Self {
        Self((1 << Self::ERROR << (index & 31)) + i64::from(error))
    }

    #[inline(always)]
    fn lowers(index: usize, error: i32) -> Self {
        Self((1i64 << Self::ERROR << Self::CODES << (index & 31)).wrapping_add(i64::from(error)))
    }

    #[inline(always)]
    fn with(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    #[inline(always)]
    fn or(self, other: Self, takes_other: bool) -> Self {
        Self(select_unpredictable(takes_other, other.0, self.0))
    }

    #[inline(always)]
    fn edits(self) -> Edits {
        let error = self.0 << (64 - Self::ERROR) >> (64 - Self::ERROR);
        let codes = (self.0.wrapping_sub(error) >> Self::ERROR) as u64;
        let all = (1 << Self::CODES) - 1;
        Edits { dropped: codes & all, lowered: codes >> Self::CODES & all, error: error as i32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::candidates::MOST;
    use proptest::prelude::*;

    fn path<P: Path>(steps: &[(u8, i32)]) -> Edits {
        let step = |path: P, (index, &(what, error)): (usize, &(u8, i32))| match what {
            0 => path,
            1 => path.with(P::drops(index, error)),
            _ => path.with(P::lowers(index, error)),
        };
        steps.iter().enumerate().fold(P::default(), step).edits()
    }

    proptest! {
        #[test]
        fn one_word_holds_a_short_path(
            steps in proptest::collection::vec((0u8..3, -MOST..=MOST), 0..=ShortPath::CODES),
        ) {
            prop_assert_eq!(path::<ShortPath>(&steps), path::<Edits>(&steps));
        }
    }

    #[test]
    fn one_word_holds_the_highest_errors() {
        for error in [MOST, -MOST] {
            for what in [1, 2] {
                let steps = [(what, error); ShortPath::CODES];
                assert_eq!(path::<ShortPath>(&steps), path::<Edits>(&steps));
            }
        }
    }
}
