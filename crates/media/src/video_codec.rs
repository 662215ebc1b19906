//! Codecs of received video.

use crate::decoder::{Av1HeaderDecoder, H265HeaderDecoder, HeaderDecoder, VideoDecoder};
use crate::h264;
use crate::h265::SequenceParameters;
use std::fmt;

/// How received video is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VideoCodec {
    /// ITU-T H.264, which is decoded.
    #[default]
    H264,
    /// ITU-T H.265, which is recorded and not decoded.
    H265,
    /// AV1, which is recorded and not decoded.
    Av1,
}

impl VideoCodec {
    /// Whether there is a decoder for it.
    pub const fn is_decoded(self) -> bool {
        matches!(self, Self::H264)
    }

    /// A decoder at the start of a stream that reads headers alone.
    pub fn header_decoder(self) -> Box<dyn VideoDecoder> {
        match self {
            Self::H264 => Box::new(HeaderDecoder::new()),
            Self::H265 => Box::new(H265HeaderDecoder::default()),
            Self::Av1 => Box::new(Av1HeaderDecoder::default()),
        }
    }

    /// Whether pictures are decoded in another order than they are shown; `None` for an access unit that does not say so.
    pub fn reorders(self, access_unit: &[u8]) -> Option<bool> {
        match self {
            Self::H264 => h264::reorders(access_unit),
            Self::H265 => SequenceParameters::of(access_unit).map(|parameters| parameters.reorders),
            // Each temporal unit has one frame that is shown.
            Self::Av1 => Some(false),
        }
    }
}

impl fmt::Display for VideoCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H264 => "H.264",
            Self::H265 => "H.265",
            Self::Av1 => "AV1",
        })
    }
}
