//! Bits as dark and bright cells of a picture, which coarse quantisers and a change of resolution leave readable.

use crate::picture::{PictureBuffer, PlaneView};
use std::ops::Range;

const DARK: u8 = 24;
const BRIGHT: u8 = 232;

/// A grid of cells over a part of a picture. Bits are in rows from the top, in a row from the left.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    /// Columns of samples that the grid covers.
    pub(crate) across: Range<usize>,
    /// Rows of samples that it covers.
    pub(crate) down: Range<usize>,
    /// Cells of a row, and rows of cells.
    pub(crate) grid: (usize, usize),
}

impl Cells {
    /// Columns and rows of samples of the cell of a bit.
    fn cell(&self, bit: usize) -> (Range<usize>, Range<usize>) {
        let edge =
            |range: &Range<usize>, index: usize, count: usize| range.start + index * range.len() / count;
        let (columns, rows) = self.grid;
        let (column, row) = (bit % columns, bit / columns);
        let across = |column| edge(&self.across, column, columns);
        let down = |row| edge(&self.down, row, rows);
        (across(column)..across(column + 1), down(row)..down(row + 1))
    }

    /// Draws the bits, without colour.
    pub(crate) fn draw(&self, buffer: &mut PictureBuffer, bits: impl Iterator<Item = bool>) {
        let [luma, blue, red] = buffer.planes_mut();
        for (bit, is_bright) in bits.enumerate() {
            let (columns, rows) = self.cell(bit);
            let value = if is_bright { BRIGHT } else { DARK };
            rows.for_each(|y| luma.data[y * luma.width..][columns.clone()].fill(value));
        }
        let half = |range: &Range<usize>| range.start / 2..range.end / 2;
        for plane in [blue, red] {
            half(&self.down).for_each(|y| plane.data[y * plane.width..][half(&self.across)].fill(128));
        }
    }

    /// The mean over the middle half of the cell of a bit, away from the blur at its edges.
    pub(crate) fn level(&self, luma: &PlaneView<'_>, bit: usize) -> usize {
        let middle = |range: &Range<usize>| {
            let margin = range.len() / 4;
            range.start + margin..range.end - margin
        };
        let (columns, rows) = self.cell(bit);
        let (columns, rows) = (middle(&columns), middle(&rows));
        let count = columns.len() * rows.len();
        let row_sum = |y: usize| {
            luma.data[y * luma.stride..][columns.clone()].iter().map(|&s| usize::from(s)).sum::<usize>()
        };
        rows.map(row_sum).sum::<usize>() / count.max(1)
    }
}
