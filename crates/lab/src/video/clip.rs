//! A clip whose pictures are decoded once and shown to many runs.

use seaway_media::input::{PictureFormat, PictureSource, bundled_clip};
use seaway_media::{Error, Picture};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A decoded clip.
#[derive(Debug)]
struct Clip {
    format: PictureFormat,
    pictures: Vec<Picture>,
}

/// The bundled clip, as long as a run uses it.
static BUNDLED: Mutex<Weak<Clip>> = Mutex::new(Weak::new());

/// A source of the pictures of a clip. Clones of its pictures share their memory.
#[derive(Debug)]
pub(crate) struct SharedClip {
    clip: Arc<Clip>,
    next: usize,
}

impl SharedClip {
    /// The clip that comes with the library.
    ///
    /// # Errors
    /// The codec cannot be set up.
    pub(crate) fn bundled() -> Result<Self, Error> {
        let mut shared = BUNDLED.lock().unwrap_or_else(PoisonError::into_inner);
        let clip = match shared.upgrade() {
            Some(clip) => clip,
            None => Arc::new(Clip::decode(bundled_clip()?.as_mut())?),
        };
        *shared = Arc::downgrade(&clip);
        Ok(Self { clip, next: 0 })
    }
}

impl Clip {
    fn decode(source: &mut dyn PictureSource) -> Result<Self, Error> {
        let mut pictures = Vec::new();
        while let Some(picture) = source.next_picture()? {
            pictures.push(picture);
        }
        Ok(Self { format: source.format(), pictures })
    }
}

impl PictureSource for SharedClip {
    fn format(&self) -> PictureFormat {
        self.clip.format
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let picture = self.clip.pictures.get(self.next).cloned();
        self.next += usize::from(picture.is_some());
        Ok(picture)
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.next = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sources_share_one_clip_and_begin_again() {
        let mut one = SharedClip::bundled().unwrap();
        let other = SharedClip::bundled().unwrap();
        assert!(Arc::ptr_eq(&one.clip, &other.clip));
        let mut count = 0;
        while one.next_picture().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 132);
        one.rewind().unwrap();
        assert_eq!(one.next_picture().unwrap().map(|picture| picture.size()), Some(one.format().size));
    }
}
