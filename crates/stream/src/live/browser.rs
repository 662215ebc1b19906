//! Browsers as a sink, by WebRTC.

use crate::Error;
use crate::sink::{Displayed, Played, Sink};
use crate::source::CodedFrame;
use bytes::Bytes;
use seaway_media::audio::SAMPLE_RATE;
use seaway_net::webrtc::{AccessUnit, Broadcast};
use seaway_session::{FrameData, FrameKind, ReceivedFrame};
use seaway_units::{TimeDelta, Timestamp};

/// One track of a [`Broadcast`]: what is sent or what is received.
#[derive(Debug, Clone)]
pub struct BrowserTrack {
    broadcast: Broadcast,
    track: usize,
    pictures: Line,
    sound: Line,
}

/// The time of what is received since its track began.
#[derive(Debug, Clone, Default)]
struct Line {
    /// Media timestamp and instant of the first frame.
    epoch: Option<(u32, Timestamp)>,
}

impl Line {
    const fn new() -> Self {
        Self { epoch: None }
    }

    /// The time of a frame that is shown or played at `at`, by a media clock of so many ticks a second.
    fn time(&mut self, frame: &ReceivedFrame, at: Timestamp, ticks_per_second: i64) -> TimeDelta {
        let (first, began) = *self.epoch.get_or_insert((frame.timestamp, at));
        let ticks = i64::from(frame.timestamp.wrapping_sub(first) as i32);
        (began - Timestamp::ZERO) + TimeDelta::from_nanos(ticks * 1_000_000_000 / ticks_per_second)
    }
}

impl BrowserTrack {
    /// Track number `track` of `broadcast`.
    pub const fn new(broadcast: Broadcast, track: usize) -> Self {
        Self { broadcast, track, pictures: Line::new(), sound: Line::new() }
    }

    /// Whether a browser needs a key frame. Reading it clears the request.
    pub(super) fn take_key_frame_request(&self) -> bool {
        self.broadcast.take_key_frame_request()
    }

    /// Shows a frame that is being sent.
    pub(super) fn preview(&self, captured: Timestamp, frame: &CodedFrame) {
        self.publish(captured - Timestamp::ZERO, &frame.data, frame.is_key);
    }

    /// Plays sound that is being sent.
    pub(super) fn preview_sound(&self, captured: Timestamp, packet: &Bytes) {
        self.broadcast.publish_sound(captured - Timestamp::ZERO, packet.clone());
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
        let at = self.pictures.time(frame, displayed.at, 90_000);
        self.publish(at, data, frame.kind == FrameKind::Key);
        Ok(())
    }

    fn on_sound(&mut self, played: &Played<'_>) -> Result<(), Error> {
        let FrameData::Coded(packet) = &played.frame.data else { return Ok(()) };
        let at = self.sound.time(played.frame, played.at, i64::from(SAMPLE_RATE));
        self.broadcast.publish_sound(at, packet.clone());
        Ok(())
    }

    fn needs_pictures(&self) -> bool {
        false
    }
}
