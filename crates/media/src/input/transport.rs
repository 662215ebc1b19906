//! H.264 in MPEG transport streams (ISO/IEC 13818-1): access units with their times.

use super::ReadSeek;
use super::coded::{Coded, Sample, SampleReader, Tracks};
use crate::h264::{DecoderConfiguration, named_rate};
use crate::transport::TransportStream;
use crate::{Error, FrameRate};
use seaway_mpeg::container::{self, Format, Framing};
use seaway_units::TimeDelta;
use std::io::{Read, Seek, SeekFrom};

/// Octets that are read at once: a live stream is not to wait for more.
const CHUNK: usize = 16 << 10;
/// Octets in which the programme map must stand.
const SEARCH: usize = 2 << 20;
/// Octets in which the first pictures must stand whose time stamps give the rate: a stream may have none.
const LONGEST_START: usize = 4 << 20;

/// True for a transport stream, whatever is in it.
pub(super) fn probe(prefix: &[u8]) -> bool {
    framing(prefix).is_some()
}

fn framing(prefix: &[u8]) -> Option<Framing> {
    match container::sniff(prefix, true) {
        Ok(Some(Format::Transport(framing))) => Some(framing),
        _ => None,
    }
}

/// A transport stream without H.264 video.
pub(super) struct Without {
    /// The input, read in part.
    pub(super) file: Box<dyn ReadSeek>,
    /// What the stream has.
    pub(super) found: String,
}

/// Opens the first H.264 stream of a transport stream, if it has one.
///
/// # Errors
/// The input cannot be read.
pub(super) fn open(
    mut file: Box<dyn ReadSeek>,
    prefix: &[u8],
) -> Result<Result<(Coded, Tracks), Without>, Error> {
    let framing = framing(prefix).ok_or_else(|| Error::Unsupported("no transport stream".into()))?;
    // The sound of an input that can be opened again is read beside it.
    let is_pipe = file.stream_position().is_err();
    let stream = TransportStream::of(framing, is_pipe);
    let mut reader =
        TransportSamples { file, framing, stream, rate: None, chunk: vec![0; CHUNK], ended: false };
    let mut searched = 0;
    while !reader.stream.is_found() {
        let others = reader.stream.others();
        if reader.ended || others.is_some() || searched > SEARCH {
            let found = others.unwrap_or_else(|| "no programme map".to_owned());
            return Ok(Err(Without { file: reader.file, found }));
        }
        searched += reader.read()?;
    }
    let frame_rate = reader.frame_rate()?;
    reader.find_sound()?;
    let configuration = DecoderConfiguration { length_size: 0, parameter_sets: Vec::new() };
    let tracks = reader.tracks();
    Ok(Ok((Coded { reader: Box::new(reader), configuration, frame_rate }, tracks)))
}

struct TransportSamples {
    file: Box<dyn ReadSeek>,
    framing: Framing,
    stream: TransportStream,
    rate: Option<FrameRate>,
    chunk: Vec<u8>,
    ended: bool,
}

impl TransportSamples {
    /// Reads the first access units. Their rate is that of their time stamps, or else that which the parameter sets name.
    fn frame_rate(&mut self) -> Result<Option<FrameRate>, Error> {
        let mut searched = 0;
        while !self.stream.is_measured() && !self.ended && searched < LONGEST_START {
            searched += self.read()?;
        }
        let named = || self.stream.units().find_map(|unit| named_rate(&unit.data));
        let frame_rate = self.stream.rate().or_else(named);
        frame_rate.into_iter().for_each(|rate| self.stream.set_rate(rate));
        self.rate = frame_rate;
        Ok(frame_rate)
    }

    /// Reads until the first frame of AAC is there, which says how the sound is configured, or as long as that may take.
    fn find_sound(&mut self) -> Result<(), Error> {
        let mut searched = 0;
        while self.stream.awaits_sound() && !self.ended && searched < LONGEST_START {
            searched += self.read()?;
        }
        Ok(())
    }

    /// The other tracks of the programme, once it is found.
    fn tracks(&mut self) -> Tracks {
        let mut tracks = Tracks::default();
        for (index, companion) in self.stream.companions().iter().enumerate() {
            let kind = if companion.is_sound() { "audio" } else { "other" };
            tracks.leave_out(format!("{kind} track {} ({})", index + 2, companion.name()));
        }
        let first = self.stream.peek().map_or(TimeDelta::ZERO, |unit| unit.shown);
        tracks.sound = self.stream.take_sound(first);
        tracks
    }

    /// Reads once; gives the number of octets.
    fn read(&mut self) -> Result<usize, Error> {
        let length = self.file.read(&mut self.chunk).map_err(Error::io("input"))?;
        self.ended = length == 0;
        if self.ended {
            self.stream.finish();
        } else {
            self.stream.push(&self.chunk[..length]);
        }
        Ok(length)
    }
}

impl SampleReader for TransportSamples {
    fn next_sample(&mut self, data: &mut Vec<u8>) -> Result<Option<Sample>, Error> {
        while self.stream.peek().is_none() && !self.ended {
            self.read()?;
        }
        let Some(unit) = self.stream.poll() else { return Ok(None) };
        *data = unit.data;
        Ok(Some(Sample { time: unit.shown, decode: Some(unit.decoded) }))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(0)).map_err(Error::io("input"))?;
        self.stream = TransportStream::of(self.framing, false);
        self.rate.into_iter().for_each(|rate| self.stream.set_rate(rate));
        self.ended = false;
        Ok(())
    }
}
