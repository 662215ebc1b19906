//! Pictures and sound: inputs, live encoders, decoders and writers; no network.
//!
//! Encodes a synthetic scene at 300 kbit/s, then at 150:
//!
//! ```
//! use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
//! use seaway_units::{Bitrate, TimeDelta};
//!
//! # fn main() -> Result<(), seaway_media::Error> {
//! let mut source = seaway_media::input::open("test:320x180@25")?;
//! let frame_rate = source.format().frame_rate;
//! let config = LiveEncoderConfig { frame_rate, start: Bitrate::from_kbps(300), latency: TimeDelta::ZERO };
//! let mut encoder = LiveEncoder::new(config)?;
//! for index in 0..10 {
//!     if index == 5 {
//!         encoder.set_target(Bitrate::from_kbps(150));
//!     }
//!     let Some(picture) = source.next_picture()? else { break };
//!     match encoder.encode(&picture)? {
//!         Encoded::Frame(frame) => assert!(frame.key == (index == 0) && !frame.data.is_empty()),
//!         Encoded::Skipped => {} // to meet the rate
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Everything here is synchronous and has no clock: a picture has a media time, and the caller decides when it is due.
//! Encoders and decoders need much time, so a real-time caller gives each a thread of its own.
//!
//! | module | job |
//! | --- | --- |
//! | [`input`] | pictures from files, streams, cameras and a synthetic scene |
//! | [`encoder`] | pictures to H.264, at a target rate that may change |
//! | [`decoder`] | H.264 to pictures, frozen where references are missing |
//! | [`output`] | recordings |
//! | [`h264`] | byte streams, access units, and the check of access units before decoding |
//! | [`stamp`] | counter and time of day in a picture |
//! | [`shaped`] | coded MPEG-1/2 streams, shaped to a rate that may change |
//! | [`transport`] | H.264 and sound of a transport stream that comes in pieces |
//! | [`audio`] | sound of inputs, Opus |
//! | [`clip`] | the bundled clip |

pub mod audio;
mod av1;
mod cells;
pub mod clip;
mod codec;
pub mod decoder;
pub mod encoder;
mod error;
pub mod h264;
mod h265;
pub mod input;
pub mod output;
mod picture;
mod scale;
pub mod shaped;
pub mod stamp;
mod subprocess;
pub mod transport;
mod video_codec;

pub use error::Error;
pub use picture::{
    FrameId, FrameRate, Picture, PictureBuffer, PicturePool, PictureSize, PlaneView, PlaneViewMut,
};
pub use scale::Scaler;
pub use subprocess::kill_subprocesses;
pub use video_codec::VideoCodec;

/// This build has the codec, feature `codec`. A reader of clips asks here first: without a codec it is of no use, and
/// what is never reached is not linked.
pub const HAS_CODEC: bool = cfg!(feature = "codec");
