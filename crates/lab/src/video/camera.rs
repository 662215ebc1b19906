//! The camera: a source of pictures and the encoder that obeys.

use super::PacketCost;
use bytes::Bytes;
use seaway_control::StreamId;
use seaway_media::Error;
use seaway_media::encoder::{
    Encoded, Ladder, LadderEncoder, LadderRule, LiveEncoder, LiveEncoderConfig, Obedience, ObedienceReport,
    VideoEncoder,
};
use seaway_media::input::{PictureFormat, PictureSource};
use seaway_media::{FrameRate, Picture, PictureSize};
use seaway_session::{Frame, FrameData, FrameKind};
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// A source of pictures, taken again from the beginning at its end, and the encoder that codes them.
#[derive(Debug)]
pub struct Camera {
    source: Box<dyn PictureSource>,
    encoder: Box<dyn VideoEncoder>,
    obedience: Obedience,
    cost: PacketCost,
    frame_rate: FrameRate,
    /// Pictures taken so far, over all rounds of the source.
    taken: u64,
    repeat: bool,
    size: PictureSize,
}

/// One picture taken.
#[derive(Debug, Clone)]
pub struct Shot {
    /// The picture as it was before coding.
    pub picture: Picture,
    /// The coded frame; `None` where it was left out.
    pub frame: Option<Frame>,
}

/// What the encoder is told before a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// What the frames may use of the wire.
    pub share: Bitrate,
    /// The send queue is full enough: leave this picture out.
    pub skip: bool,
    /// Make it a key frame.
    pub key_frame: bool,
}

impl Camera {
    /// A camera on `source`, with the live H.264 encoder of constant `latency`, whose pictures shrink where the rate
    /// does not carry their size. With `repeat` it never ends.
    ///
    /// # Errors
    /// The encoder cannot be set up.
    pub fn new(
        source: Box<dyn PictureSource>,
        start: Bitrate,
        latency: TimeDelta,
        cost: PacketCost,
        repeat: bool,
    ) -> Result<Self, Error> {
        Self::with_sizes(source, start, latency, cost, repeat, LadderRule::LIVE)
    }

    /// The same with another rule for the size of its pictures.
    ///
    /// # Errors
    /// The encoder cannot be set up.
    pub fn with_sizes(
        source: Box<dyn PictureSource>,
        start: Bitrate,
        latency: TimeDelta,
        cost: PacketCost,
        repeat: bool,
        rule: LadderRule,
    ) -> Result<Self, Error> {
        let PictureFormat { size, frame_rate } = source.format();
        let start = cost.coded(start, frame_rate);
        let encoder = LiveEncoder::new(LiveEncoderConfig { frame_rate, start, latency })?;
        let ladder = Ladder::new(size, frame_rate, rule).starting_at(start);
        let encoder = LadderEncoder::new(encoder, ladder);
        let obedience = Obedience::new(LiveEncoder::QUANTISERS);
        Ok(Self { source, encoder: Box::new(encoder), obedience, cost, frame_rate, taken: 0, repeat, size })
    }

    /// Pictures per second.
    pub fn frame_rate(&self) -> FrameRate {
        self.frame_rate
    }

    /// When the next picture is due, since the first.
    pub fn next_due(&self) -> TimeDelta {
        self.frame_rate.time_of(self.taken)
    }

    /// From handing in a picture to having its frame, where computing takes no time.
    pub fn latency(&self) -> TimeDelta {
        self.encoder.latency()
    }

    /// What the encoder was asked for last.
    pub fn target(&self) -> Bitrate {
        self.encoder.target()
    }

    /// The size it codes now; the source's own before the first picture.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// How well it obeyed so far.
    pub fn obedience(&self) -> ObedienceReport {
        self.obedience.report()
    }

    /// Obedience is measured from here.
    pub fn restart_obedience(&mut self) {
        self.obedience = Obedience::new(LiveEncoder::QUANTISERS);
    }

    /// Takes and codes the next picture, as captured at `captured`. `None` at the end of the source.
    ///
    /// # Errors
    /// The source breaks, or the encoder.
    pub fn take(&mut self, captured: Timestamp, order: Order) -> Result<Option<Shot>, Error> {
        let Some(picture) = self.next_picture()? else { return Ok(None) };
        let target = self.cost.coded(order.share, self.frame_rate);
        self.encoder.set_target(target);
        if order.key_frame {
            self.encoder.request_key_frame();
        }
        // A key frame ends a freeze: it is worth its place in the queue.
        let encoded =
            if order.skip && !order.key_frame { Encoded::Skipped } else { self.encoder.encode(&picture)? };
        self.obedience.on_picture(picture.time(), target, &encoded);
        let frame = match encoded {
            Encoded::Skipped => None,
            Encoded::Frame(coded) => {
                self.size = coded.size;
                Some(Frame {
                    stream: StreamId(0),
                    captured,
                    kind: if coded.key { FrameKind::Key } else { FrameKind::Reference },
                    data: FrameData::Coded(Bytes::from(coded.data)),
                    target: target.size_in(self.frame_rate.interval()),
                    interval: self.frame_rate.interval(),
                })
            }
        };
        Ok(Some(Shot { picture, frame }))
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let mut picture = self.source.next_picture()?;
        if picture.is_none() && self.repeat && self.taken > 0 {
            self.source.rewind()?;
            picture = self.source.next_picture()?;
        }
        let picture = picture.map(|picture| {
            picture.with_identity(seaway_media::FrameId(self.taken), self.frame_rate.time_of(self.taken))
        });
        self.taken += u64::from(picture.is_some());
        Ok(picture)
    }
}
