//! A clip whose pictures are decoded once and shown to many runs.

use seaway_media::input::{PictureFormat, PictureSource, bundled_clip, open_reference};
use seaway_media::{Error, Picture};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A decoded clip.
#[derive(Debug)]
struct Clip {
    format: PictureFormat,
    pictures: Vec<Picture>,
}

/// Clips that runs use, by the name of the file; the bundled one has none.
static CLIPS: Mutex<BTreeMap<Option<String>, Weak<Clip>>> = Mutex::new(BTreeMap::new());

/// A decoded clip may take this much memory.
const MOST: usize = 1 << 30;

/// A source of the pictures of a clip. Clones of its pictures share their memory.
#[derive(Debug)]
pub(crate) struct SharedClip {
    clip: Arc<Clip>,
    next: usize,
}

impl SharedClip {
    /// The clip in a file, or the one that comes with the library.
    ///
    /// # Errors
    /// The file cannot be read, holds no picture or more than a gigabyte of them.
    pub(crate) fn open(file: Option<&str>) -> Result<Self, Error> {
        let mut clips = CLIPS.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = clips.entry(file.map(str::to_owned)).or_default();
        let clip = match shared.upgrade() {
            Some(clip) => clip,
            None => {
                let mut source = file.map_or_else(bundled_clip, open_reference)?;
                Arc::new(Clip::decode(source.as_mut())?)
            }
        };
        *shared = Arc::downgrade(&clip);
        Ok(Self { clip, next: 0 })
    }
}

impl Clip {
    fn decode(source: &mut dyn PictureSource) -> Result<Self, Error> {
        let mut pictures = Vec::new();
        let format = source.format();
        let each = format.size.pixels() as usize * 3 / 2;
        while let Some(picture) = source.next_picture()? {
            if (pictures.len() + 1) * each > MOST {
                let longest = MOST / each;
                return Err(Error::Unsupported(format!(
                    "a clip of more than {longest} pictures of {}: cut or scale it",
                    format.size
                )));
            }
            pictures.push(picture);
        }
        if pictures.is_empty() {
            return Err(Error::Unsupported("a clip without a picture".into()));
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
        let mut one = SharedClip::open(None).unwrap();
        let other = SharedClip::open(None).unwrap();
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
