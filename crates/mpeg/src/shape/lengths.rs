//! Lengths of run-level codes, as the trellis adds them up.

use crate::picture::Code;
use crate::vlc::{Coefficients, TABLE_ONE, TABLE_ZERO};
use std::sync::LazyLock;

/// Bits of the shortest code.
pub(super) const SHORTEST: u32 = 2;

/// Bits of codes by run and magnitude, escapes included, and of the codes with the magnitude below.
pub(super) struct Lengths {
    pairs: [[f32; 2]; Lengths::RUNS * Code::MAGNITUDES],
    /// Length of `End of block`.
    pub(super) end: u32,
}

static ZERO: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ZERO));
static ONE: LazyLock<Lengths> = LazyLock::new(|| Lengths::new(&TABLE_ONE));

/// The position where a run begins, as an offset to subtract from the position of the code that ends it.
#[derive(Clone, Copy)]
pub(super) struct RunStart(pub(super) u32);

impl RunStart {
    /// Behind a code at a position.
    #[inline(always)]
    pub(super) fn behind(position: u8) -> Self {
        Self((u32::from(position) + 1) * Code::MAGNITUDES as u32)
    }

    /// At the start of a block. In a non-intra block the first code has lengths of its own, in a table of its own.
    pub(super) fn start(intra: bool) -> Self {
        if intra {
            Self::behind(0)
        } else {
            Self(0u32.wrapping_sub((Lengths::FIRST * Code::MAGNITUDES) as u32))
        }
    }
}

impl Lengths {
    /// Runs of the table: 64, and from [`Lengths::FIRST`] on 64 of the first code of a non-intra block, where `1s` is
    /// (0, 1).
    const RUNS: usize = 128;
    const FIRST: usize = 64;
    /// Length of an escape: 24 in MPEG-2; in MPEG-1 20 or 28, for which 24 is close enough.
    const ESCAPE: u32 = 24;
    /// Length for a level of 0, which has no code.
    const NONE: f32 = 1e9;

    fn new(table: &Coefficients) -> Self {
        let bits = |run: usize, magnitude: usize| match (run, magnitude) {
            (_, 0) => Self::NONE,
            (Self::FIRST, 1) => SHORTEST as f32,
            _ => match table.length((run % Self::FIRST) as u32, magnitude as u32) {
                0 => Self::ESCAPE as f32,
                bits => bits as f32,
            },
        };
        let pairs = std::array::from_fn(|index| {
            let (run, magnitude) = (index / Code::MAGNITUDES, index % Code::MAGNITUDES);
            [bits(run, magnitude), bits(run, magnitude.saturating_sub(1))]
        });
        Self { pairs, end: table.end_of_block_bits() }
    }

    /// The lengths of table B.15, or of B.14.
    pub(super) fn of(one: bool) -> &'static Self {
        if one { &ONE } else { &ZERO }
    }

    /// Bits of a code, and of one with the magnitude below, at a position at the end of a run.
    #[inline(always)]
    pub(super) fn pair(&self, position: u8, magnitude: u8, run: RunStart) -> [f32; 2] {
        let place = u32::from(position) * Code::MAGNITUDES as u32 + u32::from(magnitude);
        self.pairs[place.wrapping_sub(run.0) as usize % (Self::RUNS * Code::MAGNITUDES)]
    }
}
