//! The frame number and a clock as text.

use crate::FrameId;
use crate::picture::{PictureBuffer, PlaneViewMut};
use seaway_units::TimeDelta;

const WIDTH: usize = 3;
const HEIGHT: usize = 5;

/// Digits, colon and point, three columns wide, one row after another from the top.
fn glyph(character: u8) -> [u8; HEIGHT] {
    match character {
        b'0' => [0b111, 0b101, 0b101, 0b101, 0b111],
        b'1' => [0b010, 0b110, 0b010, 0b010, 0b111],
        b'2' => [0b111, 0b001, 0b111, 0b100, 0b111],
        b'3' => [0b111, 0b001, 0b111, 0b001, 0b111],
        b'4' => [0b101, 0b101, 0b111, 0b001, 0b001],
        b'5' => [0b111, 0b100, 0b111, 0b001, 0b111],
        b'6' => [0b111, 0b100, 0b111, 0b101, 0b111],
        b'7' => [0b111, 0b001, 0b010, 0b010, 0b010],
        b'8' => [0b111, 0b101, 0b111, 0b101, 0b111],
        b'9' => [0b111, 0b101, 0b111, 0b001, 0b111],
        b':' => [0b000, 0b010, 0b000, 0b010, 0b000],
        b'.' => [0b000, 0b000, 0b000, 0b000, 0b010],
        _ => [0; HEIGHT],
    }
}

/// Draws `000123 00:00:04.920` over the top left corner, on black.
pub(super) fn burn(buffer: &mut PictureBuffer, id: FrameId, time: TimeDelta) {
    let millis = time.as_millis();
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let clock =
        format!("{:02}:{:02}:{:02}.{millis:03}", seconds / 3600 % 100, seconds / 60 % 60, seconds % 60);
    let text = format!("{:06} {clock}", id.0);
    let [mut luma, ..] = buffer.planes_mut();
    // As large as fits, with at least one pixel a dot.
    let scale = (luma.width / ((WIDTH + 1) * text.len() + 2)).min(luma.height / 40).max(1);
    let panel = ((WIDTH + 1) * text.len() + 1) * scale;
    fill(&mut luma, 0, 0, panel, (HEIGHT + 2) * scale, 16);
    for (position, character) in text.bytes().enumerate() {
        for (row, bits) in glyph(character).into_iter().enumerate() {
            for column in (0..WIDTH).filter(|column| bits >> (WIDTH - 1 - column) & 1 == 1) {
                let left = (position * (WIDTH + 1) + 1 + column) * scale;
                fill(&mut luma, left, (row + 1) * scale, scale, scale, 235);
            }
        }
    }
}

fn fill(plane: &mut PlaneViewMut<'_>, left: usize, top: usize, width: usize, height: usize, value: u8) {
    let columns = left.min(plane.width)..(left + width).min(plane.width);
    for y in top..(top + height).min(plane.height) {
        plane.data[y * plane.width..][columns.clone()].fill(value);
    }
}
