//! `kind = "window"`: video over S002's transport on its own wire.

use super::media::maybe_control_spec;
use crate::source::SourceConfig;
use seaway_control::ControlSpec;
use seaway_units::{Bitrate, TimeDelta};
use serde::Deserialize;

/// The keys of a window flow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowFlow {
    /// What the frames take, headers left out; at most, where a source is shaped or steered.
    pub rate: Bitrate,
    /// A coded stream that is shaped to the rate ([`SourceConfig::Shaper`]); absent: frames of one size.
    pub source: Option<SourceConfig>,
    /// What steers the source by the FIFO, with its options; absent: it always gives `rate`.
    #[serde(default, deserialize_with = "maybe_control_spec")]
    pub policy: Option<ControlSpec>,
    /// Frames a second; absent: 25, or what the coded stream has.
    pub fps: Option<f64>,
    /// From the arrival of the first packet to its display.
    #[serde(default = "second")]
    pub buffer: TimeDelta,
    /// What the sender's FIFO holds, in time at `rate` (S002: 8 s).
    #[serde(default = "eight_seconds")]
    pub fifo: TimeDelta,
}

impl WindowFlow {
    /// Frames a second of frames of one size.
    pub(crate) fn usual_fps(&self) -> f64 {
        self.fps.unwrap_or(25.0)
    }
}

fn second() -> TimeDelta {
    TimeDelta::from_secs(1)
}

fn eight_seconds() -> TimeDelta {
    TimeDelta::from_secs(8)
}
