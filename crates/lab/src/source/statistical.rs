//! The statistical model of RFC 8593 section 5.1.

use super::model::{FrameSource, ModelFrame, interval, octets, spread};
use seaway_link::RandomStream;
use seaway_session::FrameKind;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// A video encoder by RFC 8593: Laplace-distributed sizes and intervals about the requested rate; a change of more
/// than a tenth opens a transient of one large frame and small ones behind it, whose mean is the new rate.
#[derive(Debug)]
pub(crate) struct Statistical {
    fps: f64,
    stream: RandomStream,
    /// The rate in force (`R_v`).
    rate: Bitrate,
    /// The newest requested rate, until the encoder takes it up.
    requested: Option<Bitrate>,
    reacted: Option<Timestamp>,
    /// Frames of the transient that are still to come.
    tail: u32,
    key_wanted: bool,
}

/// Encoder reaction latency (`tau_v`).
const REACTION: TimeDelta = TimeDelta::from_millis(200);
/// Frames of a transient (`K_d`).
const TRANSIENT: u32 = 8;
/// The large frame of a transient (`K_B`).
const LARGE: f64 = 13_500.0;
/// The relative change that opens a transient: the example of the hybrid model, section 5.3.
const TRIGGER: f64 = 0.1;
/// Scale of the Laplace distributions (`SCALE_t`, `SCALE_B`).
const SCALE: f64 = 0.15;
/// Frames behind the large one are not smaller than this part of an ordinary frame. At low rates the formula would
/// make them negative; the RFC does not say what then.
const SMALLEST: f64 = 0.2;

impl Statistical {
    pub(crate) fn new(fps: f64, stream: RandomStream) -> Self {
        Self { fps, stream, rate: Bitrate::ZERO, requested: None, reacted: None, tail: 0, key_wanted: false }
    }

    /// Takes up the requested rate, unless the encoder is still busy with the last change.
    fn react(&mut self, now: Timestamp) -> bool {
        let busy = self.reacted.is_some_and(|at| now.since(at) < REACTION);
        let Some(requested) = self.requested.filter(|_| !busy) else { return false };
        let before = self.rate.as_bps_f64();
        self.requested = None;
        if requested == self.rate {
            return false;
        }
        self.reacted = Some(now);
        self.rate = requested;
        (requested.as_bps_f64() - before).abs() > TRIGGER * before
    }

    /// Mean octets of a frame (`B_0`).
    fn mean(&self) -> f64 {
        self.rate.as_bytes_per_second() / self.fps
    }

    /// The frames behind the large one.
    fn small(&self) -> f64 {
        let rest = f64::from(TRANSIENT) * self.mean() - LARGE;
        (rest / f64::from(TRANSIENT - 1)).max(SMALLEST * self.mean())
    }
}

impl FrameSource for Statistical {
    fn interval(&self) -> TimeDelta {
        interval(self.fps)
    }

    fn on_rate(&mut self, _now: Timestamp, rate: Bitrate) {
        self.requested = Some(rate);
    }

    fn on_key_frame_wanted(&mut self) {
        self.key_wanted = true;
    }

    fn frame(&mut self, now: Timestamp) -> ModelFrame {
        let opens = self.react(now) || std::mem::take(&mut self.key_wanted);
        let steady = interval(self.fps);
        let target = octets(self.mean());
        let frame = |size: DataSize, kind, interval| ModelFrame { size, target, kind, interval };
        if opens {
            self.tail = TRANSIENT - 1;
            return frame(octets(LARGE), FrameKind::Key, steady);
        }
        if self.tail > 0 {
            self.tail -= 1;
            return frame(octets(self.small()), FrameKind::Reference, steady);
        }
        let gap = spread(steady, &mut self.stream, SCALE);
        let size = octets(self.mean() * (1.0 + self.stream.laplace(SCALE)));
        frame(size, FrameKind::Reference, gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Statistical {
        let mut source = Statistical::new(30.0, RandomStream::new(1, "test"));
        source.on_rate(Timestamp::ZERO, Bitrate::from_mbps(1));
        source
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn worked_numbers_of_the_transient() {
        let mut source = source();
        let sizes: Vec<_> = (0..8).map(|n| source.frame(at(33 * n)).size.as_bytes()).collect();
        // B0 = 4167 B; the tail (8 * 4167 - 13500) / 7 = 2833 B.
        assert_eq!(sizes, [13_500, 2833, 2833, 2833, 2833, 2833, 2833, 2833]);
    }

    #[test]
    fn steady_frames_have_the_mean_and_the_spread_of_the_model() {
        let mut source = source();
        let (mut now, mut sizes) = (Timestamp::ZERO, Vec::new());
        for _ in 0..20_000 {
            let frame = source.frame(now);
            now += frame.interval;
            sizes.push(frame.size.as_bytes_f64());
        }
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        assert!((mean / 4166.7 - 1.0).abs() < 0.01, "{mean}");
        assert!((now.as_secs_f64() / (20_000.0 / 30.0) - 1.0).abs() < 0.01, "{now}");
        let squares = sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>();
        let deviation = (squares / sizes.len() as f64).sqrt() / mean;
        // Laplace of scale 0.15 has the standard deviation 0.212.
        assert!((0.19..0.23).contains(&deviation), "{deviation}");
    }

    #[test]
    fn requests_are_ignored_while_the_encoder_reacts() {
        let mut source = source();
        source.frame(at(0));
        source.on_rate(at(100), Bitrate::from_kbps(500));
        source.frame(at(100));
        assert_eq!(source.rate, Bitrate::from_mbps(1));
        let opened = source.frame(at(200));
        assert_eq!((source.rate, opened.size.as_bytes()), (Bitrate::from_kbps(500), 13_500));
    }

    #[test]
    fn a_small_change_opens_no_transient() {
        let mut source = source();
        for n in 0..10 {
            source.frame(at(33 * n));
        }
        source.on_rate(at(900), Bitrate::from_kbps(1050));
        assert_ne!(source.frame(at(900)).kind, FrameKind::Key);
        assert_eq!(source.rate, Bitrate::from_kbps(1050));
    }
}
