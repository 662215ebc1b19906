//! The reference frames of the input, by which the motion of pictures is chosen.

use super::picture::PictureShaper;
use crate::decode::prediction_loop::PredictionLoop;
use crate::decode::reconstruct::reconstruct;
use crate::header::{PictureContext, PictureKind};
use crate::picture::Picture;

/// Decodes reference pictures. What is predicted from an unknown frame is unknown too.
#[derive(Debug, Clone, Default)]
pub(super) struct Inputs(PredictionLoop);

impl Inputs {
    /// Decodes the reference pictures among `pictures`, and gives each B picture, and each P picture of a whole frame, the
    /// frames that it is predicted from.
    pub(super) fn decode(&mut self, pictures: &mut [PictureShaper]) {
        for picture in pictures {
            picture.inputs = match &picture.context {
                Some(context) if context.kind() != PictureKind::D => {
                    self.take(context, &picture.parsed, picture.closed_group)
                }
                _ => {
                    *self = Self::default();
                    None
                }
            };
        }
    }

    fn take(
        &mut self,
        context: &PictureContext,
        parsed: &Picture,
        closed_group: bool,
    ) -> Option<PredictionLoop> {
        if context.kind() == PictureKind::B {
            self.0.complete();
            return (self.0.fits(context) && self.0.has_both()).then(|| self.0.clone());
        }
        let is_damaged = parsed.slices.iter().any(|slice| slice.damage.is_some());
        if is_damaged || (context.kind() == PictureKind::P && !self.0.has_newest()) {
            *self = Self::default();
            return None;
        }
        let is_chosen = context.kind() == PictureKind::P && !context.is_field();
        if is_chosen {
            self.0.complete();
        }
        let before = (is_chosen && self.0.fits(context)).then(|| self.0.clone());
        self.0.open(context, closed_group);
        self.0.reconstruct(context, |references, frame| reconstruct(context, parsed, references, frame));
        before
    }
}
