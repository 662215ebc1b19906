//! Rate-distortion curves of clusters, reduced to their convex hulls.

use super::config::Cluster;
use super::energy::Energy;
use crate::picture::{Macroblock, Picture};

/// Slopes are sorted into bins on a logarithmic scale, this many to the octave.
pub(crate) const BINS_PER_OCTAVE: i32 = 32;
/// Number of bins.
pub(crate) const BINS: usize = 1024;
/// The slope where bin 1 begins is 2 to this power; bin 0 holds what is not worth any bit.
const LOWEST_OCTAVE: i32 = -8;

/// A step on a cluster's hull: for `bits` more it keeps `breakpoint` codes a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) bits: u32,
    /// Bin of its slope; never rises along a cluster.
    pub(crate) bin: u16,
    pub(crate) breakpoint: u8,
    /// Squared error that it prevents.
    pub(crate) worth: f32,
}

/// The hulls of all clusters of a picture, each from its smallest breakpoint upwards.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curves {
    pub(crate) segments: Vec<Segment>,
    /// For each cluster, one past its last segment.
    pub(crate) ends: Vec<u32>,
    /// Bits of all codes that can be dropped.
    pub(crate) total_bits: u64,
    /// Worth of all codes that can be dropped.
    pub(crate) total_worth: f32,
    /// The hull in the making.
    stack: Vec<Stretch>,
}

/// A stretch of a cluster's curve.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    bits: u32,
    worth: f32,
    breakpoint: u8,
}

impl Stretch {
    fn is_steeper_than(&self, next: &Self) -> bool {
        self.worth * next.bits as f32 > next.worth * self.bits as f32
    }
}

/// What a code is worth.
pub(crate) enum Worth<'a> {
    /// The squared error it prevents.
    Energy(&'a Energy),
    /// The same with an error that is already there; by code of the picture.
    Given(&'a [f32]),
    /// The same, for the report; clusters keep equal shares of their bits whatever the codes are worth.
    Share(&'a Energy),
}

/// Bits and worth of the codes that each breakpoint adds, over the blocks of a cluster.
struct Steps {
    bits: [u32; 65],
    worth: [f32; 65],
    /// One past the highest breakpoint that adds anything.
    end: usize,
}

impl Curves {
    /// One cluster with these segments.
    #[cfg(test)]
    pub(crate) fn of(segments: Vec<Segment>) -> Self {
        let ends = vec![segments.len() as u32];
        Self { segments, ends, ..Self::default() }
    }

    /// Fills the curves for a picture. With `smallest` 0, blocks other than intra may lose all codes.
    pub(crate) fn build(&mut self, picture: &Picture, cluster: Cluster, smallest: u8, worth: &Worth<'_>) {
        self.segments.clear();
        self.ends.clear();
        self.total_bits = 0;
        self.total_worth = 0.0;
        let mut steps = Steps { bits: [0; 65], worth: [0.0; 65], end: 0 };
        let mut open = false;
        for_each_block(picture, cluster, |first, _, macroblock, index| {
            if first && std::mem::replace(&mut open, true) {
                self.close(&mut steps, matches!(worth, Worth::Share(_)));
            }
            steps.add(picture, macroblock, index, smallest, worth);
        });
        if open {
            self.close(&mut steps, matches!(worth, Worth::Share(_)));
        }
    }

    /// Ends a cluster.
    fn close(&mut self, steps: &mut Steps, share: bool) {
        if share {
            self.push_shares(steps);
        } else {
            self.push_hull(steps);
        }
        self.ends.push(self.segments.len() as u32);
        steps.end = 0;
    }

    fn push_hull(&mut self, steps: &mut Steps) {
        let stack = &mut self.stack;
        stack.clear();
        for step in 0..steps.end {
            let (bits, worth) = steps.take(step);
            let mut next = Stretch { bits, worth, breakpoint: step as u8 + 1 };
            if next.bits == 0 {
                continue;
            }
            self.total_bits += u64::from(next.bits);
            self.total_worth += next.worth;
            // What is steeper than the stretch before it is taken together with it.
            while let Some(before) = stack.last().filter(|before| !before.is_steeper_than(&next)) {
                next.bits += before.bits;
                next.worth += before.worth;
                stack.pop();
            }
            stack.push(next);
        }
        self.segments.extend(stack.iter().map(|&Stretch { bits, worth, breakpoint }| Segment {
            bits,
            bin: bin_of(worth / bits as f32),
            breakpoint,
            worth,
        }));
    }

    /// A breakpoint is taken once the share reaches what it takes of the cluster's bits.
    fn push_shares(&mut self, steps: &mut Steps) {
        let total: u32 = steps.bits[..steps.end].iter().sum();
        self.total_bits += u64::from(total);
        let mut sum = 0;
        for step in 0..steps.end {
            let (bits, worth) = steps.take(step);
            if bits == 0 {
                continue;
            }
            sum += bits;
            let share = u64::from(sum) * (BINS as u64 - 2) / u64::from(total);
            let bin = (BINS as u64 - 1 - share) as u16;
            self.total_worth += worth;
            self.segments.push(Segment { bits, bin, breakpoint: step as u8 + 1, worth });
        }
    }
}

impl Steps {
    /// Empties a step.
    #[inline]
    fn take(&mut self, step: usize) -> (u32, f32) {
        (std::mem::take(&mut self.bits[step]), std::mem::take(&mut self.worth[step]))
    }

    #[inline]
    fn add(
        &mut self,
        picture: &Picture,
        macroblock: &Macroblock,
        index: usize,
        smallest: u8,
        worth: &Worth<'_>,
    ) {
        let block = &picture.blocks[index];
        // The DC of an intra block counts as its first code; it always stays.
        let first_step = usize::from(block.intra);
        let fixed = usize::from(smallest).saturating_sub(first_step);
        let codes = picture.codes_of(block);
        if codes.len() <= fixed {
            return;
        }
        let steps = first_step + fixed..first_step + codes.len();
        self.end = self.end.max(steps.end);
        let sums = self.bits[steps.clone()].iter_mut().zip(&mut self.worth[steps]).zip(&codes[fixed..]);
        match worth {
            Worth::Energy(energy) | Worth::Share(energy) => {
                let energy = energy.of_block(block.intra, block.is_chroma(), macroblock.quantiser);
                for ((bits, worth), code) in sums {
                    *bits += u32::from(code.bits);
                    *worth += energy.of(code.position, code.level);
                }
            }
            Worth::Given(given) => {
                let given = &given[block.codes()][fixed..];
                for (((bits, worth), code), given) in sums.zip(given) {
                    *bits += u32::from(code.bits);
                    *worth += given;
                }
            }
        }
        if fixed == 0 && !block.intra {
            // Without its codes the block has no end either.
            self.bits[0] += 2;
        }
    }
}

/// Calls `visit` with each block that can be shaped: whether a new cluster begins, the slice, the macroblock, and
/// the block.
#[inline]
pub(crate) fn for_each_block(
    picture: &Picture,
    cluster: Cluster,
    mut visit: impl FnMut(bool, usize, &Macroblock, usize),
) {
    let size = match cluster {
        Cluster::Macroblocks(size) => usize::from(size.get()),
        Cluster::Block => 0,
    };
    let mut in_cluster = 0;
    for (number, slice) in picture.slices.iter().enumerate().filter(|(_, slice)| slice.damage.is_none()) {
        for macroblock in &picture.macroblocks[slice.macroblocks.clone()] {
            let mut first = in_cluster == 0;
            for index in macroblock.block_range() {
                visit(first || size == 0, number, macroblock, index);
                first = false;
            }
            if macroblock.blocks > 0 {
                in_cluster = if in_cluster + 1 >= size { 0 } else { in_cluster + 1 };
            }
        }
    }
}

/// The bin of a slope. The exponent and the upper five bits of the fraction are the logarithm, near enough.
#[inline]
pub(crate) fn bin_of(slope: f32) -> u16 {
    const BASE: i32 = (127 + LOWEST_OCTAVE) * BINS_PER_OCTAVE;
    if slope <= 0.0 {
        return 0;
    }
    ((slope.to_bits() >> 18) as i32 - BASE + 1).clamp(1, BINS as i32 - 1) as u16
}

/// The smallest slope of a bin.
pub(crate) fn slope_of(bin: usize) -> f64 {
    const BASE: u32 = (127 + LOWEST_OCTAVE) as u32 * BINS_PER_OCTAVE as u32;
    if bin == 0 { 0.0 } else { f64::from(f32::from_bits((bin as u32 - 1 + BASE) << 18)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_order_slopes() {
        assert_eq!(bin_of(-1.0), 0);
        assert_eq!(bin_of(0.0), 0);
        assert_eq!(bin_of(2.0) - bin_of(1.0), BINS_PER_OCTAVE as u16);
        for bin in 1..BINS {
            assert_eq!(usize::from(bin_of(slope_of(bin) as f32)), bin);
        }
    }
}
