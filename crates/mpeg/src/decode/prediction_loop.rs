//! The prediction loop: the reference frames, and the current frame, which may have one field only.

use super::frame::{Frame, Sample};
use super::predict::References;
use crate::header::{PictureContext, PictureKind, PictureStructure};
use std::sync::Arc;

/// A frame with at least one field.
#[derive(Debug, Clone)]
struct Current<S> {
    frame: Frame<S>,
    /// The missing field.
    missing: Option<PictureStructure>,
    kind: PictureKind,
    concealed: usize,
}

/// A frame that is complete, or has all fields that came.
#[derive(Debug)]
pub(crate) struct Completed<S = u8> {
    pub(crate) frame: Arc<Frame<S>>,
    pub(crate) kind: PictureKind,
    /// Number of missing macroblocks.
    pub(crate) concealed: usize,
}

/// How a picture was opened.
#[derive(Debug)]
pub(crate) enum Opened<S = u8> {
    /// It is the second field of the current frame.
    SecondField,
    /// It begins a frame; the frame before, if any, is complete.
    NewFrame(Option<Completed<S>>),
    /// It lacks a reference frame. The frame before, if any, is complete.
    Undecodable(Option<Completed<S>>),
}

#[derive(Debug, Clone)]
pub(crate) struct PredictionLoop<S = u8> {
    /// The two reference frames, newest last.
    references: [Option<Arc<Frame<S>>>; 2],
    current: Option<Current<S>>,
}

impl<S> Default for PredictionLoop<S> {
    fn default() -> Self {
        Self { references: [None, None], current: None }
    }
}

impl<S: Sample> PredictionLoop<S> {
    /// Opens a picture. In a `closed` GOP the first B pictures have backward prediction only.
    pub(crate) fn open(&mut self, context: &PictureContext, closed: bool) -> Opened<S> {
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

    /// True where a picture of this context can be predicted from the reference frames that are there; one is, at least.
    pub(crate) fn fits(&self, context: &PictureContext) -> bool {
        let [older, newer] = &self.references;
        let fits = |frame: &Arc<Frame<S>>| frame.fits(context);
        newer.as_ref().is_some_and(fits) && older.as_ref().is_none_or(fits)
    }

    /// Reference frames that are not known are those behind `before`.
    pub(crate) fn follow_on(&mut self, before: &Self) {
        let [older, newer] = &before.references;
        let [older, newer] = match &before.current {
            Some(current) if current.kind != PictureKind::B => {
                [newer.clone(), Some(Arc::new(current.frame.clone()))]
            }
            _ => [older.clone(), newer.clone()],
        };
        match &mut self.references {
            references @ [None, None] => *references = [older, newer],
            [unknown @ None, _] => *unknown = newer,
            _ => {}
        }
    }

    /// True where there are two reference frames.
    pub(crate) fn has_both(&self) -> bool {
        self.references.iter().all(Option::is_some)
    }

    /// True where there is a frame from which a P picture is predicted.
    pub(crate) fn has_newest(&self) -> bool {
        self.current.is_some() || self.references[1].is_some()
    }

    /// The newest reference frame.
    #[cfg(test)]
    pub(crate) fn newest(&self) -> Option<Arc<Frame<S>>> {
        self.references[1].clone()
    }

    /// Calls `act` with the references of the opened picture.
    pub(crate) fn with_references<T>(
        &self,
        context: &PictureContext,
        act: impl FnOnce(&References<'_, S>) -> T,
    ) -> T {
        let first = self.current.as_ref().filter(|current| context.is_field() && current.missing.is_none());
        self.with_first_field(context, first.map(|current| &current.frame), act)
    }

    /// The same with the first field given. A missing reference frame is neutral.
    fn with_first_field<T>(
        &self,
        context: &PictureContext,
        first_field: Option<&Frame<S>>,
        act: impl FnOnce(&References<'_, S>) -> T,
    ) -> T {
        let [older, newer] = &self.references;
        let (forward, backward) = match context.kind() {
            PictureKind::B => (older, newer),
            _ => (newer, newer),
        };
        if let (Some(forward), Some(backward)) = (forward, backward) {
            return act(&References { forward, backward, first_field });
        }
        let neutral = Frame::new(context);
        let forward = forward.as_deref().unwrap_or(&neutral);
        let backward = backward.as_deref().unwrap_or(&neutral);
        act(&References { forward, backward, first_field })
    }

    /// Fills the opened picture by `reconstruct`, which returns the number of missing macroblocks.
    pub(crate) fn reconstruct(
        &mut self,
        context: &PictureContext,
        reconstruct: impl FnOnce(&References<'_, S>, &mut Frame<S>) -> usize,
    ) {
        let Some(mut current) = self.current.take() else { return };
        // The second field may be predicted from the first, which is in the same frame.
        let first = (context.is_field() && current.missing.is_none()).then(|| current.frame.clone());
        current.concealed += self.with_first_field(context, first.as_ref(), |references| {
            reconstruct(references, &mut current.frame)
        });
        self.current = Some(current);
    }

    /// Completes the current frame, if there is one. It becomes a reference frame unless it is a B frame.
    pub(crate) fn complete(&mut self) -> Option<Completed<S>> {
        let Current { frame, kind, concealed, .. } = self.current.take()?;
        let frame = Arc::new(frame);
        if kind != PictureKind::B {
            self.references.rotate_left(1);
            self.references[1] = Some(Arc::clone(&frame));
        }
        Some(Completed { frame, kind, concealed })
    }
}
