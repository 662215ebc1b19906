//! Options of a run.

use crate::payload::Encoding;
use seaway_stream::sink::ScreenRecorderConfig;

/// What a run should keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Take readings over time and keep the causes of rate changes.
    pub series: bool,
    /// How messages travel.
    pub encoding: Encoding,
    /// Recording what is seen of one flow, which has pictures.
    pub record: Option<RecordingOptions>,
}

/// What is filmed and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingOptions {
    /// The place of the flow among those of the scenario.
    pub flow: usize,
    /// What the recording is like.
    pub tape: ScreenRecorderConfig,
}
