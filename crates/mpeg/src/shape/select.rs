//! One slope for all clusters: the Lagrangian optimum of S002 (equations 4 to 8), by a histogram of slopes in
//! place of the bisection.

use super::curve::{BINS, Curves, SLOPES, Slopes, slope_of};

/// Bins to either side of a threshold that was guessed.
const AROUND: usize = 15;

/// Bits by bin of slope, over one picture or several.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    bits: Vec<u64>,
}

/// Which segments are taken: all above `bin`, and those in it while `allowance` lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Threshold {
    pub(crate) bin: usize,
    pub(crate) allowance: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { bits: vec![0; BINS] }
    }

    /// Slopes around the threshold that spends `bits`, where only a sample of the picture was added: wide enough for
    /// the threshold of the whole picture to be among them, as a rule.
    pub(crate) fn surroundings(&self, bits: u64) -> Slopes {
        let Threshold { bin, .. } = self.threshold(bits);
        let (low, high) = (bin.saturating_sub(AROUND).max(1), (bin + AROUND).min(BINS - 1));
        std::array::from_fn(|i| slope_of(high - i * (high - low) / (SLOPES - 1)) as f32)
    }

    /// Adds a picture's segments.
    pub(crate) fn add(&mut self, curves: &Curves) {
        for segment in curves.segments() {
            self.bits[usize::from(segment.bin)] += u64::from(segment.bits);
        }
    }

    /// Adds another's segments.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(sum, bits)| *sum += bits);
    }

    /// The threshold that spends at most `bits`. Bin 0, what is worth nothing, is never taken.
    pub(crate) fn threshold(&self, bits: u64) -> Threshold {
        let mut left = bits;
        for bin in (1..BINS).rev() {
            if self.bits[bin] > left {
                return Threshold { bin, allowance: left };
            }
            left -= self.bits[bin];
        }
        Threshold { bin: 0, allowance: 0 }
    }
}

impl Threshold {
    /// The part of it for one of several pictures: it gets of the allowance what it can use.
    pub(crate) fn give(&mut self, histogram: &Histogram) -> Threshold {
        let allowance = self.allowance.min(histogram.bits[self.bin]);
        self.allowance -= allowance;
        Threshold { bin: self.bin, allowance }
    }

    /// True where the segment is taken; what it takes of the allowance is deducted.
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
    fn spends_what_is_there_best_first() {
        let segment = |bits, bin| Segment { bits, bin, breakpoint: 1, worth: 0.0 };
        let segments = vec![segment(10, 700), segment(5, 600), segment(5, 600), segment(7, 0)];
        let curves = Curves::of(segments);
        let mut histogram = Histogram::new();
        histogram.add(&curves);
        assert_eq!(histogram.threshold(100).bin, 0);
        let mut threshold = histogram.threshold(16);
        assert_eq!(threshold, Threshold { bin: 600, allowance: 6 });
        let taken: Vec<_> =
            curves.segments().iter().map(|s| threshold.takes(usize::from(s.bin), s.bits)).collect();
        assert_eq!(taken, [true, true, false, false]);
    }
}
