//! A clip that is decoded once and read by many sources.

use seaway_media::input::{PictureFormat, PictureSource, bundled_clip, open_reference};
use seaway_media::{Error, HAS_CODEC, Picture};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A decoded clip.
#[derive(Debug)]
struct Clip {
    format: PictureFormat,
    pictures: Vec<Picture>,
}

/// Clips in use, by file name; `None` is the bundled clip.
static CLIPS: Mutex<BTreeMap<Option<String>, Weak<Clip>>> = Mutex::new(BTreeMap::new());

/// The most memory a decoded clip may take, in octets.
const MAX_SIZE: usize = 1 << 30;

/// Pictures of a decoded clip. All sources of a clip share its memory.
#[derive(Debug)]
pub struct DecodedClip {
    clip: Arc<Clip>,
    next: usize,
}

impl DecodedClip {
    /// Decodes the clip in `file`, or the bundled one, unless another source has it open.
    ///
    /// # Errors
    /// The file cannot be read, holds no picture or more than a gigabyte of them, or this build has no codec.
    pub fn open(file: Option<&str>) -> Result<Self, Error> {
        if !HAS_CODEC {
            return Err(Error::Unsupported("this build has no codec for clips".into()));
        }
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
            if (pictures.len() + 1) * each > MAX_SIZE {
                let longest = MAX_SIZE / each;
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

impl PictureSource for DecodedClip {
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
        let mut one = DecodedClip::open(None).unwrap();
        let other = DecodedClip::open(None).unwrap();
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
