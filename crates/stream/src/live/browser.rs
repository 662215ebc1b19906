//! Browsers as a sink, by WebRTC.

use crate::Error;
use crate::sink::{Displayed, Played, Sink, SoundTimeline, Timeline, sound_codec};
use crate::source::CodedFrame;
use bytes::Bytes;
use seaway_media::audio::SAMPLE_RATE;
use seaway_media::output::SoundCodec;
use seaway_net::webrtc::{AccessUnit, Broadcast};
use seaway_session::{FrameData, FrameKind, StreamDescription};
use seaway_units::{TimeDelta, Timestamp};
use seaway_wire::opus;

/// One track of a [`Broadcast`]: what is sent or what is received.
#[derive(Debug, Clone)]
pub struct BrowserTrack {
    broadcast: Broadcast,
    track: usize,
    /// When the first picture was shown, of what is received.
    began: Option<Timestamp>,
    pictures: Timeline,
    sound: SoundTimeline,
    /// The sound of the session is Opus, which alone browsers play.
    has_opus: bool,
}

impl BrowserTrack {
    /// Track number `track` of `broadcast`.
    pub fn new(broadcast: Broadcast, track: usize) -> Self {
        let mut pictures = Timeline::default();
        pictures.reorder();
        Self {
            broadcast,
            track,
            began: None,
            pictures,
            sound: SoundTimeline::new(SAMPLE_RATE),
            has_opus: true,
        }
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

    /// The time of a picture that is shown, of what is received.
    pub(super) fn time(&mut self, displayed: &Displayed<'_>) -> TimeDelta {
        let began = *self.began.get_or_insert(displayed.at);
        let time = self.pictures.time(displayed.at, displayed.frame.timestamp);
        if let Some(captured) = displayed.frame.captured {
            self.sound.on_picture(captured, time);
        }
        (began - Timestamp::ZERO) + time
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
        let at = self.time(displayed);
        self.publish(at, data, frame.kind == FrameKind::Key);
        Ok(())
    }

    fn on_session(&mut self, streams: &[StreamDescription]) {
        self.sound.on_session();
        self.has_opus = sound_codec(streams) == Some(SoundCodec::Opus);
    }

    fn on_sound(&mut self, played: &Played<'_>) -> Result<(), Error> {
        let frame = played.frame;
        if !self.has_opus {
            return Ok(());
        }
        let (FrameData::Coded(packet), Some(began)) = (&frame.data, self.began) else { return Ok(()) };
        let Ok(kind) = opus::Packet::parse(packet) else { return Ok(()) };
        if let Some(placed) = self.sound.place(frame.timestamp, kind.duration(), frame.captured) {
            let time = TimeDelta::from_nanos(placed.start * 1_000_000_000 / i64::from(SAMPLE_RATE));
            self.broadcast.publish_sound((began - Timestamp::ZERO) + time, packet.clone());
        }
        Ok(())
    }

    fn needs_pictures(&self) -> bool {
        false
    }
}
