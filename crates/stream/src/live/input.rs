//! The sender's side of an encoder.

use super::sender_machine::SenderCommand;
use crate::source::{CodedFrame, FrameControls, PacketOverhead};
use seaway_net::{Clock, Waker};
use seaway_units::{Bitrate, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

/// Set by the media thread, read by the encoder before each frame.
#[derive(Debug, Default)]
pub(super) struct EncoderControls {
    share: AtomicU64,
    skip: AtomicBool,
    key_frame: AtomicBool,
}

impl EncoderControls {
    pub(super) fn set(&self, share: Bitrate, skip: bool) {
        self.share.store(share.as_bps(), Ordering::Relaxed);
        self.skip.store(skip, Ordering::Relaxed);
    }

    pub(super) fn request_key_frame(&self) {
        self.key_frame.store(true, Ordering::Relaxed);
    }
}

/// Takes frames from an encoder and tells it what the session allows. Never blocks.
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

    /// What the session asks for the next frame. Reading it clears the request for a key frame.
    pub fn controls(&self) -> FrameControls {
        FrameControls {
            share: Bitrate::from_bps(self.controls.share.load(Ordering::Relaxed)),
            overhead: self.overhead,
            skip: self.controls.skip.load(Ordering::Relaxed),
            key_frame: self.controls.key_frame.swap(false, Ordering::Relaxed),
        }
    }

    /// Sends a frame captured at `captured`.
    pub fn send(&self, captured: Timestamp, frame: CodedFrame) {
        self.command(SenderCommand::Frame(frame.into_frame(captured)));
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
