//! The decoder: bytes in, frames out in display order.

use super::frame::Frame;
use super::prediction_loop::{Completed, Opened, PredictionLoop};
use super::reconstruct::reconstruct;
use crate::header::{PictureContext, PictureKind, SequenceState};
use crate::picture::Picture;
use crate::unit::{AccessUnit, Splitter};
use std::collections::VecDeque;
use std::sync::Arc;

/// A decoded frame.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// Its samples.
    pub frame: Arc<Frame>,
    /// Coding type of its first picture.
    pub kind: PictureKind,
    /// Macroblocks that were missing or damaged, and were copied from the reference frame.
    pub concealed: usize,
}

/// Counts of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecoderStats {
    /// Frames output, or held for reordering.
    pub frames: u64,
    /// Pictures not decoded: headers missing or unknown, too large, or a B picture without its references.
    pub skipped_pictures: u64,
    /// Slices that could not be read completely.
    pub damaged_slices: u64,
}

/// Decodes MPEG-1 and MPEG-2 video (4:2:0, 4:2:2 and 4:4:4, frames and fields).
///
/// Feed it with [`Decoder::push`] and drain [`Decoder::pull`]. After the last bytes call [`Decoder::finish`] and drain
/// again. Frames come in display order, so a reference frame is held until the next one arrives.
#[derive(Debug, Default)]
pub struct Decoder {
    splitter: Splitter,
    state: SequenceState,
    picture: Picture,
    prediction: PredictionLoop,
    /// The newest reference frame, held for reordering.
    held: Option<Decoded>,
    ready: VecDeque<Decoded>,
    stats: DecoderStats,
}

/// The largest frame that is decoded, in samples.
const LARGEST_FRAME: usize = 1 << 26;

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.splitter.push(bytes);
        self.decode_waiting();
    }

    /// The stream has ended: outputs all frames.
    pub fn finish(&mut self) {
        self.splitter.finish();
        self.decode_waiting();
        self.flush();
    }

    /// Outputs all frames, where units are decoded one by one and no more follow.
    pub fn flush(&mut self) {
        let completed = self.prediction.complete();
        self.output(completed);
        self.ready.extend(self.held.take());
    }

    /// The next frame in display order.
    pub fn pull(&mut self) -> Option<Decoded> {
        self.ready.pop_front()
    }

    /// Counts so far.
    pub fn stats(&self) -> DecoderStats {
        self.stats
    }

    fn decode_waiting(&mut self) {
        while let Some(unit) = self.splitter.pull() {
            self.decode_unit(&unit);
        }
    }

    /// Decodes one access unit of a stream that the caller has split.
    pub fn decode_unit(&mut self, unit: &AccessUnit) {
        let context = unit.read_headers(&mut self.state);
        let sound = |context: &PictureContext| context.columns * context.rows * 256 <= LARGEST_FRAME;
        match context.filter(sound) {
            Some(context) => self.decode_picture(unit, &context),
            None => self.stats.skipped_pictures += u64::from(unit.has_picture()),
        }
    }

    fn decode_picture(&mut self, unit: &AccessUnit, context: &PictureContext) {
        let mut picture = std::mem::take(&mut self.picture);
        unit.read_slices(context, &mut picture);
        self.stats.damaged_slices +=
            picture.slices.iter().filter(|slice| slice.damage.is_some()).count() as u64;
        if self.open(context) {
            self.prediction
                .reconstruct(context, |references, frame| reconstruct(context, &picture, references, frame));
        } else {
            self.stats.skipped_pictures += 1;
        }
        self.picture = picture;
    }

    /// Opens a picture; false where it cannot be decoded.
    fn open(&mut self, context: &PictureContext) -> bool {
        let closed = self.state.group().is_some_and(|group| group.closed);
        match self.prediction.open(context, closed) {
            Opened::SecondField => true,
            Opened::NewFrame(before) => {
                self.output(before);
                true
            }
            Opened::Undecodable(before) => {
                self.output(before);
                false
            }
        }
    }

    /// Outputs a complete frame in display order.
    fn output(&mut self, completed: Option<Completed>) {
        let Some(Completed { frame, kind, concealed }) = completed else { return };
        self.stats.frames += 1;
        let decoded = Decoded { frame, kind, concealed };
        if kind == PictureKind::B {
            self.ready.push_back(decoded);
        } else {
            self.ready.extend(self.held.replace(decoded));
        }
    }
}
