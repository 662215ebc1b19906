//! Pictures of a coded track: samples of a container, decoded and reordered for display.

use super::{PictureFormat, PictureSource};
use crate::audio::{AudioSource, PipedTrack};
use crate::codec::Decoder;
use crate::h264::{DecoderConfiguration, Inspector, append_from_lengths};
use crate::picture::PlaneView;
use crate::{Error, FrameId, FrameRate, Picture, PicturePool, PictureSize};
use seaway_units::TimeDelta;
use std::collections::{BTreeSet, VecDeque};

/// Delivers the samples of one track in decoding order.
pub(super) trait SampleReader: Send {
    /// Replaces `data` by the next sample; `None` at the end.
    fn next_sample(&mut self, data: &mut Vec<u8>) -> Result<Option<Sample>, Error>;

    /// False where times are counted because the stream has none.
    fn has_times(&self) -> bool {
        true
    }

    /// Begins again with the first sample.
    fn rewind(&mut self) -> Result<(), Error>;
}

/// What a container says about a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// When it is shown.
    pub(super) time: TimeDelta,
    /// When it is decoded, where the container says so.
    pub(super) decode: Option<TimeDelta>,
}

/// An H.264 track of a container.
pub(super) struct Coded {
    pub(super) reader: Box<dyn SampleReader>,
    pub(super) configuration: DecoderConfiguration,
    /// `None` where the container has none.
    pub(super) frame_rate: Option<FrameRate>,
}

/// The tracks of a container beside its pictures.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    /// Those that are not pictures.
    pub(super) left_out: Vec<String>,
    /// The sound of an input that is read once.
    pub(super) sound: Option<PipedTrack>,
}

impl Tracks {
    /// The most tracks that are listed.
    const MOST: usize = 32;

    pub(super) fn leave_out(&mut self, description: String) {
        if self.left_out.len() < Self::MOST {
            self.left_out.push(description);
        }
    }

    /// The error for a file without an H.264 track.
    pub(super) fn without_h264(&self, container: &str) -> Error {
        let found = if self.left_out.is_empty() { "no track".into() } else { self.left_out.join(", ") };
        Error::Unsupported(format!("{container} file without an H.264 track: {found}"))
    }
}

/// A coded track as a source of pictures.
pub(super) struct CodedSource {
    track: Coded,
    left_out: Vec<String>,
    /// The sound that was not taken yet, and the time of the first picture.
    sound: Option<(PipedTrack, TimeDelta)>,
    decoder: Decoder,
    inspector: Inspector,
    /// The decoder has read the container's parameter sets.
    configured: bool,
    sample: Vec<u8>,
    stream: Vec<u8>,
    /// Times of the samples in the decoder. Pictures are output in the order of time.
    waiting: BTreeSet<TimeDelta>,
    decoded: VecDeque<Picture>,
    ended: bool,
    shown: u64,
    undecodable: u64,
    format: PictureFormat,
    pool: PicturePool,
}

impl CodedSource {
    /// Decodes up to the first picture, for the size.
    pub(super) fn open((track, tracks): (Coded, Tracks)) -> Result<Box<dyn PictureSource>, Error> {
        let frame_rate = track.frame_rate.unwrap_or(FrameRate::USUAL);
        let format = PictureFormat { size: PictureSize::SMALLEST, frame_rate };
        let mut source = Self {
            track,
            left_out: tracks.left_out,
            sound: None,
            decoder: Decoder::new()?,
            inspector: Inspector::default(),
            configured: false,
            sample: Vec::new(),
            stream: Vec::new(),
            waiting: BTreeSet::new(),
            decoded: VecDeque::new(),
            ended: false,
            shown: 0,
            undecodable: 0,
            format,
            pool: PicturePool::new(PictureSize::SMALLEST),
        };
        source.fill()?;
        match source.decoded.front() {
            Some(first) => {
                source.format.size = first.size();
                source.sound = tracks.sound.map(|sound| (sound, first.time()));
            }
            None => {
                return Err(Error::Unsupported("H.264 track without a picture that can be decoded".into()));
            }
        }
        Ok(Box::new(source))
    }

    /// Decodes up to the next picture, or the end.
    fn fill(&mut self) -> Result<(), Error> {
        while self.decoded.is_empty() && !self.ended {
            match self.track.reader.next_sample(&mut self.sample)? {
                Some(sample) => self.decode(sample),
                None => self.drain(),
            }
        }
        Ok(())
    }

    /// Decodes a sample. One that the decoder refuses loses its picture only.
    fn decode(&mut self, sample: Sample) {
        self.stream.clear();
        // Once: later parameter sets come with the samples.
        if !std::mem::replace(&mut self.configured, true) {
            self.stream.extend_from_slice(&self.track.configuration.parameter_sets);
        }
        match self.track.configuration.length_size {
            0 => self.stream.extend_from_slice(&self.sample),
            length_size => {
                append_from_lengths(&self.sample, length_size, &mut self.stream);
            }
        }
        let Ok(inspection) = self.inspector.inspect(&self.stream) else {
            self.undecodable += 1;
            return;
        };
        self.waiting.insert(sample.time);
        let (pool, waiting, decoded) = (&mut self.pool, &mut self.waiting, &mut self.decoded);
        let result = self.decoder.decode_in_order(inspection.stream, |picture| {
            let time = waiting.pop_first().unwrap_or(sample.time);
            decoded.extend(copy(pool, picture, time));
        });
        if result.is_err() {
            self.undecodable += 1;
            self.waiting.remove(&sample.time);
        }
    }

    /// Outputs the pictures that the decoder holds for reordering.
    fn drain(&mut self) {
        self.ended = true;
        let (pool, waiting, decoded) = (&mut self.pool, &mut self.waiting, &mut self.decoded);
        self.decoder.drain(|picture| {
            if let Some(time) = waiting.pop_first() {
                decoded.extend(copy(pool, picture, time));
            }
        });
    }
}

/// Copies a decoded picture; `None` where its size is not supported.
fn copy(pool: &mut PicturePool, planes: [PlaneView<'_>; 3], time: TimeDelta) -> Option<Picture> {
    let even = |side: usize| u32::try_from(side & !1).unwrap_or(0);
    let size = PictureSize::new(even(planes[0].width), even(planes[0].height)).ok()?;
    if pool.size() != size {
        *pool = PicturePool::new(size);
    }
    let mut buffer = pool.take();
    buffer.copy_from(planes);
    Some(buffer.finish(FrameId(0), time))
}

impl PictureSource for CodedSource {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        self.fill()?;
        let Some(picture) = self.decoded.pop_front() else { return Ok(None) };
        let id = FrameId(self.shown);
        self.shown += 1;
        let time = picture.time();
        Ok(Some(picture.with_identity(id, time)))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.track.reader.rewind()?;
        // A new decoder has no reference pictures.
        self.decoder = Decoder::new()?;
        self.inspector = Inspector::default();
        self.waiting.clear();
        self.decoded.clear();
        (self.configured, self.ended, self.shown, self.undecodable) = (false, false, 0, 0);
        Ok(())
    }

    fn is_approximate(&self) -> bool {
        // B pictures are found only by decoding the whole input.
        true
    }

    fn has_times(&self) -> bool {
        self.track.reader.has_times()
    }

    fn undecodable(&self) -> u64 {
        self.undecodable
    }

    fn take_sound(&mut self) -> Option<Result<Box<dyn AudioSource>, Error>> {
        let (track, begin) = self.sound.take()?;
        Some(open_sound(track, begin))
    }

    fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

/// The sound of a track from the time of the first picture on.
pub(super) fn open_sound(track: PipedTrack, begin: TimeDelta) -> Result<Box<dyn AudioSource>, Error> {
    Ok(Box::new(track.open(begin)?))
}

impl std::fmt::Debug for CodedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodedSource").field("format", &self.format).field("shown", &self.shown).finish()
    }
}
