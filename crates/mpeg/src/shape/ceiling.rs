//! The ceiling of a target in bit/s: a leaky bucket that no run of pictures overflows.

use super::config::{Ceiling, Target};
use super::picture::PictureShaper;

/// The leaky bucket at one picture, in bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    /// What it holds.
    capacity: f64,
    /// What leaves it while the picture is shown.
    drain: f64,
}

impl Bucket {
    /// The bucket of a picture that is shown for `seconds`; `None` for a target without a ceiling.
    pub(crate) fn new(ceiling: Option<Ceiling>, target: Target, seconds: f64) -> Option<Bucket> {
        let (Some(ceiling), Target::Rate(rate)) = (ceiling, target) else { return None };
        let rate = rate.as_bps_f64();
        Some(Bucket { capacity: rate * ceiling.bucket.as_secs_f64(), drain: rate * seconds })
    }
}

/// The level of the bucket behind the pictures so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeakyBucket {
    level: f64,
    capacity: f64,
    /// Bits of the last I picture.
    intra: f64,
}

/// Pictures that overflow the bucket together.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Overflow {
    /// The first of them, before which the bucket was empty, and the one behind the last.
    begin: usize,
    end: usize,
    /// Bits too many.
    excess: f64,
}

/// Trials to let a window through, at most; then its pictures are cut one by one.
const ROUNDS: usize = 8;
/// By which share more is cut than is too much, because a fit is not exact.
const MARGIN: f64 = 0.001;
/// The most that is kept free for the next I picture, as a share of the bucket.
const KEPT_FREE: f64 = 0.5;

impl LeakyBucket {
    /// The most bits that a picture may take.
    pub(crate) fn room(&self, picture: &PictureShaper) -> f64 {
        let Some(bucket) = picture.bucket else { return f64::INFINITY };
        let room = bucket.capacity - self.level_at(&bucket);
        let kept_free = if picture.is_intra() { 0.0 } else { self.intra.min(KEPT_FREE * bucket.capacity) };
        (room - kept_free).max(room.min(bucket.drain))
    }

    /// Adds a picture of `bits`.
    pub(crate) fn add(&mut self, picture: &PictureShaper, bits: f64) {
        self.pass(picture, bits);
        if picture.is_intra() {
            self.intra = bits;
        }
    }

    /// As [`LeakyBucket::add`]; returns the bits that are too many, negative where there is room.
    fn pass(&mut self, picture: &PictureShaper, bits: f64) -> f64 {
        let Some(bucket) = picture.bucket else {
            *self = LeakyBucket::default();
            return f64::NEG_INFINITY;
        };
        let level = self.level_at(&bucket) + bits;
        self.capacity = bucket.capacity;
        self.level = (level - bucket.drain).max(0.0);
        level - bucket.capacity
    }

    /// The level with another rate: it stays the same in seconds.
    fn level_at(&self, bucket: &Bucket) -> f64 {
        if self.capacity > 0.0 { self.level * bucket.capacity / self.capacity } else { 0.0 }
    }

    /// True where the pictures overflow the bucket with these sizes.
    pub(crate) fn overflows(&self, pictures: &[PictureShaper], bits: impl Fn(&PictureShaper) -> f64) -> bool {
        self.worst(pictures, bits).is_some()
    }

    /// The run of pictures that overflows the bucket most.
    fn worst(&self, pictures: &[PictureShaper], bits: impl Fn(&PictureShaper) -> f64) -> Option<Overflow> {
        let mut bucket = *self;
        let mut begin = 0;
        let mut worst: Option<Overflow> = None;
        for (index, picture) in pictures.iter().enumerate() {
            let excess = bucket.pass(picture, bits(picture));
            if excess > worst.map_or(0.0, |worst| worst.excess) {
                worst = Some(Overflow { begin, end: index + 1, excess });
            }
            if bucket.level == 0.0 {
                begin = index + 1;
            }
        }
        worst
    }

    /// Adds a window of written pictures, and lets none through that overflow the bucket: `refit` writes pictures again
    /// in so many bits. What stays too large is at its floor. Returns the index behind the last picture that was written
    /// again; 0 where none was.
    pub(crate) fn hold(
        &mut self,
        pictures: &mut [PictureShaper],
        mut refit: impl FnMut(&mut [PictureShaper], f64),
    ) -> usize {
        let mut held = 0;
        for round in 0..=ROUNDS {
            let Some(Overflow { begin, end, excess }) = self.worst(pictures, PictureShaper::written_bits)
            else {
                break;
            };
            if round == ROUNDS {
                self.hold_each(pictures, &mut refit);
                held = pictures.len();
                break;
            }
            let run = &mut pictures[begin..end];
            let bits: f64 = run.iter().map(PictureShaper::written_bits).sum();
            run.iter_mut().for_each(PictureShaper::reopen);
            refit(run, (bits - excess - MARGIN * bits).max(1.0));
            held = held.max(end);
        }
        pictures.iter().for_each(|picture| self.add(picture, picture.written_bits()));
        held
    }

    /// Cuts each picture that overflows the bucket.
    fn hold_each(self, pictures: &mut [PictureShaper], refit: &mut impl FnMut(&mut [PictureShaper], f64)) {
        let mut bucket = self;
        for picture in pictures {
            let mut before = bucket;
            if bucket.pass(picture, picture.written_bits()) > 0.0 {
                let room = picture.bucket.map_or(0.0, |now| now.capacity - before.level_at(&now));
                picture.reopen();
                refit(std::slice::from_mut(picture), ((1.0 - MARGIN) * room).max(1.0));
                before.pass(picture, picture.written_bits());
                bucket = before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{Bitrate, TimeDelta};

    fn picture(rate_kbps: u64) -> PictureShaper {
        let ceiling = Ceiling { bucket: TimeDelta::from_millis(500), even_seconds: false };
        let target = Target::Rate(Bitrate::from_kbps(rate_kbps));
        let mut picture = PictureShaper::default();
        picture.bucket = Bucket::new(Some(ceiling), target, 0.04);
        picture
    }

    // 1 Mbit/s: a bucket of 500 kbit, of which 40 kbit leave a picture.
    #[test]
    fn the_worst_run_begins_where_the_bucket_was_empty() {
        let pictures: Vec<_> = std::iter::repeat_with(|| picture(1000)).take(4).collect();
        let sizes = [30e3, 300e3, 250e3, 100e3];
        let at = |sizes: [f64; 4]| {
            let next = std::cell::Cell::new(0);
            LeakyBucket::default().worst(&pictures, |_| sizes[next.replace(next.get() + 1)])
        };
        // 300 - 40 + 250 - 40 + 100 - 500
        assert_eq!(at(sizes), Some(Overflow { begin: 1, end: 4, excess: 70e3 }));
        assert_eq!(at([500e3, 40e3, 40e3, 40e3]), None);
        assert_eq!(at([500e3, 40e3, 41e3, 0.0]), Some(Overflow { begin: 0, end: 3, excess: 1e3 }));
    }

    #[test]
    fn a_level_stays_the_same_in_seconds_where_the_rate_changes() {
        let mut bucket = LeakyBucket::default();
        bucket.add(&picture(1000), 290e3);
        assert_eq!(bucket.room(&picture(1000)), 250e3);
        // Half full at 2 Mbit/s too, and 80 kbit leave.
        assert_eq!(bucket.pass(&picture(2000), 510e3), 10e3);
        assert_eq!(bucket.level, 930e3);
    }
}
