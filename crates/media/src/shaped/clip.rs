//! The video of a coded clip in memory, shaped round after round.

use crate::error::Error;
use seaway_mpeg::container::{Config, Remuxer, Replacement};
use seaway_mpeg::header::{PictureKind, PictureStructure, SequenceState};
use seaway_mpeg::shape::{self, Method, Shaper, Target};
use seaway_mpeg::unit::AccessUnit;
use seaway_units::{Bitrate, TimeDelta};
use std::path::Path;
use std::sync::Arc;

/// A frame of the output, in coding order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapedFrame {
    /// Its octets, with the headers before it.
    pub octets: Vec<u8>,
    /// Coding type of its first picture.
    pub kind: PictureKind,
    /// Octets of the frame in the input.
    pub whole: usize,
}

/// Repeats a coded stream and shapes it to the latest rate.
#[derive(Debug)]
pub struct ShapedClip {
    frames: Arc<[CodedFrame]>,
    interval: TimeDelta,
    full_rate: Bitrate,
    shaper: Shaper,
    next: usize,
}

/// A frame of the input: one picture, or two fields.
#[derive(Debug)]
struct CodedFrame {
    units: Vec<AccessUnit>,
    kind: PictureKind,
}

/// The longest stream, which is held in memory.
const LONGEST: usize = 256 << 20;

impl ShapedClip {
    /// Reads a stream of any container and shapes it by `method`, which must shape pictures one by one.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it is not MPEG-1/2 video, has no picture, or `method` looks ahead.
    pub fn new(stream: &[u8], method: Method) -> Result<Self, Error> {
        let shaper = Shaper::new(shape::Config::new(method, Target::Ratio(1.0)));
        if shaper.delay() > 1 {
            return Err(Error::Unsupported("live shaping by a method that looks ahead".into()));
        }
        let (frames, interval) = frames(stream)?;
        let octets: usize = frames.iter().map(CodedFrame::len).sum();
        let seconds = interval.as_secs_f64() * frames.len() as f64;
        let full_rate = Bitrate::from_bps_f64(octets as f64 * 8.0 / seconds);
        Ok(Self { frames: frames.into(), interval, full_rate, shaper, next: 0 })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`ShapedClip::new`], and where the file cannot be read or is longer than 256 MiB.
    pub fn open(path: &Path, method: Method) -> Result<Self, Error> {
        let failed = Error::io(path);
        let length = match std::fs::metadata(path) {
            Ok(metadata) => metadata.len(),
            Err(error) => return Err(failed(error)),
        };
        if length > LONGEST as u64 {
            return Err(Error::Unsupported(format!("{}: longer than 256 MiB", path.display())));
        }
        Self::new(&std::fs::read(path).map_err(failed)?, method)
    }

    /// Rate of the input.
    pub fn full_rate(&self) -> Bitrate {
        self.full_rate
    }

    /// Interval between frames.
    pub fn interval(&self) -> TimeDelta {
        self.interval
    }

    /// Sets the rate from the next frame on, at most that of the input.
    pub fn set_rate(&mut self, rate: Bitrate) {
        // S002 section 2.2: each picture is cut by the ratio of the rates.
        let share = rate.as_bps_f64() / self.full_rate.as_bps_f64();
        self.shaper.set_target(Target::Ratio(share.min(1.0)));
    }

    /// The next frame; the first follows the last.
    pub fn next_frame(&mut self) -> ShapedFrame {
        let frame = &self.frames[self.next];
        self.next = (self.next + 1) % self.frames.len();
        let mut octets = Vec::with_capacity(frame.len());
        for unit in &frame.units {
            self.shaper.push_unit(unit.clone());
            while let Some(shaped) = self.shaper.pull() {
                // Shaping may make a picture larger; then it is sent unchanged.
                let grown = shaped.bytes.len() > unit.data.len();
                octets.extend(if grown { &unit.data } else { &shaped.bytes });
            }
        }
        ShapedFrame { octets, kind: frame.kind, whole: frame.len() }
    }
}

impl CodedFrame {
    fn len(&self) -> usize {
        self.units.iter().map(|unit| unit.data.len()).sum()
    }
}

/// The frames of a stream, and the interval between them.
fn frames(stream: &[u8]) -> Result<(Vec<CodedFrame>, TimeDelta), Error> {
    let unfit = |error| Error::Unsupported(format!("live shaping: {error}"));
    let mut remuxer = Remuxer::new(Config::default());
    let mut frames: Vec<CodedFrame> = Vec::new();
    let mut state = SequenceState::default();
    let mut missing_field = None;
    let mut discarded = Vec::new();
    for piece in stream.chunks(1 << 16).chain([&[][..]]) {
        if piece.is_empty() { remuxer.finish() } else { remuxer.push(piece) }.map_err(unfit)?;
        while let Some(picture) = remuxer.poll_picture() {
            let Some(context) = picture.unit.read_headers(&mut state) else {
                // A unit without a picture belongs to the frame before it.
                frames.last_mut().into_iter().for_each(|frame| frame.units.push(picture.unit.clone()));
                remuxer.replace(Replacement::Kept).map_err(unfit)?;
                continue;
            };
            let structure = context.coding.structure;
            match frames.last_mut().filter(|_| missing_field == Some(structure)) {
                Some(frame) => {
                    frame.units.push(picture.unit);
                    missing_field = None;
                }
                None => {
                    frames.push(CodedFrame { units: vec![picture.unit], kind: context.kind() });
                    missing_field = match structure {
                        PictureStructure::TopField => Some(PictureStructure::BottomField),
                        PictureStructure::BottomField => Some(PictureStructure::TopField),
                        PictureStructure::Frame => None,
                    };
                }
            }
            remuxer.replace(Replacement::Kept).map_err(unfit)?;
        }
        remuxer.drain_output(&mut discarded);
        discarded.clear();
    }
    let (n, d) = state.frame_rate().unwrap_or((25, 1));
    if frames.is_empty() {
        return Err(Error::Unsupported("live shaping: no picture".into()));
    }
    Ok((frames, TimeDelta::from_secs_f64(f64::from(d) / f64::from(n))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::BIG_BUCK_BUNNY_MPEG2;
    use seaway_mpeg::decode::Decoder;

    fn clip(method: Method) -> ShapedClip {
        ShapedClip::new(BIG_BUCK_BUNNY_MPEG2, method).unwrap()
    }

    #[test]
    fn at_its_own_rate_it_is_itself_round_after_round() {
        let mut clip = clip(Method::Memoryless);
        assert_eq!(clip.interval(), TimeDelta::from_millis(40));
        assert!((clip.full_rate().as_bps_f64() / 250e3 - 1.0).abs() < 0.02, "{}", clip.full_rate());
        clip.set_rate(Bitrate::from_mbps(1));
        let twice: Vec<u8> = (0..2 * 132).flat_map(|_| clip.next_frame().octets).collect();
        // Headers declare a variable rate, which does not change their length.
        assert_eq!(twice.len(), 2 * BIG_BUCK_BUNNY_MPEG2.len());
    }

    /// The output follows a change of the rate at once.
    #[test]
    fn the_rate_changes_at_any_picture() {
        for method in [Method::Memoryless, Method::Causal, Method::RateBased] {
            let mut clip = clip(method);
            let mut decoder = Decoder::new();
            let mut sent = [0; 3];
            for (part, kbps) in [240, 170, 210].into_iter().enumerate() {
                clip.set_rate(Bitrate::from_kbps(kbps));
                for _ in 0..132 {
                    let frame = clip.next_frame();
                    assert!(frame.octets.len() <= frame.whole);
                    sent[part] += frame.octets.len();
                    decoder.push(&frame.octets);
                }
                let rate = sent[part] as f64 * 8.0 / (132.0 * 0.04) / 1e3;
                assert!((rate / kbps as f64 - 1.0).abs() < 0.05, "{method:?}: {rate} for {kbps} kbit/s");
            }
            decoder.finish();
            assert_eq!((decoder.stats().frames, decoder.stats().damaged_slices), (3 * 132, 0));
        }
    }

    #[test]
    fn unsupported_streams_are_refused() {
        assert!(ShapedClip::new(BIG_BUCK_BUNNY_MPEG2, Method::Auto).is_err());
        assert!(ShapedClip::new(BIG_BUCK_BUNNY_MPEG2, Method::Requantize).is_err());
        assert!(ShapedClip::new(b"just words", Method::Memoryless).is_err());
        assert!(ShapedClip::open(Path::new("/nowhere"), Method::Memoryless).is_err());
    }
}
