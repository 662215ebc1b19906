//! The places of macroblocks in their slices, as far as the choice of motion depends on them.

use crate::header::{PictureContext, PictureKind};
use crate::picture::Picture;
use crate::write::form::Form;

/// The place of a macroblock in its slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// It is neither first nor last, and so may be skipped.
    pub(super) is_inner: bool,
    /// Its vectors are predicted as zero, whatever came before: it begins a slice, or in a P picture it is behind skipped ones.
    pub(super) resets: bool,
    /// Macroblocks that are skipped behind it have its motion.
    pub(super) is_repeated: bool,
    /// Its form in the output, where it was chosen before.
    pub(super) known: Option<Form>,
}

impl Place {
    /// The places of all macroblocks of a picture, whose forms are `known` or not.
    pub(super) fn all<'a>(
        context: &'a PictureContext,
        parsed: &'a Picture,
        known: Option<&'a [Form]>,
    ) -> impl Iterator<Item = Self> + use<'a> {
        let in_p = context.kind() == PictureKind::P;
        parsed.slices.iter().flat_map(move |slice| {
            let macroblocks = &parsed.macroblocks[slice.macroblocks.clone()];
            let skips_behind = |at: usize| {
                macroblocks[at..].get(1).is_some_and(|next| next.address > macroblocks[at].address + 1)
            };
            (0..macroblocks.len()).map(move |at| Self {
                is_inner: at > 0 && at + 1 < macroblocks.len(),
                resets: at == 0 || (in_p && skips_behind(at - 1)),
                is_repeated: !in_p && skips_behind(at),
                known: known.map(|known| known[slice.macroblocks.start + at]),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Macroblock, Slice};

    /// A slice with the macroblocks of these addresses, the first of them with the index `first`.
    fn slice(first: usize, count: usize) -> Slice {
        Slice {
            bytes: 0..0,
            quantiser_at: 0,
            quantiser: 1,
            macroblocks_at: 0,
            end: 0,
            macroblocks: first..first + count,
            base_address: -1,
            stuffing: 0,
            damage: None,
        }
    }

    #[test]
    fn skipped_macroblocks_reset_vectors_in_p_and_repeat_them_in_b() {
        let mut context = PictureContext::of_fixture();
        let mut parsed = Picture::default();
        // Two slices; 2 and 3 are skipped in the first one.
        for address in [0, 1, 4, 5, 11, 12] {
            parsed.macroblocks.push(Macroblock { address, ..Macroblock::default() });
        }
        parsed.slices = vec![slice(0, 4), slice(4, 2)];
        let mut of = |kind| {
            context.header.kind = kind;
            let places = Place::all(&context, &parsed, None);
            places
                .map(|place| [place.is_inner, place.resets, place.is_repeated].map(u8::from))
                .collect::<Vec<_>>()
        };
        let in_p = [[0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]];
        let in_b = [[0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]];
        assert_eq!(of(PictureKind::P), in_p);
        assert_eq!(of(PictureKind::B), in_b);
    }
}
