//! Scores of what the viewer saw: PSNR, SSIM, freezes, delay, fairness.
//!
//! | module | measures |
//! | --- | --- |
//! | [`psnr`] | error of one picture against another, per picture and over a sequence |
//! | [`ssim`] | structural similarity: FFmpeg's form, the Gaussian form, and over several scales |
//! | [`mos`] | the opinion scores commonly read off these two |
//! | [`freeze`] | pictures that stay too long, as browsers count them; stalls of a player |
//! | [`statistics`] | mean with its interval, percentiles |
//! | [`histogram`] | the same of many spans of time, in bounded memory |
//! | [`fairness`] | how evenly shares are shared |
//!
//! Pictures arrive as borrowed [`Plane`]s, times and rates as `units`. Nothing here waits, reads or draws.

pub mod fairness;
pub mod freeze;
pub mod histogram;
pub mod mos;
mod plane;
pub mod psnr;
pub mod ssim;
pub mod stale;
pub mod statistics;

pub use plane::{Incomparable, Plane};
