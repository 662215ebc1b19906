//! The report on a whole stream.

use schemars::JsonSchema;
use serde::Serialize;

use super::ceiling::{CeilingReport, SECOND_EXCESS};
use super::vbv::VbvReport;
use crate::container;
use crate::shape::{LeftAlone, PictureReport};

/// A stream that exceeds its target by more than this share misses it, ...
const TOLERANCE: f64 = 0.002;
/// ... if it is also more than this share of a picture.
const OF_PICTURE: f64 = 0.1;

/// One picture of the stream, in coding order.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PictureRecord {
    /// Counts from 0.
    pub index: u64,
    /// Presentation time stamp, 90 kHz, where the container gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pts: Option<u64>,
    /// How long it is shown, in seconds.
    pub seconds: f64,
    /// The report of the shaper.
    #[serde(flatten)]
    pub shaping: PictureReport,
}

/// Sums over the pictures of a stream.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Totals {
    /// Access units, with a picture or without. One that left in parts counts once, with the last of them.
    pub pictures: u64,
    /// The same with every part.
    #[serde(skip)]
    parts: u64,
    /// Their display time in seconds.
    pub seconds: f64,
    /// Bits of video in the input.
    pub bits_in: u64,
    /// Bits of video in the output.
    pub bits_out: u64,
    /// Bits that the target allowed.
    pub bits_allowed: f64,
    /// Rate of the video in the input, bit/s.
    pub rate_in_bps: f64,
    /// Rate of the video in the output, bit/s.
    pub rate_out_bps: f64,
    /// Run-level codes of the input and of the output.
    pub codes: [u64; 2],
    /// Coded blocks of the input and of the output.
    pub blocks: [u64; 2],
    /// Squared error that the changes add to the pictures' own samples, drift not included.
    pub distortion: f64,
    /// Slices that could not be read and were copied.
    pub damaged_slices: u64,
    /// Pictures, and parts of them, that could not be reduced to their budget.
    pub at_floor: u64,
    /// Pictures, and parts of them, that were coded in a closed loop.
    pub closed_loop: u64,
    /// Pictures that shaping would have made larger; they were copied.
    pub would_have_grown: u64,
    /// Pictures that were copied unchanged, by reason.
    pub left_alone: LeftAloneCounts,
}

/// Pictures that were copied unchanged, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LeftAloneCounts {
    /// Within the budget.
    pub nothing_to_do: u64,
    /// Without a readable picture.
    pub not_readable: u64,
    /// D pictures.
    pub dc_only: u64,
    /// Pictures, and parts of them, that had to leave before they were shaped.
    pub too_late: u64,
}

impl Totals {
    /// Adds a picture, or a part of one that `goes_on`.
    pub(super) fn add(&mut self, picture: &PictureReport, seconds: f64, allowed: f64, goes_on: bool) {
        self.pictures += u64::from(!goes_on);
        self.parts += 1;
        self.seconds += seconds;
        self.bits_in += picture.bits_in;
        self.bits_out += picture.bits_out;
        self.bits_allowed += allowed;
        if self.seconds > 0.0 {
            self.rate_in_bps = self.bits_in as f64 / self.seconds;
            self.rate_out_bps = self.bits_out as f64 / self.seconds;
        }
        for (sum, count) in self.codes.iter_mut().zip(picture.codes) {
            *sum += count;
        }
        for (sum, count) in self.blocks.iter_mut().zip(picture.blocks) {
            *sum += count;
        }
        self.distortion += picture.distortion;
        self.damaged_slices += u64::from(picture.damaged_slices);
        self.at_floor += u64::from(picture.at_floor);
        self.closed_loop += u64::from(picture.closed_loop);
        match picture.left_alone {
            Some(LeftAlone::NothingToDo) => self.left_alone.nothing_to_do += 1,
            Some(LeftAlone::NotReadable) => self.left_alone.not_readable += 1,
            Some(LeftAlone::DcOnly) => self.left_alone.dc_only += 1,
            Some(LeftAlone::TooLate) => self.left_alone.too_late += 1,
            None => {}
        }
    }

    /// True where the output has more bits than the target allows.
    pub fn missed_target(&self) -> bool {
        self.exceeds(TOLERANCE)
    }

    /// True where the output exceeds the target by more than this share of it and a part of a picture.
    fn exceeds(&self, share: f64) -> bool {
        let excess = self.bits_out as f64 - self.bits_allowed;
        let picture = self.bits_out as f64 / self.pictures.max(1) as f64;
        excess > share * self.bits_allowed && excess > OF_PICTURE * picture
    }

    /// True where no picture can be made smaller.
    pub fn is_least(&self) -> bool {
        self.at_floor > 0
            && self.at_floor + self.left_alone.not_readable + self.left_alone.dc_only == self.parts
    }
}

/// The report of a run.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Report {
    /// Of the video.
    pub totals: Totals,
    /// Of the ceiling of a target in bit/s; `None` where none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingReport>,
    /// Of the VBV; `None` where the stream declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vbv: Option<VbvReport>,
    /// Of the container.
    pub container: container::Report,
}

impl Report {
    /// True where the output has more bits than the target allows. Where each second has its own bound, that is the bound of
    /// them all.
    pub fn missed_target(&self) -> bool {
        let even_seconds = self.ceiling.as_ref().is_some_and(|ceiling| ceiling.even_seconds);
        self.totals.exceeds(if even_seconds { SECOND_EXCESS } else { TOLERANCE })
    }
}
