//! Models of an encoder: what all have in common.

use seaway_link::RandomStream;
use seaway_session::FrameKind;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::fmt;

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
    /// The target of the encoder changes to this rate.
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

/// From one frame to the next at `fps` frames a second.
pub(super) fn interval(fps: f64) -> TimeDelta {
    TimeDelta::from_secs_f64(1.0 / fps)
}

/// About `steady` by a Laplace distribution whose scale is so much of it (RFC 8593 section 5.1). Two frames never carry the
/// same 90 kHz timestamp.
pub(super) fn spread(steady: TimeDelta, stream: &mut RandomStream, scale: f64) -> TimeDelta {
    steady.mul_f64((1.0 + stream.laplace(scale)).max(0.0)).max(TimeDelta::from_millis(1))
}

/// At least one octet: no frame is empty.
pub(super) fn octets(size: f64) -> DataSize {
    DataSize::from_bytes(size.round().max(1.0) as u64)
}
