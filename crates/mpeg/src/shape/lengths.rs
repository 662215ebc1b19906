//! Lengths of run-level codes, as the trellis adds them up.

use crate::picture::Code;
use crate::vlc::{Coefficients, TABLE_ONE, TABLE_ZERO};
use std::sync::LazyLock;

/// Units of costs in a bit. Costs are integers, because a sum of floats takes too long where each depends on the one before.
pub(super) const UNIT: i32 = 64;

/// Bits of the shortest code.
pub(super) const SHORTEST: u32 = 2;

/// Bits of codes by run and magnitude, escapes included, and of the codes with the magnitude below.
pub(super) struct Lengths {
    pairs: [[i32; 2]; Lengths::PLACES],
    /// The error of a step above which a code is kept as it is, in intra blocks and in others.
    keeps_above: [[f32; Lengths::CODES]; 2],
    /// Length of `End of block`.
    pub(super) end: u32,
}

static ZERO: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ZERO));
static ONE: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ONE));

/// The index of a code in the tables: 64 places for each run, one for each magnitude.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place(u16);

impl Place {
    /// Behind the last code of a block, at the end of any run; no code costs nothing.
    pub(super) const END: Self = Self((Lengths::RUNS * Code::MAGNITUDES) as u16);

    /// The code with its run longer by the runs and codes of `longer` places.
    #[inline(always)]
    pub(super) fn behind(self, longer: u16) -> Self {
        Self(self.0.wrapping_add(longer))
    }

    /// How much longer the next run becomes where this code is dropped.
    #[inline(always)]
    pub(super) fn length(self) -> u16 {
        (self.0 & !(Code::MAGNITUDES as u16 - 1)) + Code::MAGNITUDES as u16
    }
}

/// The position where a run begins, as an offset to subtract from the position of the code that ends it.
#[derive(Clone, Copy)]
pub(super) struct RunStart(u16);

impl RunStart {
    /// At the start of a block. In a non-intra block the first code has lengths of its own, in a table of its own.
    pub(super) fn start(intra: bool) -> Self {
        Self(if intra {
            Code::MAGNITUDES as u16
        } else {
            0u16.wrapping_sub((Lengths::FIRST * Code::MAGNITUDES) as u16)
        })
    }

    /// The place of the code at a position; the next run begins behind it.
    #[inline(always)]
    pub(super) fn pass(&mut self, position: u8, magnitude: u8) -> Place {
        let row = u16::from(position) * Code::MAGNITUDES as u16;
        let place = (row + u16::from(magnitude)).wrapping_sub(self.0);
        self.0 = row + Code::MAGNITUDES as u16;
        Place(place)
    }
}

impl Lengths {
    /// Runs of codes: 64, and from [`Lengths::FIRST`] on 64 of the first code of a non-intra block, where `1s` is (0, 1).
    const RUNS: usize = 128;
    const FIRST: usize = 64;
    const CODES: usize = Self::RUNS * Code::MAGNITUDES;
    /// With those of [`Place::END`].
    const PLACES: usize = 2 * Self::CODES;
    /// Length of an escape: 24 in MPEG-2; in MPEG-1 20 or 28, for which 24 is close enough.
    const ESCAPE: u32 = 24;
    /// Length for a level of 0, which has no code.
    const NONE: i32 = 1 << 26;

    fn new(table: &Coefficients) -> Self {
        let bits = |run: usize, magnitude: usize| match (run, magnitude) {
            (_, 0) => Self::NONE,
            (Self::FIRST, 1) => SHORTEST as i32 * UNIT,
            _ => match table.length((run % Self::FIRST) as u32, magnitude as u32) {
                0 => Self::ESCAPE as i32 * UNIT,
                bits => bits as i32 * UNIT,
            },
        };
        let pairs: [_; Self::PLACES] = std::array::from_fn(|index| {
            match (index / Code::MAGNITUDES, index % Code::MAGNITUDES) {
                // No code; the first place is the last one at which a block ends.
                (Self::RUNS.., _) | (_, 0) => [0; 2],
                (run, magnitude) => [bits(run, magnitude), bits(run, magnitude - 1)],
            }
        });
        // A level that is lowered loses a step of two half steps; one that is dropped, its square.
        let keeps_above = |offset: usize| {
            std::array::from_fn(|index| {
                let [high, low] = pairs[index].map(|length| length as f32);
                let half_steps = (2 * (index % Code::MAGNITUDES) + offset) as f32;
                (high - low).max(STEP * (high + TOGETHER * UNIT as f32) / (half_steps * half_steps))
            })
        };
        Self { keeps_above: [keeps_above(0), keeps_above(1)], pairs, end: table.end_of_block_bits() }
    }

    /// The lengths of table B.15, or of B.14.
    pub(super) fn of(one: bool) -> &'static Self {
        if one { &ONE } else { &ZERO }
    }

    /// Length of a code, and of one with the magnitude below, in units.
    #[inline(always)]
    pub(super) fn pair(&self, place: Place) -> [i32; 2] {
        self.pairs[usize::from(place.0) % Self::PLACES]
    }

    /// By [`Lengths::keeps_above`]: the weights of the blocks of a macroblock.
    #[inline(always)]
    pub(super) fn thresholds(&self, intra: bool) -> Thresholds<'_> {
        Thresholds(&self.keeps_above[usize::from(!intra)])
    }
}

/// The errors of a step above which codes are kept as they are, while the code before each is kept.
#[derive(Clone, Copy)]
pub(super) struct Thresholds<'a>(&'a [f32; Lengths::CODES]);

impl Thresholds<'_> {
    #[inline(always)]
    pub(super) fn of(self, place: Place) -> f32 {
        self.0[usize::from(place.0) % Lengths::CODES]
    }
}

/// The squared error of lowering a level by one, a step, in squares of half steps.
pub(super) const STEP: f32 = 4.0;
/// Bits that a code saves beyond its own, at most, where others are dropped with it.
const TOGETHER: f32 = 1.0;
