//! Energy of coefficients: the squared error of dropping one.

use crate::header::PictureContext;
use crate::picture::Code;
use std::sync::LazyLock;

/// Squared reconstruction values by block class, scan position and quantiser scale (13818-2, 7.4.2.3; MPEG-1's formula
/// gives the same, because its scales are half of ours). Rounding and mismatch control are ignored.
#[derive(Debug, Clone)]
pub(crate) struct Energy {
    /// `(W / 32)^2` by class (intra is 0 or 2, non-intra 1 or 3; chrominance adds 2) and scan position.
    weights: [[f32; 64]; 4],
    /// `quantiser_scale^2` by code.
    scales: [f32; 32],
    squares: &'static [Squares; 2],
}

impl Energy {
    pub(crate) fn new(context: &PictureContext) -> Self {
        let scan = context.scan();
        let weights = std::array::from_fn(|class| {
            let matrix = &context.matrices.matrices[class];
            scan.map(|position| square(f32::from(matrix[usize::from(position)]) / 32.0))
        });
        let scales = context.quantiser_scales().map(|scale| square(f32::from(scale)));
        Self { weights, scales, squares: &SQUARES }
    }

    /// The table for one block.
    #[inline]
    pub(crate) fn of_block(&self, intra: bool, chroma: bool, quantiser: u8) -> BlockEnergy<'_> {
        BlockEnergy {
            weights: &self.weights[usize::from(!intra) + 2 * usize::from(chroma)],
            scale: self.scales[usize::from(quantiser)],
            squares: &self.squares[usize::from(!intra)],
        }
    }
}

/// [`Energy`] of the coefficients of one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockEnergy<'a> {
    weights: &'a [f32; 64],
    scale: f32,
    squares: &'a Squares,
}

impl BlockEnergy<'_> {
    /// Squared reconstruction value of a code.
    #[inline]
    pub(crate) fn of(&self, code: Code) -> f32 {
        self.squares[code.level_index()] * self.weights[usize::from(code.position())] * self.scale
    }
}

/// Squares of levels in half steps, by [`Code::level_index`].
pub(super) type Squares = [f32; Code::LEVELS];

/// Squares in intra blocks, and in others, where levels stand for the middle of their interval.
pub(super) static SQUARES: LazyLock<[Squares; 2]> = LazyLock::new(|| {
    [0, 1]
        .map(|offset| std::array::from_fn(|index| square((2 * Code::level_of(index).abs() + offset) as f32)))
});

fn square(value: f32) -> f32 {
    value * value
}
