//! SSIM as first published: a Gaussian window of 11x11, and the form over several scales
//! (Wang, Simoncelli and Bovik 2003).

use crate::{Incomparable, Plane};

/// Side of the window.
const TAPS: usize = 11;
const SIGMA: f64 = 1.5;
/// Exponents of the scales, finest first (table 1 of the 2003 paper).
const EXPONENTS: [f64; 5] = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];

/// What a picture scores with the Gaussian window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaussian {
    /// At the picture's own scale.
    pub ssim: f64,
    /// Over five scales; `None` where a side is shorter than 176, whose sixteenth is the window.
    pub ms_ssim: Option<f64>,
}

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
    let (a, b) = (Image::of(reference), Image::of(shown));
    let finest = compare(&a, &b);
    Ok(over_scales(a, b, &finest))
}

/// Both in one go: they share the finest scale, which is three quarters of the work.
///
/// # Errors
/// Where the sizes differ or a side is shorter than 11.
pub fn gaussian(reference: &Plane<'_>, shown: &Plane<'_>) -> Result<Gaussian, Incomparable> {
    reference.check_like(shown, TAPS)?;
    let reaches = reference.width().min(reference.height()) >= TAPS << (EXPONENTS.len() - 1);
    let (a, b) = (Image::of(reference), Image::of(shown));
    let finest = compare(&a, &b);
    let ssim = finest.whole;
    Ok(Gaussian { ssim, ms_ssim: reaches.then(|| over_scales(a, b, &finest)) })
}

fn over_scales(mut a: Image, mut b: Image, finest: &Similarity) -> f64 {
    let (first, rest) = EXPONENTS.split_at(1);
    let mut product = libm::pow(finest.structure.max(0.0), first[0]);
    for (scale, &exponent) in rest.iter().enumerate() {
        (a, b) = (a.halved(), b.halved());
        let similarity = compare(&a, &b);
        let coarsest = scale + 1 == rest.len();
        let factor = if coarsest { similarity.whole } else { similarity.structure };
        product *= libm::pow(factor.max(0.0), exponent);
    }
    product
}

/// Samples as numbers about the middle of their range, without gaps: single precision then holds their squares
/// well enough for the sixth decimal of a score.
struct Image {
    data: Vec<f32>,
    width: usize,
}

const MIDDLE: f32 = 128.0;

impl Image {
    fn of(plane: &Plane<'_>) -> Self {
        let data = plane.rows().flatten().map(|&sample| f32::from(sample) - MIDDLE).collect();
        Self { data, width: plane.width() }
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.data.chunks_exact(self.width)
    }

    fn row(&self, y: usize) -> &[f32] {
        &self.data[y * self.width..][..self.width]
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
#[derive(Debug)]
struct Similarity {
    /// Luminance, contrast and structure.
    whole: f64,
    /// Contrast and structure alone.
    structure: f64,
}

/// Weighted moments of both pictures along a row: their means, the mean of the sum of their squares, and of their
/// product. The two variances are only ever needed together.
type Moments = [Vec<f32>; 4];

/// The window is the product of a column and a row of weights: the column first.
fn compare(a: &Image, b: &Image) -> Similarity {
    let kernel = kernel();
    let (width, height) = (a.width, a.rows().len());
    let columns = width + 1 - TAPS;
    let mut down: Moments = std::array::from_fn(|_| vec![0.0; width]);
    let mut moments: Moments = std::array::from_fn(|_| vec![0.0; columns]);
    let (mut luminance, mut contrast) = (vec![0.0; columns], vec![0.0; columns]);
    let (mut whole, mut structure) = (0.0, 0.0);
    for top in 0..=height - TAPS {
        sum_down(&mut down, a, b, top, &kernel);
        for (along, down) in moments.iter_mut().zip(&down) {
            sum_along(along, down, &kernel);
        }
        terms(&moments, &mut luminance, &mut contrast);
        whole += luminance.iter().map(|&value| f64::from(value)).sum::<f64>();
        structure += contrast.iter().map(|&value| f64::from(value)).sum::<f64>();
    }
    let windows = ((height + 1 - TAPS) * columns) as f64;
    Similarity { whole: whole / windows, structure: structure / windows }
}

fn sum_down(down: &mut Moments, a: &Image, b: &Image, top: usize, kernel: &[f32; TAPS]) {
    for moment in down.iter_mut() {
        moment.fill(0.0);
    }
    let [mean_a, mean_b, squares, products] = down;
    let width = a.width;
    let columns = (&mut mean_a[..width], &mut mean_b[..width], &mut squares[..width], &mut products[..width]);
    let (mean_a, mean_b, squares, products) = columns;
    for (tap, &weight) in kernel.iter().enumerate() {
        let (a, b) = (&a.row(top + tap)[..width], &b.row(top + tap)[..width]);
        for x in 0..width {
            let (a, b) = (a[x], b[x]);
            let (weighted_a, weighted_b) = (weight * a, weight * b);
            mean_a[x] += weighted_a;
            mean_b[x] += weighted_b;
            squares[x] += weighted_a * a + weighted_b * b;
            products[x] += weighted_a * b;
        }
    }
}

/// The weights are symmetric: samples at the same distance are added first.
fn sum_along(along: &mut [f32], down: &[f32], kernel: &[f32; TAPS]) {
    let count = along.len();
    let middle = &down[TAPS / 2..][..count];
    for (sum, &sample) in along.iter_mut().zip(middle) {
        *sum = kernel[TAPS / 2] * sample;
    }
    for tap in 0..TAPS / 2 {
        let (left, right) = (&down[tap..][..count], &down[TAPS - 1 - tap..][..count]);
        for ((sum, &left), &right) in along.iter_mut().zip(left).zip(right) {
            *sum += kernel[tap] * (left + right);
        }
    }
}

/// Contrast with structure, and luminance times that.
fn terms(moments: &Moments, luminance: &mut [f32], contrast: &mut [f32]) {
    const C1: f32 = super::C1 as f32;
    const C2: f32 = super::C2 as f32;
    let count = luminance.len();
    let [mean_a, mean_b, squares, products] = moments.each_ref().map(|moment| &moment[..count]);
    let (luminance, contrast) = (&mut luminance[..count], &mut contrast[..count]);
    for x in 0..count {
        let (a, b) = (mean_a[x], mean_b[x]);
        let variances = squares[x] - (a * a + b * b);
        let covariance = products[x] - a * b;
        let (a, b) = (a + MIDDLE, b + MIDDLE);
        contrast[x] = (2.0 * covariance + C2) / (variances + C2);
        luminance[x] = (2.0 * a * b + C1) / (a * a + b * b + C1) * contrast[x];
    }
}

fn kernel() -> [f32; TAPS] {
    let weights: [f64; TAPS] = std::array::from_fn(|tap| {
        let distance = tap as f64 - (TAPS / 2) as f64;
        libm::exp(-distance * distance / (2.0 * SIGMA * SIGMA))
    });
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| (weight / sum) as f32)
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
        assert!((ssim_gaussian(&a, &a).unwrap() - 1.0).abs() < 1e-6);
        assert!((ms_ssim(&a, &a).unwrap() - 1.0).abs() < 1e-6);
        let both = Gaussian { ssim: ssim_gaussian(&a, &a).unwrap(), ms_ssim: ms_ssim(&a, &a).ok() };
        assert_eq!(gaussian(&a, &a), Ok(both));
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
        assert!((ssim_gaussian(&a, &b).unwrap() - 0.971_491_596_636_670_8).abs() < 1e-6);
        // The same map at five scales, halved by means of four, in NumPy and SciPy.
        assert!((ms_ssim(&a, &b).unwrap() - 0.995_293_276_688_235_9).abs() < 1e-6);
    }
}
