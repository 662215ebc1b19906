//! Pictures: inputs, live encoders, decoders and writers; no network.
//!
//! Everything here is synchronous and knows no clock: a picture has a media time, and whoever calls decides
//! when it is due. Encoders and decoders are heavy; a caller in real time gives each a thread of its own.
//!
//! | module | job |
//! | --- | --- |
//! | [`input`] | pictures from files, streams, cameras and a synthetic scene |
//! | [`encoder`] | pictures to H.264, at a rate that changes while it runs |
//! | [`decoder`] | H.264 to pictures, frozen where references are missing |
//! | [`output`] | recordings that others play |
//! | [`h264`] | byte streams, access units, and the check before a decoder sees them |
//! | [`shaped`] | a coded MPEG-1/2 stream whose rate changes while it plays |
//! | [`clip`] | the clip that comes with the binary |

pub mod clip;
pub mod decoder;
pub mod encoder;
mod error;
pub mod h264;
pub mod input;
pub mod output;
mod picture;
mod scale;
pub mod shaped;

pub use error::Error;
pub use picture::{
    FrameId, FrameRate, Picture, PictureBuffer, PicturePool, PictureSize, PlaneView, PlaneViewMut,
};
pub use scale::Scaler;
