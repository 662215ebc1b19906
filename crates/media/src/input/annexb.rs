//! H.264 byte streams (ITU-T H.264 Annex B), which have no times.

use super::ReadSeek;
use super::coded::{Coded, Sample, SampleReader, Tracks};
use crate::h264::{AccessUnitSplitter, DecoderConfiguration, nal_units, named_rate};
use crate::{Error, FrameRate};
use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom};

/// True for a start code and a NAL unit that may come first. MPEG-1 and MPEG-2 streams have the same start code, but
/// `forbidden_zero_bit` is set in their sequence and pack headers (0xB3, 0xBA).
pub(super) fn probe(prefix: &[u8]) -> bool {
    let zeros = prefix.iter().take_while(|&&octet| octet == 0).count();
    let header = prefix.get(zeros).filter(|&&octet| octet == 1).and_then(|_| prefix.get(zeros + 1));
    // nal_ref_idc is not zero in parameter sets and IDR slices.
    let first = |&header: &u8| match header & 0x1F {
        5 | 7 | 8 => header & 0x80 == 0 && header & 0x60 != 0,
        6 | 9 => header & 0xE0 == 0,
        _ => false,
    };
    zeros >= 2 && header.is_some_and(first)
}

/// The longest NAL unit.
const MAX_UNIT: usize = 12 << 20;

/// Opens a byte stream. Its rate is that of its parameter set, or else 25 pictures/s. Times are counted in decoding order,
/// because the display order of pictures with B slices is known only after decoding.
pub(super) fn open(file: Box<dyn ReadSeek>) -> Result<(Coded, Tracks), Error> {
    let mut reader = ByteStream {
        file,
        buffer: Vec::new(),
        splitter: AccessUnitSplitter::default(),
        ready: VecDeque::new(),
        ended: false,
        next: 0,
        frame_rate: FrameRate::USUAL,
    };
    reader.fill()?;
    if let Some(rate) = reader.ready.front().and_then(|unit| named_rate(unit)) {
        reader.frame_rate = rate;
    }
    let frame_rate = Some(reader.frame_rate);
    let configuration = DecoderConfiguration { length_size: 0, parameter_sets: Vec::new() };
    Ok((Coded { reader: Box::new(reader), configuration, frame_rate }, Tracks::default()))
}

struct ByteStream {
    file: Box<dyn ReadSeek>,
    /// Input that is not yet split into NAL units.
    buffer: Vec<u8>,
    splitter: AccessUnitSplitter,
    ready: VecDeque<Vec<u8>>,
    ended: bool,
    next: u64,
    frame_rate: FrameRate,
}

impl ByteStream {
    /// Octets that are read at once: a live stream is not to wait for more.
    const CHUNK: usize = 64 << 10;

    /// Reads until an access unit is complete, or the end.
    fn fill(&mut self) -> Result<(), Error> {
        while self.ready.is_empty() && !self.ended {
            let before = self.buffer.len();
            self.buffer.resize(before + Self::CHUNK, 0);
            let read = self.file.read(&mut self.buffer[before..]);
            self.buffer.truncate(before + read.as_ref().copied().unwrap_or(0));
            self.ended = read.map_err(Error::io("input"))? == 0;
            self.split();
            if self.buffer.len() + self.splitter.pending() > MAX_UNIT {
                return Err(Error::Malformed {
                    container: "H.264",
                    at: format!("access unit {}", self.next),
                    found: "more than 12 Mbyte".into(),
                    expected: "a start code",
                });
            }
        }
        Ok(())
    }

    /// Hands on the NAL units that are complete: all but the last, and at the end that one too.
    fn split(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut rest = buffer.len();
        let mut units = nal_units(&buffer).peekable();
        while let Some(unit) = units.next() {
            if units.peek().is_none() && !self.ended {
                // Keeps its start code.
                rest = unit.as_ptr() as usize - buffer.as_ptr() as usize - 3;
                break;
            }
            self.ready.extend(self.splitter.push(unit));
        }
        if self.ended {
            self.ready.extend(self.splitter.finish());
        }
        drop(units);
        buffer.drain(..rest);
        self.buffer = buffer;
    }
}

impl SampleReader for ByteStream {
    fn next_sample(&mut self, data: &mut Vec<u8>) -> Result<Option<Sample>, Error> {
        self.fill()?;
        let Some(unit) = self.ready.pop_front() else { return Ok(None) };
        *data = unit;
        let time = self.frame_rate.time_of(self.next);
        self.next += 1;
        Ok(Some(Sample { time, decode: Some(time) }))
    }

    fn has_times(&self) -> bool {
        false
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(0)).map_err(Error::io("input"))?;
        self.buffer.clear();
        self.splitter = AccessUnitSplitter::default();
        self.ready.clear();
        (self.ended, self.next) = (false, 0);
        Ok(())
    }
}
