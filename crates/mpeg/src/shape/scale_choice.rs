//! The quantiser scales that a macroblock of a closed loop may have: that which suits lambda, the next coarser ones, the one in force, and that of the
//! input. Its levels were quantised before, and how well another scale suits them differs from macroblock to macroblock.

use crate::header::{PictureContext, PictureKind};
use crate::picture::Macroblock;

/// Bits of a scale that is not in force: `quantiser_scale_code`, and what the type takes more than without one. That is one bit in I pictures
/// (13818-2, table B.2), and four for the most frequent type of P pictures (table B.3); in B pictures it is two to four.
const SWITCH_IN_I: f32 = 5.0 + 1.0;
const SWITCH: f32 = 5.0 + 4.0;

/// Follows the scale that is in force in the output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScaleChoice {
    /// The code, and the row of macroblocks in which it was sent.
    last: Option<(u8, usize)>,
}

impl ScaleChoice {
    /// Codes to try beside `usual`, each once; none where that is the one of the input, at which levels that stay have no new error. Of I
    /// pictures a finer one too.
    pub(super) fn others(
        self,
        context: &PictureContext,
        macroblock: &Macroblock,
        usual: u8,
    ) -> impl Iterator<Item = u8> + use<> {
        let finer = usual.saturating_sub(u8::from(context.kind() == PictureKind::I));
        let last = self.last.map_or(usual, |(last, _)| last);
        let all = [finer, (usual + 1).min(31), last, macroblock.quantiser];
        let is_kept = usual == macroblock.quantiser;
        let mut tried = if is_kept { u32::MAX } else { 1 | 1 << usual };
        all.into_iter().filter(move |&code| {
            let is_new = tried >> code & 1 == 0;
            tried |= 1 << code;
            is_new
        })
    }

    /// Bits that `code` takes in a macroblock with coded blocks. The header of a slice has one, and a row begins with a slice in MPEG-2.
    pub(super) fn bits(self, context: &PictureContext, macroblock: &Macroblock, code: u8) -> f32 {
        match self.last {
            Some((last, row)) if last != code && row == row_of(context, macroblock) => {
                if context.kind() == PictureKind::I { SWITCH_IN_I } else { SWITCH }
            }
            _ => 0.0,
        }
    }

    /// A macroblock with coded blocks has this code.
    pub(super) fn take(&mut self, context: &PictureContext, macroblock: &Macroblock, code: u8) {
        self.last = Some((code, row_of(context, macroblock)));
    }
}

fn row_of(context: &PictureContext, macroblock: &Macroblock) -> usize {
    macroblock.address as usize / context.columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scale_is_tried_once_and_costs_bits_where_it_changes() {
        let mut context = PictureContext::of_fixture();
        context.columns = 10;
        context.header.kind = PictureKind::P;
        let at = |address, quantiser| Macroblock { address, quantiser, ..Macroblock::default() };
        let mut choice = ScaleChoice::default();
        let others = |choice: ScaleChoice, context: &PictureContext, macroblock: &Macroblock, usual| {
            choice.others(context, macroblock, usual).collect::<Vec<_>>()
        };
        assert_eq!(others(choice, &context, &at(0, 4), 6), [7, 4]);
        assert_eq!(choice.bits(&context, &at(0, 4), 6), 0.0);
        choice.take(&context, &at(0, 4), 7);
        assert_eq!(others(choice, &context, &at(1, 4), 6), [7, 4]);
        assert_eq!(others(choice, &context, &at(1, 30), 31), [7, 30]);
        assert!(others(choice, &context, &at(1, 6), 6).is_empty());
        assert_eq!([6, 7].map(|code| choice.bits(&context, &at(1, 6), code)), [9.0, 0.0]);
        // The next row begins with a slice.
        assert_eq!(choice.bits(&context, &at(10, 6), 6), 0.0);
        context.header.kind = PictureKind::I;
        assert_eq!(others(choice, &context, &at(1, 4), 6), [5, 7, 4]);
        // There is no code 0.
        assert_eq!(others(choice, &context, &at(1, 3), 1), [2, 7, 3]);
        assert_eq!(choice.bits(&context, &at(1, 4), 6), 6.0);
    }
}
