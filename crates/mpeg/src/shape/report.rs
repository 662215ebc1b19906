//! The report on a picture.

use crate::header::PictureKind;
use schemars::JsonSchema;
use serde::Serialize;

/// One access unit of the output, at the same position in the stream as the unit that came in.
#[derive(Debug, Clone)]
pub struct Shaped {
    /// The bytes to send.
    pub bytes: Vec<u8>,
    /// The report on it.
    pub report: PictureReport,
}

/// Why a picture was copied unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftAlone {
    /// It is within its budget.
    NothingToDo,
    /// The unit has no picture, or its headers are missing, forbidden, or of a scalable layer.
    NotReadable,
    /// It is a D picture: DC coefficients only.
    DcOnly,
    /// It had to leave before it was shaped.
    TooLate,
}

/// One picture of the output.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize)]
pub struct PictureReport {
    /// Its coding type; `None` where the unit has no readable picture.
    pub kind: Option<PictureKind>,
    /// Bits of the input, headers included.
    pub bits_in: u64,
    /// Bits of the output.
    pub bits_out: u64,
    /// Bits of its budget; negative where earlier pictures overspent.
    pub budget: i64,
    /// Run-level codes of the input, and of the output.
    pub codes: [u64; 2],
    /// Coded blocks of the input, and of the output. Codes by blocks are the mean breakpoint.
    pub blocks: [u64; 2],
    /// The Lagrangian multiplier: squared error a bit; 0 for a method without one.
    pub lambda: f64,
    /// By how much the quantiser scales were multiplied; 1 where they are unchanged.
    pub quantiser_factor: f64,
    /// Squared error that the changes add to this picture's own samples, drift not included.
    pub distortion: f64,
    /// Slices that could not be read and were copied.
    pub damaged_slices: u32,
    /// True where the smallest possible size is above the budget.
    pub at_floor: bool,
    /// True where it was coded in a closed loop, which corrects the errors of earlier pictures.
    pub closed_loop: bool,
    /// Why it was copied unchanged, if so.
    pub left_alone: Option<LeftAlone>,
}

impl PictureReport {
    /// The output is the input after all.
    pub(crate) fn copied(self, left_alone: Option<LeftAlone>) -> Self {
        let Self { kind, bits_in, budget, codes, blocks, damaged_slices, .. } = self;
        Self {
            kind,
            bits_in,
            bits_out: bits_in,
            budget,
            codes: [codes[0]; 2],
            blocks: [blocks[0]; 2],
            quantiser_factor: 1.0,
            damaged_slices,
            left_alone,
            ..Self::default()
        }
    }
}
