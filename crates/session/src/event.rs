//! Events of the endpoints.

use crate::describe::SessionDescription;
use crate::frame::ReceivedFrame;
use crate::send::LaneState;
use seaway_control::{Arrival, Decision, Feedback, SentPacket, Share, StreamId, Subflow};
use seaway_units::Timestamp;
use std::collections::VecDeque;
use std::fmt;

/// Events of a [`Sender`](crate::Sender).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SenderEvent {
    /// The share of an encoder changed.
    Share {
        /// The encoder.
        stream: StreamId,
        /// Its part of the target, wire headers included.
        share: Share,
    },
    /// An encoder is to code a key frame next.
    KeyFrameWanted {
        /// The encoder.
        stream: StreamId,
        /// Why.
        cause: KeyFrameCause,
    },
    /// Frames were dropped from the send queue.
    FramesDropped {
        /// How many.
        frames: u64,
    },
    /// The controller changed its rate or its phase.
    Decision(Decision),
    /// A lane of a bonded session is suspected, down, or up again.
    Lane {
        /// Which lane.
        lane: Subflow,
        /// Its state from now on.
        state: LaneState,
    },
    /// The first report of this kind came from a receiver that is none of this project.
    FeedbackFound {
        /// What the controller runs on from now.
        kind: FeedbackKind,
    },
    /// A new receiver reports.
    PeerAppeared {
        /// Its synchronisation source.
        ssrc: u32,
    },
    /// The receiver said goodbye.
    PeerLeft {
        /// Its synchronisation source.
        ssrc: u32,
    },
    /// The receiver does not take AAC: the stream is Opus from now on.
    AacRefused {
        /// The encoder.
        stream: StreamId,
    },
}

/// What a receiver of plain RTP reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeedbackKind {
    /// Receiver reports (RFC 3550 section 6.4.2).
    ReceiverReports,
    /// Transport-wide congestion control.
    Twcc,
    /// RFC 8888.
    Ccfb,
}

/// Why a key frame is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFrameCause {
    /// The receiver lost a reference.
    PictureLoss,
    /// A reference was dropped from our own send queue.
    Dropped,
    /// A new receiver appeared.
    NewPeer,
}

/// Events of a [`Receiver`](crate::Receiver).
#[derive(Debug, Clone, PartialEq)]
pub enum ReceiverEvent {
    /// A frame, at the instant it is to be decoded and shown.
    Frame(ReceivedFrame),
    /// Frames of a stream were given up, or cannot be decoded without a lost one.
    FramesLost {
        /// The encoder.
        stream: StreamId,
        /// How many; those of an outage longer than 4095 frames are counted modulo that.
        frames: u64,
    },
    /// The video of a stream freezes from here to the next key frame.
    Frozen {
        /// The encoder.
        stream: StreamId,
    },
    /// A session began: the receiver belongs to its sender from now on.
    SessionStarted(SessionDescription),
    /// The sender changed its session's description: another controller.
    SessionChanged(SessionDescription),
    /// The sender said goodbye or another took over.
    SessionEnded,
    /// Plain RTP comes whose payload is not understood; once for a payload type.
    NotUnderstood {
        /// Its payload type.
        payload_type: u8,
    },
}

/// Sees what an endpoint does, for time series and captures. It does not change the endpoint.
pub trait Observer: fmt::Debug + Send + Sync {
    /// The sender's packet left.
    fn on_sent(&mut self, _now: Timestamp, _packet: &SentPacket) {}
    /// The sender got matched feedback.
    fn on_feedback(&mut self, _now: Timestamp, _feedback: &Feedback<'_>) {}
    /// The receiver's packet arrived, duplicates left out.
    fn on_arrival(&mut self, _now: Timestamp, _arrival: &Arrival) {}
}

/// A bounded queue of events: the oldest unread ones are counted and dropped.
#[derive(Debug)]
pub(crate) struct Events<E> {
    queue: VecDeque<E>,
    dropped: u64,
}

impl<E> Events<E> {
    const CAPACITY: usize = 4096;

    pub(crate) fn push(&mut self, event: E) {
        if self.queue.len() == Self::CAPACITY {
            self.queue.pop_front();
            self.dropped += 1;
        }
        self.queue.push_back(event);
    }

    pub(crate) fn pop(&mut self) -> Option<E> {
        self.queue.pop_front()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), dropped: 0 }
    }
}
