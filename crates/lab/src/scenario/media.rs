//! `kind = "media"`: video under a rate controller.

use crate::source::SourceConfig;
use seaway_control::{ControlSpec, Registry};
use seaway_session::ByteBufferConfig;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

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
    /// How media is spread over the subflows of a controller that has several.
    pub stripe: Option<Stripe>,
    /// Where frames come from.
    pub source: SourceConfig,
    /// Streams beside the pictures; one at most.
    #[serde(default)]
    pub stream: Vec<StreamSource>,
    /// What the receiver reports.
    #[serde(default)]
    pub feedback: Feedback,
    /// How losses are repaired.
    pub repair: Option<Repair>,
    /// The receiver's buffer.
    pub receiver: Option<Receiver>,
    /// By how many millionths the receiver's clock is faster than the sender's; below zero: slower.
    #[serde(default)]
    pub drift_ppm: f64,
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

    /// The copy with this number, of so many.
    pub(crate) fn copy(&self, index: usize, count: usize) -> Self {
        let mut copy = self.clone();
        if let SourceConfig::Stored { interleave: true, part, .. } = &mut copy.source {
            *part = (index, count);
        }
        copy
    }
}

/// A stream beside the pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSource {
    /// What it carries.
    pub kind: StreamKind,
    /// The rate of coded octets, without headers.
    #[serde(default = "sound_rate")]
    pub rate: Bitrate,
    /// The length of a frame, which is a packet.
    #[serde(default = "sound_frame")]
    pub frame: TimeDelta,
}

/// What streams beside the pictures carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamKind {
    /// Sound of a constant rate, on a clock of 48 kHz as Opus has it.
    Audio,
}

/// That of `send`.
fn sound_rate() -> Bitrate {
    Bitrate::from_kbps(64)
}

fn sound_frame() -> TimeDelta {
    TimeDelta::from_millis(20)
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

/// What stays together on one subflow.
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
    /// Lost packets are requested again while they can come in time.
    #[serde(default)]
    pub retransmit: bool,
    /// Repair packets of forward error correction may be sent, and repair follows the loss of the channel.
    #[serde(default)]
    pub fec: bool,
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
    /// From when on it takes at another rate.
    pub consume_then: Option<ConsumptionStep>,
    /// The part of the buffer that is filled before the player begins.
    pub start_level: Option<f64>,
    /// The buffer is the socket's: what it refuses, it refuses whole, and the session misses it as a loss.
    #[serde(default)]
    pub socket: bool,
    /// From capture to display; with `low-latency` the most that a frame is waited for.
    pub playout: Option<TimeDelta>,
    /// When whole frames are shown.
    pub mode: Option<PlayoutMode>,
}

impl Receiver {
    /// The buffer of bytes, where there is one.
    pub fn byte_buffer(&self) -> Option<ByteBufferConfig> {
        let (capacity, consume) = self.buffer.zip(self.consume)?;
        let start_level = self.start_level.unwrap_or(0.0);
        let then = self.consume_then.map(|step| (step.after, step.rate));
        Some(ByteBufferConfig { capacity, consume, then, start_level, socket: self.socket })
    }
}

/// A change of the player's consumption.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsumptionStep {
    /// After playback began.
    pub after: TimeDelta,
    /// The rate from then on.
    pub rate: Bitrate,
}

/// When whole frames are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlayoutMode {
    /// At once.
    LowLatency,
    /// At a steady distance from their capture.
    Smooth,
}
