//! The stamp in a picture: a counter and the time of day of its capture, which can be read from the picture.
//! docs/stamp.md has its form.

use crate::Error;
use crate::cells::Cells;
use crate::picture::{Picture, PictureBuffer, PicturePool, PictureSize, PlaneView};
use seaway_units::TimeDelta;
use std::time::Duration;

/// Cells of a row, and rows.
const GRID: (usize, usize) = (16, 4);
/// The grid covers this part of the picture's width, at its right, and of its height, at its top.
const PARTS: (usize, usize) = (4, 8);
/// Bright cells are so much above dark ones at least, or there is no stamp.
const CONTRAST: usize = 40;

/// What is written into a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Counts the pictures of the sender, modulo 2^16.
    pub counter: u16,
    /// When the picture was captured, in milliseconds since 1970 (UTC), modulo 2^32: 49.7 days.
    pub millis: u32,
}

impl Stamp {
    /// A stamp of the time of day `since_1970`.
    pub const fn new(counter: u16, since_1970: Duration) -> Self {
        Self { counter, millis: since_1970.as_millis() as u32 }
    }

    /// The time since the stamp was made, by the clock that says `since_1970` now. It is below zero where that clock is behind
    /// the one of the stamp.
    pub fn age(self, since_1970: Duration) -> TimeDelta {
        // The low bits of the difference are those of the true one, if that is within 24 days.
        let millis = (since_1970.as_millis() as u32).wrapping_sub(self.millis) as i32;
        TimeDelta::from_millis(i64::from(millis))
            + TimeDelta::from_nanos(i64::from(since_1970.subsec_nanos() % 1_000_000))
    }

    /// Reads the stamp of a picture. `None` where there is none, or it cannot be read.
    pub fn read(luma: &PlaneView<'_>) -> Option<Self> {
        let cells = cells(luma.width, luma.height)?;
        let levels: [usize; BITS] = std::array::from_fn(|bit| cells.level(luma, bit));
        let (dark, bright) = (levels.iter().min()?, levels.iter().max()?);
        let middle = dark.midpoint(*bright);
        // Every cell is clearly one or the other.
        if levels.iter().any(|level| level.abs_diff(middle) < CONTRAST / 2) {
            return None;
        }
        let word = levels.iter().fold(0_u64, |word, &level| word << 1 | u64::from(level > middle));
        let stamp = Self { counter: (word >> 48) as u16, millis: (word >> 16) as u32 };
        (stamp.word() == word).then_some(stamp)
    }

    /// Draws the stamp.
    fn draw(self, buffer: &mut PictureBuffer) {
        let (size, word) = (buffer.size(), self.word());
        if let Some(cells) = cells(size.width() as usize, size.height() as usize) {
            cells.draw(buffer, (0..BITS).map(|bit| word >> (BITS - 1 - bit) & 1 == 1));
        }
    }

    /// Counter, milliseconds and check, from the most significant bit on.
    fn word(self) -> u64 {
        let number = u64::from(self.counter) << 32 | u64::from(self.millis);
        number << 16 | u64::from(check(number))
    }
}

const BITS: usize = GRID.0 * GRID.1;

/// Where the stamp is; `None` where cells would have less than two samples a side.
fn cells(width: usize, height: usize) -> Option<Cells> {
    let (across, down) = (width - width / PARTS.0..width, 0..height / PARTS.1);
    let is_readable = across.len() >= 2 * GRID.0 && down.len() >= 2 * GRID.1;
    is_readable.then_some(Cells { across, down, grid: GRID })
}

/// CRC-16 of the six octets (polynomial 0x1021, initially all ones; CRC-16/IBM-3740).
fn check(number: u64) -> u16 {
    number.to_be_bytes()[2..].iter().fold(0xFFFF_u16, |crc, &octet| {
        let crc = crc ^ u16::from(octet) << 8;
        (0..8).fold(crc, |crc, _| if crc & 0x8000 != 0 { crc << 1 ^ 0x1021 } else { crc << 1 })
    })
}

/// Stamps the pictures of a source, one after another.
#[derive(Debug)]
pub struct Stamper {
    pool: PicturePool,
    counter: u16,
}

impl Stamper {
    /// For pictures of `size`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for pictures below 128x64, in which a stamp could not be read.
    pub fn new(size: PictureSize) -> Result<Self, Error> {
        if cells(size.width() as usize, size.height() as usize).is_none() {
            return Err(Error::Unsupported(format!(
                "a stamp in pictures of {size}: expected 128x64 or more"
            )));
        }
        Ok(Self { pool: PicturePool::new(size), counter: 0 })
    }

    /// A copy of the picture with the next stamp, which says that it was captured at the time of day `since_1970`.
    pub fn stamp(&mut self, picture: &Picture, since_1970: Duration) -> Picture {
        if picture.size() != self.pool.size() {
            self.pool = PicturePool::new(picture.size());
        }
        let mut buffer = self.pool.take();
        buffer.copy_from(picture.planes());
        Stamp::new(self.counter, since_1970).draw(&mut buffer);
        self.counter = self.counter.wrapping_add(1);
        buffer.finish(picture.id(), picture.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::{Concealment, Decoded, H264Decoder, ReceivedFrame, VideoDecoder};
    use crate::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
    use crate::input::{PictureSource, Synthetic, bundled_clip};
    use crate::{FrameId, Scaler};
    use seaway_units::Bitrate;

    const MORNING: Duration = Duration::from_millis(1_798_000_000_123);

    fn stamped(specification: &str, count: usize) -> Vec<Picture> {
        let mut source = Synthetic::from_specification(specification).unwrap();
        let mut stamper = Stamper::new(source.format().size).unwrap();
        let mut next = |index: u32| {
            stamper
                .stamp(&source.next_picture().unwrap().unwrap(), MORNING + Duration::from_millis(40) * index)
        };
        (0..count as u32).map(&mut next).collect()
    }

    #[test]
    fn the_check_is_the_usual_one() {
        // The check value of CRC-16/IBM-3740 is of "123456789"; this is of six octets, by Python's binascii.crc_hqx.
        assert_eq!(check(0x3132_3334_3536), 0x2EF4);
    }

    #[test]
    fn it_is_read_at_every_size_it_may_be_scaled_to() {
        for size in ["1280x720", "640x360", "352x288", "128x64", "720x1280"] {
            let pictures = stamped(size, 3);
            for (index, picture) in pictures.iter().enumerate() {
                let stamp = Stamp::read(&picture.luma()).unwrap();
                assert_eq!(
                    stamp,
                    Stamp::new(index as u16, MORNING + Duration::from_millis(40) * index as u32)
                );
            }
        }
        let picture = &stamped("1280x720", 1)[0];
        for (width, height) in [(960, 540), (640, 360), (480, 270), (320, 180), (854, 480), (1920, 1080)] {
            let size = PictureSize::new(width, height).unwrap();
            let scaled = Scaler::new(picture.size(), size).scale(picture);
            assert_eq!(Stamp::read(&scaled.luma()), Some(Stamp::new(0, MORNING)), "{size}");
        }
    }

    #[test]
    fn it_survives_the_encoder_at_a_low_rate() {
        for (size, kbps) in [("640x360", 100), ("320x180", 50), ("1280x720", 300)] {
            let pictures = stamped(size, 50);
            let config = LiveEncoderConfig {
                frame_rate: crate::FrameRate::USUAL,
                start: Bitrate::from_kbps(kbps),
                latency: TimeDelta::ZERO,
            };
            let mut encoder = LiveEncoder::new(config).unwrap();
            let mut decoder = H264Decoder::new(Concealment::default()).unwrap();
            let (mut coded, mut read) = (0, 0);
            for (index, picture) in pictures.iter().enumerate() {
                let Encoded::Frame(frame) = encoder.encode(picture).unwrap() else { continue };
                let frame = ReceivedFrame {
                    data: &frame.data,
                    id: FrameId(index as u64),
                    time: TimeDelta::ZERO,
                    after_loss: false,
                };
                let Decoded::Picture(decoded) = decoder.decode(&frame).unwrap() else { continue };
                coded += 1;
                let stamp = Stamp::read(&decoded.luma());
                assert!(stamp.is_none_or(|stamp| stamp.counter == index as u16), "{stamp:?} of {index}");
                read += usize::from(stamp.is_some());
            }
            assert!(coded > 10 && read * 10 >= coded * 9, "{size} at {kbps} kbit/s: {read} of {coded}");
        }
    }

    #[test]
    fn pictures_without_a_stamp_have_none() {
        let mut clip = bundled_clip().unwrap();
        while let Some(picture) = clip.next_picture().unwrap() {
            assert_eq!(Stamp::read(&picture.luma()), None);
        }
        let mut scene = Synthetic::from_specification("640x360").unwrap();
        for _ in 0..100 {
            assert_eq!(Stamp::read(&scene.next_picture().unwrap().unwrap().luma()), None);
        }
        assert!(Stamper::new(PictureSize::new(126, 64).unwrap()).is_err());
        let tiny = stamped("128x64", 1)[0].clone();
        let tiny = Scaler::new(tiny.size(), PictureSize::SMALLEST).scale(&tiny);
        assert_eq!(Stamp::read(&tiny.luma()), None);
    }

    #[test]
    fn ages_pass_the_wrap_and_may_be_negative() {
        let stamp = Stamp::new(7, MORNING);
        assert_eq!(stamp.age(MORNING + Duration::from_micros(80_500)), TimeDelta::from_micros(80_500));
        assert_eq!(stamp.age(MORNING - Duration::from_millis(3)), TimeDelta::from_millis(-3));
        let wrap = Duration::from_millis(5 << 32);
        assert_eq!(Stamp::new(0, wrap - Duration::from_millis(10)).age(wrap), TimeDelta::from_millis(10));
    }
}
