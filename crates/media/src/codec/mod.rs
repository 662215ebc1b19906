//! The H.264 library behind an interface of our own. Without the feature `codec` there is none, and whatever needs it
//! says so.

#[cfg(not(feature = "codec"))]
mod absent;
#[cfg(feature = "codec")]
mod decoder;
#[cfg(feature = "codec")]
mod encoder;

#[cfg(not(feature = "codec"))]
pub(crate) use absent::{Decoder, Encoder};
#[cfg(feature = "codec")]
pub(crate) use decoder::Decoder;
#[cfg(feature = "codec")]
pub(crate) use encoder::Encoder;

use crate::picture::PlaneView;

/// The output for one access unit.
pub(crate) struct Output<'a> {
    /// The decoder reported no error.
    pub(crate) sound: bool,
    /// The picture, in the decoder's memory.
    pub(crate) picture: Option<[PlaneView<'a>; 3]>,
}
