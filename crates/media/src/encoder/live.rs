//! OpenH264 as a live encoder.

use super::complexity::{Complexity, ComplexityMeter};
use super::rate_control::{Decision, RateControl};
use super::{Encoded, EncodedFrame, VideoEncoder};
use crate::codec::Encoder;
use crate::{Error, FrameRate, Picture, PicturePool, PictureSize};
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
/// budget is coded again. A picture too large for the codec's buffers, such as noise, becomes a coarser key frame.
pub struct LiveEncoder {
    codec: Encoder,
    config: LiveEncoderConfig,
    threads: u16,
    control: RateControl,
    meter: ComplexityMeter,
    /// Size of the last coded picture.
    size: Option<PictureSize>,
    key_frame: bool,
}

impl LiveEncoder {
    /// The range of the quantiser; beyond it the rate is not met.
    pub const QUANTISERS: std::ops::RangeInclusive<u8> = 10..=51;

    /// The codec codes the first picture of a size with this quantiser, whatever is set.
    const FIRST_QUANTISER: u8 = 26;

    /// Macroblocks of a slice at least: half a picture of 1280x720.
    const SLICE: u32 = 1800;

    /// From one attempt at a picture that was too large for the codec to the next.
    const COARSER: usize = 8;

    /// A key frame above its budget by more than this factor is coded again.
    const TOLERANCE: f64 = 1.25;

    /// An encoder that has coded nothing. It takes the size of each picture.
    ///
    /// # Errors
    /// Where the library cannot be set up.
    pub fn new(config: LiveEncoderConfig) -> Result<Self, Error> {
        let codec = Encoder::new(config.frame_rate, &Self::QUANTISERS)?;
        let control = RateControl::new(config.frame_rate.interval(), config.start, Self::QUANTISERS);
        Ok(Self {
            codec,
            config,
            threads: 1,
            control,
            meter: ComplexityMeter::default(),
            size: None,
            key_frame: false,
        })
    }

    /// With so many threads at most: a picture of at least 1800 macroblocks for each is cut into as many slices. What is
    /// coded depends on their number, and not on their speed.
    #[must_use]
    pub fn with_threads(mut self, threads: u16) -> Self {
        self.threads = threads;
        self
    }

    /// Cuts pictures of this size into slices, once the codec has coded one. Where it cannot, the next codec has one thread.
    fn cut(&mut self, size: PictureSize) -> Result<(), Error> {
        let macroblocks = size.width().div_ceil(16) * size.height().div_ceil(16);
        let slices = u32::from(self.threads).min(macroblocks / Self::SLICE);
        let cut = if slices > 1 { self.codec.cut_into(slices as u16) } else { Ok(()) };
        self.threads = if cut.is_ok() { self.threads } else { 1 };
        cut
    }

    /// Codes a picture and discards it: the codec accepts a quantiser only once it knows the size, and the rate control
    /// learns the size of a key frame.
    fn prime(&mut self, picture: &Picture, complexity: Complexity) -> Result<(), Error> {
        self.control.restart();
        let data = self.codec.encode(picture)?;
        self.control.learn(DataSize::of(&data), Self::FIRST_QUANTISER, complexity, true);
        self.cut(picture.size())?;
        self.size = Some(picture.size());
        Ok(())
    }

    fn code(&mut self, picture: &Picture, quantiser: u8, key: bool) -> Result<Vec<u8>, Error> {
        self.codec.set_quantiser(quantiser)?;
        if key {
            self.codec.force_key_frame();
        }
        self.codec.encode(picture)
    }

    /// A codec that failed codes no more. Another one learns the size from a grey picture.
    fn renew(&mut self, picture: &Picture) -> Result<(), Error> {
        self.codec = Encoder::new(self.config.frame_rate, &Self::QUANTISERS)?;
        let mut grey = PicturePool::new(picture.size()).take();
        grey.bytes_mut().fill(128);
        self.codec.encode(&grey.finish(picture.id(), picture.time()))?;
        self.cut(picture.size())?;
        self.size = Some(picture.size());
        Ok(())
    }

    /// Codes a key frame of a picture that was too large for the codec's buffers, ever coarser; `None` where it still is.
    fn code_anew(&mut self, picture: &Picture, quantiser: u8) -> Result<Option<(Vec<u8>, u8)>, Error> {
        let coarser = (quantiser..*Self::QUANTISERS.end()).step_by(Self::COARSER).skip(1);
        for quantiser in coarser.chain([*Self::QUANTISERS.end()]) {
            self.renew(picture)?;
            if let Ok(data) = self.code(picture, quantiser, true) {
                return Ok(Some((data, quantiser)));
            }
        }
        self.renew(picture)?;
        self.key_frame = true;
        Ok(None)
    }

    /// Codes a key frame, and codes it again where it is far too large.
    fn code_key(
        &mut self,
        picture: &Picture,
        complexity: Complexity,
        mut quantiser: u8,
        budget: DataSize,
    ) -> Result<(Vec<u8>, u8), Error> {
        let mut data = self.code(picture, quantiser, true)?;
        let limit = budget.as_bytes() as f64 * Self::TOLERANCE;
        if data.len() as f64 > limit && quantiser < *Self::QUANTISERS.end() {
            self.control.learn(DataSize::of(&data), quantiser, complexity, true);
            quantiser = self.control.coarser_key(complexity, budget, quantiser);
            data = self.code(picture, quantiser, true)?;
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
        if self.size != Some(picture.size()) {
            if self.prime(picture, complexity).is_err() {
                self.renew(picture)?;
            }
            self.key_frame = true;
        }
        let (quantiser, budget) = match self.control.decide(picture.time(), complexity, self.key_frame) {
            Decision::Code { quantiser, budget } => (quantiser, budget),
            Decision::Skip => return Ok(Encoded::Skipped),
        };
        let key = std::mem::take(&mut self.key_frame);
        let coded = match key {
            true => self.code_key(picture, complexity, quantiser, budget),
            false => self.code(picture, quantiser, false).map(|data| (data, quantiser)),
        };
        let (data, quantiser, key) = match coded {
            Ok((data, quantiser)) => (data, quantiser, key),
            Err(_) => match self.code_anew(picture, quantiser)? {
                Some((data, quantiser)) => (data, quantiser, true),
                None => return Ok(Encoded::Skipped),
            },
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
