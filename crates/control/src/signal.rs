//! What the sender's own side tells a controller.

use crate::packet::StreamId;
use seaway_units::{Bitrate, DataSize, TimeDelta};

/// A local observation or setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LocalSignal {
    /// The range to stay inside, and where to begin. `max` is what the encoders could use.
    Limits {
        /// Never below.
        min: Bitrate,
        /// The first rate, for controllers that have no slow start of their own.
        start: Bitrate,
        /// The target is never above; the pace may be, so that a large frame does not wait.
        max: Bitrate,
    },
    /// The send queue.
    Backlog {
        /// What waits in it.
        waiting: DataSize,
        /// How long the oldest packet has waited.
        oldest: TimeDelta,
    },
    /// An encoder gave a frame.
    Frame {
        /// Which encoder.
        stream: StreamId,
        /// The frame as coded.
        size: DataSize,
        /// What it should have been.
        target: DataSize,
        /// Time to the next frame.
        interval: TimeDelta,
    },
    /// The source fell silent on purpose, or speaks again.
    Paused(bool),
    /// The path changed: base delays are worth nothing any more.
    RouteChanged,
    /// The peer sends feedback this often. A timer that punishes silence waits at least two of these.
    FeedbackInterval(TimeDelta),
    /// What the first hop says of itself.
    LinkHint {
        /// Its present physical rate.
        rate: Bitrate,
        /// Mean transmissions a packet.
        attempts: f32,
    },
}
