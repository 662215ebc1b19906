//! Levels of a block before and after requantisation.

use super::energy::SQUARES;
use super::lengths::STEP;
use crate::picture::Code;
use std::sync::LazyLock;

/// The decision on the codes of a block, by bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    /// Codes that are kept.
    pub(super) kept: u64,
    /// Kept codes whose level is lowered by one.
    pub(super) lowered: u64,
}

impl Choice {
    pub(super) const ALL: Self = Self { kept: u64::MAX, lowered: 0 };
    pub(super) const NOTHING: Self = Self { kept: 0, lowered: 0 };
}

/// A level under a new quantiser scale. Squared errors are in squares of half steps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    /// The squared error without it.
    pub(super) energy: f32,
    /// The squared error that the nearest level of the new scale avoids, ...
    pub(super) gain: f32,
    /// ... and how much less the level below avoids.
    pub(super) loss: f32,
    /// The nearest level of the new scale.
    pub(super) nearest: i32,
}

impl Level {
    /// `offset` is 1 in non-intra blocks, where levels stand for the middle of their interval, and 0 in intra blocks.
    pub(super) fn new(magnitude: i32, offset: f32, [from, to]: [f32; 2]) -> Self {
        let value = (2.0 * magnitude as f32 + offset) * from;
        let nearest = (((value / to - offset) * 0.5 + 0.5) as i32).max(1);
        let error = value - (2.0 * nearest as f32 + offset) * to;
        let below = error + 2.0 * to;
        Self {
            energy: value * value,
            gain: value * value - error * error,
            // The level below 1 is none, so lowering never gains.
            loss: (below * below - error * error).max(0.0),
            nearest,
        }
    }
}

/// Magnitudes below this are looked up.
const LEVELS: usize = 32;
/// By magnitude.
pub(super) type Levels = [Level; LEVELS];

/// A level whose scale is unchanged.
#[derive(Debug, Clone, Copy)]
pub(super) struct SameLevel {
    /// The squared error without it, in steps: in squares of half steps over [`STEP`].
    pub(super) energy: f32,
    /// [`Code::magnitude`]
    pub(super) magnitude: u32,
}

/// By [`Code::level_index`].
pub(super) type SameLevels = [SameLevel; Code::LEVELS];

/// Levels in intra blocks, and in others.
pub(super) static SAME_LEVELS: LazyLock<[SameLevels; 2]> = LazyLock::new(|| {
    [0, 1].map(|class| {
        std::array::from_fn(|index| SameLevel {
            energy: SQUARES[class][index] / STEP,
            magnitude: u32::from(Code::new(Code::level_of(index) as i16, 0).magnitude()),
        })
    })
});

/// Tables for levels whose scale changes.
#[derive(Clone, Copy)]
pub(super) struct NewScale<'a> {
    pub(super) levels: &'a Levels,
    /// The scale of the input, and the new one.
    pub(super) scales: [f32; 2],
    pub(super) intra: bool,
}

impl NewScale<'_> {
    /// The level of a code, from the table or made in `high`. A copy would be stored at once and loaded in parts, for which the
    /// processor waits.
    #[inline(always)]
    pub(super) fn level<'a>(&'a self, code: Code, high: &'a mut Level) -> &'a Level {
        let magnitude = code.level().unsigned_abs();
        match self.levels.get(usize::from(magnitude)) {
            Some(level) => level,
            None => {
                *high = self.high_level(magnitude);
                high
            }
        }
    }

    #[cold]
    fn high_level(&self, magnitude: u16) -> Level {
        Level::new(i32::from(magnitude), f32::from(u8::from(!self.intra)), self.scales)
    }

    /// Appends the codes of a block that are kept, with their new levels.
    pub(super) fn recode(&self, out: &mut Vec<Code>, codes: &[Code], choice: Choice) {
        let mut left = choice.kept;
        let mut high = Level::default();
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(&code) = codes.get(i) else { break };
            let level = self.level(code, &mut high).nearest - (choice.lowered >> i & 1) as i32;
            out.push(Code::new(if code.level() < 0 { -level } else { level } as i16, code.position()));
        }
    }
}
