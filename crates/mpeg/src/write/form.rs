//! The form of a macroblock: what its blocks are added to, and which lines they hold.

use crate::decode::predict::Motion;
use crate::header::PictureContext;
use crate::picture::Macroblock;

/// The form of a macroblock of the output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// [`Motion::INTRA`] where it is intra.
    pub(crate) motion: Motion,
    /// `dct_type`: its blocks hold lines of one field.
    pub(crate) field_dct: bool,
}

impl Form {
    /// Of a macroblock of the input.
    pub(crate) fn of(context: &PictureContext, macroblock: &Macroblock) -> Self {
        let motion = if macroblock.is_intra() { Motion::INTRA } else { Motion::of(context, macroblock) };
        Self { motion, field_dct: macroblock.field_dct }
    }

    /// True where both are the same for the same blocks.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.motion.is_as(&other.motion) && self.field_dct == other.field_dct
    }
}
