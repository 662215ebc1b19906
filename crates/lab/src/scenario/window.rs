//! `kind = "window"`: video over S002's transport on its own wire.

use super::media::maybe_control_spec;
use seaway_control::ControlSpec;
use seaway_units::{Bitrate, TimeDelta};
use serde::Deserialize;

/// The keys of a window flow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowFlow {
    /// What the frames take, headers left out.
    pub rate: Bitrate,
    /// What steers the source by the FIFO, with its options; absent: it always gives `rate`.
    #[serde(default, deserialize_with = "maybe_control_spec")]
    pub policy: Option<ControlSpec>,
    /// Frames a second.
    #[serde(default = "usual_fps")]
    pub fps: f64,
    /// From the arrival of the first packet to its display.
    #[serde(default = "second")]
    pub buffer: TimeDelta,
    /// What the sender's FIFO holds, in time at `rate` (S002: 8 s).
    #[serde(default = "eight_seconds")]
    pub fifo: TimeDelta,
}

fn usual_fps() -> f64 {
    25.0
}

fn second() -> TimeDelta {
    TimeDelta::from_secs(1)
}

fn eight_seconds() -> TimeDelta {
    TimeDelta::from_secs(8)
}
