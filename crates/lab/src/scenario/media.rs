//! `kind = "media"`: video under a rate controller.

use crate::source::{ClipLadder, FrameLadder, Stored};
use seaway_control::{ControlSpec, Registry};
use seaway_media::encoder::LadderRule;
use seaway_media::shaped::Method;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::sync::Arc;

/// The keys of a media flow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaFlow {
    /// The controller with its options, `multfrc(max=8)`.
    #[serde(deserialize_with = "control_spec")]
    pub control: ControlSpec,
    /// The controllers that can be named.
    #[serde(skip)]
    pub registry: Registry,
    /// How the controller's target becomes the encoder's, with its options.
    #[serde(default = "direct", deserialize_with = "control_spec")]
    pub policy: ControlSpec,
    /// The range the controller stays inside and where it begins.
    pub rate: Option<Rates>,
    /// The part of this flow relative to others with the same policy; above zero.
    pub weight: Option<f64>,
    /// The codepoint written on media packets.
    #[serde(default)]
    pub ecn: EcnName,
    /// How media is spread over the lanes of a controller that has several.
    pub stripe: Option<Stripe>,
    /// Where frames come from.
    pub source: Source,
    /// What the receiver reports.
    #[serde(default)]
    pub feedback: Feedback,
    /// How losses are repaired.
    pub repair: Option<Repair>,
    /// The receiver's buffer.
    pub receiver: Option<Receiver>,
    /// The largest IP datagram.
    #[serde(default = "default_packet")]
    pub packet: DataSize,
}

fn default_packet() -> DataSize {
    DataSize::from_bytes(1200)
}

fn direct() -> ControlSpec {
    ControlSpec { name: "direct".to_owned(), options: Vec::new() }
}

fn control_spec<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ControlSpec, D::Error> {
    let spec: ControlSpec = String::deserialize(deserializer)?.parse().map_err(D::Error::custom)?;
    Ok(spec)
}

pub(super) fn maybe_control_spec<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ControlSpec>, D::Error> {
    control_spec(deserializer).map(Some)
}

impl MediaFlow {
    /// Gives the controller the flow's weight, as the option that it has for it.
    pub(crate) fn apply_weight(&mut self) -> Result<(), String> {
        let Some(weight) = self.weight else { return Ok(()) };
        self.control = self.registry.with_weight(&self.control, weight).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Writes the feedback interval into the controller's options, which both ends read.
    pub(crate) fn apply_feedback_interval(&mut self) -> Result<(), String> {
        let Some(interval) = self.feedback.interval else { return Ok(()) };
        self.control = self
            .registry
            .with_feedback_interval(&self.control, interval)
            .map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Reads the file of the source, if it has one; gives the text of a file, or says why not.
    pub(crate) fn load(&mut self, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        let of = |name: &str, problem: String| format!("{name}: {problem}");
        match &mut self.source {
            Source::Frames { model: FrameModel::Trace, file, ladder, .. } => {
                let read = match file {
                    Some(name) => read(name)
                        .and_then(|text| FrameLadder::parse(&text))
                        .map_err(|problem| of(name, problem))?,
                    None => FrameLadder::bundled()?,
                };
                *ladder = Some(Arc::new(read));
            }
            Source::Stored { file, frames, .. } => {
                *frames =
                    read(file).and_then(|text| Stored::parse(&text)).map_err(|problem| of(file, problem))?;
            }
            Source::Ladder { file, ladder } => {
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

    /// The copy with this number, of so many.
    pub(crate) fn copy(&self, index: usize, count: usize) -> Self {
        let mut copy = self.clone();
        if let Source::Stored { interleave: true, part, .. } = &mut copy.source {
            *part = (index, count);
        }
        copy
    }
}

/// The range of a controller and its first rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Never below; RFC 8867 section 4.3 where it is left out.
    #[serde(default = "lowest")]
    pub min: Bitrate,
    /// Where a controller without a slow start of its own begins; `min` where it is left out.
    pub start: Option<Bitrate>,
    /// Never above; what the encoders could use.
    pub max: Bitrate,
}

fn lowest() -> Bitrate {
    Bitrate::from_kbps(150)
}

/// The ECN codepoint of media packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnName {
    /// Not taking part.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
}

impl From<EcnName> for Ecn {
    fn from(name: EcnName) -> Self {
        match name {
            EcnName::NotEct => Self::NotEct,
            EcnName::Ect0 => Self::Ect0,
            EcnName::Ect1 => Self::Ect1,
        }
    }
}

/// What stays together on one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stripe {
    /// Nothing: packet by packet.
    Packet,
    /// A frame.
    Frame,
    /// A group of pictures.
    Gop,
}

/// Where frames come from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a source such as { kind = \"saturated\" }"
)]
pub enum Source {
    /// Always a full packet to send.
    Saturated,
    /// Frames of one size at a constant rate, whatever the controller says.
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
        /// `periodic`: from one key frame to the next; absent: only the first and those asked for.
        key_interval: Option<TimeDelta>,
        /// `periodic`: size of a key frame over that of another.
        key_ratio: Option<f64>,
        /// `periodic`: scale of the Laplace distribution of the intervals, as a part of them; absent: they are all alike.
        spread: Option<f64>,
        /// `trace`: the ladder of frame sizes; absent: the one that comes with the library.
        file: Option<String>,
        /// What is in the file.
        #[serde(skip)]
        ladder: Option<Arc<FrameLadder>>,
    },
    /// Frames of a clip that was coded once, whatever the controller says; over at its end.
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
        Self { kind: EncoderKind::default(), latency: encoder_latency(), sizes: Sizes::default() }
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
    /// Key frames at an interval or on request, all other frames of one size, the mean as asked.
    Periodic,
    /// RFC 8593 section 5.2: recorded frames of an encoder at a ladder of rates.
    Trace,
}

/// What the receiver reports.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// The format on the wire.
    #[serde(default)]
    pub format: FeedbackFormat,
    /// From one message to the next; absent: as the controller wants it.
    pub interval: Option<TimeDelta>,
    /// The least IP datagram of a message, whose contents may need more; absent: as long as those are.
    pub size: Option<DataSize>,
}

/// The formats of feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedbackFormat {
    /// What the controller's own document describes.
    #[default]
    Native,
    /// RFC 8888.
    Ccfb,
    /// Transport-wide congestion control.
    Twcc,
}

/// How losses are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// Lost packets are asked for again while they can come in time.
    #[serde(default)]
    pub retransmit: bool,
    /// How long after its capture a frame is of use.
    pub deadline: Option<TimeDelta>,
}

/// The receiver's buffer: bounded in bytes and drained at a constant rate, or a playout delay.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receiver {
    /// What the buffer can hold.
    pub buffer: Option<DataSize>,
    /// The rate at which the player takes from it.
    pub consume: Option<Bitrate>,
    /// The part of the buffer that is filled before the player begins.
    pub start_level: Option<f64>,
    /// The buffer is the socket's: what it refuses, it refuses whole, and the session misses it as a loss.
    #[serde(default)]
    pub socket: bool,
    /// From capture to display.
    pub playout: Option<TimeDelta>,
}
