//! Received video as a file that others play.

use super::{Displayed, Sink};
use crate::Error;
use seaway_media::FrameRate;
use seaway_media::output::{AnnexBWriter, Mp4Writer, RecordingFormat, Y4mWriter};
use seaway_session::{FrameData, FrameKind};
use seaway_units::TimeDelta;
use std::io::{self, BufWriter, Write};

/// A file or a pipe to write to.
pub trait Output: Write + Send {
    /// Completes the output.
    ///
    /// # Errors
    /// It cannot be completed.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Output for std::fs::File {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.sync_all()
    }
}

/// Records the frames that are displayed.
pub struct Recorder {
    writer: Writer,
    /// The first frame's timestamp.
    first: Option<u32>,
}

type Buffered = BufWriter<Box<dyn Output>>;

enum Writer {
    Y4m(Box<Y4mWriter<Buffered>>),
    AnnexB(AnnexBWriter<Buffered>),
    Mp4(Mp4Writer<Buffered>),
}

impl Recorder {
    /// Records to `output`.
    pub fn new(format: RecordingFormat, output: Box<dyn Output>) -> Self {
        let out = BufWriter::new(output);
        let writer = match format {
            // The frame rate is not known beforehand: this format keeps no times of frames.
            RecordingFormat::Y4m => Writer::Y4m(Box::new(Y4mWriter::new(out, FrameRate::USUAL))),
            RecordingFormat::AnnexB => Writer::AnnexB(AnnexBWriter::new(out)),
            RecordingFormat::Mp4 => Writer::Mp4(Mp4Writer::new(out)),
        };
        Self { writer, first: None }
    }
}

impl Sink for Recorder {
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        let (frame, Some(picture)) = (displayed.frame, displayed.picture) else { return Ok(()) };
        let FrameData::Coded(data) = &frame.data else { return Ok(()) };
        let key = frame.kind == FrameKind::Key;
        let first = *self.first.get_or_insert(frame.timestamp);
        let ticks = i64::from(frame.timestamp.wrapping_sub(first));
        match &mut self.writer {
            Writer::Y4m(writer) => writer.write(picture)?,
            Writer::AnnexB(writer) => writer.write(data, key)?,
            Writer::Mp4(writer) => {
                writer.write(data, TimeDelta::from_nanos(ticks * 100_000 / 9), key, picture.size())?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        let out = match self.writer {
            Writer::Y4m(writer) => writer.finish()?,
            Writer::AnnexB(writer) => writer.finish()?,
            Writer::Mp4(writer) => writer.finish()?,
        };
        let output = out.into_inner().map_err(|error| Error::Output(error.into_error()))?;
        output.finish().map_err(Error::Output)
    }
}
