//! Records a coded stream unchanged.

use super::{Displayed, Output, RecordingFile, Sink, is_mpeg_video};
use crate::Error;
use seaway_session::FrameData;
use std::path::{Path, PathBuf};

/// Records the octets of all frames one after another: what the sender's stream is, the recording is.
pub struct StreamRecorder {
    out: Box<dyn Output>,
    octets: u64,
}

impl StreamRecorder {
    /// Endings of file names of MPEG streams.
    pub const ENDINGS: [&str; 9] = ["m1v", "m2v", "mpv", "mpg", "mpeg", "vob", "ts", "m2t", "m2ts"];

    /// Records to `out`.
    pub fn new(out: Box<dyn Output>) -> Self {
        Self { out, octets: 0 }
    }

    /// Records to a new file, see [`RecordingFile::create`]; gives its name.
    ///
    /// # Errors
    /// The file cannot be created, or its ending is none of an MPEG stream.
    pub fn create(path: &Path) -> Result<(Self, PathBuf), Error> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        if !ending.is_some_and(|ending| Self::ENDINGS.contains(&ending.as_str())) {
            let found = path.to_string_lossy().into_owned();
            let expected = "a name of an MPEG stream, such as .ts, .mpg, .vob or .m2v";
            return Err(seaway_media::Error::Specification { found, expected }.into());
        }
        let file = RecordingFile::create(path).map_err(Error::Output)?;
        let name = file.path().to_owned();
        Ok((Self::new(Box::new(file)), name))
    }
}

impl Sink for StreamRecorder {
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        let FrameData::Coded(data) = &displayed.frame.data else { return Ok(()) };
        let is_h264 = !is_mpeg_video(data) && data.windows(3).take(2).any(|start| start == [0, 0, 1]);
        if self.octets == 0 && is_h264 {
            let what =
                "the sender's video is H.264: its recording has a name that ends in .mp4, .h264 or .y4m";
            return Err(seaway_media::Error::Unsupported(what.into()).into());
        }
        self.out.write_all(data).and_then(|()| self.out.flush()).map_err(Error::Output)?;
        self.octets += data.len() as u64;
        Ok(())
    }

    fn needs_pictures(&self) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.out.finish().map_err(Error::Output)?;
        if self.octets == 0 { Err(Error::NothingRecorded) } else { Ok(()) }
    }
}
