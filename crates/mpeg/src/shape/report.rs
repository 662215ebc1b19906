//! What a shaper did.

use crate::header::PictureKind;
use serde::Serialize;

/// Why a picture was handed on as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftAlone {
    /// The target does not ask for less.
    NothingToDo,
    /// No picture is in it, or its headers are missing, forbidden, or of a scalable layer.
    NotReadable,
    /// It has DC coefficients only.
    DcOnly,
}

/// One picture of the output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PictureReport {
    /// Its coding type; `None` where there is no picture that can be read.
    pub kind: Option<PictureKind>,
    /// Bits that came in, headers included.
    pub bits_in: u64,
    /// Bits that went out.
    pub bits_out: u64,
    /// Bits it was allowed; negative where earlier pictures had overdrawn.
    pub budget: i64,
    /// Run-level codes that were read, and how many of them went out.
    pub codes: [u64; 2],
    /// Coded blocks that were read, and how many of them went out. Codes by blocks are the mean breakpoint.
    pub blocks: [u64; 2],
    /// Slope at which distortion was traded for rate: squared error a bit; 0 where the method knows none.
    pub lambda: f64,
    /// By how much the quantiser scales were stretched; 1 where they stay.
    pub quantiser_factor: f64,
    /// Squared error this picture's changes add to its own samples, summed, drift not counted.
    pub distortion: f64,
    /// Slices that could not be read and were copied.
    pub damaged_slices: u32,
    /// True where even the least it can be reduced to is above its budget.
    pub at_floor: bool,
    /// Why it was not touched, if so.
    pub left_alone: Option<LeftAlone>,
}
