//! The frame number as a pattern that coarse quantisers and a change of resolution leave readable.

use crate::FrameId;
use crate::picture::{PictureBuffer, PlaneView};

/// Cells of a row; there are two rows at the bottom of the picture.
const COLUMNS: usize = 16;
/// The two rows together have this fraction of the picture's height.
const PART: usize = 8;
const DARK: u8 = 24;
const BRIGHT: u8 = 232;

/// 24 bits of number, then 8 bits of check, most significant first.
fn word(id: FrameId) -> u32 {
    let number = (id.0 & 0xFF_FFFF) as u32;
    number << 8 | u32::from(check(number))
}

/// CRC-8 (polynomial 0x07, initially all ones), so that neither a black nor a white picture is valid.
fn check(number: u32) -> u8 {
    number.to_be_bytes()[1..].iter().fold(0xFF_u8, |crc, octet| {
        (0..8).fold(crc ^ octet, |crc, _| if crc & 0x80 != 0 { crc << 1 ^ 0x07 } else { crc << 1 })
    })
}

/// Columns and rows of the cell of a bit.
fn cell(bit: usize, width: usize, height: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let (column, row) = (bit % COLUMNS, bit / COLUMNS);
    let top = height - height / PART;
    let edge = |row: usize| top + row * (height - top) / 2;
    (column * width / COLUMNS..(column + 1) * width / COLUMNS, edge(row)..edge(row + 1))
}

/// Draws the code of a frame at the bottom of its picture.
pub(super) fn burn(buffer: &mut PictureBuffer, id: FrameId) {
    let word = word(id);
    let [luma, blue, red] = buffer.planes_mut();
    let (width, height) = (luma.width, luma.height);
    for bit in 0..32 {
        let value = if word >> (31 - bit) & 1 == 1 { BRIGHT } else { DARK };
        let (columns, rows) = cell(bit, width, height);
        for y in rows {
            luma.data[y * width..][columns.clone()].fill(value);
        }
    }
    let top = (height - height / PART) / 2;
    for plane in [blue, red] {
        plane.data[top * plane.width..].fill(128);
    }
}

/// The frame number, modulo 2^24, that [`Synthetic`](super::Synthetic) has burnt into a picture. `None` where there is
/// none, or its checksum is wrong.
pub fn read_code(luma: &PlaneView<'_>) -> Option<u32> {
    if luma.width < COLUMNS || luma.height < 2 * PART {
        return None;
    }
    let word = (0..32).fold(0_u32, |word, bit| {
        let (columns, rows) = cell(bit, luma.width, luma.height);
        word << 1 | u32::from(mean_of_middle(luma, columns, rows) >= 128)
    });
    let number = word >> 8;
    (check(number) == word as u8).then_some(number)
}

/// The mean over the middle half of a cell, away from the blur at its edges.
fn mean_of_middle(
    luma: &PlaneView<'_>,
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
) -> usize {
    let middle = |range: &std::ops::Range<usize>| {
        let margin = range.len() / 4;
        range.start + margin..range.end - margin
    };
    let (columns, rows) = (middle(&columns), middle(&rows));
    let count = columns.len() * rows.len();
    let row_sum = |y: usize| {
        luma.data[y * luma.stride..][columns.clone()].iter().map(|&s| usize::from(s)).sum::<usize>()
    };
    rows.map(row_sum).sum::<usize>() / count.max(1)
}
