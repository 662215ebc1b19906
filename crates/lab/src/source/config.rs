//! `source = { … }` of a media flow: its keys, their check, and the model that they name.

use super::constant::Constant;
use super::ladder::ClipLadder;
use super::model::FrameSource;
use super::periodic::Periodic;
use super::recorded::{FrameLadder, Recorded};
use super::statistical::Statistical;
use super::stored::Stored;
use super::undershoot::Undershoot;
use seaway_link::RandomStream;
use seaway_media::encoder::LadderRule;
use seaway_media::shaped::Method;
use seaway_units::{Bitrate, TimeDelta};
use serde::Deserialize;
use std::sync::Arc;

/// Where frames come from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a source such as { kind = \"saturated\" }"
)]
pub enum SourceConfig {
    /// Always a full packet to send.
    Saturated,
    /// Frames of one size at a constant rate, whatever the controller allows.
    Cbr {
        /// Payload bits per second.
        rate: Bitrate,
        /// Frames per second.
        #[serde(default = "thirty")]
        fps: f64,
    },
    /// Frames of a model of an encoder, which follows its share of the target.
    Frames {
        /// Which model.
        #[serde(default)]
        model: FrameModel,
        /// Frames per second.
        #[serde(default = "thirty")]
        fps: f64,
        /// `periodic`: from one key frame to the next; absent: only the first and those requested.
        key_interval: Option<TimeDelta>,
        /// `periodic`: size of a key frame over that of another.
        key_ratio: Option<f64>,
        /// `periodic`: scale of the Laplace distribution of the intervals, as a part of them; absent: they are all alike.
        spread: Option<f64>,
        /// The share of the target that the encoder leaves unused.
        #[serde(default)]
        undershoot: f64,
        /// `trace`: the ladder of frame sizes; absent: the one that comes with the library.
        file: Option<String>,
        /// What is in the file.
        #[serde(skip)]
        ladder: Option<Arc<FrameLadder>>,
    },
    /// Frames of a clip that was coded once, whatever the controller allows; over at its end.
    Stored {
        /// Sizes in octets, one a line.
        file: String,
        /// Frames per second.
        fps: f64,
        /// Frames of a group of pictures, which begins with a key frame.
        group: u32,
        /// Of the flows that `count` makes, each plays its part: the first the first group, the second the second, and
        /// so on in turn.
        #[serde(default)]
        interleave: bool,
        /// What is in the file.
        #[serde(skip)]
        frames: Arc<[u32]>,
        /// Of so many flows, which this is.
        #[serde(skip, default = "whole")]
        part: (usize, usize),
    },
    /// The frames of a clip in a loop, coded beforehand at a ladder of rates; quality is modelled.
    Ladder {
        /// The ladder; absent: the one that comes with the library.
        file: Option<String>,
        /// What is in the file.
        #[serde(skip)]
        ladder: Option<Arc<ClipLadder>>,
    },
    /// An MPEG-1/2 stream in a loop, shaped to the rate that is asked for (S002). At most that rate leaves it, and no less
    /// than can be reached by dropping coefficients.
    Shaper {
        /// The stream, in any container; absent: the one that comes with the library.
        file: Option<String>,
        /// How to choose what to drop.
        #[serde(default)]
        method: ShaperMethod,
    },
    /// Pictures of a clip in a loop, coded live; what arrives is decoded and scored.
    Clip {
        /// The clip; absent: the one that comes with the library.
        file: Option<String>,
        /// What codes it.
        #[serde(default)]
        encoder: Encoder,
    },
}

impl SourceConfig {
    /// Whether the values hold together.
    ///
    /// # Errors
    /// The key, and what would be valid.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let require = |key, holds: bool, expected| if holds { Ok(()) } else { Err((key, expected)) };
        let check_fps =
            |fps: f64| require("source.fps", (0.1..=1000.0).contains(&fps), "expected 0.1 to 1000");
        match *self {
            Self::Saturated | Self::Ladder { .. } | Self::Shaper { .. } => Ok(()),
            Self::Stored { fps, group, .. } => {
                require("source.group", group > 0, "expected at least 1")?;
                check_fps(fps)
            }
            Self::Cbr { rate, fps } => {
                require("source.rate", rate > Bitrate::ZERO, "expected a rate above zero")?;
                check_fps(fps)
            }
            Self::Frames { model, fps, key_interval, key_ratio, spread, undershoot, ref file, .. } => {
                use FrameModel::{Periodic, Trace};
                let expected = "applies only to model = \"trace\"";
                require("source.file", model == Trace || file.is_none(), expected)?;
                let given = key_interval.is_some() || key_ratio.is_some() || spread.is_some();
                let expected = "`key_interval`, `key_ratio` and `spread` apply only to model = \"periodic\"";
                require("source", model == Periodic || !given, expected)?;
                let some = key_interval.is_none_or(|interval| interval > TimeDelta::ZERO);
                require("source.key_interval", some, "expected a time above zero")?;
                let ratio = (1.0..=100.0).contains(&key_ratio.unwrap_or(1.0));
                require("source.key_ratio", ratio, "expected 1 to 100")?;
                let spread = (0.0..=0.5).contains(&spread.unwrap_or(0.0));
                require("source.spread", spread, "expected 0 to 0.5")?;
                require("source.undershoot", (0.0..=0.9).contains(&undershoot), "expected 0 to 0.9")?;
                check_fps(fps)
            }
            Self::Clip { encoder, .. } => {
                let latency = (TimeDelta::ZERO..=TimeDelta::from_secs(1)).contains(&encoder.latency);
                require("source.encoder.latency", latency, "expected 0 s to 1 s")?;
                let some = encoder.key_every.is_none_or(|every| every > TimeDelta::ZERO);
                require("source.encoder.key_every", some, "expected a time above zero")
            }
        }
    }

    /// Reads the file that the source names, if any; `read` gives the text of a file, or says why it cannot.
    pub(crate) fn load(&mut self, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        let of = |name: &str, problem: String| format!("{name}: {problem}");
        match self {
            Self::Frames { model: FrameModel::Trace, file, ladder, .. } => {
                let read = match file {
                    Some(name) => read(name)
                        .and_then(|text| FrameLadder::parse(&text))
                        .map_err(|problem| of(name, problem))?,
                    None => FrameLadder::bundled()?,
                };
                *ladder = Some(Arc::new(read));
            }
            Self::Stored { file, frames, .. } => {
                *frames =
                    read(file).and_then(|text| Stored::parse(&text)).map_err(|problem| of(file, problem))?;
            }
            Self::Ladder { file, ladder } => {
                let read = match file {
                    Some(name) => read(name)
                        .and_then(|text| ClipLadder::parse(&text))
                        .map_err(|problem| of(name, problem))?,
                    None => ClipLadder::bundled()?,
                };
                *ladder = Some(Arc::new(read));
            }
            _ => {}
        }
        Ok(())
    }

    /// The model of an encoder that it names; `None` where it names none.
    pub(crate) fn model(&self, stream: RandomStream) -> Option<Box<dyn FrameSource>> {
        match self {
            // Clip and ladder bring a viewer with them, and the shaper's stream may be unfit.
            Self::Saturated | Self::Clip { .. } | Self::Ladder { .. } | Self::Shaper { .. } => None,
            Self::Cbr { rate, fps } => Some(Box::new(Constant::new(*rate, *fps))),
            Self::Stored { fps, group, frames, part, .. } => {
                Some(Box::new(Stored::new(frames.clone(), *fps, *group as usize, *part)))
            }
            Self::Frames { undershoot, .. } => {
                let model = self.frame_model(stream)?;
                Some(if *undershoot > 0.0 { Box::new(Undershoot::new(model, *undershoot)) } else { model })
            }
        }
    }

    /// The model of [`SourceConfig::Frames`].
    fn frame_model(&self, stream: RandomStream) -> Option<Box<dyn FrameSource>> {
        let Self::Frames { model, fps, key_interval, key_ratio, spread, ladder, .. } = self else {
            return None;
        };
        match model {
            FrameModel::Statistical => Some(Box::new(Statistical::new(*fps, stream))),
            FrameModel::Trace => Some(Box::new(Recorded::new(ladder.clone()?, *fps))),
            FrameModel::Periodic => {
                let ratio = key_ratio.unwrap_or(Periodic::KEY_RATIO);
                Some(Box::new(Periodic::new(*fps, *key_interval, ratio, spread.unwrap_or(0.0), stream)))
            }
        }
    }
}

/// Methods of shaping that decide picture by picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShaperMethod {
    /// S002 equations 2 to 8.
    #[default]
    Memoryless,
    /// S002 equations 9 to 11.
    Causal,
    /// Every block keeps the same share of its bits.
    RateBased,
}

impl From<ShaperMethod> for Method {
    fn from(method: ShaperMethod) -> Self {
        match method {
            ShaperMethod::Memoryless => Self::Memoryless,
            ShaperMethod::Causal => Self::Causal,
            ShaperMethod::RateBased => Self::RateBased,
        }
    }
}

/// A live encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoder {
    /// Which one.
    #[serde(default)]
    pub kind: EncoderKind,
    /// From the capture of a picture to its frame.
    #[serde(default = "encoder_latency")]
    pub latency: TimeDelta,
    /// How the size of the pictures follows the rate.
    #[serde(default)]
    pub sizes: Sizes,
    /// A key frame this often without request, for groups of pictures of one length; absent: on request.
    pub key_every: Option<TimeDelta>,
}

/// Rules for the size of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// By bits per pixel, measured for this encoder.
    #[default]
    Live,
    /// By bits per pixel, the rule of ns3-rmcat's codecs, which S004 used.
    Ns3Rmcat,
    /// The clip's own.
    Fixed,
}

impl Sizes {
    pub(crate) const fn rule(self) -> LadderRule {
        match self {
            Self::Live => LadderRule::LIVE,
            Self::Ns3Rmcat => LadderRule::NS3_RMCAT,
            Self::Fixed => LadderRule::FIXED,
        }
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            kind: EncoderKind::default(),
            latency: encoder_latency(),
            sizes: Sizes::default(),
            key_every: None,
        }
    }
}

/// 720 rows take OpenH264 about as long on one core.
fn encoder_latency() -> TimeDelta {
    TimeDelta::from_millis(5)
}

/// Live encoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderKind {
    /// H.264 constrained baseline by OpenH264.
    #[default]
    Openh264,
}

/// The only one of one.
fn whole() -> (usize, usize) {
    (0, 1)
}

fn thirty() -> f64 {
    30.0
}

/// Models of an encoder without pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameModel {
    /// RFC 8593 section 5: Laplace-distributed sizes and intervals, a transient after a large change.
    #[default]
    Statistical,
    /// Key frames at an interval or on request, all other frames of one size, with the target as their mean.
    Periodic,
    /// RFC 8593 section 5.2: recorded frames of an encoder at a ladder of rates.
    Trace,
}
