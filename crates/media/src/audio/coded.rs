//! Sound as it is coded: the frames of a track with their times, out of a transport stream.

use super::aac::AacFrames;
use super::opus_units::OpusUnits;
use super::piped::Copied;
use crate::Error;
use crate::subprocess::Subprocess;
use crate::transport::{of_ticks, signed};
use seaway_mpeg::container::{AAC, Demultiplexer, Framing, SoundFormat};
use seaway_units::{Bitrate, DataSize, TimeDelta};
use seaway_wire::aac::{AdtsHeader, Config};
use std::collections::VecDeque;
use std::io::Read;
use std::process::{ChildStdout, Command, Stdio};

/// Frames of a file that are read before it is sent: two seconds of Opus as usual.
const AHEAD: usize = 100;
/// A file whose sound can be sent as it is has a frame of it within so many octets.
const MOST_BEFORE: usize = 1 << 20;

/// Time stamps of a container are rounded, to 1 ms in Matroska. Where they are apart by more from the sum of the durations, something is
/// missing, or the clock of the container is another.
const ROUNDED: TimeDelta = TimeDelta::from_millis(10);

/// The time of a frame with this time stamp behind one that ends at `next`: as long as the stamp allows that, it follows without a gap.
pub(super) fn following(next: Option<TimeDelta>, stamp: Option<TimeDelta>) -> Option<TimeDelta> {
    next.filter(|next| stamp.is_none_or(|stamp| (stamp - *next).abs() <= ROUNDED)).or(stamp)
}

/// A frame of AAC in an ADTS header (ISO/IEC 13818-7 section 6.2), or an Opus packet (RFC 6716 section 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoundFrame {
    /// The frame or packet.
    pub octets: Vec<u8>,
    /// When it is played, after the first picture is shown; the first one may be before.
    pub at: TimeDelta,
    /// How long it is played.
    pub duration: TimeDelta,
}

/// The frames of a track of AAC, or the packets of one of Opus in at most two channels.
#[derive(Debug)]
pub struct CodedTrack {
    /// Where it is that of a file.
    file: Option<Beginning>,
    format: SoundFormat,
    octets: Octets,
    demultiplexer: Demultiplexer,
    /// The time stamp of the first picture, 90 kHz.
    first: i64,
    units: Units,
    ready: VecDeque<SoundFrame>,
    /// So many of the next frames that are read were at hand already.
    known: usize,
    has_ended: bool,
}

/// A file whose first frames are kept: FFmpeg takes some time to begin, and a file that is repeated goes on at once.
#[derive(Debug, Clone)]
struct Beginning {
    name: String,
    frames: VecDeque<SoundFrame>,
}

/// What is in PES packets.
#[derive(Debug)]
enum Units {
    Aac(AacFrames),
    Opus(OpusUnits),
}

#[derive(Debug)]
enum Octets {
    /// FFmpeg multiplexes what a file has. It is killed on drop.
    Process { pipe: ChildStdout, _process: Subprocess },
    /// A copy of a stream that is read once.
    Copied(Copied),
}

impl CodedTrack {
    /// The first sound track of the file `name`, whose first picture has the time stamp `first`, in ticks of 90 kHz. `None` where it
    /// has no frame that could be sent: Opus in more than two channels.
    pub(super) fn of_file(name: &str, format: SoundFormat, first: i64) -> Result<Option<Self>, Error> {
        let mut track = Self::new(format, Octets::of_file(name)?, Framing::Plain, first);
        let mut read = 0;
        while track.ready.len() < AHEAD && !track.has_ended && (!track.ready.is_empty() || read < MOST_BEFORE)
        {
            read += track.read()?;
        }
        track.file = Some(Beginning { name: name.to_owned(), frames: track.ready.clone() });
        Ok(Some(track).filter(|track| !track.ready.is_empty()))
    }

    /// The track of `pid` in the stream that is copied.
    pub(super) fn of_pipe(
        octets: Copied,
        format: SoundFormat,
        (framing, pid): (Framing, u16),
        first: i64,
    ) -> Self {
        let mut track = Self::new(format, Octets::Copied(octets), framing, first);
        track.demultiplexer = track.demultiplexer.only(pid);
        if let Octets::Copied(copied) = &mut track.octets
            && let Some(kept) = copied.take_kept()
        {
            track.take(&kept);
        }
        track
    }

    fn new(format: SoundFormat, octets: Octets, framing: Framing, first: i64) -> Self {
        let (demultiplexer, units) = match format {
            SoundFormat::Aac => (Demultiplexer::new(framing, AAC), Units::Aac(AacFrames::default())),
            SoundFormat::Opus => (Demultiplexer::plain_opus(framing), Units::Opus(OpusUnits::default())),
        };
        let (ready, known, has_ended) = (VecDeque::new(), 0, false);
        Self { file: None, format, octets, demultiplexer, first, units, ready, known, has_ended }
    }

    /// What its frames are.
    pub const fn format(&self) -> SoundFormat {
        self.format
    }

    /// The configuration of the first frame that came already, where it is AAC that has one: more than the channels of table 1.19 of ISO/IEC
    /// 14496-3 have none.
    pub fn aac_config(&self) -> Option<Config> {
        let first = self.ready.front().filter(|_| self.format == SoundFormat::Aac)?;
        AdtsHeader::parse(&first.octets).ok()?.config()
    }

    /// The mean rate of the frames that came already, each behind so many octets of headers; `None` where they are too few.
    pub fn rate(&self, headers: DataSize) -> Option<Bitrate> {
        const LEAST: TimeDelta = TimeDelta::from_millis(200);
        let time = self.ready.iter().map(|frame| frame.duration).fold(TimeDelta::ZERO, |sum, one| sum + one);
        let sizes = self.ready.iter().map(|frame| DataSize::of(&frame.octets) + headers);
        let size = sizes.fold(DataSize::ZERO, |sum, one| sum + one);
        size.over(time).filter(|_| time >= LEAST)
    }

    /// The next frame; waits for it where the input is live. `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next_frame(&mut self) -> Result<Option<SoundFrame>, Error> {
        while self.ready.is_empty() && !self.has_ended {
            self.read()?;
        }
        Ok(self.ready.pop_front())
    }

    /// Reads the next octets; gives their number.
    fn read(&mut self) -> Result<usize, Error> {
        let octets = self.octets.next()?;
        match &octets {
            Some(octets) => self.take(octets),
            None => {
                self.has_ended = true;
                self.demultiplexer.finish();
                self.take(&[]);
            }
        }
        Ok(octets.map_or(0, |octets| octets.len()))
    }

    fn take(&mut self, octets: &[u8]) {
        self.demultiplexer.push(octets);
        let mut came = VecDeque::new();
        while let Some(packet) = self.demultiplexer.poll() {
            let ticks = packet.pts.map(|pts| signed(pts.wrapping_sub(self.first as u64)));
            let at = ticks.map(of_ticks);
            match &mut self.units {
                Units::Aac(frames) if packet.damaged => frames.on_loss(),
                Units::Aac(frames) => frames.push(&packet.payload, at, &mut came),
                Units::Opus(units) if packet.damaged => units.on_loss(),
                Units::Opus(units) => units.push(&packet.payload, at, &mut came),
            }
        }
        let known = self.known.min(came.len());
        self.known -= known;
        self.ready.extend(came.drain(known..));
    }

    /// Begins again with the first frame.
    ///
    /// # Errors
    /// The input cannot be read again: a pipe, a socket.
    pub fn rewind(&mut self) -> Result<(), Error> {
        let file = self.file.clone();
        let file =
            file.ok_or_else(|| Error::Unsupported("the sound of a pipe cannot be read again".into()))?;
        let octets = Octets::of_file(&file.name)?;
        let (ready, known) = (file.frames.clone(), file.frames.len());
        let file = Some(file);
        *self = Self { file, ready, known, ..Self::new(self.format, octets, Framing::Plain, self.first) };
        Ok(())
    }
}

impl Octets {
    /// Starts FFmpeg, which writes the first sound track of a file as it is, with its time stamps.
    fn of_file(name: &str) -> Result<Self, Error> {
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "error", "-copyts", "-i"]);
        command.arg(super::ffmpeg::file(name)).args([
            "-map",
            "0:a:0",
            "-c",
            "copy",
            "-avoid_negative_ts",
            "disabled",
        ]);
        command.args(["-muxdelay", "0", "-muxpreload", "0", "-pes_payload_size", "0", "-flush_packets", "1"]);
        command.args(["-f", "mpegts", "pipe:1"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let process =
            Subprocess::spawn(&mut command).map_err(|error| super::ffmpeg::missing(name, &error))?;
        let pipe = process.child().stdout.take();
        let pipe = pipe.ok_or_else(|| Error::Ffmpeg("ffmpeg: no pipe".into()))?;
        Ok(Self::Process { pipe, _process: process })
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Process { pipe, .. } => {
                let mut octets = vec![0; 188 * 7];
                let read = pipe.read(&mut octets).map_err(Error::io("the sound"))?;
                octets.truncate(read);
                Ok((read > 0).then_some(octets))
            }
            Self::Copied(copied) => Ok(copied.next()),
        }
    }
}
