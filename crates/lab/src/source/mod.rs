//! Where the frames of a simulated flow come from: models of an encoder without pictures, or a camera.

mod constant;
mod ladder;
mod live;
mod periodic;
mod rates;
mod recorded;
mod shaped;
mod statistical;
mod stored;

pub use ladder::ClipLadder;
pub(crate) use ladder::{CodedPicture, LadderSource, Taken};
pub(crate) use live::LiveSource;
pub use recorded::FrameLadder;
pub(crate) use shaped::Shaped;
pub(crate) use stored::Stored;

use constant::Constant;
use periodic::Periodic;
use recorded::Recorded;
use seaway_link::RandomStream;
use seaway_session::FrameKind;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use statistical::Statistical;
use std::fmt;

use crate::scenario::{FrameModel, Source};

/// A frame as a model gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelFrame {
    /// Coded octets.
    pub(crate) size: DataSize,
    /// What it should have been.
    pub(crate) target: DataSize,
    /// How others depend on it.
    pub(crate) kind: FrameKind,
    /// Time to the next frame.
    pub(crate) interval: TimeDelta,
}

/// A model of an encoder. Rates and sizes here are coded octets, without packet headers.
pub(crate) trait FrameSource: fmt::Debug + Send {
    /// From one frame to the next, on average.
    fn interval(&self) -> TimeDelta;
    /// The encoder is asked for this rate.
    fn on_rate(&mut self, now: Timestamp, rate: Bitrate);
    /// The next frame is to be a key frame.
    fn on_key_frame_wanted(&mut self);
    /// True where no frame will follow.
    fn is_over(&self) -> bool {
        false
    }
    /// The send queue is full enough: the picture of `now` is left out.
    fn on_skipped(&mut self, _now: Timestamp) {}
    /// The frame that is captured at `now`.
    fn frame(&mut self, now: Timestamp) -> ModelFrame;
}

/// What a sender sends.
#[derive(Debug)]
pub(crate) enum MediaSource {
    /// Always a full packet.
    Saturated,
    /// Frames without content.
    Model(Box<dyn FrameSource>),
    /// Pictures, coded live.
    Live(Box<LiveSource>),
}

/// The model that a scenario names; `None` where it names none.
pub(crate) fn model(source: &Source, stream: RandomStream) -> Option<Box<dyn FrameSource>> {
    match source {
        // Clip and ladder bring a viewer with them, and the shaper's stream may be unfit.
        Source::Saturated | Source::Clip { .. } | Source::Ladder { .. } | Source::Shaper { .. } => None,
        Source::Cbr { rate, fps } => Some(Box::new(Constant::new(*rate, *fps))),
        Source::Stored { fps, group, frames, part, .. } => {
            Some(Box::new(Stored::new(frames.clone(), *fps, *group as usize, *part)))
        }
        Source::Frames { model: FrameModel::Statistical, fps, .. } => {
            Some(Box::new(Statistical::new(*fps, stream)))
        }
        Source::Frames { model: FrameModel::Trace, fps, ladder, .. } => ladder
            .as_ref()
            .map(|ladder| Box::new(Recorded::new(ladder.clone(), *fps)) as Box<dyn FrameSource>),
        Source::Frames { model: FrameModel::Periodic, fps, key_interval, key_ratio, spread, .. } => {
            let ratio = key_ratio.unwrap_or(Periodic::KEY_RATIO);
            Some(Box::new(Periodic::new(*fps, *key_interval, ratio, spread.unwrap_or(0.0), stream)))
        }
    }
}

/// From one frame to the next at `fps` frames a second.
fn interval(fps: f64) -> TimeDelta {
    TimeDelta::from_secs_f64(1.0 / fps)
}

/// About `steady` by a Laplace distribution whose scale is so much of it (RFC 8593 section 5.1). Two frames never carry the
/// same 90 kHz timestamp.
fn spread(steady: TimeDelta, stream: &mut RandomStream, scale: f64) -> TimeDelta {
    steady.mul_f64((1.0 + stream.laplace(scale)).max(0.0)).max(TimeDelta::from_millis(1))
}

/// At least one octet: no frame is empty.
fn octets(size: f64) -> DataSize {
    DataSize::from_bytes(size.round().max(1.0) as u64)
}
