//! What a live shaper has done.

use crate::pipeline;
use serde::Serialize;

/// Counts of a live stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Packets that came, null packets included.
    pub packets_in: u64,
    /// Packets that were given a departure.
    pub packets_out: u64,
    /// Packets that were left out because no programme was known.
    pub dropped_without_program: u64,
    /// Null packets that were left out.
    pub null_packets_dropped: u64,
    /// Times at which the source's clock was recovered anew: it jumped, or the source paused.
    pub resyncs: u64,
    /// Packets that left ahead of the source's clock: it sends further ahead than the delay covers.
    pub ahead_of_clock: u64,
    /// Times at which a part of a picture passed unchanged because it did not come in time.
    pub given_up: u64,
    /// Programmes that could not be shaped beside others, and pass unchanged.
    pub unshaped_programs: u64,
    /// Times at which the stream had other programmes than before.
    pub program_changes: u64,
    /// Times at which the stream turned to other video, which passed unchanged: see [`LiveShaper::refusal`](super::LiveShaper::refusal).
    pub without_video: u64,
    /// The share of the time that shaping takes, about the highest of late; 0 where the caller does not report it.
    pub load: f64,
    /// What the programmes were given together last, in bit/s; `None` for a target that is a ratio.
    pub rate_bps: Option<u64>,
    /// By programme, those of former tables first, 32 of them at most.
    pub programs: Vec<ProgramReport>,
}

/// Counts of one programme.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramReport {
    /// `program_number`
    pub program: u16,
    /// What it was given last, in bit/s; `None` for a target that is a ratio.
    pub rate_bps: Option<u64>,
    /// Of its shaping since the beginning.
    #[serde(flatten)]
    pub report: pipeline::Report,
}
