//! What goes wrong with pictures.

use std::path::PathBuf;

/// Why an input, an encoder, a decoder or a writer gave up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file, or `-` for a standard stream.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The input is not what its first bytes promised.
    #[error("{container}, {at}: {found}; expected {expected}")]
    Malformed {
        /// The format being read, for example `MP4`.
        container: &'static str,
        /// Where: a byte offset, a frame number, a box.
        at: String,
        /// What stood there.
        found: String,
        /// What should have stood there.
        expected: &'static str,
    },
    /// The input is sound, but holds nothing that can be shown here.
    #[error("{0}")]
    Unsupported(String),
    /// A picture size outside what the codec can carry.
    #[error("picture size {width}x{height}: expected even sides from 16 to {max}", max = crate::PictureSize::MAX_SIDE)]
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The text naming an input cannot be read.
    #[error("input {found:?}: expected {expected}")]
    Specification {
        /// The text.
        found: String,
        /// What would have been understood.
        expected: &'static str,
    },
    /// An FFmpeg subprocess is needed and is not installed, or it failed.
    #[error("{0}")]
    Ffmpeg(String),
    /// The H.264 library refused.
    #[error("H.264 {operation}: {reason}")]
    Codec {
        /// What it was asked for.
        operation: &'static str,
        /// What it answered.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn codec(operation: &'static str) -> impl FnOnce(openh264::Error) -> Self {
        move |error| Self::Codec { operation, reason: error.to_string() }
    }
}
