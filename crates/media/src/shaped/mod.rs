//! Coded MPEG-1/2 streams as sources of frames at a rate that may change at any picture: the source of S002.
//!
//! [`ShapedClip`] repeats the video of a clip in memory; [`ShapedStream`] reads a stream of any length as it comes, with all
//! that is beside the video in its container.

mod clip;
mod stream;

pub use clip::{ShapedClip, ShapedFrame};
pub use seaway_mpeg::header::PictureKind;
pub use seaway_mpeg::shape::Method;
pub use stream::{Encapsulation, ShapedPiece, ShapedStream};
