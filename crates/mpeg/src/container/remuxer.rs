//! The machine around the formats.

use seaway_units::Bitrate;

use super::elementary::Elementary;
use super::error::Error;
use super::program::Program;
use super::report::Report;
use super::sniff::{Format, network_abstraction_layer, sniff};
use super::track::{CodedPicture, Replacement, VideoTrack};
use super::transport::Transport;
use crate::startcode;

/// A video stream without a picture in so many bytes is none of ours.
const PICTURE_LIMIT: u64 = 16 << 20;

/// What becomes of the room that smaller pictures leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplex {
    /// The multiplex rate stays: null packets or padding fill the room, and every other byte keeps its place.
    Keep,
    /// The room is closed, and so are null packets that were there. Clock references keep their values, so the
    /// rate between two of them falls; in a transport stream a byte may thereby come later than before by less
    /// than the time between two references.
    Variable,
    /// A transport stream gets this multiplex rate, packets of 188 bytes counted, and its clock references are
    /// written anew. The output is half a second behind the input. Anything but a transport stream has no
    /// constant rate to give and is treated as by [`Multiplex::Variable`].
    Constant(Bitrate),
}

/// How a [`Remuxer`] works.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// What becomes of the freed room; no matter for an elementary stream.
    pub multiplex: Multiplex,
    /// `program_number` of the programme whose video is wanted; the first with MPEG-1 or MPEG-2 video if absent.
    pub program: Option<u16>,
    /// Bytes of input that may wait for replacements, about. Beyond it pictures stay as they are.
    pub memory: usize,
}

impl Default for Config {
    /// Keeps the multiplex rate, with 64 MiB.
    fn default() -> Config {
        Config { multiplex: Multiplex::Keep, program: None, memory: 64 << 20 }
    }
}

#[derive(Debug)]
enum Machine {
    /// The first bytes, until they tell the format; looked at again when there are so many.
    Sniffing {
        head: Vec<u8>,
        next: usize,
    },
    Elementary(Elementary),
    Program(Box<Program>),
    Transport(Box<Transport>),
}

/// Takes a stream apart and puts it together again around smaller pictures.
///
/// Inputs are [`Remuxer::push`], [`Remuxer::finish`] and [`Remuxer::replace`]; after each of them, ask
/// [`Remuxer::poll_picture`] until it is empty and take the output by [`Remuxer::drain_output`]. Pictures are
/// replaced in the order they were handed out, one replacement each, at any later time: what waits for them
/// is held, at most [`Config::memory`].
#[derive(Debug)]
pub struct Remuxer {
    config: Config,
    machine: Machine,
    track: VideoTrack,
    format: Option<Format>,
    bytes_in: u64,
    bytes_out: u64,
}

impl Remuxer {
    /// A machine that has seen nothing.
    pub fn new(config: Config) -> Remuxer {
        let (machine, track) = (Machine::Sniffing { head: Vec::new(), next: 0 }, VideoTrack::default());
        Remuxer { config, machine, track, format: None, bytes_in: 0, bytes_out: 0 }
    }

    /// The format, once the first bytes have told it.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// [`Error::Foreign`] or [`Error::NoVideo`] where this is not a stream with MPEG-1 or MPEG-2 video.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes_in += bytes.len() as u64;
        self.take(bytes)?;
        if self.track.position() > PICTURE_LIMIT && !self.track.pictures_seen() {
            return Err(self.no_pictures());
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.machine {
            Machine::Sniffing { head, next } => {
                head.extend_from_slice(bytes);
                if head.len() < *next {
                    return Ok(());
                }
                *next = head.len() + head.len() / 4;
                match sniff(head, false)? {
                    Some(format) => self.begin(format),
                    None => Ok(()),
                }
            }
            Machine::Elementary(machine) => {
                machine.push(bytes, &mut self.track);
                Ok(())
            }
            Machine::Program(machine) => {
                machine.push(bytes, &mut self.track);
                Ok(())
            }
            Machine::Transport(machine) => machine.push(bytes, &mut self.track),
        }
    }

    /// Starts the machine of the format with the bytes that told it.
    fn begin(&mut self, format: Format) -> Result<(), Error> {
        self.format = Some(format);
        let machine = match format {
            Format::Elementary => Machine::Elementary(Elementary::new(self.config.memory)),
            Format::System | Format::Program => Machine::Program(Box::new(Program::new(&self.config))),
            Format::Transport(framing) => Machine::Transport(Box::new(Transport::new(framing, &self.config))),
        };
        match std::mem::replace(&mut self.machine, machine) {
            Machine::Sniffing { head, .. } => self.take(&head),
            _ => Ok(()),
        }
    }

    /// Nothing follows: the last picture ends here.
    ///
    /// # Errors
    /// As [`Remuxer::push`], and [`Error::Scrambled`] where no video could be read for that.
    pub fn finish(&mut self) -> Result<(), Error> {
        if let Machine::Sniffing { head, .. } = &self.machine
            && let Some(format) = sniff(head, true)?
        {
            self.begin(format)?;
        }
        match &mut self.machine {
            Machine::Sniffing { .. } => {}
            Machine::Elementary(_) => self.track.close(),
            Machine::Program(machine) => machine.finish(&mut self.track)?,
            Machine::Transport(machine) => machine.finish(&mut self.track)?,
        }
        if self.track.pictures_seen() { Ok(()) } else { Err(self.no_pictures()) }
    }

    /// The next coded picture, in coding order.
    pub fn poll_picture(&mut self) -> Option<CodedPicture> {
        self.track.poll_picture()
    }

    /// Says what stands in place of the oldest picture that has no replacement.
    ///
    /// # Errors
    /// [`Error::Grew`] for more bytes than the picture had; it then still waits for its replacement.
    /// [`Error::Unasked`] where no picture waits. [`Error::NoClock`] and [`Error::RateUnfit`] end a run at a
    /// constant rate.
    pub fn replace(&mut self, replacement: Replacement) -> Result<(), Error> {
        self.track.replace(replacement)?;
        match &mut self.machine {
            Machine::Sniffing { .. } => {}
            Machine::Elementary(machine) => machine.advance(&mut self.track),
            Machine::Program(machine) => machine.advance(&mut self.track),
            Machine::Transport(machine) => machine.advance(&mut self.track)?,
        }
        Ok(())
    }

    /// Appends the output that is ready.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        let output = match &mut self.machine {
            Machine::Sniffing { .. } => return,
            Machine::Elementary(machine) => machine.output(),
            Machine::Program(machine) => machine.output(),
            Machine::Transport(machine) => machine.output(),
        };
        self.bytes_out += output.len() as u64;
        into.append(output);
    }

    /// What was met so far.
    pub fn report(&self) -> Report {
        let mut report = Report {
            format: self.format.map_or("", Format::name),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            video_bytes_in: self.track.position(),
            given_up: self.track.given_up,
            ..Report::default()
        };
        match &self.machine {
            Machine::Transport(machine) => report.transport = Some(machine.report()),
            Machine::Program(machine) => report.program = Some(machine.report()),
            Machine::Sniffing { .. } | Machine::Elementary(_) => {}
        }
        report
    }

    /// What a video stream without MPEG pictures is.
    fn no_pictures(&self) -> Error {
        if let Machine::Transport(machine) = &self.machine
            && machine.report().scrambled_packets > 0
        {
            return Error::Scrambled;
        }
        let head = self.track.head();
        let unit = startcode::find(head, 0).and_then(|at| head.get(at + 3..at + 5));
        let found = match unit.and_then(|unit| network_abstraction_layer(unit[0], unit[1])) {
            Some(what) => what.to_owned(),
            None if self.format == Some(Format::Elementary) => {
                "an elementary stream without a picture".to_owned()
            }
            None => format!("a {} whose video has no picture", self.format.map_or("stream", Format::name)),
        };
        Error::NoVideo { found }
    }
}
