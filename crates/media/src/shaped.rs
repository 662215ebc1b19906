//! A coded MPEG-1/2 stream as a source of frames whose rate may change at any picture: S002's chain begins here.

use crate::error::Error;
use seaway_mpeg::container::{Config, Remuxer, Replacement};
use seaway_mpeg::header::{PictureStructure, SequenceState};
use seaway_mpeg::shape::{self, Shaper, Target};
use seaway_mpeg::unit::AccessUnit;
use seaway_units::{Bitrate, TimeDelta};
use std::path::Path;
use std::sync::Arc;

pub use seaway_mpeg::header::PictureKind;
pub use seaway_mpeg::shape::Method;

/// A frame of the output, in coding order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapedFrame {
    /// Its octets, with the headers before it.
    pub octets: Vec<u8>,
    /// Coding type of its first picture.
    pub kind: PictureKind,
    /// Octets it had in the input.
    pub whole: usize,
}

/// Plays a coded stream in a loop and shapes it to the rate asked for last.
#[derive(Debug)]
pub struct ShapedClip {
    frames: Arc<[CodedFrame]>,
    interval: TimeDelta,
    full_rate: Bitrate,
    shaper: Shaper,
    next: usize,
}

/// A picture, or two fields, as it came.
#[derive(Debug)]
struct CodedFrame {
    units: Vec<AccessUnit>,
    kind: PictureKind,
}

/// What is played is held in memory.
const LONGEST: usize = 256 << 20;

impl ShapedClip {
    /// Reads a stream of any container and shapes it by `method`, which must decide picture by picture.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it is no MPEG-1/2 video, has no picture, or `method` looks ahead.
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

    /// The stream in a file.
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

    /// Rate of the stream as it is.
    pub fn full_rate(&self) -> Bitrate {
        self.full_rate
    }

    /// From one frame to the next.
    pub fn interval(&self) -> TimeDelta {
        self.interval
    }

    /// From the next frame on the rate is this; the stream as it is where that is less.
    pub fn set_rate(&mut self, rate: Bitrate) {
        // S002 section 2.2: each picture gets the share that the rate is of the whole.
        let share = rate.as_bps_f64() / self.full_rate.as_bps_f64();
        self.shaper.set_target(Target::Ratio(share.min(1.0)));
    }

    /// The next frame; behind the last comes the first again.
    pub fn next_frame(&mut self) -> ShapedFrame {
        let frame = &self.frames[self.next];
        self.next = (self.next + 1) % self.frames.len();
        let mut octets = Vec::with_capacity(frame.len());
        for unit in &frame.units {
            self.shaper.push_unit(unit.clone());
            while let Some(shaped) = self.shaper.pull() {
                // Coded anew it may come out larger; then it stays what it was.
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

/// The frames of a stream, and the time from one to the next.
fn frames(stream: &[u8]) -> Result<(Vec<CodedFrame>, TimeDelta), Error> {
    let unfit = |error| Error::Unsupported(format!("live shaping: {error}"));
    let mut remuxer = Remuxer::new(Config::default());
    let mut frames: Vec<CodedFrame> = Vec::new();
    let mut state = SequenceState::new();
    let mut lacks = None;
    let mut unwanted = Vec::new();
    for piece in stream.chunks(1 << 16).chain([&[][..]]) {
        if piece.is_empty() { remuxer.finish() } else { remuxer.push(piece) }.map_err(unfit)?;
        while let Some(picture) = remuxer.poll_picture() {
            let Some(context) = picture.unit.read_headers(&mut state) else {
                // What is no picture goes with the frame before it.
                frames.last_mut().into_iter().for_each(|frame| frame.units.push(picture.unit.clone()));
                remuxer.replace(Replacement::Kept).map_err(unfit)?;
                continue;
            };
            let structure = context.coding.structure;
            match frames.last_mut().filter(|_| lacks == Some(structure)) {
                Some(frame) => {
                    frame.units.push(picture.unit);
                    lacks = None;
                }
                None => {
                    frames.push(CodedFrame { units: vec![picture.unit], kind: context.kind() });
                    lacks = match structure {
                        PictureStructure::TopField => Some(PictureStructure::BottomField),
                        PictureStructure::BottomField => Some(PictureStructure::TopField),
                        PictureStructure::Frame => None,
                    };
                }
            }
            remuxer.replace(Replacement::Kept).map_err(unfit)?;
        }
        remuxer.drain_output(&mut unwanted);
        unwanted.clear();
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
        // Headers are declared anew, as the rate may change: the stream is as long as before.
        assert_eq!(twice.len(), 2 * BIG_BUCK_BUNNY_MPEG2.len());
    }

    /// The rate changes in the middle, and what leaves follows at once.
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
    fn what_it_cannot_play_is_said() {
        assert!(ShapedClip::new(BIG_BUCK_BUNNY_MPEG2, Method::Auto).is_err());
        assert!(ShapedClip::new(BIG_BUCK_BUNNY_MPEG2, Method::Requantize).is_err());
        assert!(ShapedClip::new(b"just words", Method::Memoryless).is_err());
        assert!(ShapedClip::open(Path::new("/nowhere"), Method::Memoryless).is_err());
    }
}
