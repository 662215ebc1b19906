//! A source that repeats.

use super::{PictureFormat, PictureSource};
use crate::{Error, FrameId, Picture};
use seaway_units::TimeDelta;

/// Repeats a source for ever. Numbers and times continue through the repetitions.
#[derive(Debug)]
pub struct Looped {
    source: Box<dyn PictureSource>,
    next: u64,
    /// Offset of the times of this repetition.
    offset: TimeDelta,
    /// End of this repetition: one interval after its last picture.
    end: TimeDelta,
}

impl Looped {
    /// Repeats `source`.
    pub fn new(source: Box<dyn PictureSource>) -> Self {
        Self { source, next: 0, offset: TimeDelta::ZERO, end: TimeDelta::ZERO }
    }
}

impl PictureSource for Looped {
    fn format(&self) -> PictureFormat {
        self.source.format()
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let picture = match self.source.next_picture()? {
            Some(picture) => picture,
            None => {
                self.source.rewind()?;
                self.offset = self.end;
                // An empty source stays empty.
                match self.source.next_picture()? {
                    Some(picture) => picture,
                    None => return Ok(None),
                }
            }
        };
        let time = picture.time() + self.offset;
        self.end = time + self.format().frame_rate.interval();
        let id = FrameId(self.next);
        self.next += 1;
        Ok(Some(picture.with_identity(id, time)))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        (self.next, self.offset, self.end) = (0, TimeDelta::ZERO, TimeDelta::ZERO);
        self.source.rewind()
    }

    fn is_approximate(&self) -> bool {
        self.source.is_approximate()
    }

    fn left_out(&self) -> &[String] {
        self.source.left_out()
    }
}
