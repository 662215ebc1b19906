//! The metrics of one pair of pictures.

use super::align::{Pair, sizes};
use super::{Mode, ScoreError};
use seaway_media::{FrameId, Picture, PicturePool};
use seaway_quality::psnr::{mean_squared_error, of_error};
use seaway_quality::{Plane, ssim};
use seaway_units::TimeDelta;

/// Which metrics are computed. VMAF is FFmpeg's, the others are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metrics {
    /// SSIM as FFmpeg's filter computes it.
    pub ssim: bool,
    /// SSIM with the Gaussian window, and MS-SSIM, which shares most of the work.
    pub gaussian: bool,
    /// VMAF, where FFmpeg has it.
    pub vmaf: bool,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { ssim: true, gaussian: true, vmaf: true }
    }
}

/// The scores of one picture; `None` where a metric was not computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PictureScores {
    /// Mean squared error of luma, blue and red difference.
    pub mse: Option<[f64; 3]>,
    /// Luma, as FFmpeg's filter.
    pub ssim: Option<f64>,
    /// All planes, as FFmpeg's filter.
    pub ssim_all: Option<f64>,
    /// Gaussian window, luma.
    pub ssim_gaussian: Option<f64>,
    /// Over five scales, luma; needs 176 rows and columns.
    pub ms_ssim: Option<f64>,
    /// By FFmpeg's libvmaf.
    pub vmaf: Option<f64>,
}

impl PictureScores {
    /// PSNR of luma in decibels.
    pub fn psnr(&self) -> Option<f64> {
        self.mse.map(|mse| of_error(mse[0]).get())
    }

    /// PSNR of all samples of a 4:2:0 picture, FFmpeg's `psnr_avg`.
    pub fn psnr_all(&self) -> Option<f64> {
        self.mse.map(|mse| of_error(all_planes(mse)).get())
    }
}

/// The mean over all samples of a 4:2:0 picture.
pub(super) fn all_planes([luma, blue, red]: [f64; 3]) -> f64 {
    ssim::all_planes(luma, blue, red)
}

/// Measures the picture on screen. Before the first picture there is no score, except in EvalVid's procedure, where the
/// screen is black until then.
pub(super) fn measure(pair: &Pair, metrics: Metrics) -> Result<PictureScores, ScoreError> {
    let Some(shown) = &pair.shown else { return Ok(PictureScores::default()) };
    let refuse = |_| sizes(&pair.reference, shown);
    let (a, b) = (planes(&pair.reference), planes(shown));
    let mut mse = [0.0; 3];
    for ((mse, a), b) in mse.iter_mut().zip(&a).zip(&b) {
        *mse = mean_squared_error(a, b).map_err(refuse)?;
    }
    let mut scores = PictureScores { mse: Some(mse), ..PictureScores::default() };
    // Pictures too small for a metric's window have no score by it.
    if metrics.ssim {
        let planes = [0, 1, 2].map(|plane| ssim::ssim(&a[plane], &b[plane]).ok());
        scores.ssim = planes[0];
        if let [Some(luma), Some(blue), Some(red)] = planes {
            scores.ssim_all = Some(ssim::all_planes(luma, blue, red));
        }
    }
    if metrics.gaussian
        && let Ok(gaussian) = ssim::gaussian(&a[0], &b[0])
    {
        scores.ssim_gaussian = Some(gaussian.ssim);
        scores.ms_ssim = gaussian.ms_ssim;
    }
    Ok(scores)
}

/// Black, as a screen is before anything is shown.
pub(super) fn fill_in(pair: &mut Pair, mode: Mode) {
    if mode == Mode::EvalVid && pair.shown.is_none() {
        let mut buffer = PicturePool::new(pair.reference.size()).take();
        for (plane, value) in buffer.planes_mut().into_iter().zip([16, 128, 128]) {
            plane.data.fill(value);
        }
        pair.shown = Some(buffer.finish(FrameId(0), TimeDelta::ZERO));
    }
}

fn planes(picture: &Picture) -> [Plane<'_>; 3] {
    picture.planes().map(|plane| Plane::new(plane.data, plane.stride, plane.width, plane.height))
}
