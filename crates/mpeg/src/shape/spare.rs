//! Memory for recoding that pictures use in turn, so that it stays in the cache.

use super::picture::PictureShaper;
use super::recode::Recoded;
use std::sync::{Mutex, PoisonError};

/// Memory that no picture uses: as many as work at the same time.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<Recoded>>);

impl Spare {
    /// Lends the memory to a picture for a job, behind which the picture has none.
    pub(super) fn lend(&self, picture: &mut PictureShaper, job: impl FnOnce(&mut PictureShaper)) {
        picture.recoded = self.all(Vec::pop).unwrap_or_default();
        job(picture);
        let memory = std::mem::take(&mut picture.recoded);
        self.all(|spare| spare.push(memory));
    }

    /// A panic elsewhere leaves no memory half moved.
    fn all<T>(&self, job: impl FnOnce(&mut Vec<Recoded>) -> T) -> T {
        job(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_use_the_same_memory_in_turn() {
        let spare = Spare::default();
        let mut pictures = [PictureShaper::default(), PictureShaper::default()];
        let mut seen = Vec::new();
        for picture in &mut pictures {
            spare.lend(picture, |picture| {
                seen.push(picture.recoded.room());
                picture.recoded.clear(10, false);
            });
            assert_eq!(picture.recoded.room(), 0);
        }
        assert_eq!(seen, [0, 10]);
    }
}
