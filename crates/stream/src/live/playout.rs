//! When frames are shown.

use seaway_session::Playout;
use seaway_units::TimeDelta;

/// When a receiver shows whole frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlayoutMode {
    /// At once.
    #[default]
    LowLatency,
    /// At a steady distance from their capture, which follows how late frames come.
    Smooth,
}

impl PlayoutMode {
    /// The playout of a receiver that shows a frame at most `latency` late.
    pub(super) fn within(self, latency: TimeDelta) -> Playout {
        match self {
            Self::LowLatency => Playout::LowLatency { max: latency },
            Self::Smooth => Playout::Adaptive { min: TimeDelta::ZERO, max: latency },
        }
    }
}
