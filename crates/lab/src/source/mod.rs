//! Where the frames of a simulated flow come from: models of an encoder without pictures, or a camera.

mod config;
mod constant;
mod ladder;
mod live;
mod model;
mod periodic;
mod rates;
mod recorded;
mod shaped;
mod sound;
mod statistical;
mod stored;
mod undershoot;

pub use config::{Encoder, EncoderKind, FrameModel, ShaperMethod, Sizes, SourceConfig};
pub use ladder::ClipLadder;
pub(crate) use ladder::{CodedPicture, LadderSource, Taken};
pub(crate) use live::LiveSource;
pub use recorded::FrameLadder;
pub(crate) use shaped::Shaped;
pub(crate) use sound::{SOUND, SoundSource};

use model::FrameSource;

/// What a sender sends.
#[derive(Debug)]
pub(crate) enum MediaSource {
    /// Always a full packet.
    Saturated,
    /// Frames without content.
    Model(Box<dyn FrameSource>),
    /// Pictures, coded live.
    Live(Box<LiveSource>),
}
