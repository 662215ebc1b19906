//! How much a coefficient weighs: the squared error that losing it adds.

use crate::header::PictureContext;

/// Squared reconstruction values by block class, scan position and quantiser scale (13818-2, 7.4.2.3; MPEG-1's
/// formula gives the same with its scale counted twice). Rounding and mismatch control are left out.
#[derive(Debug, Clone)]
pub(crate) struct Energy {
    /// `(W / 32)^2` by class (intra is 0 or 2, non-intra 1 or 3; chrominance adds 2) and scan position.
    weights: [[f32; 64]; 4],
    /// `quantiser_scale^2` by code.
    scales: [f32; 32],
}

impl Energy {
    pub(crate) fn new(context: &PictureContext) -> Self {
        let scan = context.scan();
        let weights = std::array::from_fn(|class| {
            let matrix = &context.matrices.matrices[class];
            scan.map(|position| square(f32::from(matrix[usize::from(position)]) / 32.0))
        });
        Self { weights, scales: context.quantiser_scales().map(|scale| square(f32::from(scale))) }
    }

    /// The weights of one block.
    #[inline]
    pub(crate) fn of_block(&self, intra: bool, chroma: bool, quantiser: u8) -> BlockEnergy<'_> {
        BlockEnergy {
            weights: &self.weights[usize::from(!intra) + 2 * usize::from(chroma)],
            scale: self.scales[usize::from(quantiser)],
            offset: i32::from(!intra),
        }
    }
}

/// [`Energy`] of the coefficients of one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockEnergy<'a> {
    weights: &'a [f32; 64],
    scale: f32,
    /// 1 in non-intra blocks: levels stand for the middle of their interval.
    offset: i32,
}

impl BlockEnergy<'_> {
    /// Squared reconstruction value of a level.
    #[inline]
    pub(crate) fn of(&self, position: u8, level: i16) -> f32 {
        let doubled = 2 * i32::from(level).abs() + self.offset;
        square(doubled as f32) * self.weights[usize::from(position & 63)] * self.scale
    }
}

fn square(value: f32) -> f32 {
    value * value
}
