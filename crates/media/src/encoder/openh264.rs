//! OpenH264 as a live encoder.

use super::{Encoded, EncodedFrame, VideoEncoder, options};
use crate::{Error, FrameRate, Picture, PictureSize};
use openh264::encoder as codec;
use openh264::formats::YUVSource;
use seaway_units::{Bitrate, TimeDelta};

/// How a [`LiveEncoder`] is set up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveEncoderConfig {
    /// How often pictures come.
    pub frame_rate: FrameRate,
    /// The rate before the first [`set_target`](VideoEncoder::set_target).
    pub start: Bitrate,
    /// What [`VideoEncoder::latency`] answers.
    pub latency: TimeDelta,
}

/// H.264 constrained baseline, one reference, no key frame but the first and those asked for.
pub struct LiveEncoder {
    codec: codec::Encoder,
    config: LiveEncoderConfig,
    target: Bitrate,
    /// What the codec was told last; `None` before the first picture and after a change of size.
    applied: Option<(PictureSize, Bitrate)>,
    key_frame: bool,
}

impl LiveEncoder {
    /// The quantiser stays within this range; beyond it, the rate cannot be kept.
    pub const QUANTISERS: std::ops::RangeInclusive<u8> = 10..=51;

    /// An encoder that has coded nothing. The size comes with each picture.
    ///
    /// # Errors
    /// Where the library cannot be set up.
    pub fn new(config: LiveEncoderConfig) -> Result<Self, Error> {
        let setup = codec::EncoderConfig::new()
            .usage_type(codec::UsageType::CameraVideoRealTime)
            .rate_control_mode(codec::RateControlMode::Bitrate)
            .bitrate(codec::BitRate::from_bps(u32::try_from(config.start.as_bps()).unwrap_or(u32::MAX)))
            .max_frame_rate(codec::FrameRate::from_hz(config.frame_rate.hz() as f32))
            .qp(codec::QpRange::new(*Self::QUANTISERS.start(), *Self::QUANTISERS.end()))
            // Key frames are asked for by receivers; on a scene change they would only add to the burst.
            .scene_change_detect(false)
            .intra_frame_period(codec::IntraFramePeriod::from_num_frames(0))
            .skip_frames(false)
            .num_threads(1);
        let library = openh264::OpenH264API::from_source();
        let codec = codec::Encoder::with_api_config(library, setup).map_err(Error::codec("set-up"))?;
        Ok(Self { codec, config, target: config.start, applied: None, key_frame: false })
    }

    fn apply_target(&mut self, size: PictureSize) -> Result<(), Error> {
        match self.applied {
            Some((same, rate)) if same == size && rate == self.target => return Ok(()),
            Some((same, rate)) if same == size => {
                options::set_rate(&mut self.codec, self.target, self.target > rate)?;
            }
            _ => return Ok(()),
        }
        self.applied = Some((size, self.target));
        Ok(())
    }
}

impl VideoEncoder for LiveEncoder {
    fn set_target(&mut self, target: Bitrate) {
        self.target = target;
    }

    fn target(&self) -> Bitrate {
        self.target
    }

    fn request_key_frame(&mut self) {
        self.key_frame = true;
    }

    fn encode(&mut self, picture: &Picture) -> Result<Encoded, Error> {
        self.apply_target(picture.size())?;
        if std::mem::take(&mut self.key_frame) && self.applied.is_some() {
            self.codec.force_intra_frame();
        }
        let millis = u64::try_from(picture.time().as_millis()).unwrap_or(0);
        let stream = self
            .codec
            .encode_at(&Source(picture), openh264::Timestamp::from_millis(millis))
            .map_err(Error::codec("encode"))?;
        let key = stream.frame_type() == codec::FrameType::IDR;
        let data = stream.to_vec();
        if self.applied.is_none_or(|(size, _)| size != picture.size()) {
            // A new size starts from the rate of the set-up: tell the codec the present one.
            options::set_rate(&mut self.codec, self.target, self.target > self.config.start)?;
            self.applied = Some((picture.size(), self.target));
        }
        if data.is_empty() {
            return Ok(Encoded::Skipped);
        }
        Ok(Encoded::Frame(EncodedFrame {
            data,
            id: picture.id(),
            time: picture.time(),
            key,
            quantiser: options::last_quantiser(&mut self.codec)?,
            target: self.target,
            size: picture.size(),
        }))
    }

    fn latency(&self) -> TimeDelta {
        self.config.latency
    }
}

impl std::fmt::Debug for LiveEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveEncoder").field("config", &self.config).field("target", &self.target).finish()
    }
}

/// A picture as the codec wants to see it.
struct Source<'a>(&'a Picture);

impl YUVSource for Source<'_> {
    fn dimensions(&self) -> (usize, usize) {
        (self.0.size().width() as usize, self.0.size().height() as usize)
    }

    fn strides(&self) -> (usize, usize, usize) {
        self.0.planes().map(|plane| plane.stride).into()
    }

    fn y(&self) -> &[u8] {
        self.0.planes()[0].data
    }

    fn u(&self) -> &[u8] {
        self.0.planes()[1].data
    }

    fn v(&self) -> &[u8] {
        self.0.planes()[2].data
    }
}
