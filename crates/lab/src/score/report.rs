//! The report of the scores.

use super::align::{Fate, Pair};
use super::measure::{all_planes, measure};
use super::{Align, Compared, Metrics, Mode, Options, PictureScores, ScoreError};
use crate::series::Series;
use schemars::JsonSchema;
use seaway_media::FrameRate;
use seaway_media::input::PictureFormat;
use seaway_quality::freeze::{FreezeDetector, StallMeter};
use seaway_quality::mos::Opinion;
use seaway_quality::psnr::of_error;
use seaway_quality::statistics::{Distribution, percentile};
use seaway_units::{Decibels, TimeDelta, Timestamp};
use serde::Serialize;
use std::io::{self, Write};

/// The score of a picture of the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameScore {
    /// Its number, from 0.
    pub index: u64,
    /// When it should have been shown.
    pub at: TimeDelta,
    /// Its fate.
    pub fate: Fate,
    /// How much later it was shown, on the two files' own clocks.
    pub delay: Option<TimeDelta>,
    /// The scores of the picture on screen in its place.
    pub scores: PictureScores,
}

impl FrameScore {
    pub(super) fn of(pair: &Pair, metrics: Metrics) -> Result<Self, ScoreError> {
        let Pair { index, fate, delay, .. } = *pair;
        Ok(Self { index, at: pair.reference.time(), fate, delay, scores: measure(pair, metrics)? })
    }
}

/// Everything a report is made of.
pub(super) struct Facts {
    pub(super) options: Options,
    pub(super) formats: [PictureFormat; 2],
    pub(super) compared: Compared,
    pub(super) undecodable: u64,
}

/// The score of a sequence. What does not apply is left out.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Report {
    /// The version of this form.
    pub schema: u32,
    /// The version of Seaway.
    pub seaway: &'static str,
    /// `decoded`: from pictures.
    pub kind: &'static str,
    /// The pictures that means are over.
    pub mode: Mode,
    /// How pictures were paired.
    pub align: Align,
    /// What was sent.
    pub reference: Sequence,
    /// What was received.
    pub received: Sequence,
    /// Pictures of the reference by fate.
    pub frames: Frames,
    /// Luma.
    pub psnr_db: Psnr,
    /// All samples, FFmpeg's `average`.
    pub psnr_all_db: Psnr,
    /// FFmpeg's filter, luma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim: Option<Mean>,
    /// FFmpeg's filter, all planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim_all: Option<Mean>,
    /// Window of 11x11, luma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim_gaussian: Option<Mean>,
    /// Five scales, luma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms_ssim: Option<Mean>,
    /// FFmpeg's libvmaf, its default model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vmaf: Option<Mean>,
    /// Opinion scores by EvalVid's table of PSNR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mos: Option<Mos>,
    /// As webrtc-stats defines them, by the times of the reference.
    pub freezes: Freezes,
    /// Spans without the picture that was due, however short.
    pub stalls: Stalls,
    /// Pictures a second in the harmonic sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harmonic_fps: Option<f64>,
    /// Of shown pictures, above that of the earliest; known where content was aligned in files with times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Delay>,
    /// One by one.
    #[serde(skip)]
    pub per_frame: Vec<FrameScore>,
}

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Sequence {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Pictures per second.
    pub fps: f64,
    /// Pictures.
    pub frames: u64,
}

/// Pictures of the reference by fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Frames {
    /// Shown.
    pub displayed: u64,
    /// The same picture was shown again in their place.
    pub repeated: u64,
    /// No picture came in their place.
    pub missing: u64,
    /// Before the first that was shown.
    pub not_begun: u64,
    /// Received and never displayed: late, or more than the reference has.
    pub unused: u64,
    /// Coded pictures that could not be decoded.
    pub undecodable: u64,
}

/// Peak signal-to-noise ratio of a sequence, in decibels; identical pictures count as 100.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Psnr {
    /// Mean of the pictures' own: what EvalVid and most papers print.
    pub mean: f64,
    /// Of the mean error: what FFmpeg prints.
    pub of_mean_mse: f64,
    /// The worst picture.
    pub min: f64,
    /// Five in a hundred pictures are at or below.
    pub p5: f64,
}

/// A metric of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Mean {
    /// Arithmetic, over the pictures.
    pub mean: f64,
    /// The worst picture.
    pub min: f64,
    /// Five in a hundred pictures are at or below.
    pub p5: f64,
}

/// Opinion scores.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Mos {
    /// Mean grade, 1 to 5.
    pub mean: f64,
    /// Pictures of grade 1 to 5.
    pub grades: [u64; 5],
}

/// Freezes.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Freezes {
    /// How many.
    pub count: u64,
    /// How long together.
    pub total_s: f64,
    /// The longest.
    pub longest_s: f64,
}

/// Spans in which the picture that was due did not come.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// How long together.
    pub total_s: f64,
    /// The longest.
    pub longest_s: f64,
}

/// Delays in milliseconds; percentiles are nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Delay {
    /// Arithmetic.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 of 100 lie at or below.
    pub p95: f64,
    /// 99 of 100 lie at or below.
    pub p99: f64,
    /// None lies above.
    pub max: f64,
}

impl Report {
    const SCHEMA: u32 = 1;

    pub(super) fn new(facts: Facts) -> Result<Self, ScoreError> {
        let Facts { options, formats, compared: Compared { frames, received_pictures, unused }, undecodable } =
            facts;
        if frames.is_empty() {
            return Err(ScoreError::Empty("the reference"));
        }
        if received_pictures == 0 {
            return Err(ScoreError::Empty("the received file"));
        }
        let sequence = |format: PictureFormat, frames| Sequence {
            width: format.size.width(),
            height: format.size.height(),
            fps: format.frame_rate.hz(),
            frames,
        };
        let (freezes, stalls, harmonic_fps) = interruptions(&frames, formats[0].frame_rate);
        let metric = |value: fn(&PictureScores) -> Option<f64>| Mean::of(&frames, value);
        Ok(Self {
            schema: Self::SCHEMA,
            seaway: seaway_report::VERSION,
            kind: "decoded",
            mode: options.mode,
            align: options.align,
            reference: sequence(formats[0], frames.len() as u64),
            received: sequence(formats[1], received_pictures),
            frames: Frames { unused, undecodable, ..Frames::of(&frames) },
            psnr_db: Psnr::of(&frames, |mse| mse[0]).ok_or(ScoreError::Empty("the received file"))?,
            psnr_all_db: Psnr::of(&frames, all_planes).ok_or(ScoreError::Empty("the received file"))?,
            ssim: metric(|scores| scores.ssim),
            ssim_all: metric(|scores| scores.ssim_all),
            ssim_gaussian: metric(|scores| scores.ssim_gaussian),
            ms_ssim: metric(|scores| scores.ms_ssim),
            vmaf: metric(|scores| scores.vmaf),
            mos: (options.mode == Mode::EvalVid).then(|| Mos::of(&frames)),
            freezes,
            stalls,
            harmonic_fps,
            delay_ms: delays(&frames),
            per_frame: frames,
        })
    }

    /// One row a picture of the reference, as CSV (RFC 4180) with a header; a score that does not apply is empty.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "frame,time,fate,delay_ms,mse_y,psnr_y,psnr_all,ssim_y,ssim_all,ssim_gaussian,ms_ssim,vmaf"
        )?;
        let cell = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        for frame in &self.per_frame {
            let scores = &frame.scores;
            let fate = match frame.fate {
                Fate::Displayed => "displayed",
                Fate::Repeated => "repeated",
                Fate::Missing => "missing",
                Fate::NotBegun => "not-begun",
            };
            write!(out, "{},{},{fate}", frame.index, frame.at.as_secs_f64())?;
            let delay = frame.delay.map(TimeDelta::as_millis_f64);
            let luma = scores.mse.map(|mse| mse[0]);
            let rest = [scores.ssim, scores.ssim_all, scores.ssim_gaussian, scores.ms_ssim, scores.vmaf];
            for value in [delay, luma, scores.psnr(), scores.psnr_all()].into_iter().chain(rest) {
                write!(out, ",{}", cell(value))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// The scores over time, to be drawn.
    pub fn series(&self) -> Series {
        let mut series = Series::default();
        let received = series.subject("received");
        for frame in &self.per_frame {
            let at = Timestamp::ZERO + frame.at;
            let scores = &frame.scores;
            let held = f64::from(u8::from(frame.fate != Fate::Displayed));
            let values = [
                ("psnr", scores.psnr(), "dB"),
                ("ssim", scores.ssim, ""),
                ("ms_ssim", scores.ms_ssim, ""),
                ("vmaf", scores.vmaf, ""),
                ("held", Some(held), ""),
            ];
            for (name, value, unit) in values {
                if let Some(value) = value {
                    series.push(at, received, name, value, unit);
                }
            }
        }
        series
    }
}

impl Frames {
    fn of(frames: &[FrameScore]) -> Self {
        let count = |fate| frames.iter().filter(|frame| frame.fate == fate).count() as u64;
        Self {
            displayed: count(Fate::Displayed),
            repeated: count(Fate::Repeated),
            missing: count(Fate::Missing),
            not_begun: count(Fate::NotBegun),
            unused: 0,
            undecodable: 0,
        }
    }
}

impl Psnr {
    fn of(frames: &[FrameScore], error: fn([f64; 3]) -> f64) -> Option<Self> {
        let errors: Vec<f64> = frames.iter().filter_map(|frame| frame.scores.mse.map(error)).collect();
        let mut levels: Vec<f64> = errors.iter().map(|&error| of_error(error).get()).collect();
        let Mean { mean, min, p5 } = Mean::of_values(&mut levels)?;
        let of_mean_mse = of_error(errors.iter().sum::<f64>() / errors.len() as f64).get();
        Some(Self { mean, of_mean_mse, min, p5 })
    }
}

impl Mean {
    fn of(frames: &[FrameScore], value: fn(&PictureScores) -> Option<f64>) -> Option<Self> {
        Self::of_values(&mut frames.iter().filter_map(|frame| value(&frame.scores)).collect::<Vec<_>>())
    }

    fn of_values(values: &mut [f64]) -> Option<Self> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.sort_unstable_by(f64::total_cmp);
        Some(Self { mean, min: *values.first()?, p5: percentile(values, 5.0)? })
    }
}

impl Mos {
    fn of(frames: &[FrameScore]) -> Self {
        let mut grades = [0; 5];
        let opinions = frames.iter().filter_map(|frame| frame.scores.psnr());
        for opinion in opinions.map(|psnr| Opinion::of_psnr(Decibels::new(psnr))) {
            grades[usize::from(opinion.grade()) - 1] += 1;
        }
        let count: u64 = grades.iter().sum();
        let sum: u64 = grades.iter().zip(1..).map(|(count, grade)| count * grade).sum();
        Self { mean: sum as f64 / count.max(1) as f64, grades }
    }
}

/// Freezes and stalls, as the pictures of the reference passed by.
fn interruptions(frames: &[FrameScore], rate: FrameRate) -> (Freezes, Stalls, Option<f64>) {
    let (mut freezes, mut stalls) = (FreezeDetector::default(), StallMeter::default());
    let mut end = Timestamp::ZERO;
    for frame in frames {
        let at = Timestamp::ZERO + frame.at;
        match frame.fate {
            Fate::Displayed => {
                freezes.on_picture(at);
                stalls.on_resume(at);
            }
            Fate::Repeated | Fate::Missing => stalls.on_empty(at),
            Fate::NotBegun => {}
        }
        end = at + rate.interval();
    }
    let (freezes, stalls) = (freezes.report(end), stalls.report(end));
    (
        Freezes {
            count: freezes.count,
            total_s: freezes.total.as_secs_f64(),
            longest_s: freezes.longest.as_secs_f64(),
        },
        Stalls {
            count: stalls.count,
            total_s: stalls.total.as_secs_f64(),
            longest_s: stalls.longest.as_secs_f64(),
        },
        freezes.harmonic_frame_rate(),
    )
}

fn delays(frames: &[FrameScore]) -> Option<Delay> {
    let delays = || frames.iter().filter_map(|frame| frame.delay);
    let least = delays().min()?;
    let mut millis: Vec<f64> = delays().map(|delay| (delay - least).as_millis_f64()).collect();
    let Distribution { mean, p50, p95, p99, max } = Distribution::of(&mut millis)?;
    Some(Delay { mean, p50, p95, p99, max })
}
