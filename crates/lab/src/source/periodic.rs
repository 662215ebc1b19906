//! Key frames at an interval or on request, all other frames of one size, with the target as their mean.

use super::model::{FrameSource, ModelFrame, interval, octets, spread};
use seaway_link::RandomStream;
use seaway_session::FrameKind;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// An encoder that follows its target at once. A key frame is `key_ratio` times as large as another; the frames after it pay for
/// it within a second, or by the next key frame where that comes earlier.
#[derive(Debug)]
pub(crate) struct Periodic {
    fps: f64,
    key_interval: Option<TimeDelta>,
    key_ratio: f64,
    rate: Bitrate,
    last_key: Option<Timestamp>,
    key_wanted: bool,
    /// Octets produced above the target.
    debt: f64,
    /// Scale of the Laplace distribution of the intervals, as a part of them (RFC 8593's `SCALE_t`).
    spread: f64,
    stream: RandomStream,
}

impl Periodic {
    /// Of camera pictures at video-conference rates (RFC 8593 section 5.1: 13.5 kB against 4167 B).
    pub(crate) const KEY_RATIO: f64 = 3.24;

    pub(crate) fn new(
        fps: f64,
        key_interval: Option<TimeDelta>,
        key_ratio: f64,
        spread: f64,
        stream: RandomStream,
    ) -> Self {
        Self {
            fps,
            key_interval,
            key_ratio,
            spread,
            stream,
            rate: Bitrate::ZERO,
            last_key: None,
            key_wanted: false,
            debt: 0.0,
        }
    }

    /// Time to the next frame.
    fn gap(&mut self) -> TimeDelta {
        let steady = interval(self.fps);
        if self.spread == 0.0 {
            return steady;
        }
        spread(steady, &mut self.stream, self.spread)
    }

    fn is_key(&self, now: Timestamp) -> bool {
        let due = |last| self.key_interval.is_some_and(|interval| now.since(last) >= interval);
        self.key_wanted || self.last_key.is_none_or(due)
    }
}

impl FrameSource for Periodic {
    fn interval(&self) -> TimeDelta {
        interval(self.fps)
    }

    fn on_rate(&mut self, _now: Timestamp, rate: Bitrate) {
        self.rate = rate;
    }

    fn on_key_frame_wanted(&mut self) {
        self.key_wanted = true;
    }

    fn frame(&mut self, now: Timestamp) -> ModelFrame {
        let share = self.rate.as_bytes_per_second() / self.fps;
        let (kind, size) = if self.is_key(now) {
            self.last_key = Some(now);
            self.key_wanted = false;
            (FrameKind::Key, share * self.key_ratio)
        } else {
            let paid_within = self.key_interval.map_or(1.0, |interval| interval.as_secs_f64().min(1.0));
            let payment = (self.debt / (paid_within * self.fps).max(1.0)).clamp(0.0, 0.8 * share);
            (FrameKind::Reference, share - payment)
        };
        let size = octets(size);
        self.debt += size.as_bytes_f64() - share;
        ModelFrame { size, target: octets(share), kind, interval: self.gap() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn periodic(key_interval: Option<TimeDelta>, spread: f64) -> Periodic {
        Periodic::new(25.0, key_interval, 4.0, spread, RandomStream::new(1, "test"))
    }

    fn sizes(source: &mut Periodic, frames: u64) -> Vec<ModelFrame> {
        (0..frames).map(|n| source.frame(Timestamp::from_nanos(n * 40_000_000))).collect()
    }

    #[test]
    fn the_mean_is_what_was_asked_and_key_frames_come_in_time() {
        let mut source = periodic(Some(TimeDelta::from_secs(2)), 0.0);
        source.on_rate(Timestamp::ZERO, Bitrate::from_mbps(1));
        let frames = sizes(&mut source, 500);
        let keys: Vec<_> = (0..500).filter(|&n| frames[n].kind == FrameKind::Key).collect();
        assert_eq!(keys, (0..500).step_by(50).collect::<Vec<_>>());
        assert_eq!(frames[0].size.as_bytes(), 20_000);
        let total: f64 = frames.iter().map(|frame| frame.size.as_bytes_f64()).sum();
        // 20 s of 125 000 B/s, but for the last debt.
        assert!((total / 2_500_000.0 - 1.0).abs() < 0.01, "{total}");
    }

    #[test]
    fn a_key_frame_comes_when_it_is_wanted() {
        let mut source = periodic(None, 0.0);
        source.on_rate(Timestamp::ZERO, Bitrate::from_mbps(1));
        assert_eq!(sizes(&mut source, 100).iter().filter(|frame| frame.kind == FrameKind::Key).count(), 1);
        source.on_key_frame_wanted();
        assert_eq!(source.frame(Timestamp::from_nanos(9_000_000_000)).kind, FrameKind::Key);
        assert_eq!(source.frame(Timestamp::from_nanos(9_040_000_000)).kind, FrameKind::Reference);
    }

    /// RFC 8593 section 5.1: a Laplace distribution of scale b has the mean deviation b.
    #[test]
    fn intervals_spread_about_their_mean() {
        let mut source = periodic(None, 0.15);
        source.on_rate(Timestamp::ZERO, Bitrate::from_mbps(1));
        let gaps: Vec<f64> =
            sizes(&mut source, 20_000).iter().map(|frame| frame.interval.as_secs_f64() * 25.0).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 20_000.0;
        assert!((mean(&mut gaps.iter().copied()) - 1.0).abs() < 0.01);
        assert!((mean(&mut gaps.iter().map(|gap| (gap - 1.0).abs())) - 0.15).abs() < 0.01);
    }
}
