//! Slopes of rate-distortion curves in bins on a logarithmic scale.

/// Bins in an octave.
const BINS_PER_OCTAVE: i32 = 32;
pub(crate) const BINS: usize = 1024;
/// Bin 1 begins at the slope of 2 to this power; bin 0 holds slopes of 0 and below.
const LOWEST_OCTAVE: i32 = -8;

/// The bin of a slope. The exponent and the upper five bits of the fraction approximate the logarithm.
#[inline]
pub(crate) fn bin_of(slope: f32) -> u16 {
    if slope <= 0.0 { 0 } else { bin_of_positive(slope) }
}

/// The bin of a slope above 0; an arbitrary one of any other slope.
#[inline]
pub(crate) fn bin_of_positive(slope: f32) -> u16 {
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
