//! A coded stream that is shaped picture by picture as it is read.

use super::PictureKind;
use crate::error::Error;
use crate::{FrameRate, PictureSize};
use seaway_mpeg::container::{
    CodedPicture, Config, Format, Multiplex, Remuxer, Replacement, SNIFF_LIMIT, sniff,
};
use seaway_mpeg::header::SequenceState;
use seaway_mpeg::shape::{self, Method, Shaper, Target};
use seaway_mpeg::startcode::StartCode;
use seaway_units::{Bitrate, TimeDelta};
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// What leaves of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encapsulation {
    /// The container with all that it holds: sound, tables, time stamps. All pieces one after another are a stream of its format.
    Container,
    /// The video elementary stream alone.
    ElementaryStream,
}

/// One coded picture of the output, in coding order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapedPiece {
    /// Its octets. Of a container all that is complete with this picture; a packet that the next picture shares comes with
    /// that one.
    pub octets: Vec<u8>,
    /// Coding type of the picture; `None` where the unit has none that can be read.
    pub kind: Option<PictureKind>,
    /// A sequence header is before the picture: decoding can begin here.
    pub is_entry: bool,
    /// When it is decoded, from the first picture on.
    pub time: TimeDelta,
    /// How long it is shown.
    pub interval: TimeDelta,
}

/// Reads a coded stream and shapes it to the latest rate. A picture leaves before the next but one is read.
pub struct ShapedStream {
    input: Input,
    encapsulation: Encapsulation,
    method: Method,
    remuxer: Remuxer,
    shaper: Shaper,
    headers: SequenceState,
    has_ended: bool,
    repeat: bool,
    /// How long the rounds before this one are shown.
    before: TimeDelta,
    meter: Meter,
    chunk: Vec<u8>,
}

/// Octets read at once: a few pictures at most, so that a slow input is shaped as it comes.
const CHUNK: usize = 4096;
/// Octets of a file by which its rate is estimated beforehand.
const AHEAD: usize = 4 << 20;

impl ShapedStream {
    /// Opens a file, or standard input as `-`, and shapes it by `method`, which must shape pictures one by one. With `repeat`
    /// the file begins again at its end.
    ///
    /// # Errors
    /// It cannot be read, it is no elementary, program, system or transport stream with MPEG-1 or MPEG-2 video, `method` looks
    /// ahead, or standard input is to be repeated.
    pub fn open(
        name: &str,
        encapsulation: Encapsulation,
        method: Method,
        repeat: bool,
    ) -> Result<Self, Error> {
        let mut input = Input::open(name)?;
        if repeat && input.path.is_none() {
            return Err(Error::Unsupported("standard input cannot be repeated".into()));
        }
        let ahead = if input.path.is_some() { AHEAD } else { 0 };
        let format = input.read_head(ahead)?;
        if format == Format::Matroska {
            return Err(Error::Unsupported(format!(
                "{name}: Matroska cannot be cut into pictures on its way; expected an elementary, program or transport stream"
            )));
        }
        let shaper = Shaper::new(shape::Config::new(method, Target::Ratio(1.0)));
        if shaper.delay() > 1 {
            return Err(Error::Unsupported("live shaping by a method that looks ahead".into()));
        }
        let is_whole = ahead > 0 && input.head.len() < ahead;
        let meter = Meter { estimate: estimate(&input.head, encapsulation), is_whole, ..Meter::default() };
        Ok(Self {
            input,
            encapsulation,
            method,
            remuxer: remuxer(),
            shaper,
            headers: SequenceState::default(),
            has_ended: false,
            repeat,
            before: TimeDelta::ZERO,
            meter,
            chunk: vec![0; CHUNK],
        })
    }

    /// The rate at which nothing is cut: the mean of a short file, else that over the last ten seconds. While they are fewer, what is
    /// missing of them counts as the beginning of the file.
    pub fn full_rate(&self) -> Bitrate {
        self.meter.full_rate()
    }

    /// Pictures a second, as the stream declares.
    pub fn frame_rate(&self) -> FrameRate {
        let declared = self.headers.frame_rate();
        declared.and_then(|(n, d)| FrameRate::new(n, d)).unwrap_or(FrameRate::USUAL)
    }

    /// The size of its pictures, as the stream declares.
    pub fn size(&self) -> Option<PictureSize> {
        let header = self.headers.sequence()?;
        PictureSize::new(u32::from(header.width) & !1, u32::from(header.height) & !1).ok()
    }

    /// When the next picture is decoded, from the first one on.
    pub fn time(&self) -> TimeDelta {
        self.before + self.shaper.elapsed()
    }

    /// The next picture, shaped so that all octets of the stream take `rate`; `None` at its end. A rate above that of the
    /// input leaves it unchanged.
    ///
    /// # Errors
    /// The input failed, or is no stream that is understood.
    pub fn next_piece(&mut self, rate: Bitrate) -> Result<Option<ShapedPiece>, Error> {
        loop {
            if let Some(picture) = self.remuxer.poll_picture() {
                return self.shape(picture, rate).map(Some);
            }
            if !self.has_ended {
                self.read()?;
            } else if let Some(rest) = self.rest() {
                return Ok(Some(rest));
            } else if !self.begin_again()? {
                return Ok(None);
            }
        }
    }

    fn read(&mut self) -> Result<(), Error> {
        let length = self.input.read(&mut self.chunk)?;
        self.has_ended = length == 0;
        let taken =
            if self.has_ended { self.remuxer.finish() } else { self.remuxer.push(&self.chunk[..length]) };
        taken.map_err(|error| malformed(&self.input.name, error))
    }

    fn shape(&mut self, picture: CodedPicture, rate: Bitrate) -> Result<ShapedPiece, Error> {
        let CodedPicture { unit, .. } = picture;
        let (whole, time) = (unit.data.len(), self.time());
        let is_entry = unit.spans.iter().any(|span| span.code == StartCode::SequenceHeader);
        let _ = unit.read_headers(&mut self.headers);
        self.set_rate(rate);
        let original = unit.data.clone();
        self.shaper.push_unit(unit);
        let shaped = self.shaper.pull();
        let kind = shaped.as_ref().and_then(|shaped| shaped.report.kind);
        // Shaping may make a picture larger; then it is sent unchanged.
        let octets =
            shaped.map(|shaped| shaped.bytes).filter(|bytes| bytes.len() <= whole).unwrap_or(original);
        let len = octets.len();
        let octets = match self.encapsulation {
            Encapsulation::ElementaryStream => {
                self.replace(Replacement::Kept)?;
                self.drain();
                octets
            }
            Encapsulation::Container => {
                self.replace(Replacement::Bytes(octets))?;
                self.drain()
            }
        };
        let other = octets.len() as f64 - len as f64;
        self.meter.add(self.time(), whole as f64, other);
        Ok(ShapedPiece { octets, kind, is_entry, time, interval: self.time() - time })
    }

    /// S002 section 2.2: each picture is cut by the ratio of the rates. A rate for each second instead would cut what is above the
    /// mean of a stream whose mean fits. The ratio changes only by more than a percent: what a picture has left goes to the next.
    fn set_rate(&mut self, rate: Bitrate) {
        let other = self.meter.other_rate();
        let full = (self.meter.full_rate().as_bps_f64() - other).max(1.0);
        let share = ((rate.as_bps_f64() - other).max(1.0) / full).min(1.0);
        if (share / self.meter.share - 1.0).abs() > 0.01 {
            self.meter.share = share;
            self.shaper.set_target(Target::Ratio(share));
        }
    }

    fn replace(&mut self, replacement: Replacement) -> Result<(), Error> {
        self.remuxer.replace(replacement).map(drop).map_err(|error| malformed(&self.input.name, error))
    }

    fn drain(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        self.remuxer.drain_output(&mut octets);
        octets
    }

    /// What the container has behind its last picture.
    fn rest(&mut self) -> Option<ShapedPiece> {
        let octets = self.drain();
        let (time, interval) = (self.time(), TimeDelta::ZERO);
        let is_wanted = self.encapsulation == Encapsulation::Container && !octets.is_empty();
        is_wanted.then_some(ShapedPiece { octets, kind: None, is_entry: false, time, interval })
    }

    /// Begins again where that is wanted.
    fn begin_again(&mut self) -> Result<bool, Error> {
        if self.repeat && self.shaper.elapsed() > TimeDelta::ZERO {
            self.before = self.time();
            self.input = Input::open(&self.input.name)?;
            self.input.read_head(0)?;
            self.remuxer = remuxer();
            self.shaper = Shaper::new(shape::Config::new(self.method, Target::Ratio(1.0)));
            (self.meter.share, self.has_ended) = (0.0, false);
            return Ok(true);
        }
        Ok(false)
    }
}

impl fmt::Debug for ShapedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, encapsulation, method, .. } = self;
        f.debug_struct("ShapedStream")
            .field("input", &input.name)
            .field("encapsulation", encapsulation)
            .field("method", method)
            .finish_non_exhaustive()
    }
}

fn remuxer() -> Remuxer {
    Remuxer::new(Config { multiplex: Multiplex::Variable, ..Config::default() })
}

fn malformed(name: &str, error: impl fmt::Display) -> Error {
    Error::Unsupported(format!("{name}: {error}"))
}

/// The rate of what is in `head`; the declared one where that is too short.
fn estimate(head: &[u8], encapsulation: Encapsulation) -> Option<f64> {
    let (mut remuxer, mut state) = (remuxer(), SequenceState::default());
    let (mut seconds, mut octets, mut discarded) = (0.0, 0, Vec::new());
    // An error comes again where the stream is read.
    let _ = remuxer.push(head);
    while let Some(picture) = remuxer.poll_picture() {
        let context = picture.unit.read_headers(&mut state);
        seconds += state.unit_seconds(&picture.unit, context.as_ref());
        octets += picture.unit.data.len();
        let _ = remuxer.replace(Replacement::Kept);
        remuxer.drain_output(&mut discarded);
    }
    if encapsulation == Encapsulation::Container {
        octets = octets.max(discarded.len());
    }
    if seconds >= Meter::LEAST.as_secs_f64() {
        return Some(octets as f64 * 8.0 / seconds);
    }
    state.bit_rate().map(|rate| rate as f64)
}

/// Where the stream comes from.
struct Input {
    name: String,
    path: Option<PathBuf>,
    reader: Box<dyn Read + Send>,
    /// What was read before the format was known.
    head: Vec<u8>,
    taken: usize,
}

impl Input {
    fn open(name: &str) -> Result<Self, Error> {
        if name == "-" {
            let reader = Box::new(io::stdin());
            return Ok(Self { name: "-".into(), path: None, reader, head: Vec::new(), taken: 0 });
        }
        let path = PathBuf::from(name);
        let file = File::open(&path).map_err(Error::io(&path))?;
        let is_file = file.metadata().map_err(Error::io(&path))?.is_file();
        let (path, reader) = (is_file.then_some(path), Box::new(file));
        Ok(Self { name: name.into(), path, reader, head: Vec::new(), taken: 0 })
    }

    /// Reads until the format is known, and up to `ahead` octets.
    fn read_head(&mut self, ahead: usize) -> Result<Format, Error> {
        let mut chunk = vec![0; 64 << 10];
        let mut format = None;
        loop {
            let length = self.reader.read(&mut chunk).map_err(Error::io(&self.name))?;
            self.head.extend_from_slice(&chunk[..length]);
            if format.is_none() {
                let looked_at = &self.head[..self.head.len().min(SNIFF_LIMIT)];
                format = sniff(looked_at, length == 0).map_err(|error| malformed(&self.name, error))?;
            }
            match format {
                Some(format) if length == 0 || self.head.len() >= ahead => return Ok(format),
                None if length == 0 => return Err(malformed(&self.name, "no MPEG stream")),
                _ => {}
            }
        }
    }

    fn read(&mut self, chunk: &mut [u8]) -> Result<usize, Error> {
        if self.taken < self.head.len() {
            let length = chunk.len().min(self.head.len() - self.taken);
            chunk[..length].copy_from_slice(&self.head[self.taken..self.taken + length]);
            self.taken += length;
            if self.taken == self.head.len() {
                (self.head, self.taken) = (Vec::new(), 0);
            }
            return Ok(length);
        }
        self.reader.read(chunk).map_err(Error::io(&self.name))
    }
}

/// Measures the rate of the input, and of what is beside the video.
#[derive(Debug, Default)]
struct Meter {
    /// End of a picture, and the octets of video and of the rest up to there.
    pictures: VecDeque<(TimeDelta, f64, f64)>,
    video: f64,
    other: f64,
    /// In bit/s.
    estimate: Option<f64>,
    /// The estimate is of the whole input.
    is_whole: bool,
    /// What is left of the video at present.
    share: f64,
}

impl Meter {
    const LEAST: TimeDelta = TimeDelta::from_secs(2);
    const SPAN: TimeDelta = TimeDelta::from_secs(10);
    /// Where nothing is known.
    const USUAL: f64 = 4e6;

    fn add(&mut self, end: TimeDelta, video: f64, other: f64) {
        self.video += video;
        self.other += other;
        self.pictures.push_back((end, self.video, self.other));
        while self.pictures.front().is_some_and(|(first, ..)| end - *first > Self::SPAN) {
            self.pictures.pop_front();
        }
    }

    /// Video and the rest over the last seconds, in bit/s.
    fn rates(&self) -> Option<(f64, f64)> {
        let ((_, video, other), (_, video_now, other_now)) =
            (*self.pictures.front()?, *self.pictures.back()?);
        let span = self.span();
        let rate = |octets: f64| octets * 8.0 / span.as_secs_f64();
        (span >= Self::LEAST).then(|| (rate(video_now - video), rate(other_now - other).max(0.0)))
    }

    fn other_rate(&self) -> f64 {
        self.rates().map_or(0.0, |(_, other)| other)
    }

    /// A few seconds with an intra picture more or less are far from the mean: they count by their length beside the estimate.
    fn full_rate(&self) -> Bitrate {
        let measured = self.rates().map(|(video, other)| video + other);
        let rate = match (measured, self.estimate) {
            (Some(measured), Some(estimate)) if !self.is_whole => {
                let part = (self.span().as_secs_f64() / Self::SPAN.as_secs_f64()).min(1.0);
                part * measured + (1.0 - part) * estimate
            }
            (measured, estimate) => estimate.or(measured).unwrap_or(Self::USUAL),
        };
        Bitrate::from_bps_f64(rate)
    }

    /// What has been measured.
    fn span(&self) -> TimeDelta {
        let ends = self.pictures.front().zip(self.pictures.back());
        ends.map_or(TimeDelta::ZERO, |((first, ..), (last, ..))| *last - *first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::BIG_BUCK_BUNNY_MPEG2;
    use seaway_mpeg::decode::Decoder;
    use std::io::Write;

    const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/bigbuckbunny_320x180.m2v");
    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mpeg/tests/fixtures/");

    fn all(stream: &mut ShapedStream, rate: Bitrate) -> Vec<u8> {
        std::iter::from_fn(|| stream.next_piece(rate).unwrap()).flat_map(|piece| piece.octets).collect()
    }

    fn open(name: &str, encapsulation: Encapsulation) -> ShapedStream {
        ShapedStream::open(name, encapsulation, Method::Memoryless, false).unwrap()
    }

    /// A picture is there before the next but one is read, and the rate holds from it on.
    #[test]
    fn the_rate_changes_at_the_next_picture() {
        let mut stream = open(CLIP, Encapsulation::ElementaryStream);
        assert!((stream.full_rate().as_bps_f64() / 250e3 - 1.0).abs() < 0.02, "{}", stream.full_rate());
        let (mut parts, mut decoder) = ([0.0; 3], Decoder::new());
        for (part, kbps) in [1000, 180, 1000].into_iter().enumerate() {
            for _ in 0..44 {
                let piece = stream.next_piece(Bitrate::from_kbps(kbps)).unwrap().unwrap();
                assert_eq!(piece.interval, TimeDelta::from_millis(40));
                parts[part] += piece.octets.len() as f64;
                decoder.push(&piece.octets);
            }
        }
        decoder.finish();
        assert_eq!((decoder.stats().frames, decoder.stats().damaged_slices), (132, 0));
        let mut whole = open(CLIP, Encapsulation::ElementaryStream);
        let mut next = || whole.next_piece(Bitrate::from_mbps(1)).unwrap().unwrap().octets.len() as f64;
        let whole: [f64; 3] = std::array::from_fn(|_| (0..44).map(|_| next()).sum());
        let share = 180e3 / stream.full_rate().as_bps_f64();
        assert!((parts[1] / whole[1] / share - 1.0).abs() < 0.03, "{} of {share}", parts[1] / whole[1]);
        // What the cut pictures took too much the next one saves.
        assert!(parts[0] == whole[0] && (0.99..=1.0).contains(&(parts[2] / whole[2])), "{parts:?} {whole:?}");
        let whole = BIG_BUCK_BUNNY_MPEG2.len() as f64;
        assert!(parts.iter().sum::<f64>() < 0.99 * whole, "{parts:?} of {whole}");
    }

    /// The policy of the window transport keeps its rate below this one: where it dipped with each stretch between intra
    /// pictures, the stream would be cut to the least of them.
    #[test]
    fn the_full_rate_is_steady() {
        let mut stream =
            ShapedStream::open(CLIP, Encapsulation::ElementaryStream, Method::Memoryless, true).unwrap();
        let mut rates = Vec::new();
        for _ in 0..750 {
            stream.next_piece(Bitrate::from_mbps(1)).unwrap().unwrap();
            rates.push(stream.full_rate().as_bps_f64() / 250e3);
        }
        let off = rates.iter().map(|rate| (rate - 1.0).abs()).fold(0.0, f64::max);
        assert!(off < 0.02, "{off}");
    }

    /// At its own rate nothing is lost of any container but null packets and stuffing.
    #[test]
    fn containers_stay_what_they_are() {
        for name in ["elementary.m2v", "program.vob", "packs.mpg", "system.mpg", "two_programmes.ts"] {
            let path = format!("{FIXTURES}{name}");
            let input = std::fs::read(&path).unwrap();
            let whole = all(&mut open(&path, Encapsulation::Container), Bitrate::from_mbps(1000));
            let video = all(&mut open(&path, Encapsulation::ElementaryStream), Bitrate::from_mbps(1000));
            assert!(video.len() <= whole.len() && whole.len() <= input.len(), "{name}");
            let format = |stream: &[u8]| sniff(stream, true).unwrap();
            assert_eq!(format(&whole), format(&input), "{name}");
            let count = |stream: &[u8]| {
                let mut file = tempfile::NamedTempFile::new().unwrap();
                file.write_all(stream).unwrap();
                let mut source = open(file.path().to_str().unwrap(), Encapsulation::ElementaryStream);
                std::iter::from_fn(|| source.next_piece(Bitrate::MAX).unwrap()).count()
            };
            assert_eq!(count(&whole), count(&input), "{name}");
        }
    }

    #[test]
    fn a_file_begins_again_where_that_is_wanted() {
        let mut stream =
            ShapedStream::open(CLIP, Encapsulation::Container, Method::Memoryless, true).unwrap();
        let mut times = (0..300).map(|_| stream.next_piece(Bitrate::from_mbps(1)).unwrap().unwrap().time);
        assert_eq!(times.nth(299), Some(TimeDelta::from_millis(299 * 40)));
        let mut once = open(CLIP, Encapsulation::Container);
        assert_eq!(std::iter::from_fn(|| once.next_piece(Bitrate::from_mbps(1)).unwrap()).count(), 132);
    }

    #[test]
    fn what_cannot_be_shaped_live_is_refused() {
        let refused = |name: &str, method| {
            ShapedStream::open(name, Encapsulation::ElementaryStream, method, false).unwrap_err().to_string()
        };
        assert!(refused(CLIP, Method::Auto).contains("looks ahead"));
        assert!(refused(&format!("{FIXTURES}program.mkv"), Method::Memoryless).contains("Matroska"));
        assert!(
            refused(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), Method::Memoryless).contains("text")
        );
        assert!(refused("/nowhere", Method::Memoryless).contains("/nowhere"));
    }
}
