//! Coarser quantiser scales for a picture.

use crate::header::PictureContext;

/// Maps each `quantiser_scale_code` to a coarser one.
#[derive(Debug)]
pub(super) struct ScaleMap {
    /// By code: the first code whose scale is not below the one wanted, and the share of rows that use it rather than
    /// the code below.
    codes: [(u8, f64); 32],
    /// Every code stays.
    unchanged: bool,
    /// Macroblocks in a row.
    columns: u32,
}

impl ScaleMap {
    /// Multiplies scales by `factor`.
    pub(super) fn new(context: &PictureContext, factor: f64) -> Self {
        let scales = context.quantiser_scales().map(f64::from);
        let coarser = |code: usize| {
            let wanted = scales[code] * factor;
            let above = (code..32).find(|&code| scales[code] >= wanted).unwrap_or(31);
            let share = if above == code {
                1.0
            } else {
                (wanted - scales[above - 1]) / (scales[above] - scales[above - 1])
            };
            (above as u8, share)
        };
        let same = |code: usize| (code as u8, 1.0);
        let unchanged = factor <= 1.0;
        let codes = std::array::from_fn(|code| if unchanged { same(code) } else { coarser(code) });
        Self { codes, unchanged, columns: context.columns as u32 }
    }

    /// The code in place of `code` of the macroblock with an address. Between two scales, rows of macroblocks alternate so that the
    /// mean is right.
    #[inline]
    pub(super) fn of(&self, code: u8, address: u32) -> u8 {
        if self.unchanged {
            return code & 31;
        }
        let row = address / self.columns;
        let (above, share) = self.codes[usize::from(code & 31)];
        // Multiples of the golden ratio are evenly spread for any number of rows.
        let place = f64::from(row.wrapping_mul(0x9e37_79b9)) / 4_294_967_296.0;
        if share > place { above } else { above - 1 }
    }
}
