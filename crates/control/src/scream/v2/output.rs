//! The encoder's rate and the pacer's (screamv2 sections 4.2.2, 4.2.3).

use super::super::config::LEAST_PACE;
use super::reference_window::ReferenceWindow;

/// `PACKET_OVERHEAD`, octets.
const OVERHEAD: f64 = 20.0;
/// The window holds so many times the rate.
const WINDOW_SLACK: f64 = 1.2;
/// `RATE_ADJUST_GAIN`.
const QUEUE_GAIN: f64 = 1.0 / 16.0;
const MOST_QUEUE: f64 = 0.5;
/// `FRAME_SIZE_DEV_ALPHA`.
const FRAME_GAIN: f64 = 1.0 / 64.0;
const MOST_FRAME: f64 = 0.2;
/// `PACKET_PACING_HEADROOM`, `MAX_RELAXED_PACING_FACTOR`, `RELAXED_PACING_LIMIT_LOW`.
const PACING_HEADROOM: f64 = 1.5;
const RELAXED: f64 = 4.0;
const RELAXED_FROM: f64 = 0.8;

/// What the encoder does with its rate: the queue it makes and how uneven its frames are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoder {
    queue: f64,
    frame: f64,
}

impl Encoder {
    /// Nothing waits, and frames are even.
    pub(super) const NONE: Self = Self { queue: 0.0, frame: 0.0 };

    /// A frame of `size` octets, each `period` s, at `target` bit/s; the oldest packet waits for `age` s.
    pub(super) fn on_frame(&mut self, size: f64, period: f64, target: f64, age: f64) {
        let late = (age - period / 4.0) / period;
        self.queue = (self.queue + QUEUE_GAIN * late).clamp(0.0, MOST_QUEUE);
        let nominal = target * period / 8.0;
        let excess = if nominal > 0.0 { (size / nominal - 1.0).clamp(0.0, 100.0) } else { 0.0 };
        self.frame = ((1.0 - FRAME_GAIN) * self.frame + FRAME_GAIN * excess).min(MOST_FRAME);
    }

    /// `target_bitrate` before the limits: the reference window each round-trip time, less headers and slack.
    pub(super) fn target(&self, window: &ReferenceWindow, rtt: f64) -> f64 {
        let small = 1.0 - (window.segment_ratio() - 0.1).clamp(0.0, 0.2);
        let headers = window.segment / (window.segment + OVERHEAD);
        let slack = WINDOW_SLACK + self.queue + self.frame;
        8.0 * window.size / rtt * small * headers / slack
    }
}

/// The pacer's rate: relaxed near the highest rate, where frames should leave at once. bit/s.
pub(super) fn pace(target: f64, max: f64) -> f64 {
    let near = ((target / max - RELAXED_FROM) / (1.0 - RELAXED_FROM)).min(1.0);
    PACING_HEADROOM * target.max(LEAST_PACE) / (1.0 - near).clamp(1.0 / RELAXED, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// screamv2 section 4.2.2, worked.
    #[test]
    fn targets() {
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 5e-5, "{found}");
        let window = |size| {
            let mut window = ReferenceWindow::new(1000.0);
            window.size = size;
            window
        };
        near(Encoder::NONE.target(&window(30_000.0), 0.05), 3.9216e6);
        near(Encoder { queue: 0.5, frame: 0.2 }.target(&window(30_000.0), 0.05), 2.4768e6);
        near(Encoder::NONE.target(&window(3000.0), 0.05), 0.31373e6);
    }

    /// screamv2 section 4.2.3, worked at a maximum of 2 Mbit/s.
    #[test]
    fn pacing() {
        for (target, expected) in [(1.0e6, 1.5e6), (1.8e6, 5.4e6), (2.0e6, 12.0e6)] {
            assert!((pace(target, 2e6) / expected - 1.0).abs() < 1e-9);
        }
        assert_eq!(pace(10e3, 2e6), 75e3);
    }

    #[test]
    fn queues_and_uneven_frames_lower_the_target() {
        let mut encoder = Encoder::NONE;
        for _ in 0..200 {
            encoder.on_frame(8333.0, 0.04, 1e6, 0.0);
        }
        assert!(encoder.queue == 0.0 && (encoder.frame - MOST_FRAME).abs() < 1e-12, "{encoder:?}");
        for _ in 0..200 {
            encoder.on_frame(5000.0, 0.04, 1e6, 0.1);
        }
        assert_eq!(encoder.queue, MOST_QUEUE);
        assert!(encoder.frame < 0.02);
    }
}
