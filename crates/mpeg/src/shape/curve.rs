//! Rate-distortion curves of clusters, reduced to their convex hulls (S002, 2.2).

use super::config::Cluster;
use super::energy::Energy;
use super::slope::{BINS, bin_of, bin_of_positive};
use crate::picture::{Code, Macroblock, Picture};

/// A segment of a cluster's hull: `bits` more raise the breakpoint to `breakpoint` codes a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment {
    pub(crate) bits: u32,
    /// Bin of its slope; never rises along a cluster.
    pub(crate) bin: u16,
    pub(crate) breakpoint: u8,
    /// Squared error that these bits avoid.
    pub(crate) distortion: f32,
}

/// The hulls of all clusters of a picture, each from its smallest breakpoint upwards.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curves {
    segments: Vec<Segment>,
    /// Index behind the last segment, by cluster.
    pub(crate) ends: Vec<u32>,
    /// Breakpoint below the first segment, by cluster.
    pub(crate) bases: Vec<u8>,
    /// Breakpoint that keeps all codes, by cluster.
    pub(crate) tops: Vec<u8>,
    /// Bits of all codes that can be dropped.
    pub(crate) total_bits: u64,
    /// Squared error of dropping all of them.
    pub(crate) total_distortion: f32,
    /// Bits and avoided error below the first segments.
    pub(crate) base_bits: u64,
    pub(crate) base_distortion: f32,
    /// Bits of all segments.
    segment_bits: u64,
    /// Number of segments; the rest of `segments` is room for more.
    filled: usize,
    /// The hull of the present cluster.
    stack: Vec<HullPoint>,
}

/// Number of slopes of [`Extent::Slopes`].
pub(crate) const SLOPES: usize = 4;
/// Slopes in falling order.
pub(crate) type Slopes = [f32; SLOPES];

/// The part of the curves to build.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// The part between these slopes, with a segment from each to the next. Steeper parts are always kept, flatter ones
    /// always dropped.
    Slopes(Slopes),
    /// The curves of one macroblock in so many.
    Sample(usize),
}

/// A part of a cluster's curve.
#[derive(Debug, Clone, Copy)]
struct HullPoint {
    bits: u32,
    distortion: f32,
    breakpoint: u8,
}

impl HullPoint {
    fn is_steeper_than(&self, next: &Self) -> bool {
        self.distortion * next.bits as f32 > next.distortion * self.bits as f32
    }
}

/// The squared error of dropping a code.
pub(crate) enum Distortion<'a> {
    /// The energy of its coefficient.
    Energy(&'a Energy),
    /// Given by code of the picture, with the error that earlier pictures left.
    Given(&'a [f32]),
    /// The energy for the report alone: clusters keep equal shares of their bits, whatever the error.
    Share(&'a Energy),
}

/// Bits and avoided error that each breakpoint adds, over the blocks of a cluster.
struct ClusterCurve {
    bits: [u32; 129],
    distortion: [f32; 129],
    /// Bits and avoided error below each breakpoint.
    sums: [(u32, f32); 128],
    /// One past the highest breakpoint that adds a code.
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

    /// True where the threshold that spends `bits` beyond the smallest breakpoints lies within the extent.
    pub(crate) fn reach(&self, bits: u64) -> bool {
        let reached = self.base_bits + self.segment_bits;
        self.base_bits <= bits && (bits < reached || reached == self.total_bits)
    }

    /// Builds the curves of a picture. With `smallest` 0, blocks other than intra may lose all codes. Slopes of whole
    /// curves are multiplied by `weights`, one a macroblock, or by 1 where there are none.
    pub(crate) fn build(
        &mut self,
        picture: &Picture,
        cluster: Cluster,
        smallest: u8,
        distortion: &Distortion<'_>,
        weights: &[f32],
        extent: &Extent,
    ) {
        self.ends.clear();
        self.bases.clear();
        self.tops.clear();
        (self.total_bits, self.base_bits, self.segment_bits) = (0, 0, 0);
        (self.total_distortion, self.base_distortion) = (0.0, 0.0);
        let smallest = usize::from(smallest);
        self.filled = 0;
        if let Extent::Slopes(_) = extent {
            let needed = picture.blocks.len() * (SLOPES - 1) + SLOPES;
            self.segments.resize(needed.max(self.segments.len()), Segment::default());
        }
        let every = if let Extent::Sample(every) = extent { *every } else { 1 };
        let mut curve =
            ClusterCurve { bits: [0; 129], distortion: [0.0; 129], sums: [(0, 0.0); 128], end: 0 };
        let (mut in_cluster, mut sum) = (0, 0.0);
        for slice in picture.slices.iter().filter(|slice| slice.damage.is_none()) {
            for index in slice.macroblocks.clone().step_by(every) {
                let macroblock = &picture.macroblocks[index];
                let weight = weights.get(index).copied().unwrap_or(1.0);
                match cluster {
                    _ if macroblock.blocks == 0 => {}
                    Cluster::Block => {
                        for block in picture.blocks_of(macroblock) {
                            let codes = picture.codes_of(block);
                            curve.add(codes, block.first, block.is_chroma(), macroblock, distortion);
                            curve.add_ends(1, macroblock, smallest);
                            self.close(&mut curve, smallest, distortion, weight, extent);
                        }
                    }
                    Cluster::Macroblocks(size) => {
                        let first = picture.blocks[macroblock.first_block as usize].first;
                        let [luma, chroma] = picture.codes_in(macroblock);
                        curve.add(luma, first, false, macroblock, distortion);
                        curve.add(chroma, first + luma.len() as u32, true, macroblock, distortion);
                        curve.add_ends(macroblock.blocks, macroblock, smallest);
                        (in_cluster, sum) = (in_cluster + 1, sum + weight);
                        if in_cluster == size.get() {
                            self.close(&mut curve, smallest, distortion, sum / f32::from(in_cluster), extent);
                            (in_cluster, sum) = (0, 0.0);
                        }
                    }
                }
            }
        }
        if in_cluster > 0 {
            self.close(&mut curve, smallest, distortion, sum / f32::from(in_cluster), extent);
        }
    }

    /// Ends a cluster of mean `weight`.
    fn close(
        &mut self,
        curve: &mut ClusterCurve,
        smallest: usize,
        distortion: &Distortion<'_>,
        weight: f32,
        extent: &Extent,
    ) {
        let end = curve.end;
        match (distortion, extent) {
            (Distortion::Share(_), _) => self.push_shares(curve, smallest),
            (_, Extent::Slopes(slopes)) => {
                self.push_chords(curve, smallest, slopes);
                curve.end = smallest;
            }
            _ => self.push_hull(curve, smallest, weight),
        }
        self.ends.push(self.filled as u32);
        self.tops.push(end as u8);
        curve.clear();
    }

    /// Adds segments between the optimal breakpoints of the slopes. Leaves zeros from the smallest breakpoint on. Branches
    /// on the curve would be unpredictable, so there are none.
    #[inline]
    fn push_chords(&mut self, curve: &mut ClusterCurve, smallest: usize, slopes: &Slopes) {
        let (mut bits, mut distortion) = (0, 0.0);
        let mut gains = [0.0; SLOPES];
        let mut best = [smallest as u32; SLOPES];
        curve.sums[smallest & 0x7f] = (0, 0.0);
        for step in smallest..curve.end.min(64) {
            bits += std::mem::take(&mut curve.bits[step]);
            distortion += std::mem::take(&mut curve.distortion[step]);
            curve.sums[step + 1] = (bits, distortion);
            for ((gain, best), slope) in gains.iter_mut().zip(&mut best).zip(slopes) {
                let next = distortion - slope * bits as f32;
                *best = if next > *gain { step as u32 + 1 } else { *best };
                *gain = if next > *gain { next } else { *gain };
            }
        }
        let sums = best.map(|breakpoint| curve.sums[breakpoint as usize & 0x7f]);
        self.bases.push(best[0] as u8);
        self.total_bits += u64::from(bits);
        self.total_distortion += distortion;
        self.base_bits += u64::from(sums[0].0);
        self.base_distortion += sums[0].1;
        self.segment_bits += u64::from(sums[SLOPES - 1].0 - sums[0].0);
        // Every segment is stored, and counted unless it is empty.
        let Some(room) = self.segments[self.filled..].first_chunk_mut::<SLOPES>() else { return };
        let mut count = 0;
        for i in 1..SLOPES {
            let (bits, distortion) = (sums[i].0.wrapping_sub(sums[i - 1].0), sums[i].1 - sums[i - 1].1);
            let bin = bin_of_positive(distortion / bits as i32 as f32);
            room[count % SLOPES] = Segment { bits, bin, breakpoint: best[i] as u8, distortion };
            count += usize::from(best[i] > best[i - 1]);
        }
        self.filled += count;
    }

    fn push_hull(&mut self, curve: &ClusterCurve, smallest: usize, weight: f32) {
        self.bases.push(smallest as u8);
        let stack = &mut self.stack;
        stack.clear();
        for step in smallest..curve.end {
            let mut next = HullPoint {
                bits: curve.bits[step],
                distortion: curve.distortion[step],
                breakpoint: step as u8 + 1,
            };
            if next.bits == 0 {
                continue;
            }
            self.total_bits += u64::from(next.bits);
            self.segment_bits += u64::from(next.bits);
            self.total_distortion += next.distortion;
            // A part that is steeper than the one before is merged with it.
            while let Some(before) = stack.last().filter(|before| !before.is_steeper_than(&next)) {
                next.bits += before.bits;
                next.distortion += before.distortion;
                stack.pop();
            }
            stack.push(next);
        }
        let end = self.filled + stack.len();
        if self.segments.len() < end {
            self.segments.resize(2 * end, Segment::default());
        }
        let segments = &mut self.segments[self.filled..end];
        for (segment, &HullPoint { bits, distortion, breakpoint }) in segments.iter_mut().zip(stack.iter()) {
            *segment =
                Segment { bits, bin: bin_of(weight * distortion / bits as f32), breakpoint, distortion };
        }
        self.filled = end;
    }

    /// Adds segments whose bins are shares of the cluster's bits.
    fn push_shares(&mut self, curve: &ClusterCurve, smallest: usize) {
        self.bases.push(smallest as u8);
        let total: u32 = curve.bits.iter().take(curve.end).skip(smallest).sum();
        self.total_bits += u64::from(total);
        self.segment_bits += u64::from(total);
        let mut sum = 0;
        for step in smallest..curve.end {
            let (bits, distortion) = (curve.bits[step], curve.distortion[step]);
            if bits == 0 {
                continue;
            }
            sum += bits;
            let share = u64::from(sum) * (BINS as u64 - 2) / u64::from(total);
            let bin = (BINS as u64 - 1 - share) as u16;
            self.total_distortion += distortion;
            let segment = Segment { bits, bin, breakpoint: step as u8 + 1, distortion };
            match self.segments.get_mut(self.filled) {
                Some(place) => *place = segment,
                None => self.segments.push(segment),
            }
            self.filled += 1;
        }
    }
}

/// The position of a code in its block.
struct Place {
    /// Number of the code, from 1.
    index: usize,
    end: u32,
}

impl Place {
    /// Moves on to a code; returns its bits.
    #[inline]
    fn pass(&mut self, code: Code) -> u32 {
        let follows = code.follows();
        self.index = (self.index & follows as usize) + 1;
        let before = std::mem::replace(&mut self.end, u32::from(code.end()));
        self.end - (before & follows)
    }
}

impl ClusterCurve {
    #[inline]
    fn clear(&mut self) {
        // For so few numbers a loop is faster than a call of memset.
        for step in 0..self.end.min(self.bits.len()) {
            (self.bits[step], self.distortion[step]) = (0, 0.0);
        }
        self.end = 0;
    }

    /// Adds the luminance or the chrominance codes of a macroblock; the first has index `first` in the picture.
    #[inline]
    fn add(
        &mut self,
        codes: &[Code],
        first: u32,
        chroma: bool,
        macroblock: &Macroblock,
        distortion: &Distortion<'_>,
    ) {
        // The DC coefficient of an intra block counts as its first code, and is always kept.
        let first_step = usize::from(macroblock.is_intra()).wrapping_sub(1);
        let mut place = Place { index: 0, end: 0 };
        match distortion {
            Distortion::Energy(energy) | Distortion::Share(energy) => {
                let energy = energy.of_block(macroblock.is_intra(), chroma, macroblock.quantiser);
                for &code in codes {
                    let bits = place.pass(code);
                    self.add_code(first_step.wrapping_add(place.index), bits, energy.of(code));
                }
            }
            Distortion::Given(given) => {
                for (&code, &distortion) in codes.iter().zip(&given[first as usize..]) {
                    let bits = place.pass(code);
                    self.add_code(first_step.wrapping_add(place.index), bits, distortion);
                }
            }
        }
    }

    #[inline]
    fn add_code(&mut self, step: usize, bits: u32, distortion: f32) {
        let step = step & 0x7f;
        self.bits[step] += bits;
        self.distortion[step] += distortion;
        self.end = self.end.max(step + 1);
    }

    /// Adds the ends of blocks, which go with all their codes.
    fn add_ends(&mut self, blocks: u8, macroblock: &Macroblock, smallest: usize) {
        if smallest == 0 && !macroblock.is_intra() {
            self.bits[0] += 2 * u32::from(blocks);
        }
    }
}

/// Calls `visit` with each block that can be shaped: whether it begins a cluster, its slice, and its index.
#[inline]
pub(crate) fn for_each_block(picture: &Picture, cluster: Cluster, mut visit: impl FnMut(bool, usize, usize)) {
    let size = match cluster {
        Cluster::Macroblocks(size) => usize::from(size.get()),
        Cluster::Block => 0,
    };
    let mut in_cluster = 0;
    for (number, slice) in picture.slices.iter().enumerate().filter(|(_, slice)| slice.damage.is_none()) {
        for macroblock in &picture.macroblocks[slice.macroblocks.clone()] {
            let mut first = in_cluster == 0;
            for index in macroblock.block_range() {
                visit(first || size == 0, number, index);
                first = false;
            }
            if macroblock.blocks > 0 {
                in_cluster = if in_cluster + 1 >= size { 0 } else { in_cluster + 1 };
            }
        }
    }
}
