//! Live encoders: pictures in, access units out, at a target rate that may change at any picture.

mod adherence;
mod complexity;
mod constant_qp;
mod external;
mod ladder;
mod live;
mod rate_control;

pub use self::adherence::{AdherenceReport, AdherenceWindow, RateAdherence};
pub use self::constant_qp::ConstantQpEncoder;
pub use self::external::{ExternalEncoder, TargetPipe};
pub use self::ladder::{Ladder, LadderEncoder, LadderRule};
pub use self::live::{LiveEncoder, LiveEncoderConfig};

use crate::{Error, FrameId, Picture, PictureSize};
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::fmt;

/// An encoder that follows a target rate. It has no clock: all times are media times of the pictures.
pub trait VideoEncoder: fmt::Debug + Send {
    /// Sets the target rate from the next picture on.
    fn set_target(&mut self, target: Bitrate);

    /// The target rate.
    fn target(&self) -> Bitrate;

    /// Makes the next coded picture a key frame.
    fn request_key_frame(&mut self);

    /// Codes one picture. Pictures come in display order, each later than the one before.
    ///
    /// # Errors
    /// Where the library refuses the picture or a setting.
    fn encode(&mut self, picture: &Picture) -> Result<Encoded, Error>;

    /// The time from a picture to its access unit in virtual time. It is constant, so that a run is reproducible.
    fn latency(&self) -> TimeDelta;
}

/// The result for one picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// It was coded.
    Frame(EncodedFrame),
    /// It was skipped to meet the rate. The receiver keeps showing the picture before.
    Skipped,
}

/// One coded picture.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedFrame {
    /// The access unit as an Annex B byte stream, parameter sets included where it is a key frame.
    pub data: Vec<u8>,
    /// Number of the picture in the source.
    pub id: FrameId,
    /// Presentation time.
    pub time: TimeDelta,
    /// True where it can be decoded without earlier frames.
    pub key: bool,
    /// Mean quantiser, 0 to 51, 51 the coarsest.
    pub quantiser: u8,
    /// The target rate when it was coded.
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
