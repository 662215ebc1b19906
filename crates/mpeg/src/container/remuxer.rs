//! The remultiplexer: a stream taken apart into pictures and put together again.

use super::config::Config;
use super::error::Error;
use super::foreign;
use super::format::{Container, Format, Patch, sniff};
use super::report::Report;
use super::track::{CodedPicture, Replacement, VideoTrack};
use crate::startcode;

/// Bytes of a video stream without any picture after which it is not MPEG video.
const PICTURE_LIMIT: u64 = 16 << 20;

/// Demultiplexes a stream, and multiplexes it again around smaller pictures.
///
/// Inputs are [`Remuxer::push`], [`Remuxer::finish`] and [`Remuxer::replace`]. After each of them call
/// [`Remuxer::poll_picture`] until it gives `None`, and take the output by [`Remuxer::drain_output`]. Each picture
/// needs one replacement, in the order of the pictures, at any later time. Input that waits for replacements is
/// held, at most [`Config::memory`].
#[derive(Debug)]
pub struct Remuxer {
    config: Config,
    /// The first bytes, until the format is known; probed again when they are `probe_at`.
    head: Vec<u8>,
    probe_at: usize,
    container: Option<(Format, Box<dyn Container>)>,
    track: VideoTrack,
    bytes_in: u64,
    bytes_out: u64,
}

impl Remuxer {
    /// A remultiplexer that has read nothing.
    pub fn new(config: Config) -> Remuxer {
        let track = VideoTrack::default();
        Remuxer { config, head: Vec::new(), probe_at: 0, container: None, track, bytes_in: 0, bytes_out: 0 }
    }

    /// The format; `None` while the first bytes do not identify it.
    pub fn format(&self) -> Option<Format> {
        self.container.as_ref().map(|(format, _)| *format)
    }

    /// Reads the next bytes of the stream.
    ///
    /// # Errors
    /// [`Error::NotMpeg`] or [`Error::NoVideo`] where this is not a stream with MPEG-1 or MPEG-2 video.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes_in += bytes.len() as u64;
        match &mut self.container {
            Some((_, container)) => container.push(bytes, &mut self.track)?,
            None => {
                self.head.extend_from_slice(bytes);
                if self.head.len() >= self.probe_at {
                    self.probe_at = self.head.len() + self.head.len() / 4;
                    self.open(false)?;
                }
            }
        }
        if self.track.position > PICTURE_LIMIT && !self.track.pictures_seen {
            return Err(self.no_pictures());
        }
        Ok(())
    }

    /// Opens the container if the first bytes identify it.
    fn open(&mut self, complete: bool) -> Result<(), Error> {
        let Some(format) = sniff(&self.head, complete)? else { return Ok(()) };
        let (_, container) = self.container.insert((format, format.open(&self.config)));
        container.push(&std::mem::take(&mut self.head), &mut self.track)
    }

    /// The stream has ended, and with it the last picture.
    ///
    /// # Errors
    /// As [`Remuxer::push`], and [`Error::Scrambled`] where the video could not be read for that reason.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.container.is_none() {
            self.open(true)?;
        }
        if let Some((_, container)) = &mut self.container {
            container.finish(&mut self.track)?;
        }
        if self.track.pictures_seen { Ok(()) } else { Err(self.no_pictures()) }
    }

    /// The next coded picture, in coding order.
    pub fn poll_picture(&mut self) -> Option<CodedPicture> {
        self.track.poll_picture()
    }

    /// Replaces the oldest picture that has no replacement yet. False, without effect, where it was copied before, because memory was short
    /// or by [`Remuxer::give_up`].
    ///
    /// # Errors
    /// [`Error::Grew`] for more bytes than the picture had; the picture then still needs its replacement.
    /// [`Error::NotPending`] where every picture has one. [`Error::NoPcr`] and [`Error::MultiplexRate`] end a run at a
    /// constant rate.
    pub fn replace(&mut self, replacement: Replacement) -> Result<bool, Error> {
        let is_used = self.track.replace(replacement)?;
        if let Some((_, container)) = &mut self.container {
            container.advance(&mut self.track)?;
        }
        Ok(is_used)
    }

    /// Ends what has come of a picture ahead of its last slice: the rest is a unit of its own, without a picture header.
    pub fn close_slices(&mut self) {
        self.track.close_slices();
    }

    /// Copies everything unchanged that waits for a replacement, also what has come of a picture that is not complete.
    /// Replacements that come later for it are ignored.
    ///
    /// # Errors
    /// As [`Remuxer::replace`] at a constant rate.
    pub fn give_up(&mut self) -> Result<(), Error> {
        self.container.as_mut().map_or(Ok(()), |(_, container)| container.give_up(&mut self.track))
    }

    /// Appends the output that is ready.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        if let Some((_, container)) = &mut self.container {
            let output = container.output();
            let taken = output.len() as u64;
            if into.is_empty() {
                std::mem::swap(into, output);
            } else {
                into.append(output);
            }
            container.count_taken(taken);
            self.bytes_out += taken;
        }
    }

    /// What is to be written over the output once the stream has ended and all output is taken.
    pub fn patches(&self) -> Vec<Patch> {
        self.container.as_ref().map_or_else(Vec::new, |(_, container)| container.patches())
    }

    /// Counts so far.
    pub fn report(&self) -> Report {
        Report {
            format: self.format().map_or("", Format::name),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            video_bytes_in: self.track.position,
            given_up: self.track.given_up,
            container: self.container.as_ref().and_then(|(_, container)| container.report()),
        }
    }

    /// Why a video stream has no MPEG picture: it is scrambled, or of another codec.
    fn no_pictures(&self) -> Error {
        if self.container.as_ref().is_some_and(|(_, container)| container.is_scrambled()) {
            return Error::Scrambled;
        }
        let head = self.track.head();
        let unit = startcode::find(head, 0).and_then(|at| head.get(at + 3..at + 5));
        let found = unit.and_then(|unit| foreign::nal_unit(unit[0], unit[1])).map(str::to_owned);
        let name = self.format().map_or("stream", Format::name);
        Error::NoVideo { found: found.unwrap_or_else(|| format!("no picture in the {name}")) }
    }
}
