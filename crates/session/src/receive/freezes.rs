//! Detects freezes of the displayed video.

use crate::statistics::Freezes;
use seaway_units::{TimeDelta, Timestamp};

/// A gap is a freeze if it exceeds so many mean gaps, and the mean gap by `BEYOND`.
const MEAN_GAPS: i64 = 3;
const BEYOND: TimeDelta = TimeDelta::from_millis(150);
/// Weight of a gap in the mean, as a part of 30 frames.
const FRAMES: i64 = 30;

/// Measures the gaps between the displayed frames of a stream.
#[derive(Debug, Default)]
pub(super) struct FreezeWatch {
    last: Option<Timestamp>,
    mean: Option<TimeDelta>,
}

impl FreezeWatch {
    /// A frame is displayed; counts the freeze that it ends, if there was one.
    pub(super) fn on_displayed(&mut self, now: Timestamp, freezes: &mut Freezes) {
        let Some(gap) = self.last.replace(now).map(|last| now.since(last)) else { return };
        let Some(mean) = self.mean else {
            self.mean = Some(gap);
            return;
        };
        if gap > mean * MEAN_GAPS && gap > mean + BEYOND {
            freezes.count += 1;
            freezes.total += gap;
            freezes.longest = freezes.longest.max(gap);
        } else {
            self.mean = Some(mean + (gap - mean) / FRAMES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_mean_gaps_and_150_ms_beyond() {
        let mut watch = FreezeWatch::default();
        let mut freezes = Freezes::default();
        let mut now = Timestamp::ZERO;
        let mut show = |gap: i64, freezes: &mut Freezes| {
            now += TimeDelta::from_millis(gap);
            watch.on_displayed(now, freezes);
        };
        for _ in 0..100 {
            show(40, &mut freezes);
        }
        show(180, &mut freezes);
        assert_eq!(freezes.count, 0, "below 40 and 150 ms");
        show(300, &mut freezes);
        assert_eq!((freezes.count, freezes.longest), (1, TimeDelta::from_millis(300)));
    }

    /// A gap of three mean gaps, or of 150 ms beyond one, is none; a thirtieth of a gap that is none goes into the mean.
    #[test]
    fn a_freeze_is_longer_than_both() {
        let count = |mean: i64, gaps: &[i64]| {
            let mut watch = FreezeWatch::default();
            let (mut freezes, mut now) = (Freezes::default(), Timestamp::ZERO);
            for gap in [0, mean].iter().chain(gaps) {
                now += TimeDelta::from_millis(*gap);
                watch.on_displayed(now, &mut freezes);
            }
            (freezes.count, freezes.total.as_millis(), freezes.longest.as_millis())
        };
        assert_eq!((count(40, &[190]), count(40, &[191])), ((0, 0, 0), (1, 191, 191)));
        assert_eq!((count(100, &[300]), count(100, &[301])), ((0, 0, 0), (1, 301, 301)));
        // The mean becomes 45 ms.
        assert_eq!(count(40, &[190, 195, 196]), (0, 0, 0));
        assert_eq!(count(40, &[190, 196, 300]), (2, 496, 300));
    }
}
