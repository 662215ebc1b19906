//! The prediction loop: the reference frames, and the current frame, which may have one field only.

use super::frame::Frame;
use super::predict::References;
use super::reconstruct::reconstruct;
use crate::header::{PictureContext, PictureKind, PictureStructure};
use crate::picture::{Code, Picture};
use std::sync::Arc;

/// A frame with at least one field.
#[derive(Debug)]
struct Current {
    frame: Frame,
    /// The missing field.
    missing: Option<PictureStructure>,
    kind: PictureKind,
    concealed: usize,
}

/// A frame that is complete, or has all fields that came.
#[derive(Debug)]
pub(crate) struct Completed {
    pub(crate) frame: Arc<Frame>,
    pub(crate) kind: PictureKind,
    /// Number of missing macroblocks.
    pub(crate) concealed: usize,
}

/// How a picture was opened.
#[derive(Debug)]
pub(crate) enum Opened {
    /// It is the second field of the current frame.
    SecondField,
    /// It begins a frame; the frame before, if any, is complete.
    NewFrame(Option<Completed>),
    /// It lacks a reference frame. The frame before, if any, is complete.
    Undecodable(Option<Completed>),
}

#[derive(Debug, Default)]
pub(crate) struct PredictionLoop {
    /// The two reference frames, newest last.
    references: [Option<Arc<Frame>>; 2],
    current: Option<Current>,
}

impl PredictionLoop {
    /// Opens a picture. In a `closed` GOP the first B pictures have backward prediction only.
    pub(crate) fn open(&mut self, context: &PictureContext, closed: bool) -> Opened {
        let structure = context.coding.structure;
        if let Some(current) = &mut self.current {
            let pair = (current.kind == PictureKind::B) == (context.kind() == PictureKind::B);
            if current.missing == Some(structure) && pair && current.frame.fits(context) {
                current.missing = None;
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
            missing: match structure {
                PictureStructure::TopField => Some(PictureStructure::BottomField),
                PictureStructure::BottomField => Some(PictureStructure::TopField),
                PictureStructure::Frame => None,
            },
            kind: context.kind(),
            concealed: 0,
        });
        Opened::NewFrame(completed)
    }

    /// Calls `act` with the references of the opened picture.
    pub(crate) fn with_references<T>(
        &self,
        context: &PictureContext,
        act: impl FnOnce(&References<'_>) -> T,
    ) -> T {
        let first = self.current.as_ref().filter(|current| context.is_field() && current.missing.is_none());
        self.with_first_field(context, first.map(|current| &current.frame), act)
    }

    /// The same with the first field given. A missing reference frame is grey.
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
    pub(crate) fn reconstruct<'p>(
        &mut self,
        context: &PictureContext,
        picture: &'p Picture,
        codes_of: impl Fn(usize) -> &'p [Code],
    ) {
        let Some(mut current) = self.current.take() else { return };
        // The second field may be predicted from the first, which is in the same frame.
        let first = (context.is_field() && current.missing.is_none()).then(|| current.frame.clone());
        current.concealed += self.with_first_field(context, first.as_ref(), |references| {
            reconstruct(context, picture, references, &mut current.frame, codes_of)
        });
        self.current = Some(current);
    }

    /// Completes the current frame, if there is one. It becomes a reference frame unless it is a B frame.
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
