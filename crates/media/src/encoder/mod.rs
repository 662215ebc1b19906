//! Live encoders: pictures in, access units out, at a rate that changes while they run.

mod activity;
mod ladder;
mod obedience;
mod openh264;
mod options;
mod rate;
mod steady;

pub use self::ladder::{Ladder, LadderEncoder, LadderRule};
pub use self::obedience::{Obedience, ObedienceReport, ObedienceWindow};
pub use self::openh264::{LiveEncoder, LiveEncoderConfig};
pub use self::steady::SteadyEncoder;

use crate::{Error, FrameId, Picture, PictureSize};
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::fmt;

/// An encoder that obeys. It knows no clock: the media time of the pictures is all the time it sees.
pub trait VideoEncoder: fmt::Debug + Send {
    /// Sets what the pictures from now on may cost, all together.
    fn set_target(&mut self, target: Bitrate);

    /// What was asked for last.
    fn target(&self) -> Bitrate;

    /// Makes the next picture that is coded a key frame.
    fn request_key_frame(&mut self);

    /// Codes one picture. Pictures come in the order they are shown, each later than the one before.
    ///
    /// # Errors
    /// Where the library refuses the picture or a setting.
    fn encode(&mut self, picture: &Picture) -> Result<Encoded, Error>;

    /// From handing in a picture to having its access unit, in a world where computing takes no time. It is
    /// one number, so that a run repeats whatever the machine did meanwhile.
    fn latency(&self) -> TimeDelta;
}

/// What became of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// It was coded.
    Frame(EncodedFrame),
    /// It was left out, because the rate does not carry it: the viewer keeps seeing the one before.
    Skipped,
}

/// One coded picture.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedFrame {
    /// The access unit as an Annex B byte stream, parameter sets included where it is a key frame.
    pub data: Vec<u8>,
    /// Which picture of the source it is.
    pub id: FrameId,
    /// When it is to be shown.
    pub time: TimeDelta,
    /// It can be decoded without any earlier frame.
    pub key: bool,
    /// Mean quantiser, 0 to 51: the coarser the higher.
    pub quantiser: u8,
    /// The rate that was asked for when it was coded.
    pub target: Bitrate,
    /// The size it was coded in.
    pub size: PictureSize,
}

impl EncodedFrame {
    /// Octets of the access unit.
    pub fn length(&self) -> DataSize {
        DataSize::of(&self.data)
    }
}

impl fmt::Debug for EncodedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.key { "key frame" } else { "frame" };
        let Self { id, time, size, quantiser, .. } = self;
        write!(f, "{kind} {id} at {time}, {size}, {}, quantiser {quantiser}", self.length())
    }
}
