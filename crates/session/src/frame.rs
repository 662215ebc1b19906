//! Frames: what an encoder gives the sender, and what the receiver gives a decoder.

use bytes::Bytes;
use seaway_control::StreamId;
use seaway_units::{DataSize, RemoteTimestamp, TimeDelta, Timestamp};

/// How other frames depend on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// It needs no other: an IDR picture, an I picture that opens a closed group.
    Key,
    /// It needs the reference before it, and others need it.
    Reference,
    /// It needs others, none needs it.
    Discardable,
}

/// What a frame consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameData {
    /// Coded octets in the form of the stream's [format](crate::Format).
    Coded(Bytes),
    /// A size without content, for source models.
    Synthetic(DataSize),
}

impl FrameData {
    /// Octets of the coded frame.
    pub fn size(&self) -> DataSize {
        match self {
            Self::Coded(bytes) => DataSize::of(bytes),
            Self::Synthetic(size) => *size,
        }
    }
}

/// A coded frame on its way into the sender, in decoding order.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The encoder.
    pub stream: StreamId,
    /// When it was captured, on our clock; it becomes the media timestamp, so of a stream no two frames
    /// have the same.
    pub captured: Timestamp,
    /// How others depend on it.
    pub kind: FrameKind,
    /// The frame.
    pub data: FrameData,
    /// The target size of the encoder; the frame's own size where there was no target.
    pub target: DataSize,
    /// Time to the next frame.
    pub interval: TimeDelta,
}

impl Frame {
    /// A frame of the first stream that has its target size.
    pub fn new(captured: Timestamp, kind: FrameKind, data: FrameData, interval: TimeDelta) -> Self {
        Self { stream: StreamId(0), captured, kind, target: data.size(), data, interval }
    }
}

/// A frame on its way out of the receiver: in decoding order, whole, its references delivered before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// The encoder.
    pub stream: StreamId,
    /// RTP timestamp: the identity of the frame in its stream, and its time in ticks of the stream's clock.
    pub timestamp: u32,
    /// When it was captured, on the sender's clock, to a tick; all streams of a sender have this clock. `None` before
    /// the first sender report.
    pub captured: Option<RemoteTimestamp>,
    /// How others depend on it.
    pub kind: FrameKind,
    /// The frame; synthetic frames keep their size.
    pub data: FrameData,
    /// When its first packet came.
    pub first_arrival: Timestamp,
    /// When its last packet came, repaired ones included.
    pub completed: Timestamp,
    /// When it should have been delivered. It was held up where this lies before the delivery.
    pub due: Timestamp,
}
