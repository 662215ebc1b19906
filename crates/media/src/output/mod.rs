//! Writers of recordings.

mod mp4;
mod relay;
mod y4m;

pub use mp4::{Mp4Writer, ProgressiveMp4, SoundCodec};
pub use relay::{FfmpegRelay, Relayed};
pub use y4m::Y4mWriter;

use crate::Error;
use std::io::Write;
use std::path::Path;

/// The format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordingFormat {
    /// Decoded pictures, [`Y4mWriter`].
    Y4m,
    /// Access units one after another, [`AnnexBWriter`]: no times.
    AnnexB,
    /// Access units with their times, [`Mp4Writer`].
    Mp4,
}

impl RecordingFormat {
    /// By the extension of a file name: `.y4m`, `.h264`, `.264` or `.avc`, `.mp4` or `.m4v`.
    ///
    /// # Errors
    /// [`Error::Specification`] for other extensions.
    pub fn of_name(name: &str) -> Result<Self, Error> {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("y4m") => Ok(Self::Y4m),
            Some("h264" | "264" | "avc") => Ok(Self::AnnexB),
            Some("mp4" | "m4v") => Ok(Self::Mp4),
            _ => Err(Error::Specification {
                found: name.into(),
                expected: "a name that ends in .mp4, .h264 or .y4m",
            }),
        }
    }
}

/// Writes access units as an H.264 byte stream (ITU-T H.264 Annex B).
#[derive(Debug)]
pub struct AnnexBWriter<W> {
    out: W,
    started: bool,
}

impl<W: Write> AnnexBWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, started: false }
    }

    /// Appends an access unit. Those before the first key frame cannot be decoded and are dropped.
    ///
    /// # Errors
    /// Where writing to `out` fails.
    pub fn write(&mut self, access_unit: &[u8], key: bool) -> Result<(), Error> {
        self.started |= key;
        if !self.started {
            return Ok(());
        }
        self.out.write_all(access_unit).and_then(|()| self.out.flush()).map_err(Error::io("output"))
    }

    /// Flushes, and returns `out`.
    ///
    /// # Errors
    /// Where writing to `out` fails.
    pub fn finish(mut self) -> Result<W, Error> {
        self.out.flush().map_err(Error::io("output"))?;
        Ok(self.out)
    }
}
