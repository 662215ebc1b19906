//! Decoders: access units in, pictures out; what is damaged is not shown.

mod openh264;
mod raw;

pub use self::openh264::{Concealment, H264Decoder};

use crate::{Error, FrameId, Picture};
use seaway_units::TimeDelta;
use std::fmt;

/// One access unit as it came out of the receiver.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedFrame<'a> {
    /// The access unit as an Annex B byte stream.
    pub data: &'a [u8],
    /// Which picture of the source it is, or a number the receiver counts.
    pub id: FrameId,
    /// When it is to be shown.
    pub time: TimeDelta,
    /// The receiver knows that a frame between the one before and this one is missing or incomplete.
    pub after_loss: bool,
}

/// A decoder that never shows what it cannot vouch for.
pub trait VideoDecoder: fmt::Debug + Send {
    /// Decodes one access unit; they come in decoding order. Anything may be handed in.
    ///
    /// # Errors
    /// Only where the decoder itself has become unusable. Damage is an [`Decoded::Frozen`], not an error.
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error>;
}

/// What became of an access unit.
#[derive(Debug, Clone)]
pub enum Decoded {
    /// It is to be shown.
    Picture(Picture),
    /// Nothing new is to be shown: the last picture stays.
    Frozen(Freeze),
}

/// Why nothing new is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freeze {
    /// Pictures that this one depends on are missing: ask for a key frame.
    ReferencesMissing,
    /// The access unit is damaged: ask for a key frame.
    Damaged,
    /// It was decoded and is to be shown later.
    Delayed,
}
