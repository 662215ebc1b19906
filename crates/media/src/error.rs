//! Errors of this crate.

use std::path::PathBuf;

/// Why an input, an encoder, a decoder or a writer failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the operating system.
    #[error("{path}: {source}")]
    Io {
        /// The file, or `-` for a standard stream.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The input is not what its first bytes say.
    #[error("{container}, {at}: {found}; expected {expected}")]
    Malformed {
        /// The format being read, for example `MP4`.
        container: &'static str,
        /// Where: a byte offset, a frame number, a box.
        at: String,
        /// What was found there.
        found: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// The input is valid, but has no video that is supported here.
    #[error("{0}")]
    Unsupported(String),
    /// A picture size that the codec does not support.
    #[error("picture size {width}x{height}: expected even sides from 16 to {max}", max = crate::PictureSize::MAX_SIDE)]
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The specification of an input cannot be parsed.
    #[error("input {found:?}: expected {expected}")]
    Specification {
        /// The text.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// An FFmpeg subprocess is needed and is not installed, or it failed.
    #[error("{0}")]
    Ffmpeg(String),
    /// An encoder that is another program failed.
    #[error("{0}")]
    Encoder(String),
    /// An error of the Opus library.
    #[error("Opus {operation}: {reason}")]
    Opus {
        /// The operation.
        operation: &'static str,
        /// The reason.
        reason: String,
    },
    /// An error of the H.264 library.
    #[error("H.264 {operation}: {reason}")]
    Codec {
        /// The operation.
        operation: &'static str,
        /// The reason.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
