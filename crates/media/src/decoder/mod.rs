//! Decoders: access units in, pictures out, or whether there would be one. Damaged pictures are not output.

mod av1;
mod continuity;
mod ffmpeg;
mod h264;
mod h265;
mod headers;
mod mpeg;

pub(crate) use self::av1::Av1HeaderDecoder;
pub use self::ffmpeg::FfmpegDecoder;
pub use self::h264::{Concealment, H264Decoder};
pub(crate) use self::h265::H265HeaderDecoder;
pub use self::headers::HeaderDecoder;
pub use self::mpeg::MpegDecoder;

use crate::{Error, FrameId, Picture, PictureSize};
use seaway_units::TimeDelta;
use std::fmt;

/// One access unit of the receiver.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedFrame<'a> {
    /// The access unit as an Annex B byte stream; for [`MpegDecoder`] the next octets of its stream.
    pub data: &'a [u8],
    /// Number of the picture in the source, or a count of the receiver.
    pub id: FrameId,
    /// Presentation time.
    pub time: TimeDelta,
    /// A frame between the one before and this one is missing or incomplete.
    pub after_loss: bool,
}

/// A decoder that outputs undamaged pictures only.
pub trait VideoDecoder: fmt::Debug + Send {
    /// Decodes the next access unit in decoding order. Any octets are safe.
    ///
    /// # Errors
    /// Only where the decoder has become unusable. Damage gives [`Decoded::Frozen`].
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error>;
}

/// The result for one access unit.
#[derive(Debug, Clone)]
pub enum Decoded {
    /// A picture to show.
    Picture(Picture),
    /// It could be decoded, to a picture of this size, and was not, since no sink needs it.
    Unseen(PictureSize),
    /// No new picture: the last one stays.
    Frozen(Freeze),
}

/// Why there is no new picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freeze {
    /// Reference pictures are missing: request a key frame.
    ReferencesMissing,
    /// The access unit is damaged: request a key frame.
    Damaged,
    /// The picture is output later.
    Delayed,
}
