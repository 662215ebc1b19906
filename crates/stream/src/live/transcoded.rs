//! Pictures of another codec in browsers.

use super::browser::BrowserTrack;
use crate::Error;
use crate::sink::{Displayed, Played, Sink, is_mpeg_video, video_codec};
use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
use seaway_media::{FrameId, FrameRate, VideoCodec};
use seaway_session::{FrameData, StreamDescription};
use seaway_units::{Bitrate, TimeDelta};

/// Shows H.264 as it is, and codes the pictures of other codecs anew, which browsers do not play or were not offered.
#[derive(Debug)]
pub(super) struct TranscodedTrack {
    track: BrowserTrack,
    /// The stream may be H.264.
    passes: bool,
    /// The codec of the present session, unless it is MPEG video.
    codec: VideoCodec,
    encoder: Option<LiveEncoder>,
    pictures: u64,
}

impl TranscodedTrack {
    /// The rate of what browsers get, whatever the stream has.
    const RATE: Bitrate = Bitrate::from_mbps(2);

    /// Of any stream with `passes`, else of MPEG video alone.
    pub(super) fn new(track: BrowserTrack, passes: bool) -> Self {
        Self { track, passes, codec: VideoCodec::H264, encoder: None, pictures: 0 }
    }

    fn encoder(&mut self) -> Result<&mut LiveEncoder, Error> {
        let (frame_rate, latency) = (FrameRate::USUAL, TimeDelta::ZERO);
        if self.encoder.is_none() {
            let config = LiveEncoderConfig { frame_rate, start: Self::RATE, latency };
            self.encoder = Some(LiveEncoder::new(config)?);
        }
        self.encoder.as_mut().ok_or(Error::Thread("playback"))
    }
}

impl Sink for TranscodedTrack {
    /// The receiver always decodes MPEG video, and other codecs where there is a page.
    fn needs_pictures(&self) -> bool {
        false
    }

    fn on_session(&mut self, streams: &[StreamDescription]) {
        self.track.on_session(streams);
        self.codec = video_codec(streams);
    }

    fn on_sound(&mut self, played: &Played<'_>) -> Result<(), Error> {
        self.track.on_sound(played)
    }

    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        let is_mpeg = matches!(&displayed.frame.data, FrameData::Coded(data) if is_mpeg_video(data));
        if self.passes && !is_mpeg && self.codec == VideoCodec::H264 {
            return self.track.on_frame(displayed);
        }
        let Some(picture) = displayed.picture else { return Ok(()) };
        if self.track.take_key_frame_request() {
            self.encoder()?.request_key_frame();
        }
        let at = self.track.time(displayed);
        let picture = picture.clone().with_identity(FrameId(self.pictures), at);
        self.pictures += 1;
        if let Encoded::Frame(frame) = self.encoder()?.encode(&picture)? {
            self.track.publish(at, &frame.data.into(), frame.key);
        }
        Ok(())
    }
}
