//! The frame number as a pattern that coarse quantisers and a change of resolution leave readable.

use crate::FrameId;
use crate::cells::Cells;
use crate::picture::{PictureBuffer, PlaneView};

/// Cells of a row; there are two rows at the bottom of the picture.
const COLUMNS: usize = 16;
/// The two rows together have this fraction of the picture's height.
const PART: usize = 8;

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

/// Where the code is.
fn cells(width: usize, height: usize) -> Cells {
    Cells { across: 0..width, down: height - height / PART..height, grid: (COLUMNS, 2) }
}

/// Draws the code of a frame at the bottom of its picture.
pub(super) fn burn(buffer: &mut PictureBuffer, id: FrameId) {
    let word = word(id);
    let size = buffer.size();
    let cells = cells(size.width() as usize, size.height() as usize);
    cells.draw(buffer, (0..32).map(|bit| word >> (31 - bit) & 1 == 1));
}

/// The frame number, modulo 2^24, that [`Synthetic`](super::Synthetic) has burnt into a picture. `None` where there is
/// none, or its checksum is wrong.
pub fn read_code(luma: &PlaneView<'_>) -> Option<u32> {
    if luma.width < COLUMNS || luma.height < 2 * PART {
        return None;
    }
    let cells = cells(luma.width, luma.height);
    let word = (0..32).fold(0_u32, |word, bit| word << 1 | u32::from(cells.level(luma, bit) >= 128));
    let number = word >> 8;
    (check(number) == word as u8).then_some(number)
}
