//! Counts of a transport stream.

use schemars::JsonSchema;
use serde::Serialize;

/// Counts of a transport stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TransportReport {
    /// `program_number` of the shaped programme.
    pub program: u16,
    /// PID of its video.
    pub video_pid: u16,
    /// Packets read.
    pub packets: u64,
    /// Packets read with the PID of the video.
    pub video_packets: u64,
    /// Null packets read.
    pub null_packets: u64,
    /// Video packets that became null packets, or were removed.
    pub freed_packets: u64,
    /// Gaps in the continuity count of the video.
    pub continuity_errors: u64,
    /// Repeated packets of the video.
    pub repeated_packets: u64,
    /// Packets with `transport_error_indicator`.
    pub transport_errors: u64,
    /// Scrambled packets of the video, copied unchanged.
    pub scrambled_packets: u64,
    /// Sections of the programme tables with a wrong CRC.
    pub crc_errors: u64,
    /// Losses of sync.
    pub sync_losses: u64,
    /// Bytes outside packets; copied, or dropped at a constant rate.
    pub junk_bytes: u64,
    /// The pacing at a constant multiplex rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingReport>,
}

/// Counts at a constant multiplex rate.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PacingReport {
    /// Null packets written to fill the rate.
    pub null_packets: u64,
    /// PCR-only packets added so that clock references are at most 40 ms apart.
    pub added_references: u64,
    /// Packets that were sent later than in the input.
    pub late_packets: u64,
    /// The largest delay of them, in µs.
    pub most_late_us: u64,
    /// The largest advance of a packet, in µs.
    pub most_early_us: u64,
    /// Pictures that were incomplete at their decoding time.
    pub underflows: u64,
    /// Jumps of the program clock.
    pub discontinuities: u64,
}

impl TransportReport {
    /// Counts of errors in the stream, each with a description.
    pub(in crate::container) fn warnings(&self) -> Vec<(u64, &'static str)> {
        vec![
            (self.continuity_errors, "gaps in the video's packets"),
            (self.transport_errors, "packets with an error flag"),
            (self.sync_losses, "losses of sync"),
            (self.crc_errors, "damaged programme tables"),
            (self.scrambled_packets, "packets of the video that cannot be read"),
        ]
    }
}
