//! MPEG-1 and MPEG-2 video: elementary, program, system and transport streams.

use super::{PictureFormat, PictureSource, ReadSeek};
use crate::picture::PlaneView;
use crate::{Error, FrameId, FrameRate, Picture, PicturePool, PictureSize};
use seaway_mpeg::container::{self, Config, Remuxer, Replacement};
use seaway_mpeg::decode::{Decoder, Frame};
use seaway_mpeg::header::{Chroma, SequenceState};
use std::io::{Read, Seek, SeekFrom};

/// True for a stream that [`seaway_mpeg`] reads.
pub(super) fn probe(prefix: &[u8]) -> bool {
    container::sniff(prefix, true).is_ok()
}

/// Pictures of the first video stream, with times by their number: time stamps of the container are not used.
pub(super) struct MpegSource {
    file: Box<dyn ReadSeek>,
    streams: Streams,
    chunk: Vec<u8>,
    ended: bool,
    next: u64,
    format: PictureFormat,
    pool: PicturePool,
    first: Option<Picture>,
}

/// The demultiplexer and the decoder.
struct Streams {
    remuxer: Remuxer,
    decoder: Decoder,
    headers: SequenceState,
    /// The remultiplexed stream, which is discarded.
    discarded: Vec<u8>,
}

impl MpegSource {
    const CHUNK: usize = 64 << 10;

    /// Decodes up to the first picture, for the size.
    pub(super) fn new(file: Box<dyn ReadSeek>) -> Result<Self, Error> {
        let format = PictureFormat { size: PictureSize::SMALLEST, frame_rate: FrameRate::USUAL };
        let mut source = Self {
            file,
            streams: Streams::new(),
            chunk: vec![0; Self::CHUNK],
            ended: false,
            next: 0,
            format,
            pool: PicturePool::new(format.size),
            first: None,
        };
        let first = source.decode()?;
        let first = first.ok_or_else(|| Error::Unsupported("MPEG video without a picture".into()))?;
        let named = source.streams.headers.frame_rate();
        let frame_rate = named.and_then(|(n, d)| FrameRate::new(n, d)).unwrap_or(FrameRate::USUAL);
        source.format = PictureFormat { size: first.size(), frame_rate };
        source.first = Some(first);
        Ok(source)
    }

    /// The next picture, not yet numbered.
    fn decode(&mut self) -> Result<Option<Picture>, Error> {
        loop {
            if let Some(decoded) = self.streams.decoder.pull() {
                return copy(&mut self.pool, &decoded.frame).map(Some);
            }
            if self.ended {
                return Ok(None);
            }
            let length = self.file.read(&mut self.chunk).map_err(Error::io("input"))?;
            self.ended = length == 0;
            self.streams.push(&self.chunk[..length]).map_err(|error| Error::Malformed {
                container: "MPEG",
                at: format!("after picture {}", self.next),
                found: error.to_string(),
                expected: "MPEG-1 or MPEG-2 video",
            })?;
        }
    }
}

impl Streams {
    fn new() -> Self {
        Self {
            remuxer: Remuxer::new(Config::default()),
            decoder: Decoder::new(),
            headers: SequenceState::default(),
            discarded: Vec::new(),
        }
    }

    /// Takes the next octets; none at the end.
    fn push(&mut self, octets: &[u8]) -> Result<(), container::Error> {
        match octets {
            [] => self.remuxer.finish()?,
            _ => self.remuxer.push(octets)?,
        }
        while let Some(picture) = self.remuxer.poll_picture() {
            let _ = picture.unit.read_headers(&mut self.headers);
            self.decoder.decode_unit(&picture.unit);
            self.remuxer.replace(Replacement::Kept)?;
        }
        self.remuxer.drain_output(&mut self.discarded);
        self.discarded.clear();
        if octets.is_empty() {
            self.decoder.flush();
        }
        Ok(())
    }
}

/// A decoded frame as a picture.
///
/// # Errors
/// Where chroma is not 4:2:0, or the size out of bounds.
pub(crate) fn copy(pool: &mut PicturePool, frame: &Frame) -> Result<Picture, Error> {
    if frame.chroma != Chroma::Yuv420 {
        return Err(Error::Unsupported("MPEG video that is not 4:2:0".into()));
    }
    let even = |side: usize| u32::try_from(side & !1).unwrap_or(0);
    let size = PictureSize::new(even(frame.planes[0].width), even(frame.planes[0].height))?;
    if pool.size() != size {
        *pool = PicturePool::new(size);
    }
    let mut buffer = pool.take();
    buffer.copy_from(frame.planes.each_ref().map(|plane| PlaneView {
        data: &plane.data,
        stride: plane.stride,
        width: plane.width,
        height: plane.height,
    }));
    Ok(buffer.finish(FrameId(0), seaway_units::TimeDelta::ZERO))
}

impl PictureSource for MpegSource {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let picture = match self.first.take() {
            Some(first) => Some(first),
            None => self.decode()?,
        };
        let (id, time) = (FrameId(self.next), self.format.frame_rate.time_of(self.next));
        self.next += 1;
        Ok(picture.map(|picture| picture.with_identity(id, time)))
    }

    fn has_times(&self) -> bool {
        false
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(0)).map_err(Error::io("input"))?;
        (self.streams, self.ended, self.next, self.first) = (Streams::new(), false, 0, None);
        Ok(())
    }
}

impl std::fmt::Debug for MpegSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MpegSource").field("format", &self.format).field("next", &self.next).finish()
    }
}
