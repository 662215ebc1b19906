//! SSIM as first published: a Gaussian window of 11x11, and the form over several scales
//! (Wang, Simoncelli and Bovik 2003).

use super::{C1, C2};
use crate::{Incomparable, Plane};

/// Side of the window.
const TAPS: usize = 11;
const SIGMA: f64 = 1.5;
/// Exponents of the scales, finest first (table 1 of the 2003 paper).
const EXPONENTS: [f64; 5] = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];

/// Mean SSIM over all places where the Gaussian window (11x11, sigma 1.5) lies inside the picture.
///
/// # Errors
/// Where the sizes differ or a side is shorter than 11.
pub fn ssim_gaussian(reference: &Plane<'_>, shown: &Plane<'_>) -> Result<f64, Incomparable> {
    reference.check_like(shown, TAPS)?;
    Ok(compare(&Image::of(reference), &Image::of(shown)).whole)
}

/// MS-SSIM: contrast and structure at five scales, each half the size of the one before, luminance at the
/// coarsest. Where a scale correlates negatively, it counts as zero.
///
/// # Errors
/// Where the sizes differ or a side is shorter than 176, whose sixteenth is the window.
pub fn ms_ssim(reference: &Plane<'_>, shown: &Plane<'_>) -> Result<f64, Incomparable> {
    reference.check_like(shown, TAPS << (EXPONENTS.len() - 1))?;
    let (mut a, mut b) = (Image::of(reference), Image::of(shown));
    let mut product = 1.0;
    for (scale, exponent) in EXPONENTS.into_iter().enumerate() {
        let similarity = compare(&a, &b);
        let coarsest = scale + 1 == EXPONENTS.len();
        let factor = if coarsest { similarity.whole } else { similarity.structure };
        product *= libm::pow(factor.max(0.0), exponent);
        if !coarsest {
            (a, b) = (a.halved(), b.halved());
        }
    }
    Ok(product)
}

/// Samples as numbers, without gaps.
struct Image {
    data: Vec<f64>,
    width: usize,
}

impl Image {
    fn of(plane: &Plane<'_>) -> Self {
        Self { data: plane.rows().flatten().map(|&sample| f64::from(sample)).collect(), width: plane.width() }
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.data.chunks_exact(self.width)
    }

    /// Each sample the mean of four; an odd last row or column is left out.
    fn halved(&self) -> Self {
        let pairs = self.data.chunks_exact(2 * self.width).map(|pair| pair.split_at(self.width));
        let means = pairs.flat_map(|(upper, lower)| {
            let columns = upper.chunks_exact(2).zip(lower.chunks_exact(2));
            columns.map(|(upper, lower)| (upper[0] + upper[1] + lower[0] + lower[1]) / 4.0)
        });
        Self { data: means.collect(), width: self.width / 2 }
    }
}

/// Means over the picture.
struct Similarity {
    /// Luminance, contrast and structure.
    whole: f64,
    /// Contrast and structure alone.
    structure: f64,
}

/// Weighted moments of both pictures along a row: means, mean squares, mean product.
type Moments<T> = [T; 5];

fn compare(a: &Image, b: &Image) -> Similarity {
    let kernel = kernel();
    let height = a.rows().len();
    let mut columns: Moments<Vec<f64>> = std::array::from_fn(|_| vec![0.0; a.width]);
    let (mut whole, mut structure) = (0.0, 0.0);
    for top in 0..=height - TAPS {
        sum_down(&mut columns, a, b, top, &kernel);
        for left in 0..=a.width - TAPS {
            let moments = columns.each_ref().map(|column| weighted(&column[left..left + TAPS], &kernel));
            let (luminance, contrast) = terms(moments);
            whole += luminance * contrast;
            structure += contrast;
        }
    }
    let windows = ((height + 1 - TAPS) * (a.width + 1 - TAPS)) as f64;
    Similarity { whole: whole / windows, structure: structure / windows }
}

/// The window is the product of a column and a row of weights: the column first.
fn sum_down(columns: &mut Moments<Vec<f64>>, a: &Image, b: &Image, top: usize, kernel: &[f64; TAPS]) {
    for column in columns.iter_mut() {
        column.fill(0.0);
    }
    let [mean_a, mean_b, square_a, square_b, product] = columns;
    let rows = a.rows().zip(b.rows()).skip(top).zip(kernel);
    for ((a, b), weight) in rows {
        for x in 0..a.len() {
            let (a, b) = (a[x], b[x]);
            mean_a[x] += weight * a;
            mean_b[x] += weight * b;
            square_a[x] += weight * (a * a);
            square_b[x] += weight * (b * b);
            product[x] += weight * (a * b);
        }
    }
}

fn weighted(samples: &[f64], kernel: &[f64; TAPS]) -> f64 {
    samples.iter().zip(kernel).map(|(sample, weight)| sample * weight).sum()
}

/// Luminance, and contrast with structure.
fn terms([mean_a, mean_b, square_a, square_b, product]: Moments<f64>) -> (f64, f64) {
    let (variance_a, variance_b) = (square_a - mean_a * mean_a, square_b - mean_b * mean_b);
    let covariance = product - mean_a * mean_b;
    let luminance = (2.0 * mean_a * mean_b + C1) / (mean_a * mean_a + mean_b * mean_b + C1);
    (luminance, (2.0 * covariance + C2) / (variance_a + variance_b + C2))
}

fn kernel() -> [f64; TAPS] {
    let weights: [f64; TAPS] = std::array::from_fn(|tap| {
        let distance = tap as f64 - (TAPS / 2) as f64;
        libm::exp(-distance * distance / (2.0 * SIGMA * SIGMA))
    });
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gradient with texture, and the same coarser: reproducible anywhere.
    fn pictures(width: usize, height: usize) -> (Vec<u8>, Vec<u8>) {
        let a: Vec<u8> =
            (0..width * height).map(|at| (at % width + 3 * (at / width) + at * 7 % 13 * 4) as u8).collect();
        let b = a.iter().map(|&sample| sample / 16 * 16 + 5).collect();
        (a, b)
    }

    #[test]
    fn identical_pictures_score_one() {
        let (a, _) = pictures(176, 176);
        let a = Plane::new(&a, 176, 176, 176);
        assert!((ssim_gaussian(&a, &a).unwrap() - 1.0).abs() < 1e-12);
        assert!((ms_ssim(&a, &a).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn small_pictures_are_refused() {
        let (a, _) = pictures(175, 200);
        let a = Plane::new(&a, 175, 175, 200);
        assert_eq!(ms_ssim(&a, &a), Err(Incomparable::TooSmall { side: 175, least: 176 }));
        let small = Plane::new(&[0; 100], 10, 10, 10);
        assert_eq!(ssim_gaussian(&small, &small), Err(Incomparable::TooSmall { side: 10, least: 11 }));
    }

    #[test]
    fn equals_an_independent_computation() {
        let (a, b) = pictures(192, 180);
        let (a, b) = (Plane::new(&a, 192, 192, 180), Plane::new(&b, 192, 192, 180));
        // scikit-image's structural_similarity (gaussian_weights, sigma 1.5, population covariance), the mean
        // of its map without the margin of five.
        assert!((ssim_gaussian(&a, &b).unwrap() - 0.971_491_596_636_670_8).abs() < 1e-12);
        // The same map at five scales, halved by means of four, in NumPy and SciPy.
        assert!((ms_ssim(&a, &b).unwrap() - 0.995_293_276_688_235_9).abs() < 1e-12);
    }
}
