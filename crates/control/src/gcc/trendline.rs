//! The slope of the accumulated delay over the last twenty groups (libwebrtc, in the place of the Kalman filter).

use super::arrival_group::GroupDelta;
use super::config::ThresholdGains;
use super::overuse::{OveruseDetector, Usage};
use seaway_units::RemoteTimestamp;

/// Least squares on smoothed delay, and the detector on its slope.
#[derive(Debug, Clone)]
pub(super) struct Trendline {
    detector: OveruseDetector,
    origin: Option<RemoteTimestamp>,
    last_at: RemoteTimestamp,
    accumulated: f64,
    smoothed: f64,
    deltas: u32,
    /// Arrival since the origin and smoothed delay, ms, in order of arrival.
    points: [(f64, f64); Self::WINDOW],
    len: usize,
    slope: f64,
}

impl Trendline {
    const WINDOW: usize = 20;
    const SMOOTHING: f64 = 0.9;
    /// What the slope is multiplied with before it meets the threshold.
    const GAIN: f64 = 4.0;
    const MOST_DELTAS: u32 = 60;

    pub(super) const fn new() -> Self {
        Self {
            detector: OveruseDetector::new(ThresholdGains::LIBWEBRTC),
            origin: None,
            last_at: RemoteTimestamp::from_nanos(0),
            accumulated: 0.0,
            smoothed: 0.0,
            deltas: 0,
            points: [(0.0, 0.0); Self::WINDOW],
            len: 0,
            slope: 0.0,
        }
    }

    pub(super) fn update(&mut self, delta: &GroupDelta) -> Usage {
        let origin = *self.origin.get_or_insert(delta.at);
        let elapsed = if self.deltas == 0 { 0.0 } else { (delta.at - self.last_at).as_millis_f64() };
        self.last_at = delta.at;
        self.deltas = (self.deltas + 1).min(1000);
        self.accumulated += delta.arrival - delta.send;
        self.smoothed = Self::SMOOTHING * self.smoothed + (1.0 - Self::SMOOTHING) * self.accumulated;
        self.insert(((delta.at - origin).as_millis_f64(), self.smoothed));
        if self.len == Self::WINDOW
            && let Some(slope) = self.fit()
        {
            self.slope = slope;
        }
        if self.deltas < 2 {
            return self.detector.usage();
        }
        self.detector.update(self.modified(), self.slope, delta.send, elapsed)
    }

    /// What meets the threshold: the slope scaled by the groups it rests on.
    pub(super) fn modified(&self) -> f64 {
        f64::from(self.deltas.min(Self::MOST_DELTAS)) * self.slope * Self::GAIN
    }

    pub(super) const fn detector(&self) -> &OveruseDetector {
        &self.detector
    }

    pub(super) const fn detector_mut(&mut self) -> &mut OveruseDetector {
        &mut self.detector
    }

    fn insert(&mut self, point: (f64, f64)) {
        if self.len == Self::WINDOW {
            self.points.copy_within(1.., 0);
            self.len -= 1;
        }
        let place = self.points[..self.len].partition_point(|(at, _)| *at <= point.0);
        self.points.copy_within(place..self.len, place + 1);
        self.points[place] = point;
        self.len += 1;
    }

    /// The slope, `None` where all arrived at once.
    fn fit(&self) -> Option<f64> {
        let count = self.len as f64;
        let sum = self.points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let mean = (sum.0 / count, sum.1 / count);
        let (above, below) = self.points.iter().fold((0.0, 0.0), |(above, below), (x, y)| {
            (above + (x - mean.0) * (y - mean.1), below + (x - mean.0) * (x - mean.0))
        });
        (below > 0.0).then(|| above / below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    fn feed(trendline: &mut Trendline, at: &mut f64, growth: f64) -> Usage {
        *at += 20.0 + growth;
        let at = RemoteTimestamp::from_nanos(0) + TimeDelta::from_secs_f64(*at / 1e3);
        trendline.update(&GroupDelta { send: 20.0, arrival: 20.0 + growth, at })
    }

    /// At which group over-use is first seen, after some with no growth.
    fn first_overuse(calm: u32, growth: f64) -> Option<u32> {
        let mut trendline = Trendline::new();
        let mut at = 0.0;
        for _ in 0..calm {
            feed(&mut trendline, &mut at, 0.0);
        }
        (1..500).find(|_| feed(&mut trendline, &mut at, growth) == Usage::Over)
    }

    /// Groups of 20 ms with a constant growth of delay, from the start and after a hundred calm ones.
    #[test]
    fn groups_until_overuse() {
        for (growth, from_start, after_calm) in [(1.0, 36, 19), (2.0, 24, 13), (5.0, 21, 9)] {
            assert_eq!(first_overuse(0, growth), Some(from_start), "{growth} ms");
            assert_eq!(first_overuse(100, growth), Some(after_calm), "{growth} ms after calm");
        }
        assert_eq!(first_overuse(0, 0.5), None);
        assert_eq!(first_overuse(100, 0.5), None);
    }

    /// The signal settles at 240 d / (20 + d).
    #[test]
    fn signal_settles() {
        for (growth, expected) in [(0.5, 5.85), (1.0, 11.43), (2.0, 21.82), (5.0, 48.0)] {
            let mut trendline = Trendline::new();
            let mut at = 0.0;
            for _ in 0..400 {
                feed(&mut trendline, &mut at, growth);
            }
            assert!((trendline.modified() - expected).abs() < 5e-3, "{growth}: {}", trendline.modified());
        }
    }

    #[test]
    fn draining_is_under_use() {
        let mut trendline = Trendline::new();
        let mut at = 0.0;
        for _ in 0..40 {
            feed(&mut trendline, &mut at, 0.0);
        }
        assert!((0..40).any(|_| feed(&mut trendline, &mut at, -5.0) == Usage::Under));
    }
}
