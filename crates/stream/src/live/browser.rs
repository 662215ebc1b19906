//! Browsers as a sink, by WebRTC.

use crate::Error;
use crate::sink::{Displayed, Sink};
use crate::source::CodedFrame;
use bytes::Bytes;
use seaway_net::webrtc::{AccessUnit, Broadcast};
use seaway_session::{FrameData, FrameKind};
use seaway_units::{TimeDelta, Timestamp};

/// One track of a [`Broadcast`]: what is sent or what is received.
#[derive(Debug, Clone)]
pub struct BrowserTrack {
    broadcast: Broadcast,
    track: usize,
    /// Media timestamp and instant of the first received frame, where the track begins.
    epoch: Option<(u32, Timestamp)>,
}

impl BrowserTrack {
    /// Track number `track` of `broadcast`.
    pub const fn new(broadcast: Broadcast, track: usize) -> Self {
        Self { broadcast, track, epoch: None }
    }

    /// Whether a browser needs a key frame. Reading it clears the request.
    pub(super) fn take_key_frame_request(&self) -> bool {
        self.broadcast.take_key_frame_request()
    }

    /// Shows a frame that is being sent.
    pub(super) fn preview(&self, captured: Timestamp, frame: &CodedFrame) {
        self.publish(captured - Timestamp::ZERO, &frame.data, frame.is_key);
    }

    pub(super) fn publish(&self, at: TimeDelta, data: &Bytes, is_key: bool) {
        self.broadcast.publish(self.track, &AccessUnit { data: data.clone(), at, is_key });
    }
}

/// A browser gets the frames that could be decoded here, so it sees the same freezes.
impl Sink for BrowserTrack {
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        let frame = displayed.frame;
        let FrameData::Coded(data) = &frame.data else { return Ok(()) };
        let (first, began) = *self.epoch.get_or_insert((frame.timestamp, displayed.at));
        let ticks = i64::from(frame.timestamp.wrapping_sub(first) as i32);
        let at = (began - Timestamp::ZERO) + TimeDelta::from_nanos(ticks * 100_000 / 9);
        self.publish(at, data, frame.kind == FrameKind::Key);
        Ok(())
    }

    fn needs_pictures(&self) -> bool {
        false
    }
}
