//! Frames of one size at a constant rate, whatever the target is.

use super::model::{FrameSource, ModelFrame, interval, octets};
use seaway_session::FrameKind;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// An encoder that does not listen.
#[derive(Debug)]
pub(crate) struct Constant {
    interval: TimeDelta,
    /// Octets a frame; what rounding leaves over is carried to the next.
    size: f64,
    carried: f64,
}

impl Constant {
    pub(crate) fn new(rate: Bitrate, fps: f64) -> Self {
        Self { interval: interval(fps), size: rate.as_bytes_per_second() / fps, carried: 0.0 }
    }
}

impl FrameSource for Constant {
    fn interval(&self) -> TimeDelta {
        self.interval
    }

    fn on_rate(&mut self, _now: Timestamp, _rate: Bitrate) {}

    fn on_key_frame_wanted(&mut self) {}

    fn frame(&mut self, _now: Timestamp) -> ModelFrame {
        let wanted = self.size + self.carried;
        let size = octets(wanted.floor());
        self.carried = (wanted - size.as_bytes_f64()).max(0.0);
        ModelFrame { size, target: size, kind: FrameKind::Key, interval: self.interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_exact_in_the_long_run() {
        let mut source = Constant::new(Bitrate::from_kbps(100), 30.0);
        let total: u64 = (0..3000).map(|_| source.frame(Timestamp::ZERO).size.as_bytes()).sum();
        // 100 s of 12 500 B/s.
        assert!((1_249_999..=1_250_000).contains(&total), "{total}");
    }
}
