//! SSIM as FFmpeg's `ssim` filter (and x264) computes it: flat windows of 8x8 samples, four samples apart.

use super::{C1, C2};
use crate::{Incomparable, Plane};

/// Samples of a window.
const COUNT: i32 = 64;

/// Mean SSIM over all windows of 8x8 samples on a grid of four; a rest of the sides below four is left out.
///
/// # Errors
/// Where the sizes differ or a side is shorter than 8.
pub fn ssim(reference: &Plane<'_>, shown: &Plane<'_>) -> Result<f64, Incomparable> {
    reference.check_like(shown, 8)?;
    let (columns, rows) = (reference.width() / 4, reference.height() / 4);
    let (mut above, mut below) = (Sums::new(columns), Sums::new(columns));
    let mut work = Columns::new(4 * columns);
    let mut windows = Sums::new(columns - 1);
    let mut similarities = vec![0.0; columns - 1];
    work.fill(&mut below, reference, shown, 0);
    let mut total = 0.0;
    for row in 1..rows {
        std::mem::swap(&mut above, &mut below);
        work.fill(&mut below, reference, shown, row);
        windows.fill(&above, &below);
        similarity(&windows, &mut similarities);
        total += similarities.iter().map(|&value| f64::from(value)).sum::<f64>();
    }
    Ok(total / ((columns - 1) * (rows - 1)) as f64)
}

/// Sums over each block of 4x4 samples of a row of blocks.
#[derive(Debug)]
struct Sums {
    reference: Vec<i32>,
    shown: Vec<i32>,
    /// Squares of both.
    squares: Vec<i32>,
    products: Vec<i32>,
}

impl Sums {
    fn new(columns: usize) -> Self {
        let [reference, shown, squares, products] = [0; 4].map(|zero| vec![zero; columns]);
        Self { reference, shown, squares, products }
    }

    /// Sums over windows of the sums over blocks.
    fn fill(&mut self, above: &Self, below: &Self) {
        sum_windows(&mut self.reference, &above.reference, &below.reference);
        sum_windows(&mut self.shown, &above.shown, &below.shown);
        sum_windows(&mut self.squares, &above.squares, &below.squares);
        sum_windows(&mut self.products, &above.products, &below.products);
    }
}

/// Sums down the four rows of a row of blocks, column by column. All is plain loops over whole rows, which the
/// compiler turns into vectors.
#[derive(Debug)]
struct Columns {
    reference: Vec<u16>,
    shown: Vec<u16>,
    squares: Vec<i32>,
    products: Vec<i32>,
}

impl Columns {
    fn new(width: usize) -> Self {
        let [reference, shown] = [0; 2].map(|zero| vec![zero; width]);
        let [squares, products] = [0; 2].map(|zero| vec![zero; width]);
        Self { reference, shown, squares, products }
    }

    /// The sums of one row of blocks.
    fn fill(&mut self, sums: &mut Sums, reference: &Plane<'_>, shown: &Plane<'_>, row: usize) {
        let width = self.reference.len();
        let a = [0, 1, 2, 3].map(|y| &reference.row(4 * row + y)[..width]);
        let b = [0, 1, 2, 3].map(|y| &shown.row(4 * row + y)[..width]);
        sum_rows(&mut self.reference[..width], a);
        sum_rows(&mut self.shown[..width], b);
        self.squares[..width].fill(0);
        self.products[..width].fill(0);
        for (a, b) in a.into_iter().zip(b) {
            add_products(&mut self.squares[..width], a, a);
            add_products(&mut self.squares[..width], b, b);
            add_products(&mut self.products[..width], a, b);
        }
        let narrow = |to: &mut [i32], from: &[u16]| {
            for (sum, four) in to.iter_mut().zip(from.chunks_exact(4)) {
                *sum = i32::from(four[0] + four[1] + four[2] + four[3]);
            }
        };
        let wide = |to: &mut [i32], from: &[i32]| {
            for (sum, four) in to.iter_mut().zip(from.chunks_exact(4)) {
                *sum = four[0] + four[1] + four[2] + four[3];
            }
        };
        narrow(&mut sums.reference, &self.reference);
        narrow(&mut sums.shown, &self.shown);
        wide(&mut sums.squares, &self.squares);
        wide(&mut sums.products, &self.products);
    }
}

fn sum_rows(sums: &mut [u16], rows: [&[u8]; 4]) {
    let [a, b, c, d] = rows.map(|row| &row[..sums.len()]);
    for (x, sum) in sums.iter_mut().enumerate() {
        *sum = u16::from(a[x]) + u16::from(b[x]) + u16::from(c[x]) + u16::from(d[x]);
    }
}

fn add_products(sums: &mut [i32], a: &[u8], b: &[u8]) {
    for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
        *sum += i32::from(u16::from(a) * u16::from(b));
    }
}

/// Sums over the windows, each made of two blocks above and two below.
fn sum_windows(windows: &mut [i32], above: &[i32], below: &[i32]) {
    let count = windows.len();
    let (above, above_right) = (&above[..count], &above[1..=count]);
    let (below, below_right) = (&below[..count], &below[1..=count]);
    for (x, sum) in windows.iter_mut().enumerate() {
        *sum = above[x] + above_right[x] + below[x] + below_right[x];
    }
}

/// Of each window. Integers are exact up to the variances; from there on single precision is what FFmpeg has too.
fn similarity(windows: &Sums, into: &mut [f32]) {
    // The constants are rounded as integers are in FFmpeg, scaled by the sums' own scale.
    let c1 = (C1 * f64::from(COUNT)).round() as i32;
    let c2 = (C2 * f64::from(COUNT * (COUNT - 1))).round() as i32;
    let count = into.len();
    let (a, b) = (&windows.reference[..count], &windows.shown[..count]);
    let (squares, products) = (&windows.squares[..count], &windows.products[..count]);
    for (x, similarity) in into.iter_mut().enumerate() {
        let (both, means) = (a[x] * b[x], a[x] * a[x] + b[x] * b[x]);
        let variances = squares[x] * COUNT - means;
        let covariance = products[x] * COUNT - both;
        *similarity = (2 * both + c1) as f32 * (2 * covariance + c2) as f32
            / ((means + c1) as f32 * (variances + c2) as f32);
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
        assert!((found - expected).abs() < 1e-7, "{found} {expected}");
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
