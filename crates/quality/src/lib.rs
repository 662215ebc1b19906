//! Scores of what the viewer saw: PSNR, SSIM, freezes, delay, fairness.
