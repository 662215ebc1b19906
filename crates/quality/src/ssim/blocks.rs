//! SSIM as FFmpeg's `ssim` filter (and x264) computes it: flat windows of 8x8 samples, four samples apart.

use super::{C1, C2};
use crate::{Incomparable, Plane};

/// Samples of a window.
const COUNT: f64 = 64.0;

/// Mean SSIM over all windows of 8x8 samples on a grid of four; a rest of the sides below four is left out.
///
/// # Errors
/// Where the sizes differ or a side is shorter than 8.
pub fn ssim(reference: &Plane<'_>, shown: &Plane<'_>) -> Result<f64, Incomparable> {
    reference.check_like(shown, 8)?;
    let (columns, rows) = (reference.width() / 4, reference.height() / 4);
    let mut above = vec![Sums::default(); columns];
    let mut below = above.clone();
    fill(&mut below, reference, shown, 0);
    let mut total = 0.0;
    for row in 1..rows {
        std::mem::swap(&mut above, &mut below);
        fill(&mut below, reference, shown, row);
        let pairs = above.windows(2).zip(below.windows(2));
        total += pairs.map(|(a, b)| (a[0] + a[1] + b[0] + b[1]).similarity()).sum::<f64>();
    }
    Ok(total / ((columns - 1) * (rows - 1)) as f64)
}

/// Sums over a block of 4x4 samples, or over the four of a window.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    reference: u32,
    shown: u32,
    /// Squares of both.
    squares: u32,
    products: u32,
}

/// The sums of one row of blocks.
fn fill(sums: &mut [Sums], reference: &Plane<'_>, shown: &Plane<'_>, row: usize) {
    sums.fill(Sums::default());
    for y in 4 * row..4 * row + 4 {
        let blocks = reference.row(y).chunks_exact(4).zip(shown.row(y).chunks_exact(4));
        for (sum, (a, b)) in sums.iter_mut().zip(blocks) {
            for (a, b) in a.iter().zip(b).map(|(&a, &b)| (u32::from(a), u32::from(b))) {
                sum.reference += a;
                sum.shown += b;
                sum.squares += a * a + b * b;
                sum.products += a * b;
            }
        }
    }
}

impl Sums {
    fn similarity(self) -> f64 {
        let [a, b, squares, products] =
            [self.reference, self.shown, self.squares, self.products].map(f64::from);
        // The constants are rounded as integers are in FFmpeg, scaled by the sums' own scale.
        let c1 = (C1 * COUNT).round();
        let c2 = (C2 * COUNT * (COUNT - 1.0)).round();
        let variances = squares * COUNT - a * a - b * b;
        let covariance = products * COUNT - a * b;
        (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2))
    }
}

impl std::ops::Add for Sums {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            reference: self.reference + other.reference,
            shown: self.shown + other.shown,
            squares: self.squares + other.squares,
            products: self.products + other.products,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_window_by_hand() {
        // Flat 100 against flat 110: only the luminance term counts, with FFmpeg's rounded constants.
        let (a, b) = ([100; 64], [110; 64]);
        let found = ssim(&Plane::new(&a, 8, 8, 8), &Plane::new(&b, 8, 8, 8)).unwrap();
        let (sum_a, sum_b) = (6400.0, 7040.0);
        let expected = (2.0 * sum_a * sum_b + 416.0) / (sum_a * sum_a + sum_b * sum_b + 416.0);
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        assert!(ssim(&Plane::new(&a, 8, 8, 7), &Plane::new(&b, 8, 8, 7)).is_err());
    }

    proptest! {
        #[test]
        fn one_for_the_same_and_symmetric(pairs in prop::collection::vec(any::<(u8, u8)>(), 256)) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let (a, b) = (Plane::new(&a, 16, 16, 16), Plane::new(&b, 16, 16, 16));
            prop_assert_eq!(ssim(&a, &a).unwrap(), 1.0);
            prop_assert_eq!(ssim(&a, &b).unwrap(), ssim(&b, &a).unwrap());
            prop_assert!(ssim(&a, &b).unwrap() <= 1.0);
        }
    }
}
