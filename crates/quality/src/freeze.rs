//! Pictures that stay too long.

use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Counts freezes as the W3C's WebRTC statistics define them (`freezeCount`): the time between two pictures
/// shown one after another is a freeze where it reaches `max(3 a, a + 150 ms)`, `a` being the mean of the
/// last 30 such times before it.
#[derive(Debug, Clone, Default)]
pub struct FreezeDetector {
    last: Option<Timestamp>,
    recent: VecDeque<TimeDelta>,
    report: FreezeReport,
}

/// What a viewer suffered so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FreezeReport {
    /// Pictures shown.
    pub pictures: u64,
    /// Freezes.
    pub count: u64,
    /// All freezes together, each from the picture that stayed to the one that ended it.
    pub total: TimeDelta,
    /// The longest.
    pub longest: TimeDelta,
    /// Sum of all times between pictures, s.
    span: f64,
    /// Sum of their squares, s².
    squares: f64,
}

impl FreezeDetector {
    const WINDOW: usize = 30;

    /// A picture that differs from the one before is shown now. Returns how long the one before had frozen,
    /// where it had.
    pub fn on_picture(&mut self, now: Timestamp) -> Option<TimeDelta> {
        self.report.pictures += 1;
        let duration = now.since(self.last.replace(now)?);
        self.report.span += duration.as_secs_f64();
        self.report.squares += duration.as_secs_f64() * duration.as_secs_f64();
        let frozen = self.is_freeze(duration);
        if self.recent.len() == Self::WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(duration);
        frozen.then(|| {
            self.report.add(duration);
            duration
        })
    }

    /// What was suffered by now. A picture that is frozen at this instant counts, as far as it has come.
    pub fn report(&self, now: Timestamp) -> FreezeReport {
        let mut report = self.report;
        let held = self.last.map(|last| now.since(last));
        if let Some(held) = held.filter(|&held| self.is_freeze(held)) {
            report.add(held);
        }
        report
    }

    /// Before the first interval there is no mean, and no freeze.
    fn is_freeze(&self, duration: TimeDelta) -> bool {
        if self.recent.is_empty() {
            return false;
        }
        let sum: TimeDelta = self.recent.iter().copied().sum();
        let mean = sum / self.recent.len() as i64;
        duration >= (mean * 3).max(mean + TimeDelta::from_millis(150))
    }
}

impl FreezeReport {
    fn add(&mut self, freeze: TimeDelta) {
        self.count += 1;
        self.total += freeze;
        self.longest = self.longest.max(freeze);
    }

    /// Pictures per second in the harmonic sense: the time of the stream over the sum of squared times
    /// between pictures. Uneven motion lowers it where the plain rate stays. `None` before the second picture.
    pub fn harmonic_frame_rate(&self) -> Option<f64> {
        (self.squares > 0.0).then(|| self.span / self.squares)
    }
}

/// Counts the times a player had nothing to play.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StallMeter {
    since: Option<Timestamp>,
    count: u64,
    total: TimeDelta,
    longest: TimeDelta,
}

/// Stalls so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StallReport {
    /// Stalls that began.
    pub count: u64,
    /// All of them together.
    pub total: TimeDelta,
    /// The longest.
    pub longest: TimeDelta,
}

impl StallMeter {
    /// The buffer ran empty. Said again during a stall, it changes nothing.
    pub fn on_empty(&mut self, now: Timestamp) {
        if self.since.is_none() {
            self.since = Some(now);
            self.count += 1;
        }
    }

    /// Playing goes on. Without a stall it changes nothing.
    pub fn on_resume(&mut self, now: Timestamp) {
        if let Some(since) = self.since.take() {
            self.total += now.since(since);
            self.longest = self.longest.max(now.since(since));
        }
    }

    /// Stalls by now, one that lasts included as far as it has come.
    pub fn report(&self, now: Timestamp) -> StallReport {
        let mut ended = *self;
        ended.on_resume(now);
        StallReport { count: ended.count, total: ended.total, longest: ended.longest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    fn detector(intervals: &[i64]) -> (FreezeDetector, Timestamp) {
        let mut detector = FreezeDetector::default();
        let mut now = at(0);
        detector.on_picture(now);
        for &interval in intervals {
            now += TimeDelta::from_millis(interval);
            detector.on_picture(now);
        }
        (detector, now)
    }

    #[test]
    fn the_greater_of_the_two_bounds_counts() {
        // At 25 pictures/s 40 + 150 ms is more than 3 times 40 ms.
        for (gap, freezes) in [(120, 0), (189, 0), (190, 1)] {
            let (detector, now) = detector(&[[40; 30].as_slice(), &[gap]].concat());
            assert_eq!(detector.report(now).count, freezes, "{gap} ms at 25 pictures/s");
        }
        // At 10 pictures/s 3 times 100 ms is more than 100 + 150 ms.
        for (gap, freezes) in [(250, 0), (299, 0), (300, 1)] {
            let (detector, now) = detector(&[[100; 30].as_slice(), &[gap]].concat());
            assert_eq!(detector.report(now).count, freezes, "{gap} ms at 10 pictures/s");
        }
    }

    #[test]
    fn the_mean_covers_thirty_intervals_before() {
        // Thirty slow intervals have left the window, so the mean is 40 ms again.
        let (detector, now) = detector(&[[400; 30].as_slice(), &[40; 30], &[190]].concat());
        let report = detector.report(now);
        assert_eq!((report.count, report.total), (1, TimeDelta::from_millis(190)));
        assert_eq!(report.pictures, 62);
    }

    #[test]
    fn a_freeze_that_lasts_is_seen() {
        let (detector, now) = detector(&[40; 5]);
        assert_eq!(detector.report(now + TimeDelta::from_millis(189)).count, 0);
        let report = detector.report(now + TimeDelta::from_millis(1000));
        assert_eq!((report.count, report.longest), (1, TimeDelta::from_millis(1000)));
        assert_eq!(FreezeDetector::default().report(at(9)), FreezeReport::default());
    }

    #[test]
    fn harmonic_rate() {
        let (even, now) = detector(&[40; 25]);
        assert!((even.report(now).harmonic_frame_rate().unwrap() - 25.0).abs() < 1e-9);
        // 0.1 s over 0.02² + 0.08² s².
        let (uneven, now) = detector(&[20, 80]);
        assert!((uneven.report(now).harmonic_frame_rate().unwrap() - 0.1 / 0.0068).abs() < 1e-9);
    }

    #[test]
    fn stalls() {
        let mut meter = StallMeter::default();
        meter.on_resume(at(1));
        meter.on_empty(at(10));
        meter.on_empty(at(20));
        meter.on_resume(at(40));
        meter.on_empty(at(100));
        let expected =
            StallReport { count: 2, total: TimeDelta::from_millis(80), longest: TimeDelta::from_millis(50) };
        assert_eq!(meter.report(at(150)), expected);
    }
}
