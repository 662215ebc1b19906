//! The report on a whole stream.

use serde::Serialize;

use super::vbv::VbvReport;
use crate::container;
use crate::shape::{LeftAlone, PictureReport};

/// A stream that exceeds its target by this factor misses it.
const TOLERANCE: f64 = 1.001;

/// One picture of the stream, in coding order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureRecord {
    /// Counts from 0.
    pub index: u64,
    /// Presentation time stamp, 90 kHz, where the container gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pts: Option<u64>,
    /// The report of the shaper.
    #[serde(flatten)]
    pub shaping: PictureReport,
}

/// Sums over the pictures of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Access units, with a picture or without.
    pub pictures: u64,
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
    /// Pictures that could not be reduced to their budget.
    pub at_floor: u64,
    /// Pictures that shaping would have made larger; they were copied.
    pub would_have_grown: u64,
    /// Pictures that were copied unchanged, by reason.
    pub left_alone: LeftAloneCounts,
}

/// Pictures that were copied unchanged, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftAloneCounts {
    /// Within the budget.
    pub nothing_to_do: u64,
    /// Without a readable picture.
    pub not_readable: u64,
    /// D pictures.
    pub dc_only: u64,
}

impl Totals {
    pub(super) fn add(&mut self, picture: &PictureReport, seconds: f64, allowed: f64) {
        self.pictures += 1;
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
        match picture.left_alone {
            Some(LeftAlone::NothingToDo) => self.left_alone.nothing_to_do += 1,
            Some(LeftAlone::NotReadable) => self.left_alone.not_readable += 1,
            Some(LeftAlone::DcOnly) => self.left_alone.dc_only += 1,
            None => {}
        }
    }

    /// True where the target is below what shaping can reach: pictures at their floor, and more bits than allowed.
    pub fn missed_target(&self) -> bool {
        self.at_floor > 0 && self.bits_out as f64 > self.bits_allowed * TOLERANCE
    }
}

/// The report of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Of the video.
    pub totals: Totals,
    /// Of the VBV; `None` where the stream declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vbv: Option<VbvReport>,
    /// Of the container.
    pub container: container::Report,
}
