//! Local inputs of a controller: limits, frames, the send queue.

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
    /// The source paused or resumed.
    Paused(bool),
    /// The path changed: base delays must be measured anew.
    RouteChanged,
    /// The peer sends feedback this often. A timer for missing feedback waits at least two of these.
    FeedbackInterval(TimeDelta),
    /// The state of the first hop.
    LinkHint {
        /// Its present physical rate.
        rate: Bitrate,
        /// Mean transmissions a packet.
        attempts: f32,
    },
}
