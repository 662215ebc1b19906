//! The prediction loop: reference frames, and the frame in the making of which one field may still be lacking.

use super::frame::Frame;
use super::predict::References;
use super::reconstruct::reconstruct;
use crate::header::{PictureContext, PictureKind, PictureStructure};
use crate::picture::{Code, Picture};
use std::sync::Arc;

/// A frame of which at least one field is there.
#[derive(Debug)]
struct Current {
    frame: Frame,
    /// The field it still lacks.
    lacks: Option<PictureStructure>,
    kind: PictureKind,
    concealed: usize,
}

/// A frame with all its fields, or all that came.
#[derive(Debug)]
pub(crate) struct Completed {
    pub(crate) frame: Arc<Frame>,
    pub(crate) kind: PictureKind,
    /// Macroblocks that were missing.
    pub(crate) concealed: usize,
}

/// Where the next picture goes.
#[derive(Debug)]
pub(crate) enum Opened {
    /// It is the second field of the current frame.
    SecondField,
    /// It begins a frame; the one before it, if any, is complete.
    NewFrame(Option<Completed>),
    /// It lacks a reference. The frame before it, if any, is complete.
    Undecodable(Option<Completed>),
}

#[derive(Debug, Default)]
pub(crate) struct PredictionLoop {
    /// The two reference frames, newest last.
    references: [Option<Arc<Frame>>; 2],
    current: Option<Current>,
}

impl PredictionLoop {
    /// Makes room for a picture. In a `closed` group the first B pictures are predicted backward only.
    pub(crate) fn open(&mut self, context: &PictureContext, closed: bool) -> Opened {
        let structure = context.coding.structure;
        if let Some(current) = &mut self.current {
            let pair = (current.kind == PictureKind::B) == (context.kind() == PictureKind::B);
            if current.lacks == Some(structure) && pair && current.frame.fits(context) {
                current.lacks = None;
                return Opened::SecondField;
            }
        }
        let completed = self.complete();
        for reference in &mut self.references {
            reference.take_if(|frame| !frame.fits(context));
        }
        let [older, newer] = &self.references;
        if context.kind() == PictureKind::B && (newer.is_none() || (older.is_none() && !closed)) {
            return Opened::Undecodable(completed);
        }
        self.current = Some(Current {
            frame: Frame::new(context),
            lacks: match structure {
                PictureStructure::TopField => Some(PictureStructure::BottomField),
                PictureStructure::BottomField => Some(PictureStructure::TopField),
                PictureStructure::Frame => None,
            },
            kind: context.kind(),
            concealed: 0,
        });
        Opened::NewFrame(completed)
    }

    /// Calls `act` with what the opened picture is predicted from.
    pub(crate) fn with_references<T>(
        &self,
        context: &PictureContext,
        act: impl FnOnce(&References<'_>) -> T,
    ) -> T {
        let first = self.current.as_ref().filter(|current| context.is_field() && current.lacks.is_none());
        self.with_first_field(context, first.map(|current| &current.frame), act)
    }

    /// The same with the first field given; a missing reference is grey.
    fn with_first_field<T>(
        &self,
        context: &PictureContext,
        first_field: Option<&Frame>,
        act: impl FnOnce(&References<'_>) -> T,
    ) -> T {
        let [older, newer] = &self.references;
        let (forward, backward) = match context.kind() {
            PictureKind::B => (older, newer),
            _ => (newer, newer),
        };
        if let (Some(forward), Some(backward)) = (forward, backward) {
            return act(&References { forward, backward, first_field });
        }
        let grey = Frame::new(context);
        let forward = forward.as_deref().unwrap_or(&grey);
        let backward = backward.as_deref().unwrap_or(&grey);
        act(&References { forward, backward, first_field })
    }

    /// Decodes the opened picture with the codes that `codes_of` gives for each block.
    pub(crate) fn paint<'p>(
        &mut self,
        context: &PictureContext,
        picture: &'p Picture,
        codes_of: impl Fn(usize) -> &'p [Code],
    ) {
        let Some(mut current) = self.current.take() else { return };
        // The second field is predicted from the first, which lies in the frame that it completes.
        let first = (context.is_field() && current.lacks.is_none()).then(|| current.frame.clone());
        current.concealed += self.with_first_field(context, first.as_ref(), |references| {
            reconstruct(context, picture, references, &mut current.frame, codes_of)
        });
        self.current = Some(current);
    }

    /// Closes the current frame, if there is one; it becomes a reference unless it is a B frame.
    pub(crate) fn complete(&mut self) -> Option<Completed> {
        let Current { frame, kind, concealed, .. } = self.current.take()?;
        let frame = Arc::new(frame);
        if kind != PictureKind::B {
            self.references.rotate_left(1);
            self.references[1] = Some(Arc::clone(&frame));
        }
        Some(Completed { frame, kind, concealed })
    }
}
