//! Pictures with a stamp of their capture, by the time of day.

use seaway_media::input::{PictureFormat, PictureSource};
use seaway_media::stamp::Stamper;
use seaway_media::{Error, Picture};
use std::time::{Duration, SystemTime};

/// The time of day since 1970.
#[expect(clippy::disallowed_methods, reason = "here the time of day enters")]
pub(super) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Stamps the pictures of an input when it gives them.
#[derive(Debug)]
pub(super) struct Stamped {
    input: Box<dyn PictureSource>,
    stamper: Stamper,
}

impl Stamped {
    /// Stamps the pictures of `input`.
    ///
    /// # Errors
    /// They are too small for a stamp.
    pub(super) fn new(input: Box<dyn PictureSource>) -> Result<Self, Error> {
        let stamper = Stamper::new(input.format().size)?;
        Ok(Self { input, stamper })
    }
}

impl PictureSource for Stamped {
    fn format(&self) -> PictureFormat {
        self.input.format()
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let picture = self.input.next_picture()?;
        Ok(picture.map(|picture| self.stamper.stamp(&picture, since_1970())))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.input.rewind()
    }
}
