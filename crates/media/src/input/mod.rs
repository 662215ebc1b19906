//! Sources of pictures. The format of an input is recognised by its first octets, not by its name.

mod annexb;
mod coded;
mod copied;
mod ffmpeg;
mod looped;
mod matroska;
mod mp4;
pub(crate) mod mpeg;
mod open;
mod pipe;
mod synthetic;
mod transport;
mod y4m;

pub use copied::{CodedInput, CodedPicture};
pub use looped::Looped;
#[cfg(test)]
pub(crate) use open::open_coded_bytes;
pub use open::{
    bundled_clip, is_silent, open, open_bytes, open_coded, open_coded_pipe, open_pipe, open_reference,
};
pub use synthetic::{Synthetic, read_code};
pub(crate) use y4m::Y4mSource;

use crate::audio::AudioSource;
use crate::{Error, FrameRate, Picture, PictureSize};
use std::fmt;
use std::io::{Read, Seek};

/// A source of pictures, in display order. A live input blocks until its next picture.
pub trait PictureSource: fmt::Debug + Send {
    /// Size and rate of the pictures.
    fn format(&self) -> PictureFormat;

    /// The next picture; `None` at the end. Its number counts from zero, its time from the first picture.
    ///
    /// # Errors
    /// Where the input is damaged. Earlier pictures are valid.
    fn next_picture(&mut self) -> Result<Option<Picture>, Error>;

    /// Restarts with the first picture.
    ///
    /// # Errors
    /// Where the input cannot restart: a pipe, a camera.
    fn rewind(&mut self) -> Result<(), Error>;

    /// True where another decoder may give slightly different samples; see [`open_reference`].
    fn is_approximate(&self) -> bool {
        false
    }

    /// False where times are counted, not read, so that a missing picture leaves no gap.
    fn has_times(&self) -> bool {
        true
    }

    /// Number of coded pictures so far that could not be decoded.
    fn undecodable(&self) -> u64 {
        0
    }

    /// The sound of an input that is read once, the first time: `None` where it has none. That of a file is opened
    /// [by its name](crate::audio::open). An error says why a track cannot be decoded.
    fn take_sound(&mut self) -> Option<Result<Box<dyn AudioSource>, Error>> {
        None
    }

    /// Descriptions of the tracks that are not used, for example `audio track 2 (mp4a)`.
    fn left_out(&self) -> &[String] {
        &[]
    }
}

/// Size and rate of a stream of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureFormat {
    /// Width and height.
    pub size: PictureSize,
    /// Pictures per second; of a file without a constant rate, the most frequent.
    pub frame_rate: FrameRate,
}

/// A file or bytes in memory.
trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

fn read_exactly(file: &mut dyn ReadSeek, into: &mut [u8]) -> Result<(), Error> {
    file.read_exact(into).map_err(Error::io("input"))
}
