//! Pictures through the live encoder.

use super::{Captured, CodedFrame, FrameControls, Source, SourceStatus};
use bytes::Bytes;
use seaway_media::encoder::{
    AdherenceReport, Encoded, Ladder, LadderEncoder, LadderRule, LiveEncoder, LiveEncoderConfig,
    RateAdherence, VideoEncoder,
};
use seaway_media::input::{PictureFormat, PictureSource};
use seaway_media::{Error, FrameId, FrameRate, Picture, PictureSize};
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Pictures of an input, coded live.
#[derive(Debug)]
pub struct EncodedSource {
    input: Box<dyn PictureSource>,
    encoder: Box<dyn VideoEncoder>,
    adherence: RateAdherence,
    frame_rate: FrameRate,
    /// Pictures captured so far, over all rounds of the input.
    captured: u64,
    repeat: bool,
    /// The size of the coded pictures; the input's own before the first one.
    size: PictureSize,
}

/// How an [`EncodedSource`] codes.
#[derive(Debug, Clone, Copy)]
pub struct EncoderSettings {
    /// The first rate, in coded octets.
    pub start: Bitrate,
    /// Constant delay of the encoder, for runs in virtual time.
    pub latency: TimeDelta,
    /// Begin again at the end of the input.
    pub repeat: bool,
    /// When pictures are scaled down.
    pub sizes: LadderRule,
    /// Threads that code a picture, each a part of it, where it is large.
    pub threads: u16,
}

impl EncodedSource {
    /// Codes the pictures of `input` with the live H.264 encoder, which scales them down where the rate is too low
    /// for their size.
    ///
    /// # Errors
    /// The encoder cannot be set up.
    pub fn new(input: Box<dyn PictureSource>, settings: EncoderSettings) -> Result<Self, Error> {
        let PictureFormat { size, frame_rate } = input.format();
        let EncoderSettings { start, latency, repeat, sizes, threads } = settings;
        let encoder =
            LiveEncoder::new(LiveEncoderConfig { frame_rate, start, latency })?.with_threads(threads);
        let ladder = Ladder::new(size, frame_rate, sizes).starting_at(start);
        let encoder = LadderEncoder::new(encoder, ladder);
        let adherence = RateAdherence::new(LiveEncoder::QUANTISERS);
        Ok(Self { input, encoder: Box::new(encoder), adherence, frame_rate, captured: 0, repeat, size })
    }

    /// Delay from capturing a picture to its coded frame, where computing takes no time.
    pub fn latency(&self) -> TimeDelta {
        self.encoder.latency()
    }

    /// How closely the encoder followed its target since the start or the last restart.
    pub fn adherence(&self) -> AdherenceReport {
        self.adherence.report()
    }

    /// Restarts the measurement of [`adherence`](Self::adherence).
    pub fn restart_adherence(&mut self) {
        self.adherence = RateAdherence::new(LiveEncoder::QUANTISERS);
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let mut picture = self.input.next_picture()?;
        if picture.is_none() && self.repeat && self.captured > 0 {
            self.input.rewind()?;
            picture = self.input.next_picture()?;
        }
        let picture = picture.map(|picture| {
            picture.with_identity(FrameId(self.captured), self.frame_rate.time_of(self.captured))
        });
        self.captured += u64::from(picture.is_some());
        Ok(picture)
    }
}

impl Source for EncodedSource {
    fn next_due(&self) -> TimeDelta {
        self.frame_rate.time_of(self.captured)
    }

    fn interval(&self) -> Option<TimeDelta> {
        Some(self.frame_rate.interval())
    }

    fn capture(
        &mut self,
        _at: Timestamp,
        controls: &FrameControls,
    ) -> Result<Option<Captured>, crate::Error> {
        let Some(picture) = self.next_picture()? else { return Ok(None) };
        let target = controls.target(self.frame_rate);
        self.encoder.set_target(target);
        if controls.key_frame {
            self.encoder.request_key_frame();
        }
        // A key frame ends a freeze, so it is coded even if the send queue is full.
        let encoded = if controls.skip && !controls.key_frame {
            Encoded::Skipped
        } else {
            self.encoder.encode(&picture)?
        };
        self.adherence.on_picture(picture.time(), target, &encoded);
        let frame = match encoded {
            Encoded::Skipped => None,
            Encoded::Frame(coded) => {
                self.size = coded.size;
                let interval = self.frame_rate.interval();
                let data = Bytes::from(coded.data);
                Some(CodedFrame { data, is_key: coded.key, target: target.size_in(interval), interval })
            }
        };
        Ok(Some(Captured { picture: Some(picture), frame, ..Captured::default() }))
    }

    fn status(&self) -> SourceStatus {
        SourceStatus {
            target: Some(self.encoder.target()),
            size: Some(self.size),
            adherence: Some(self.adherence.report()),
            ..SourceStatus::default()
        }
    }
}
