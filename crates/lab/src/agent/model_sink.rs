//! A sink for frames without pictures: the quality of the screen is computed from a ladder.

use crate::source::{ClipLadder, CodedPicture, Taken};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::sync::{Arc, mpsc};

/// A picture not shown this long after its capture will not come any more, as for a viewer of pictures.
const GIVEN_UP: TimeDelta = TimeDelta::from_secs(2);
/// Half a tick of the 90 kHz media clock and more: two frames are never that close.
const SAME: TimeDelta = TimeDelta::from_micros(100);

/// Scores each captured frame against the frame on screen at its presentation time.
#[derive(Debug)]
pub(crate) struct ModelSink {
    ladder: Arc<ClipLadder>,
    taken: mpsc::Receiver<Taken>,
    interval: (Timestamp, Timestamp),
    /// Taken and not yet scored, oldest first.
    waiting: VecDeque<Taken>,
    shown: Option<CodedPicture>,
    scored: u64,
    levels: f64,
}

impl ModelSink {
    /// Measures within `interval`.
    pub(crate) fn new(
        ladder: Arc<ClipLadder>,
        taken: mpsc::Receiver<Taken>,
        interval: (Timestamp, Timestamp),
    ) -> Self {
        Self { ladder, taken, interval, waiting: VecDeque::new(), shown: None, scored: 0, levels: 0.0 }
    }

    /// Mean PSNR of the pictures that were taken while the flow was measured; `None` where there was none.
    pub(crate) fn psnr(&self) -> Option<f64> {
        (self.scored > 0).then(|| self.levels / self.scored as f64)
    }

    /// The frame captured at that instant is shown now.
    pub(crate) fn show(&mut self, now: Timestamp, captured: Timestamp) {
        self.waiting.extend(self.taken.try_iter());
        while let Some(taken) = self.waiting.pop_front_if(|taken| captured - taken.at > SAME) {
            self.score(now, taken.coded);
        }
        if let Some(taken) = self.waiting.pop_front_if(|taken| taken.at - captured <= SAME) {
            self.shown = Some(taken.coded);
            self.score(now, taken.coded);
        }
    }

    /// Scores what was taken so long ago that it will not be shown.
    pub(crate) fn score_missing(&mut self, now: Timestamp) {
        self.waiting.extend(self.taken.try_iter());
        while let Some(taken) = self.waiting.pop_front_if(|taken| now - taken.at > GIVEN_UP) {
            self.score(now, taken.coded);
        }
    }

    /// Before the first picture there is nothing to compare.
    fn score(&mut self, now: Timestamp, taken: CodedPicture) {
        let Some(shown) = self.shown else { return };
        if self.interval.0 <= now && now < self.interval.1 {
            self.scored += 1;
            self.levels += self.ladder.level_after(shown, taken.picture.saturating_sub(shown.picture));
        }
    }
}
