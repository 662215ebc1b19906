//! A run as the cache keeps it: its summary, and the recording of what the viewer saw.

use crate::run::Outcome;
use crate::traces::{RateChange, Trace, bottleneck, rate_changes, rounded, traces};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run. A cache keeps its JSON form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its summary, without timing.
    pub summary: Value,
    /// In the first run of a controller.
    pub recording: Option<Recording>,
}

/// The video on screen, time series and rate changes of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The video on screen, MP4 in base64 (RFC 4648).
    pub video: String,
    /// Time series with a value each 0.1 s.
    pub traces: Vec<Trace>,
    /// Capture time (s), PSNR of the picture on screen (dB), whether that was the captured picture.
    pub psnr: Vec<(f64, f64, bool)>,
    /// The largest rate change of each tenth of a second.
    pub rate_changes: Vec<RateChange>,
}

impl Run {
    /// The run of which the flow of that name was recorded.
    pub fn new(outcome: &Outcome, flow: &str) -> Self {
        let summary = serde_json::to_value(&outcome.summary).unwrap_or_default();
        let recording = outcome.recording.as_ref().map(|recorded| {
            let decisions = outcome.decisions.iter().find(|(name, _)| name == flow);
            Recording {
                video: STANDARD.encode(&recorded.mp4),
                traces: traces(outcome, flow),
                psnr: recorded
                    .scores
                    .iter()
                    .map(|score| {
                        (rounded(score.at.as_secs_f64()), rounded(score.psnr.get()), score.displayed)
                    })
                    .collect(),
                rate_changes: decisions.map(|(_, decisions)| rate_changes(decisions)).unwrap_or_default(),
            }
        });
        Self { summary, recording }
    }
}

impl Recording {
    /// The series of that name of the flow or link.
    pub(super) fn trace(&self, of: &str, name: &str) -> Option<&Trace> {
        self.traces.iter().find(|trace| trace.of == of && trace.name == name)
    }

    /// The link with the lowest mean capacity.
    pub(super) fn bottleneck(&self) -> Option<&str> {
        bottleneck(&self.traces)
    }
}
