//! What was received, as a file that others play.

use crate::failure::Failure;
use crate::files::Output;
use seaway_media::output::{AnnexBWriter, Mp4Writer, RecordingFormat, Y4mWriter};
use seaway_media::{FrameRate, Picture};
use seaway_session::{FrameData, FrameKind, ReceivedFrame};
use seaway_units::TimeDelta;
use std::io::BufWriter;

/// A recording in the making.
#[derive(Debug)]
pub(crate) struct Recording {
    writer: Writer,
    /// The first frame's timestamp.
    first: Option<u32>,
}

#[derive(Debug)]
enum Writer {
    Y4m(Box<Y4mWriter<BufWriter<Output>>>),
    AnnexB(AnnexBWriter<BufWriter<Output>>),
    Mp4(Mp4Writer<BufWriter<Output>>),
}

impl Recording {
    /// Begins a recording, its format by the ending of `name`; `-` is an H.264 byte stream on standard output.
    pub(crate) fn create(name: &str) -> Result<Self, Failure> {
        let format = if name == "-" { Ok(RecordingFormat::AnnexB) } else { RecordingFormat::of_name(name) };
        let format = format.map_err(|error| Failure::input(&error))?;
        let out = BufWriter::new(Output::create(name)?);
        let writer = match format {
            // The rate of what will come is not known: the times of the frames are lost in this format.
            RecordingFormat::Y4m => Writer::Y4m(Box::new(Y4mWriter::new(out, FrameRate::USUAL))),
            RecordingFormat::AnnexB => Writer::AnnexB(AnnexBWriter::new(out)),
            RecordingFormat::Mp4 => Writer::Mp4(Mp4Writer::new(out)),
        };
        Ok(Self { writer, first: None })
    }

    /// Appends a frame and the picture it decoded to.
    pub(crate) fn write(&mut self, frame: &ReceivedFrame, picture: &Picture) -> Result<(), Failure> {
        let FrameData::Coded(data) = &frame.data else { return Ok(()) };
        let key = frame.kind == FrameKind::Key;
        let first = *self.first.get_or_insert(frame.timestamp);
        let ticks = i64::from(frame.timestamp.wrapping_sub(first));
        let written = match &mut self.writer {
            Writer::Y4m(writer) => writer.write(picture),
            Writer::AnnexB(writer) => writer.write(data, key),
            Writer::Mp4(writer) => {
                writer.write(data, TimeDelta::from_nanos(ticks * 100_000 / 9), key, picture.size())
            }
        };
        written.map_err(|error| Failure::running(&error))
    }

    /// Puts the file in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let out = match self.writer {
            Writer::Y4m(writer) => writer.finish(),
            Writer::AnnexB(writer) => writer.finish(),
            Writer::Mp4(writer) => writer.finish(),
        };
        let out = out.map_err(|error| Failure::running(&error))?;
        out.into_inner().map_err(|error| Failure::running(&error.error()))?.finish()
    }
}
