//! OpenH264 as a live encoder.

use super::codec::Codec;
use super::complexity::{Complexity, ComplexityMeter};
use super::rate_control::{Decision, RateControl};
use super::{Encoded, EncodedFrame, VideoEncoder};
use crate::{Error, FrameRate, Picture, PictureSize};
use seaway_units::{Bitrate, DataSize, TimeDelta};

/// Configuration of a [`LiveEncoder`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveEncoderConfig {
    /// Rate of the pictures.
    pub frame_rate: FrameRate,
    /// The rate before the first [`set_target`](VideoEncoder::set_target).
    pub start: Bitrate,
    /// The value of [`VideoEncoder::latency`].
    pub latency: TimeDelta,
}

/// H.264 constrained baseline with one reference picture. Key frames are the first picture and those requested.
///
/// Our own rate control sets the quantiser of each picture; that of the codec is off. A key frame that exceeds its
/// budget is coded again.
pub struct LiveEncoder {
    codec: Codec,
    config: LiveEncoderConfig,
    control: RateControl,
    meter: ComplexityMeter,
    /// Size of the last coded picture.
    size: Option<PictureSize>,
    key_frame: bool,
}

impl LiveEncoder {
    /// The range of the quantiser; beyond it the rate is not met.
    pub const QUANTISERS: std::ops::RangeInclusive<u8> = 10..=51;

    /// A key frame above its budget by more than this factor is coded again.
    const TOLERANCE: f64 = 1.25;

    /// The first key frame of a size is coded again below its budget divided by this factor.
    const WASTE: f64 = 1.6;

    /// An encoder that has coded nothing. It takes the size of each picture.
    ///
    /// # Errors
    /// Where the library cannot be set up.
    pub fn new(config: LiveEncoderConfig) -> Result<Self, Error> {
        let codec = Codec::new(config.frame_rate)?;
        let control = RateControl::new(config.frame_rate.interval(), config.start, Self::QUANTISERS);
        Ok(Self { codec, config, control, meter: ComplexityMeter::default(), size: None, key_frame: false })
    }

    /// Codes a key frame, and codes it again where it is far too large, or where the first guess made it far too small.
    fn code_key(
        &mut self,
        picture: &Picture,
        complexity: Complexity,
        mut quantiser: u8,
        budget: DataSize,
    ) -> Result<(Vec<u8>, u8), Error> {
        let is_guess = !self.control.knows_key_frames();
        let mut data = self.codec.code(picture, quantiser, true)?;
        let (size, budgeted) = (data.len() as f64, budget.as_bytes() as f64);
        let is_too_large = size > budgeted * Self::TOLERANCE && quantiser < *Self::QUANTISERS.end();
        let is_too_small = is_guess && size * Self::WASTE < budgeted && quantiser > *Self::QUANTISERS.start();
        if is_too_large || is_too_small {
            self.control.learn(DataSize::of(&data), quantiser, complexity, true);
            quantiser = match is_too_large {
                true => self.control.coarser_key(complexity, budget, quantiser),
                false => self.control.key_quantiser(complexity, budget),
            };
            data = self.codec.code(picture, quantiser, true)?;
        }
        Ok((data, quantiser))
    }
}

impl VideoEncoder for LiveEncoder {
    fn set_target(&mut self, target: Bitrate) {
        self.control.set_target(target);
    }

    fn target(&self) -> Bitrate {
        self.control.target()
    }

    fn request_key_frame(&mut self) {
        self.key_frame = true;
    }

    fn encode(&mut self, picture: &Picture) -> Result<Encoded, Error> {
        let complexity = self.meter.measure(picture);
        if self.size.replace(picture.size()) != Some(picture.size()) {
            self.control.restart();
            self.key_frame = true;
        }
        let (quantiser, budget) = match self.control.decide(picture.time(), complexity, self.key_frame) {
            Decision::Code { quantiser, budget } => (quantiser, budget),
            Decision::Skip => return Ok(Encoded::Skipped),
        };
        let key = std::mem::take(&mut self.key_frame);
        let (data, quantiser) = match key {
            true => self.code_key(picture, complexity, quantiser, budget)?,
            false => (self.codec.code(picture, quantiser, false)?, quantiser),
        };
        self.control.on_coded(DataSize::of(&data), quantiser, complexity, key);
        Ok(Encoded::Frame(EncodedFrame {
            data,
            id: picture.id(),
            time: picture.time(),
            key,
            quantiser,
            target: self.control.target(),
            size: picture.size(),
        }))
    }

    fn latency(&self) -> TimeDelta {
        self.config.latency
    }
}

impl std::fmt::Debug for LiveEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveEncoder").field("config", &self.config).field("control", &self.control).finish()
    }
}
