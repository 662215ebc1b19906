//! Sources of coded frames.

mod clip;
mod encoded;
mod overhead;
mod shaped;
mod thinning;

pub use clip::DecodedClip;
pub use encoded::{EncodedSource, EncoderSettings};
pub use overhead::PacketOverhead;
pub use shaped::ShapedSource;
pub use thinning::{Thinnable, Thinned, Thinning};

use crate::Error;
use bytes::Bytes;
use seaway_control::StreamId;
use seaway_media::encoder::AdherenceReport;
use seaway_media::{FrameRate, Picture, PictureSize};
use seaway_session::{Frame, FrameData, FrameKind};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::fmt;

/// Captures frames at their time and codes them at the rate that the session allows.
pub trait Source: fmt::Debug + Send {
    /// When the next frame is captured, since the first one.
    fn next_due(&self) -> TimeDelta;

    /// Time between frames, where it is constant: the session then counts how many were due.
    fn interval(&self) -> Option<TimeDelta> {
        None
    }

    /// Captures and codes the next frame at `at`; `None` at the end of the source.
    ///
    /// # Errors
    /// The input or the encoder failed; the source has ended.
    fn capture(&mut self, at: Timestamp, controls: &FrameControls) -> Result<Option<Captured>, Error>;

    /// The rate that its frames take where nothing holds them back, if there is one: of a stream that is coded already.
    fn full_rate(&self) -> Option<Bitrate> {
        None
    }

    /// What the source does at present.
    fn status(&self) -> SourceStatus {
        SourceStatus::default()
    }
}

/// The settings of the encoder for the next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameControls {
    /// The rate that the frames may use on the wire, packet headers included.
    pub share: Bitrate,
    /// What packetisation adds to the coded octets.
    pub overhead: PacketOverhead,
    /// The send queue is full: capture the picture but do not code it.
    pub skip: bool,
    /// Code a key frame.
    pub key_frame: bool,
}

impl FrameControls {
    /// The rate of coded octets whose packets use the share.
    pub fn target(&self, frame_rate: FrameRate) -> Bitrate {
        self.overhead.payload_rate(self.share, frame_rate)
    }
}

/// One captured picture.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    /// The picture before coding, where the source has one: a receiver in the same process scores against it.
    pub picture: Option<Picture>,
    /// The coded frame; `None` if the picture was skipped.
    pub frame: Option<CodedFrame>,
    /// No other frame needs it.
    pub is_discardable: bool,
    /// When it was captured, if the source has that time; else when it was requested, or when its input gave it.
    pub at: Option<Timestamp>,
}

/// A coded frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodedFrame {
    /// An H.264 access unit in Annex B form, or a picture of a coded MPEG stream.
    pub data: Bytes,
    /// Decoding can begin with this frame.
    pub is_key: bool,
    /// The size it should have had.
    pub target: DataSize,
    /// Time to the next frame.
    pub interval: TimeDelta,
}

impl CodedFrame {
    /// As the session sends it, captured at `captured`.
    pub fn into_frame(self, captured: Timestamp) -> Frame {
        Frame {
            stream: StreamId(0),
            captured,
            kind: if self.is_key { FrameKind::Key } else { FrameKind::Reference },
            data: FrameData::Coded(self.data),
            target: self.target,
            interval: self.interval,
        }
    }
}

/// What a source does at present.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceStatus {
    /// The encoder's target, in coded octets.
    pub target: Option<Bitrate>,
    /// The size of the coded pictures.
    pub size: Option<PictureSize>,
    /// From the capture of a frame to its end as a coded one, in the mean since the last status.
    pub encoding: Option<TimeDelta>,
    /// How closely the encoder followed its target.
    pub adherence: Option<AdherenceReport>,
    /// Coded pictures that were left out.
    pub thinned: Option<Thinned>,
}
