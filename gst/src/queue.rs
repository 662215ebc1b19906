//! The pictures between a receiver and `seawaysrc`.

use bytes::Bytes;
use gst::prelude::*;
use seaway_session::{FrameData, FrameKind};
use seaway_stream::Error;
use seaway_stream::sink::{Displayed, Sink};
use seaway_units::{TimeDelta, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Pictures that may wait for a pipeline that stands still.
const LONGEST: usize = 128;
/// A source looks so often whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Between two requests for a key frame.
const KEY_FRAMES: TimeDelta = TimeDelta::from_millis(500);

/// Whether the pipeline plays.
#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicBool);

impl Gate {
    pub(crate) fn open(&self, is_open: bool) {
        self.0.store(is_open, Ordering::Relaxed);
    }
}

/// What the source gets.
#[derive(Debug)]
pub(crate) enum Item {
    Frame(Frame),
    /// No picture follows.
    End,
}

/// A picture.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) data: Bytes,
    /// Of RTP.
    pub(crate) timestamp: u32,
    /// The pipeline's running time.
    pub(crate) arrived: gst::ClockTime,
    pub(crate) is_key: bool,
    /// Pictures before it are missing.
    pub(crate) is_after_gap: bool,
}

/// The end where the receiver puts pictures in. Where the pipeline stands still, they are dropped up to a key frame.
pub(crate) struct FrameQueue {
    element: gst::glib::WeakRef<gst::Element>,
    gate: Arc<Gate>,
    frames: SyncSender<Item>,
    /// Pictures were dropped.
    needs_key: bool,
    wants_key: bool,
    requested: Option<Timestamp>,
}

/// The end where the source takes them out.
#[derive(Debug)]
pub(crate) struct Frames {
    frames: Receiver<Item>,
    end: End,
}

/// Ends the pictures.
#[derive(Debug, Clone)]
pub(crate) struct End {
    frames: SyncSender<Item>,
    has_ended: Arc<AtomicBool>,
}

impl FrameQueue {
    pub(crate) fn new(element: &gst::Element, gate: Arc<Gate>) -> (Self, Frames) {
        let (frames, receive) = sync_channel(LONGEST);
        let end = End { frames: frames.clone(), has_ended: Arc::default() };
        let element = element.downgrade();
        let queue = Self { element, gate, frames, needs_key: true, wants_key: false, requested: None };
        (queue, Frames { frames: receive, end })
    }

    fn request(&mut self, at: Timestamp) {
        if self.requested.is_none_or(|last| at.since(last) >= KEY_FRAMES) {
            (self.requested, self.wants_key) = (Some(at), true);
        }
    }
}

impl Sink for FrameQueue {
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        let frame = displayed.frame;
        let FrameData::Coded(data) = &frame.data else { return Ok(()) };
        let is_open = self.gate.0.load(Ordering::Relaxed);
        let running = self.element.upgrade().and_then(|element| element.current_running_time());
        let Some(arrived) = running.filter(|_| is_open) else {
            self.needs_key = true;
            return Ok(());
        };
        let is_key = frame.kind == FrameKind::Key;
        if self.needs_key && !is_key {
            self.request(displayed.at);
            return Ok(());
        }
        let (timestamp, is_after_gap) = (frame.timestamp, self.needs_key);
        let item = Frame { data: data.clone(), timestamp, arrived, is_key, is_after_gap };
        self.needs_key = matches!(self.frames.try_send(Item::Frame(item)), Err(TrySendError::Full(_)));
        Ok(())
    }

    fn needs_pictures(&self) -> bool {
        false
    }

    fn take_key_frame_request(&mut self) -> bool {
        std::mem::take(&mut self.wants_key)
    }
}

impl Frames {
    /// The next item; `None` where none came for a while.
    pub(crate) fn next(&self) -> Option<Item> {
        match self.frames.recv_timeout(LOOK) {
            Ok(item) => Some(item),
            Err(RecvTimeoutError::Timeout) => self.end.has_ended.load(Ordering::Relaxed).then_some(Item::End),
            Err(RecvTimeoutError::Disconnected) => Some(Item::End),
        }
    }

    pub(crate) fn end(&self) -> End {
        self.end.clone()
    }
}

impl End {
    pub(crate) fn send(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        // Where the queue is full, the source finds the end behind it.
        let _ = self.frames.try_send(Item::End);
    }
}
