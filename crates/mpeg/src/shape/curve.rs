//! Rate-distortion curves of clusters, reduced to their convex hulls.

use super::config::Cluster;
use super::energy::Energy;
use crate::picture::{Code, Macroblock, Picture};

/// Slopes are sorted into bins on a logarithmic scale, this many to the octave.
pub(crate) const BINS_PER_OCTAVE: i32 = 32;
/// Number of bins.
pub(crate) const BINS: usize = 1024;
/// The slope where bin 1 begins is 2 to this power; bin 0 holds what is not worth any bit.
const LOWEST_OCTAVE: i32 = -8;

/// A step on a cluster's hull: for `bits` more it keeps `breakpoint` codes a block.
#[derive(Debug, Clone, Copy, Default)]
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
    segments: Vec<Segment>,
    /// For each cluster, one past its last segment.
    pub(crate) ends: Vec<u32>,
    /// For each cluster, the breakpoint below its first segment.
    pub(crate) bases: Vec<u8>,
    /// For each cluster, the breakpoint that keeps all.
    pub(crate) tops: Vec<u8>,
    /// Bits of all codes that can be dropped.
    pub(crate) total_bits: u64,
    /// Worth of all codes that can be dropped.
    pub(crate) total_worth: f32,
    /// Bits and worth of what lies below the clusters' first segments.
    pub(crate) base_bits: u64,
    pub(crate) base_worth: f32,
    /// Bits of all segments.
    segment_bits: u64,
    /// Segments there are; what lies behind them is memory for more.
    filled: usize,
    /// The hull in the making.
    stack: Vec<Stretch>,
}

/// How many slopes a part of the curves is cut at.
pub(crate) const SLOPES: usize = 4;
/// The slopes, falling.
pub(crate) type Slopes = [f32; SLOPES];

/// Which part of the curves is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Extent {
    /// All of all.
    Whole,
    /// What lies between these slopes, in segments from each to the next. What is steeper stays, what is flatter goes.
    Slopes(Slopes),
    /// The whole curves of one macroblock in so many.
    Sample(usize),
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
    bits: [u32; 129],
    worth: [f32; 129],
    /// Bits and worth below each breakpoint.
    sums: [(u32, f32); 128],
    /// One past the highest breakpoint that adds anything.
    end: usize,
}

impl Curves {
    /// One cluster with these segments.
    #[cfg(test)]
    pub(crate) fn of(segments: Vec<Segment>) -> Self {
        let ends = vec![segments.len() as u32];
        Self { filled: segments.len(), segments, ends, bases: vec![0], ..Self::default() }
    }

    /// The segments of all clusters.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments[..self.filled]
    }

    /// True where a threshold for so many bits beyond the smallest breakpoints lies within the extent.
    pub(crate) fn reach(&self, bits: u64) -> bool {
        let reached = self.base_bits + self.segment_bits;
        self.base_bits <= bits && (bits < reached || reached == self.total_bits)
    }

    /// Fills the curves for a picture. With `smallest` 0, blocks other than intra may lose all codes. Slopes of whole
    /// curves are multiplied by `weights`, one a macroblock; none: by 1.
    pub(crate) fn build(
        &mut self,
        picture: &Picture,
        cluster: Cluster,
        smallest: u8,
        worth: &Worth<'_>,
        weights: &[f32],
        extent: &Extent,
    ) {
        self.ends.clear();
        self.bases.clear();
        self.tops.clear();
        (self.total_bits, self.base_bits, self.segment_bits) = (0, 0, 0);
        (self.total_worth, self.base_worth) = (0.0, 0.0);
        let smallest = usize::from(smallest);
        self.filled = 0;
        if let Extent::Slopes(_) = extent {
            let needed = picture.blocks.len() * (SLOPES - 1) + SLOPES;
            self.segments.resize(needed.max(self.segments.len()), Segment::default());
        }
        let every = if let Extent::Sample(every) = extent { *every } else { 1 };
        let mut steps = Steps { bits: [0; 129], worth: [0.0; 129], sums: [(0, 0.0); 128], end: 0 };
        let (mut in_cluster, mut sum) = (0, 0.0);
        for slice in picture.slices.iter().filter(|slice| slice.damage.is_none()) {
            for index in slice.macroblocks.clone().step_by(every) {
                let macroblock = &picture.macroblocks[index];
                let weight = weights.get(index).copied().unwrap_or(1.0);
                match cluster {
                    _ if macroblock.blocks == 0 => {}
                    Cluster::Block => {
                        for block in picture.blocks_of(macroblock) {
                            steps.add(
                                picture.codes_of(block),
                                block.first,
                                block.is_chroma(),
                                macroblock,
                                worth,
                            );
                            steps.add_ends(1, macroblock, smallest);
                            self.close(&mut steps, smallest, worth, weight, extent);
                        }
                    }
                    Cluster::Macroblocks(size) => {
                        let first = picture.blocks[macroblock.first_block as usize].first;
                        let [luma, chroma] = picture.codes_in(macroblock);
                        steps.add(luma, first, false, macroblock, worth);
                        steps.add(chroma, first + luma.len() as u32, true, macroblock, worth);
                        steps.add_ends(macroblock.blocks, macroblock, smallest);
                        (in_cluster, sum) = (in_cluster + 1, sum + weight);
                        if in_cluster == size.get() {
                            self.close(&mut steps, smallest, worth, sum / f32::from(in_cluster), extent);
                            (in_cluster, sum) = (0, 0.0);
                        }
                    }
                }
            }
        }
        if in_cluster > 0 {
            self.close(&mut steps, smallest, worth, sum / f32::from(in_cluster), extent);
        }
    }

    /// Ends a cluster of this mean weight.
    fn close(&mut self, steps: &mut Steps, smallest: usize, worth: &Worth<'_>, weight: f32, extent: &Extent) {
        let end = steps.end;
        match (worth, extent) {
            (Worth::Share(_), _) => self.push_shares(steps, smallest),
            (_, Extent::Slopes(slopes)) => {
                self.push_chords(steps, smallest, slopes);
                steps.end = smallest;
            }
            _ => self.push_hull(steps, smallest, weight),
        }
        self.ends.push(self.filled as u32);
        self.tops.push(end as u8);
        steps.clear();
    }

    /// Segments between the best breakpoints for each of the slopes. Without a branch that depends on the curve, for
    /// none could be foreseen. Leaves zeros from the smallest breakpoint on.
    #[inline]
    fn push_chords(&mut self, steps: &mut Steps, smallest: usize, slopes: &Slopes) {
        let (mut bits, mut worth) = (0, 0.0);
        let mut gains = [0.0; SLOPES];
        let mut best = [smallest as u32; SLOPES];
        steps.sums[smallest & 0x7f] = (0, 0.0);
        for step in smallest..steps.end.min(64) {
            bits += std::mem::take(&mut steps.bits[step]);
            worth += std::mem::take(&mut steps.worth[step]);
            steps.sums[step + 1] = (bits, worth);
            for ((gain, best), slope) in gains.iter_mut().zip(&mut best).zip(slopes) {
                let next = worth - slope * bits as f32;
                *best = if next > *gain { step as u32 + 1 } else { *best };
                *gain = if next > *gain { next } else { *gain };
            }
        }
        let sums = best.map(|breakpoint| steps.sums[breakpoint as usize & 0x7f]);
        self.bases.push(best[0] as u8);
        self.total_bits += u64::from(bits);
        self.total_worth += worth;
        self.base_bits += u64::from(sums[0].0);
        self.base_worth += sums[0].1;
        self.segment_bits += u64::from(sums[SLOPES - 1].0 - sums[0].0);
        // All are put down, and counted if there is anything to them.
        let Some(room) = self.segments[self.filled..].first_chunk_mut::<SLOPES>() else { return };
        let mut count = 0;
        for i in 1..SLOPES {
            let (bits, worth) = (sums[i].0.wrapping_sub(sums[i - 1].0), sums[i].1 - sums[i - 1].1);
            let bin = bin_of_positive(worth / bits as i32 as f32);
            room[count % SLOPES] = Segment { bits, bin, breakpoint: best[i] as u8, worth };
            count += usize::from(best[i] > best[i - 1]);
        }
        self.filled += count;
    }

    fn push_hull(&mut self, steps: &Steps, smallest: usize, weight: f32) {
        self.bases.push(smallest as u8);
        let stack = &mut self.stack;
        stack.clear();
        for step in smallest..steps.end {
            let mut next =
                Stretch { bits: steps.bits[step], worth: steps.worth[step], breakpoint: step as u8 + 1 };
            if next.bits == 0 {
                continue;
            }
            self.total_bits += u64::from(next.bits);
            self.segment_bits += u64::from(next.bits);
            self.total_worth += next.worth;
            // What is steeper than the stretch before it is taken together with it.
            while let Some(before) = stack.last().filter(|before| !before.is_steeper_than(&next)) {
                next.bits += before.bits;
                next.worth += before.worth;
                stack.pop();
            }
            stack.push(next);
        }
        let end = self.filled + stack.len();
        if self.segments.len() < end {
            self.segments.resize(2 * end, Segment::default());
        }
        let segments = &mut self.segments[self.filled..end];
        for (segment, &Stretch { bits, worth, breakpoint }) in segments.iter_mut().zip(stack.iter()) {
            *segment = Segment { bits, bin: bin_of(weight * worth / bits as f32), breakpoint, worth };
        }
        self.filled = end;
    }

    /// A breakpoint is taken once the share reaches what it takes of the cluster's bits.
    fn push_shares(&mut self, steps: &Steps, smallest: usize) {
        self.bases.push(smallest as u8);
        let total: u32 = steps.bits.iter().take(steps.end).skip(smallest).sum();
        self.total_bits += u64::from(total);
        self.segment_bits += u64::from(total);
        let mut sum = 0;
        for step in smallest..steps.end {
            let (bits, worth) = (steps.bits[step], steps.worth[step]);
            if bits == 0 {
                continue;
            }
            sum += bits;
            let share = u64::from(sum) * (BINS as u64 - 2) / u64::from(total);
            let bin = (BINS as u64 - 1 - share) as u16;
            self.total_worth += worth;
            let segment = Segment { bits, bin, breakpoint: step as u8 + 1, worth };
            match self.segments.get_mut(self.filled) {
                Some(place) => *place = segment,
                None => self.segments.push(segment),
            }
            self.filled += 1;
        }
    }
}

/// A code's place in its block.
struct Place {
    /// Counted from 1.
    index: usize,
    end: u32,
}

impl Place {
    /// Goes on to a code; returns its bits.
    #[inline]
    fn pass(&mut self, code: Code) -> u32 {
        let follows = code.follows();
        self.index = (self.index & follows as usize) + 1;
        let before = std::mem::replace(&mut self.end, u32::from(code.end()));
        self.end - (before & follows)
    }
}

impl Steps {
    #[inline]
    fn clear(&mut self) {
        // A loop over a few numbers, where filling would be a call.
        for step in 0..self.end.min(self.bits.len()) {
            (self.bits[step], self.worth[step]) = (0, 0.0);
        }
        self.end = 0;
    }

    /// Adds codes of a macroblock, all of luminance or all of chrominance, that begin with code `first` of the picture.
    #[inline]
    fn add(&mut self, codes: &[Code], first: u32, chroma: bool, macroblock: &Macroblock, worth: &Worth<'_>) {
        // The DC of an intra block counts as its first code; it always stays.
        let first_step = usize::from(macroblock.is_intra()).wrapping_sub(1);
        let mut place = Place { index: 0, end: 0 };
        match worth {
            Worth::Energy(energy) | Worth::Share(energy) => {
                let energy = energy.of_block(macroblock.is_intra(), chroma, macroblock.quantiser);
                for &code in codes {
                    let bits = place.pass(code);
                    self.add_code(first_step.wrapping_add(place.index), bits, energy.of(code));
                }
            }
            Worth::Given(given) => {
                for (&code, &worth) in codes.iter().zip(&given[first as usize..]) {
                    let bits = place.pass(code);
                    self.add_code(first_step.wrapping_add(place.index), bits, worth);
                }
            }
        }
    }

    #[inline]
    fn add_code(&mut self, step: usize, bits: u32, worth: f32) {
        let step = step & 0x7f;
        self.bits[step] += bits;
        self.worth[step] += worth;
        self.end = self.end.max(step + 1);
    }

    /// Without their codes blocks have no end either.
    fn add_ends(&mut self, blocks: u8, macroblock: &Macroblock, smallest: usize) {
        if smallest == 0 && !macroblock.is_intra() {
            self.bits[0] += 2 * u32::from(blocks);
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
    if slope <= 0.0 { 0 } else { bin_of_positive(slope) }
}

/// The bin of a slope above 0; of anything else, any.
#[inline]
fn bin_of_positive(slope: f32) -> u16 {
    const BASE: i32 = (127 + LOWEST_OCTAVE) * BINS_PER_OCTAVE;
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
