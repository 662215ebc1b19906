//! A synthetic moving scene: `test:1280x720@25`.

mod code;
mod text;

pub use code::read_code;

use super::{PictureFormat, PictureSource};
use crate::{Error, FrameId, FrameRate, Picture, PictureBuffer, PicturePool, PictureSize};
use seaway_units::TimeDelta;

/// A scene with motion of several speeds, fine texture and sharp edges. The frame number and a clock are burnt in as text,
/// and the frame number as a code that [`read_code`] reads after any encoder. It never ends, and picture N is the same in
/// every run.
#[derive(Debug)]
pub struct Synthetic {
    format: PictureFormat,
    next: u64,
    pool: PicturePool,
}

impl Synthetic {
    /// A scene of this size and rate.
    pub fn new(format: PictureFormat) -> Self {
        Self { format, next: 0, pool: PicturePool::new(format.size) }
    }

    /// The end of a specification with sound, see [`audio::TestTone`](crate::audio::TestTone).
    pub(crate) const TONE: &str = "+tone";

    /// Parses the text behind `test:`: a size, and a rate behind `@`. Both are optional (1280x720, 25). An end `+tone` is passed
    /// over: it stands for sound.
    ///
    /// # Errors
    /// [`Error::Specification`] or [`Error::Size`].
    pub fn from_specification(text: &str) -> Result<Self, Error> {
        let malformed = || Error::Specification {
            found: format!("test:{text}"),
            expected: "test:WIDTHxHEIGHT@RATE, for example test:1280x720@25",
        };
        let text = text.strip_suffix(Self::TONE).unwrap_or(text);
        let (size, rate) = text.split_once('@').unwrap_or((text, "25"));
        let (width, height) = match size {
            "" => (1280, 720),
            size => {
                let (width, height) = size.split_once('x').ok_or_else(malformed)?;
                (width.parse().map_err(|_| malformed())?, height.parse().map_err(|_| malformed())?)
            }
        };
        let (numerator, denominator) = rate.split_once('/').unwrap_or((rate, "1"));
        let frame_rate = numerator.parse().ok().zip(denominator.parse().ok());
        let frame_rate = frame_rate.and_then(|(n, d)| FrameRate::new(n, d)).ok_or_else(malformed)?;
        Ok(Self::new(PictureFormat { size: PictureSize::new(width, height)?, frame_rate }))
    }

    fn draw(&self, buffer: &mut PictureBuffer, id: FrameId, time: TimeDelta) {
        let phase = id.0;
        let [luma, blue, red] = buffer.planes_mut();
        let (width, height) = (luma.width, luma.height);
        for (y, row) in luma.data.chunks_exact_mut(width).enumerate() {
            background(row, y, height, phase);
        }
        for (plane, direction) in [(blue, 1), (red, 3)] {
            for (y, row) in plane.data.chunks_exact_mut(plane.width).enumerate() {
                for (x, sample) in row.iter_mut().enumerate() {
                    let wave =
                        triangle((x + y * direction) as u64 * 512 / width as u64 + phase * direction as u64);
                    *sample = 96 + wave / 4;
                }
            }
        }
        disc(buffer, phase);
        text::burn(buffer, id, time);
        code::burn(buffer, id);
    }
}

/// One row of luma: a slow diagonal gradient, and below the middle a band of fine texture that moves faster.
fn background(row: &mut [u8], y: usize, height: usize, phase: u64) {
    let textured = y * 2 > height && y * 3 < height * 2;
    let y = y as u64;
    for (x, sample) in row.iter_mut().enumerate() {
        let x = x as u64;
        let slope = triangle((x + 2 * y) / 4 + phase) / 2 + 48;
        let grain = if textured { grain(x + 3 * phase, y) } else { 0 };
        *sample = slope + grain;
    }
}

/// 0 to 255 and back, period 512.
fn triangle(at: u64) -> u8 {
    let at = at % 512;
    (if at < 256 { at } else { 511 - at }) as u8
}

/// Deterministic texture that looks random: 0 to 31 by position.
fn grain(x: u64, y: u64) -> u8 {
    let mixed = (x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ y.wrapping_mul(0xC2B2_AE3D_27D4_EB4F))
        .wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed >> 59) as u8
}

/// A bright disc that bounces at the edges.
fn disc(buffer: &mut PictureBuffer, phase: u64) {
    let [luma, ..] = buffer.planes_mut();
    let (width, height) = (luma.width as u64, luma.height as u64);
    let radius = (height / 8).max(2);
    let bounce = |span: u64, step: u64| {
        let at = (phase * step) % (2 * span);
        if at < span { at } else { 2 * span - at }
    };
    let centre_x = radius + bounce(width.saturating_sub(2 * radius).max(1), width / 160 + 1);
    let centre_y = radius + bounce(height.saturating_sub(2 * radius).max(1), height / 120 + 1);
    for y in centre_y.saturating_sub(radius)..(centre_y + radius).min(height) {
        for x in centre_x.saturating_sub(radius)..(centre_x + radius).min(width) {
            let (dx, dy) = (x.abs_diff(centre_x), y.abs_diff(centre_y));
            if dx * dx + dy * dy < radius * radius {
                luma.data[(y * width + x) as usize] = 224 - (dx + dy) as u8 % 16;
            }
        }
    }
}

impl PictureSource for Synthetic {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let id = FrameId(self.next);
        let time = self.format.frame_rate.time_of(self.next);
        self.next += 1;
        let mut buffer = self.pool.take();
        self.draw(&mut buffer, id, time);
        Ok(Some(buffer.finish(id, time)))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.next = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(specification: &str, index: u64) -> Picture {
        let mut source = Synthetic::from_specification(specification).unwrap();
        source.next = index;
        source.next_picture().unwrap().unwrap()
    }

    #[test]
    fn specification() {
        let format = Synthetic::from_specification("").unwrap().format();
        assert_eq!(
            (format.size.to_string(), format.frame_rate.to_string()),
            ("1280x720".into(), "25".into())
        );
        let format = Synthetic::from_specification("320x180@30000/1001").unwrap().format();
        assert_eq!(
            (format.size.to_string(), format.frame_rate.to_string()),
            ("320x180".into(), "30000/1001".into())
        );
        for wrong in ["320", "320x", "x@", "15x15", "320x180@0", "320x180@", "320x180@25/0", "99999x180"] {
            assert!(Synthetic::from_specification(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_code_carries_the_frame_number_at_every_size() {
        for size in ["16x16", "160x90", "352x288", "1280x720", "90x160"] {
            for index in [0, 1, 2, 1000, 0xFF_FFFF, 0x123_4567] {
                let picture = picture(size, index);
                assert_eq!(read_code(&picture.luma()), Some(index as u32 & 0xFF_FFFF), "{size} {index}");
            }
        }
    }

    #[test]
    fn consecutive_pictures_differ_and_repeat() {
        let (first, second) = (picture("160x90", 7), picture("160x90", 8));
        assert_ne!(first.luma().data, second.luma().data);
        assert_eq!(first.luma().data, picture("160x90", 7).luma().data);
    }

    #[test]
    fn a_picture_without_code_has_none() {
        let pool = PicturePool::new(PictureSize::new(160, 90).unwrap());
        let mut buffer = pool.take();
        for value in [0, 128, 255] {
            buffer.bytes_mut().fill(value);
            let [luma, ..] = buffer.planes_mut();
            let view = crate::PlaneView {
                data: luma.data,
                stride: luma.width,
                width: luma.width,
                height: luma.height,
            };
            assert_eq!(read_code(&view), None, "grey {value}");
        }
    }
}
