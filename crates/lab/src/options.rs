//! What a run records, and how it carries messages.

use crate::payload::Encoding;
use seaway_stream::sink::ScreenRecorderConfig;

/// Options of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Record time series and the causes of rate changes.
    pub series: bool,
    /// How messages are carried.
    pub encoding: Encoding,
    /// Record the screen of one flow, which has pictures.
    pub record: Option<RecordingOptions>,
}

/// A recording of a flow's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingOptions {
    /// Index of the flow in the scenario.
    pub flow: usize,
    /// Size and quality.
    pub recorder: ScreenRecorderConfig,
}
