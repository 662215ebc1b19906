//! The Lagrangian optimum of S002 (equations 4 to 8): one slope for all clusters, found by a histogram of slopes
//! instead of a bisection.

use super::curve::{Curves, SLOPES, Slopes};
use super::slope::{BINS, slope_of};

/// Bins to either side of an estimated threshold.
const AROUND: usize = 15;

/// Bits by bin of slope, of one picture or several.
#[derive(Debug, Clone)]
pub(crate) struct SlopeHistogram {
    bits: Vec<u64>,
}

/// The segments to keep: all above `bin`, and those in it while `allowance` lasts, in bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SlopeThreshold {
    pub(crate) bin: usize,
    pub(crate) allowance: u64,
}

impl SlopeHistogram {
    pub(crate) fn new() -> Self {
        Self { bits: vec![0; BINS] }
    }

    /// Slopes around the threshold that spends `bits` of a sample of the picture. They are spread so widely that the
    /// threshold of the whole picture is usually among them.
    pub(crate) fn slopes_around(&self, bits: u64) -> Slopes {
        let SlopeThreshold { bin, .. } = self.threshold(bits);
        let (low, high) = (bin.saturating_sub(AROUND).max(1), (bin + AROUND).min(BINS - 1));
        std::array::from_fn(|i| slope_of(high - i * (high - low) / (SLOPES - 1)) as f32)
    }

    pub(crate) fn add(&mut self, curves: &Curves) {
        for segment in curves.segments() {
            self.bits[usize::from(segment.bin)] += u64::from(segment.bits);
        }
    }

    pub(crate) fn merge(&mut self, other: &SlopeHistogram) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(sum, bits)| *sum += bits);
    }

    /// The threshold that spends at most `bits`. Segments of bin 0 gain nothing and are never kept.
    pub(crate) fn threshold(&self, bits: u64) -> SlopeThreshold {
        let mut left = bits;
        for bin in (1..BINS).rev() {
            if self.bits[bin] > left {
                return SlopeThreshold { bin, allowance: left };
            }
            left -= self.bits[bin];
        }
        SlopeThreshold { bin: 0, allowance: 0 }
    }
}

impl SlopeThreshold {
    /// The threshold for one of several pictures; the allowance that the picture can use is deducted.
    pub(crate) fn split(&mut self, histogram: &SlopeHistogram) -> SlopeThreshold {
        let allowance = self.allowance.min(histogram.bits[self.bin]);
        self.allowance -= allowance;
        SlopeThreshold { bin: self.bin, allowance }
    }

    /// True where the segment is kept; its bits are deducted from the allowance.
    #[inline]
    pub(crate) fn takes(&mut self, bin: usize, bits: u32) -> bool {
        if bin != self.bin {
            return bin > self.bin;
        }
        let affordable = u64::from(bits) <= self.allowance;
        if affordable {
            self.allowance -= u64::from(bits);
        }
        affordable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::curve::Segment;

    #[test]
    fn spends_bits_by_falling_slope() {
        let segment = |bits, bin| Segment { bits, bin, breakpoint: 1, distortion: 0.0 };
        let segments = vec![segment(10, 700), segment(5, 600), segment(5, 600), segment(7, 0)];
        let curves = Curves::of(segments);
        let mut histogram = SlopeHistogram::new();
        histogram.add(&curves);
        assert_eq!(histogram.threshold(100).bin, 0);
        let mut threshold = histogram.threshold(16);
        assert_eq!(threshold, SlopeThreshold { bin: 600, allowance: 6 });
        let taken: Vec<_> =
            curves.segments().iter().map(|s| threshold.takes(usize::from(s.bin), s.bits)).collect();
        assert_eq!(taken, [true, true, false, false]);
    }
}
