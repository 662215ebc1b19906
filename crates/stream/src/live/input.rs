//! The sender's side of an encoder.

use super::sender_machine::{EncoderControls, SenderCommand};
use crate::source::{CodedFrame, FrameControls, PacketOverhead};
use bytes::Bytes;
use seaway_control::StreamId;
use seaway_net::{Clock, Waker};
use seaway_session::{Frame, FrameData, FrameKind};
use seaway_units::{TimeDelta, Timestamp};
use std::sync::{Arc, mpsc};

/// The stream of sound, behind that of pictures.
pub(super) const SOUND: StreamId = StreamId(1);

/// Takes frames from an encoder and gives it the target of the session. Never blocks.
#[derive(Debug, Clone)]
pub struct FrameInput {
    pub(super) clock: Clock,
    pub(super) waker: Waker,
    pub(super) commands: mpsc::Sender<SenderCommand>,
    pub(super) controls: Arc<EncoderControls>,
    pub(super) overhead: PacketOverhead,
}

impl FrameInput {
    /// The present instant of the session's clock, to stamp captures with.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The settings of the next frame. Reading it clears the request for a key frame.
    pub fn controls(&self) -> FrameControls {
        self.controls.take(self.overhead)
    }

    /// Whether the receiver was found: without a key at once, else when it has shown that it has the key. Frames before are
    /// left out.
    pub fn is_connected(&self) -> bool {
        self.controls.is_connected()
    }

    /// Sends a frame captured at `captured`.
    pub fn send(&self, captured: Timestamp, frame: CodedFrame) {
        self.send_as(captured, frame, false);
    }

    /// As [`send`](Self::send), of a frame that no other may need.
    pub(super) fn send_as(&self, captured: Timestamp, frame: CodedFrame, is_discardable: bool) {
        let mut frame = frame.into_frame(captured);
        if is_discardable {
            frame.kind = FrameKind::Discardable;
        }
        self.command(SenderCommand::Frame(frame));
    }

    /// Sends a packet of sound that was captured from `captured` on, and lasts so long.
    pub(super) fn send_sound(&self, captured: Timestamp, packet: Bytes, duration: TimeDelta) {
        let frame = Frame {
            stream: SOUND,
            ..Frame::new(captured, FrameKind::Key, FrameData::Coded(packet), duration)
        };
        self.command(SenderCommand::Sound(frame));
    }

    /// Counts a picture that was not coded.
    pub fn skip(&self) {
        self.command(SenderCommand::FrameSkipped);
    }

    /// Queues a command; false after the session has ended.
    pub(super) fn command(&self, command: SenderCommand) -> bool {
        let is_open = self.commands.send(command).is_ok();
        self.waker.wake();
        is_open
    }
}
