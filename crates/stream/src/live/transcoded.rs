//! Pictures of another codec in browsers.

use super::browser::BrowserTrack;
use crate::Error;
use crate::sink::{Displayed, Sink};
use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
use seaway_media::{FrameId, FrameRate};
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Codes the decoded pictures anew for browsers, which play no MPEG-2.
#[derive(Debug)]
pub(super) struct TranscodedTrack {
    track: BrowserTrack,
    encoder: LiveEncoder,
    pictures: u64,
}

impl TranscodedTrack {
    /// The rate of what browsers get, whatever the stream has.
    const RATE: Bitrate = Bitrate::from_mbps(2);

    pub(super) fn new(track: BrowserTrack) -> Result<Self, Error> {
        let (frame_rate, latency) = (FrameRate::USUAL, TimeDelta::ZERO);
        let encoder = LiveEncoder::new(LiveEncoderConfig { frame_rate, start: Self::RATE, latency })?;
        Ok(Self { track, encoder, pictures: 0 })
    }
}

impl Sink for TranscodedTrack {
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        let Some(picture) = displayed.picture else { return Ok(()) };
        if self.track.take_key_frame_request() {
            self.encoder.request_key_frame();
        }
        let at = displayed.at - Timestamp::ZERO;
        let picture = picture.clone().with_identity(FrameId(self.pictures), at);
        self.pictures += 1;
        if let Encoded::Frame(frame) = self.encoder.encode(&picture)? {
            self.track.publish(at, &frame.data.into(), frame.key);
        }
        Ok(())
    }
}
