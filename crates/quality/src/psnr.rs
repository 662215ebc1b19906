//! Peak signal-to-noise ratio of 8-bit samples.

use crate::{Incomparable, Plane};
use seaway_units::Decibels;

/// What identical pictures score, in dB: their ratio is infinite, and a mean must stay a number.
pub const IDENTICAL: Decibels = Decibels::new(100.0);

const PEAK: f64 = 255.0;

/// Mean squared error of two planes.
///
/// # Errors
/// Where their sizes differ.
pub fn mean_squared_error(reference: &Plane<'_>, shown: &Plane<'_>) -> Result<f64, Incomparable> {
    reference.check_like(shown, 1)?;
    let rows = reference.rows().zip(shown.rows());
    let sum: u64 = rows.map(|(a, b)| row_error(a, b)).sum();
    Ok(sum as f64 / reference.samples())
}

/// Squared error of a row. Pieces are short enough for a 32-bit sum, which the compiler turns into vectors.
fn row_error(a: &[u8], b: &[u8]) -> u64 {
    const PIECE: usize = 16 << 10;
    let square = |(&a, &b): (&u8, &u8)| {
        let difference = i16::from(a) - i16::from(b);
        // At most 255 squared, which a u16 holds.
        u32::from((difference.unsigned_abs()).wrapping_mul(difference.unsigned_abs()))
    };
    let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
    pieces.map(|(a, b)| u64::from(a.iter().zip(b).map(square).sum::<u32>())).sum()
}

/// `10 log10(255² / MSE)`, at most [`IDENTICAL`].
pub fn of_error(mean_squared_error: f64) -> Decibels {
    if mean_squared_error <= 0.0 {
        return IDENTICAL;
    }
    let level = Decibels::from_ratio(PEAK * PEAK / mean_squared_error);
    if level > IDENTICAL { IDENTICAL } else { level }
}

/// PSNR of two planes.
///
/// # Errors
/// Where their sizes differ.
pub fn psnr(reference: &Plane<'_>, shown: &Plane<'_>) -> Result<Decibels, Incomparable> {
    mean_squared_error(reference, shown).map(of_error)
}

/// PSNR over a sequence, in both of the ways that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sequence {
    pictures: u64,
    error_sum: f64,
    level_sum: f64,
}

impl Sequence {
    /// Adds one picture by its error; returns its own PSNR.
    pub fn push(&mut self, mean_squared_error: f64) -> Decibels {
        let level = of_error(mean_squared_error);
        self.pictures += 1;
        self.error_sum += mean_squared_error;
        self.level_sum += level.get();
        level
    }

    /// Pictures added.
    pub fn pictures(&self) -> u64 {
        self.pictures
    }

    /// Mean of the pictures' PSNR, identical ones as [`IDENTICAL`]: what EvalVid and most papers print.
    /// `None` before the first picture.
    pub fn mean(&self) -> Option<Decibels> {
        (self.pictures > 0).then(|| Decibels::new(self.level_sum / self.pictures as f64))
    }

    /// PSNR of the mean error: what FFmpeg prints as average, and what one bad picture pulls down hard.
    /// `None` before the first picture.
    pub fn of_mean_error(&self) -> Option<Decibels> {
        (self.pictures > 0).then(|| of_error(self.error_sum / self.pictures as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_numbers() {
        let (a, b) = (Plane::new(&[10, 20, 30, 40], 2, 2, 2), Plane::new(&[12, 20, 30, 36], 2, 2, 2));
        assert_eq!(mean_squared_error(&a, &b), Ok(5.0));
        // 10 log10(65025 / 5)
        assert!((psnr(&a, &b).unwrap().get() - 41.141_103_6).abs() < 1e-6);
        assert_eq!(psnr(&a, &a), Ok(IDENTICAL));
        assert!(psnr(&a, &Plane::new(&[1], 1, 1, 1)).is_err());
    }

    #[test]
    fn the_largest_error_does_not_overflow() {
        let (black, white) = (vec![0; 100_000], vec![255; 100_000]);
        let error = mean_squared_error(
            &Plane::new(&black, 50_000, 50_000, 2),
            &Plane::new(&white, 50_000, 50_000, 2),
        );
        assert_eq!(error, Ok(65_025.0));
        assert_eq!(of_error(65_025.0), Decibels::new(0.0));
    }

    #[test]
    fn two_means() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.mean(), None);
        sequence.push(0.0);
        sequence.push(65.025);
        assert_eq!(sequence.mean(), Some(Decibels::new(65.0)));
        // The mean error is 32.5125.
        assert!((sequence.of_mean_error().unwrap().get() - 33.010_299_96).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn equals_the_definition(width in 1_usize..40, pairs in prop::collection::vec(any::<(u8, u8)>(), 40..400)) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let height = pairs.len() / width;
            let square = |&(a, b): &(u8, u8)| u64::from(a.abs_diff(b)) * u64::from(a.abs_diff(b));
            let definition: u64 = pairs[..width * height].iter().map(square).sum();
            let measured = mean_squared_error(&Plane::new(&a, width, width, height), &Plane::new(&b, width, width, height));
            prop_assert_eq!(measured.unwrap(), definition as f64 / (width * height) as f64);
        }
    }
}
