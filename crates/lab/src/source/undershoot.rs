//! An encoder that stays below its target.

use super::model::{FrameSource, ModelFrame};
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Codes at less than its target, as encoders do whose content needs less, or whose rate control is careful. What is above the
/// target at a key frame is so as well.
#[derive(Debug)]
pub(crate) struct Undershoot {
    model: Box<dyn FrameSource>,
    /// Of the target.
    share: f64,
}

impl Undershoot {
    /// `undershoot` is the share of the target that is not used, below 1.
    pub(crate) fn new(model: Box<dyn FrameSource>, undershoot: f64) -> Self {
        Self { model, share: 1.0 - undershoot }
    }
}

impl FrameSource for Undershoot {
    fn interval(&self) -> TimeDelta {
        self.model.interval()
    }

    fn on_rate(&mut self, now: Timestamp, rate: Bitrate) {
        self.model.on_rate(now, Bitrate::from_bps_f64(rate.as_bps_f64() * self.share));
    }

    fn on_key_frame_wanted(&mut self) {
        self.model.on_key_frame_wanted();
    }

    fn is_over(&self) -> bool {
        self.model.is_over()
    }

    fn on_skipped(&mut self, now: Timestamp) {
        self.model.on_skipped(now);
    }

    fn frame(&mut self, now: Timestamp) -> ModelFrame {
        let frame = self.model.frame(now);
        let target = super::model::octets(frame.target.as_bytes_f64() / self.share);
        ModelFrame { target, ..frame }
    }
}
