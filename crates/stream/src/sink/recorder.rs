//! Records received video, and its sound, to a file.

use super::sound_timeline::{Placed, SoundTimeline};
use super::timeline::Timeline;
use super::{Displayed, Played, RecordingFile, Sink, is_mpeg_video, sound_codec, video_codec};
use crate::Error;
use bytes::Bytes;
use seaway_media::output::{AnnexBWriter, Mp4Writer, RecordingFormat, SoundCodec, Y4mWriter};
use seaway_media::{FrameRate, PictureSize, VideoCodec};
use seaway_session::{FrameData, FrameKind, ReceivedFrame, StreamDescription};
use seaway_units::TimeDelta;
use seaway_wire::aac::AdtsHeader;
use seaway_wire::opus;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Frames that are kept until the first picture is decoded: more than a decoder holds back.
const EARLY: usize = 32;
/// Packets of sound that are kept until the first picture is recorded, which takes longer to arrive: three seconds of the
/// shortest ones.
const EARLY_SOUND: usize = 1_200;

/// A file or a pipe to write to. A recording flushes it after each piece that can be played.
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

/// Records the frames that are displayed, on one time line over all senders and wraps of their timestamps.
///
/// What is written can be played at any time: an MP4 lacks a second at most, and a process that is killed leaves the rest.
pub struct Recorder {
    format: RecordingFormat,
    /// `None` after a failure.
    writer: Option<Writer>,
    codec: VideoCodec,
    timeline: Timeline,
    /// The sound of the sender, as far as it had some.
    sound_codec: Option<SoundCodec>,
    sound: SoundTimeline,
    early_sound: VecDeque<ReceivedFrame>,
    /// When the present file began.
    begun: Option<TimeDelta>,
    segments: Option<Segments>,
    /// Frames of a stream with B pictures, before its first picture is decoded.
    early: Vec<(Bytes, TimeDelta, bool)>,
    /// There are B pictures.
    reorders: bool,
    size: Option<PictureSize>,
}

/// A new file each `length`.
struct Segments {
    length: TimeDelta,
    path: PathBuf,
    request: Request,
}

/// The request for the key frame with which the next file begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Request {
    None,
    Due,
    Made,
}

/// An output, and how much was written to it.
struct Counted {
    out: Box<dyn Output>,
    octets: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.octets += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

enum Writer {
    Y4m(Box<Y4mWriter<Counted>>),
    AnnexB(AnnexBWriter<Counted>),
    Mp4(Mp4Writer<Counted>),
}

impl Recorder {
    /// Records to `output`.
    pub fn new(format: RecordingFormat, output: Box<dyn Output>) -> Self {
        let writer = Some(Writer::new(format, output));
        Self {
            format,
            writer,
            codec: VideoCodec::default(),
            timeline: Timeline::default(),
            sound_codec: None,
            sound: SoundTimeline::new(opus::CLOCK_RATE),
            early_sound: VecDeque::new(),
            begun: None,
            segments: None,
            early: Vec::new(),
            reorders: false,
            size: None,
        }
    }

    /// Records to a new file in the format of its name, see [`RecordingFile::create`]. With `segment` another file begins
    /// with the first key frame after each such time, under the next free number.
    ///
    /// # Errors
    /// The file cannot be created, or its ending names no format.
    pub fn create(path: &Path, segment: Option<TimeDelta>) -> Result<(Self, PathBuf), Error> {
        let format = RecordingFormat::of_name(&path.to_string_lossy())?;
        let file = RecordingFile::create(path).map_err(Error::Output)?;
        let name = file.path().to_owned();
        let segments =
            segment.map(|length| Segments { length, path: path.to_owned(), request: Request::None });
        Ok((Self { segments, ..Self::new(format, Box::new(file)) }, name))
    }

    /// Begins the next file if it is time and the frame is a key frame; requests one if it is not.
    fn cut(&mut self, time: TimeDelta, key: bool) -> Result<(), Error> {
        let Some(segments) = &mut self.segments else { return Ok(()) };
        if self.begun.is_none_or(|begun| time - begun < segments.length) {
            return Ok(());
        }
        if !key {
            if segments.request == Request::None {
                segments.request = Request::Due;
            }
            return Ok(());
        }
        segments.request = Request::None;
        let path = segments.path.clone();
        self.writer.take().map_or(Ok(()), Writer::finish)?;
        let next = RecordingFile::create(&path).map_err(Error::Output)?;
        let mut writer = Writer::new(self.format, Box::new(next));
        if let Some(codec) = self.sound_codec {
            writer.set_sound(codec);
        }
        if self.reorders {
            writer.reorder();
        }
        writer.set_codec(self.codec)?;
        self.writer = Some(writer);
        self.begun = None;
        Ok(())
    }
}

impl Recorder {
    /// A coded frame in decoding order.
    fn record(&mut self, data: &[u8], time: TimeDelta, key: bool, size: PictureSize) -> Result<(), Error> {
        self.cut(time, key)?;
        let begun = *self.begun.get_or_insert(time);
        match &mut self.writer {
            Some(Writer::AnnexB(writer)) => writer.write(data, key),
            Some(Writer::Mp4(writer)) => writer.write(data, time - begun, key, size),
            Some(Writer::Y4m(_)) | None => Ok(()),
        }
        .map_err(output)
    }
}

impl Recorder {
    /// Records a packet of sound in its place, where it has one.
    fn place_sound(&mut self, frame: &ReceivedFrame) -> Result<(), Error> {
        let FrameData::Coded(data) = &frame.data else { return Ok(()) };
        match self.sound_codec {
            Some(SoundCodec::Opus) => self.place_opus(frame, data),
            Some(SoundCodec::Aac(_)) => self.place_aac(frame, data),
            None => Ok(()),
        }
    }

    /// Writes an Opus packet, behind others that stand for those that were lost before it.
    fn place_opus(&mut self, frame: &ReceivedFrame, data: &[u8]) -> Result<(), Error> {
        let Ok(packet) = opus::Packet::parse(data) else { return Ok(()) };
        let placed = self.sound.place(frame.timestamp, packet.duration(), frame.captured);
        let Some(Placed { start, missing }) = placed else { return Ok(()) };
        let lost = opus::Packet::lost(data.first().copied().unwrap_or_default());
        for index in 0..missing / i64::from(packet.frame) {
            let start = start - missing + index * i64::from(packet.frame);
            self.write_sound(&lost, start, packet.frame.into())?;
        }
        self.write_sound(data, start, packet.duration())
    }

    /// Writes frames of AAC without their headers. One that is lost leaves a gap.
    fn place_aac(&mut self, frame: &ReceivedFrame, mut data: &[u8]) -> Result<(), Error> {
        let mut passed = 0;
        while let Ok(header) = AdtsHeader::parse(data)
            && let Some((one, rest)) = data.split_at_checked(header.frame_len)
        {
            let time = i64::from(passed) * 1_000_000_000 / i64::from(header.sample_rate());
            let captured = frame.captured.map(|captured| captured + TimeDelta::from_nanos(time));
            let placed = self.sound.place(frame.timestamp.wrapping_add(passed), header.samples(), captured);
            if let Some(Placed { start, .. }) = placed {
                self.write_sound(&one[header.header_len()..], start, header.samples())?;
            }
            (data, passed) = (rest, passed.wrapping_add(header.samples()));
        }
        Ok(())
    }

    /// Writes sound that begins so many samples after the first picture.
    fn write_sound(&mut self, packet: &[u8], start: i64, duration: u32) -> Result<(), Error> {
        let (Some(begun), Some(Writer::Mp4(writer))) = (self.begun, &mut self.writer) else { return Ok(()) };
        match (u64::try_from(start - self.sound.samples(begun)), self.sound_codec) {
            (Ok(start), Some(codec)) => writer.write_sound(codec, packet, start, duration).map_err(output),
            // It was played before the first picture of this file was shown.
            _ => Ok(()),
        }
    }
}

impl Writer {
    fn set_sound(&mut self, codec: SoundCodec) {
        if let Self::Mp4(writer) = self {
            writer.set_sound(codec);
        }
    }

    /// The frames from now on are of this codec.
    fn set_codec(&mut self, codec: VideoCodec) -> Result<(), Error> {
        let (is_taken, expected) = match self {
            Self::Mp4(writer) => (writer.set_codec(codec), "a recording has one codec"),
            Self::Y4m(_) | Self::AnnexB(_) => {
                (codec == VideoCodec::H264, "its recording has a name that ends in .mp4")
            }
        };
        if is_taken {
            return Ok(());
        }
        Err(seaway_media::Error::Unsupported(format!("the sender's video is {codec}: {expected}")).into())
    }

    fn reorder(&mut self) {
        if let Self::Mp4(writer) = self {
            writer.reorder();
        }
    }

    fn new(format: RecordingFormat, out: Box<dyn Output>) -> Self {
        let out = Counted { out, octets: 0 };
        match format {
            // The frame rate is not known beforehand: this format keeps no times of frames.
            RecordingFormat::Y4m => Self::Y4m(Box::new(Y4mWriter::new(out, FrameRate::USUAL))),
            RecordingFormat::AnnexB => Self::AnnexB(AnnexBWriter::new(out)),
            RecordingFormat::Mp4 => Self::Mp4(Mp4Writer::new(out)),
        }
    }

    /// Completes the output, which must hold something.
    fn finish(self) -> Result<(), Error> {
        let finished = match self {
            Self::Y4m(writer) => writer.finish(),
            Self::AnnexB(writer) => writer.finish(),
            Self::Mp4(writer) => writer.finish(),
        };
        let Counted { out, octets } = finished.map_err(output)?;
        out.finish().map_err(Error::Output)?;
        if octets == 0 { Err(Error::NothingRecorded) } else { Ok(()) }
    }
}

impl Sink for Recorder {
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        let (frame, picture) = (displayed.frame, displayed.picture);
        let FrameData::Coded(data) = &frame.data else { return Ok(()) };
        let may_be_mpeg = self.codec == VideoCodec::H264 && self.format != RecordingFormat::Y4m;
        if may_be_mpeg && is_mpeg_video(data) {
            let what = "the sender's video is MPEG-1/2: its recording has a name that ends in .m2v or .y4m";
            return Err(seaway_media::Error::Unsupported(what.into()).into());
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.set_codec(self.codec))?;
        let key = frame.kind == FrameKind::Key;
        if key && self.codec.reorders(data) == Some(true) {
            self.reorders = true;
            self.timeline.reorder();
            self.writer.iter_mut().for_each(Writer::reorder);
        }
        let time = self.timeline.time(displayed.at, frame.timestamp);
        if let Some(captured) = frame.captured {
            self.sound.on_picture(captured, time);
        }
        self.size = displayed.size.or(self.size);
        if let (Some(Writer::Y4m(writer)), Some(picture)) = (&mut self.writer, picture) {
            writer.write(picture).map_err(output)?;
        }
        let Some(size) = self.size else {
            if self.early.len() < EARLY {
                self.early.push((data.clone(), time, key));
            }
            return Ok(());
        };
        for (data, time, key) in std::mem::take(&mut self.early) {
            self.record(&data, time, key, size)?;
        }
        self.record(data, time, key, size)?;
        for frame in std::mem::take(&mut self.early_sound) {
            self.place_sound(&frame)?;
        }
        Ok(())
    }

    fn on_session(&mut self, streams: &[StreamDescription]) {
        self.sound.on_session();
        self.codec = video_codec(streams);
        if let Some(codec) = sound_codec(streams).filter(|codec| self.sound_codec != Some(*codec)) {
            self.sound_codec = Some(codec);
            self.sound = SoundTimeline::new(codec.sample_rate());
            self.writer.iter_mut().for_each(|writer| writer.set_sound(codec));
        }
    }

    fn on_sound(&mut self, played: &Played<'_>) -> Result<(), Error> {
        if self.begun.is_some() {
            return self.place_sound(played.frame);
        }
        if self.early_sound.len() == EARLY_SOUND {
            self.early_sound.pop_front();
        }
        self.early_sound.push_back(played.frame.clone());
        Ok(())
    }

    fn needs_pictures(&self) -> bool {
        self.format == RecordingFormat::Y4m
    }

    fn take_key_frame_request(&mut self) -> bool {
        let wanted = self.segments.as_mut().filter(|segments| segments.request == Request::Due);
        wanted.map(|segments| segments.request = Request::Made).is_some()
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.writer.map_or(Ok(()), Writer::finish)
    }
}

/// The output names itself in its errors.
fn output(error: seaway_media::Error) -> Error {
    match error {
        seaway_media::Error::Io { source, .. } => Error::Output(source),
        error => error.into(),
    }
}
