//! Structural similarity (Wang, Bovik, Sheikh and Simoncelli 2004) of 8-bit samples, 1 where identical.

mod blocks;
mod gaussian;

pub use blocks::ssim;
pub use gaussian::{Gaussian, gaussian, ms_ssim, ssim_gaussian};

/// `(K L)²` with `K₁ = 0.01` and `L = 255`.
const C1: f64 = 0.01 * 0.01 * 255.0 * 255.0;
/// `(K L)²` with `K₂ = 0.03` and `L = 255`.
const C2: f64 = 0.03 * 0.03 * 255.0 * 255.0;

/// The mean of three planes of a 4:2:0 picture, each by its number of samples: FFmpeg's "All".
pub fn all_planes(luma: f64, blue: f64, red: f64) -> f64 {
    (4.0 * luma + blue + red) / 6.0
}
