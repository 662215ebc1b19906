//! The decoder: bytes in, frames out in display order.

use super::frame::Frame;
use super::predict::References;
use super::reconstruct::reconstruct;
use crate::header::{PictureContext, PictureKind, PictureStructure, SequenceState};
use crate::picture::Picture;
use crate::unit::{AccessUnit, Splitter};
use std::collections::VecDeque;
use std::sync::Arc;

/// A frame to show.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// Its samples.
    pub frame: Arc<Frame>,
    /// Coding type of its first picture.
    pub kind: PictureKind,
    /// `top_field_first`
    pub top_field_first: bool,
    /// `repeat_first_field`
    pub repeat_first_field: bool,
    /// `progressive_frame`
    pub progressive: bool,
    /// Macroblocks that were missing or damaged, and were taken from the frame before.
    pub concealed: usize,
}

/// What a decoder has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecoderStats {
    /// Frames handed out or held for display.
    pub frames: u64,
    /// Pictures left out: headers missing or unknown, too large, or B pictures without both references.
    pub skipped_pictures: u64,
    /// Slices that could not be read to their end.
    pub damaged_slices: u64,
}

/// A frame of which at least one field is there.
#[derive(Debug)]
struct Current {
    frame: Frame,
    /// The field it still lacks.
    lacks: Option<PictureStructure>,
    shown: Decoding,
}

/// What [`Decoded`] says beside the samples.
#[derive(Debug, Clone, Copy)]
struct Decoding {
    kind: PictureKind,
    top_field_first: bool,
    repeat_first_field: bool,
    progressive: bool,
    concealed: usize,
}

/// Decodes MPEG-1 and MPEG-2 video (4:2:0, 4:2:2 and 4:4:4, frames and fields).
///
/// Feed it with [`Decoder::push`], drain [`Decoder::pull`]; after the last bytes call [`Decoder::finish`] and
/// drain again. Frames come in display order; a reference frame waits until the next one arrives.
#[derive(Debug, Default)]
pub struct Decoder {
    splitter: Splitter,
    state: SequenceState,
    picture: Picture,
    /// The two reference frames, newest last.
    references: [Option<Arc<Frame>>; 2],
    current: Option<Current>,
    /// The newest reference frame, until it is its turn.
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

    /// Says that the stream has ended: every frame may be shown.
    pub fn finish(&mut self) {
        self.splitter.finish();
        self.decode_waiting();
        self.flush();
    }

    /// Says that no picture follows, where units are decoded one by one.
    pub fn flush(&mut self) {
        self.complete();
        self.ready.extend(self.held.take());
    }

    /// The next frame in display order.
    pub fn pull(&mut self) -> Option<Decoded> {
        self.ready.pop_front()
    }

    /// What was met so far.
    pub fn stats(&self) -> DecoderStats {
        self.stats
    }

    fn decode_waiting(&mut self) {
        while let Some(unit) = self.splitter.pull() {
            self.decode_unit(&unit);
        }
    }

    /// Decodes one access unit; for callers that cut the stream themselves.
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
            self.paint(context, &picture);
        } else {
            self.stats.skipped_pictures += 1;
        }
        self.picture = picture;
    }

    /// Makes `current` the frame that this picture belongs to; false where it cannot be decoded.
    fn open(&mut self, context: &PictureContext) -> bool {
        let structure = context.coding.structure;
        if let Some(current) = &mut self.current {
            let pair = (current.shown.kind == PictureKind::B) == (context.kind() == PictureKind::B);
            if current.lacks == Some(structure) && pair && current.frame.fits(context) {
                current.lacks = None;
                return true;
            }
        }
        self.complete();
        for reference in &mut self.references {
            reference.take_if(|frame| !frame.fits(context));
        }
        // In a closed group the first B pictures are predicted backward only.
        let closed = self.state.group().is_some_and(|group| group.closed);
        let [older, newer] = &self.references;
        if context.kind() == PictureKind::B && (newer.is_none() || (older.is_none() && !closed)) {
            return false;
        }
        let coding = &context.coding;
        self.current = Some(Current {
            frame: Frame::new(context),
            lacks: match structure {
                PictureStructure::TopField => Some(PictureStructure::BottomField),
                PictureStructure::BottomField => Some(PictureStructure::TopField),
                PictureStructure::Frame => None,
            },
            shown: Decoding {
                kind: context.kind(),
                top_field_first: coding.top_field_first || structure == PictureStructure::TopField,
                repeat_first_field: coding.repeat_first_field,
                progressive: coding.progressive_frame,
                concealed: 0,
            },
        });
        true
    }

    fn paint(&mut self, context: &PictureContext, picture: &Picture) {
        let Some(current) = &mut self.current else { return };
        let second_field = context.is_field() && current.lacks.is_none();
        let first_field = second_field.then(|| current.frame.clone());
        let [older, newer] = &self.references;
        let (forward, backward) = match context.kind() {
            PictureKind::B => (older, newer),
            _ => (newer, newer),
        };
        // Without a reference, what is missing stays grey.
        let grey = forward.is_none().then(|| Frame::new(context));
        let (Some(forward), Some(backward)) =
            (forward.as_deref().or(grey.as_ref()), backward.as_deref().or(grey.as_ref()))
        else {
            return;
        };
        let references = References { forward, backward, first_field: first_field.as_ref() };
        current.shown.concealed += reconstruct(context, picture, &references, &mut current.frame, |index| {
            picture.codes_of(&picture.blocks[index])
        });
    }

    /// Closes the current frame, if there is one, and decides when it is shown.
    fn complete(&mut self) {
        let Some(Current { frame, shown, .. }) = self.current.take() else { return };
        let frame = Arc::new(frame);
        self.stats.frames += 1;
        let decoded = Decoded {
            frame: Arc::clone(&frame),
            kind: shown.kind,
            top_field_first: shown.top_field_first,
            repeat_first_field: shown.repeat_first_field,
            progressive: shown.progressive,
            concealed: shown.concealed,
        };
        if shown.kind == PictureKind::B {
            self.ready.push_back(decoded);
        } else {
            self.references.rotate_left(1);
            self.references[1] = Some(frame);
            self.ready.extend(self.held.replace(decoded));
        }
    }
}
