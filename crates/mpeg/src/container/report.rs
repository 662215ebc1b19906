//! What was met on the way through a container.

use serde::Serialize;

/// Counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The format, [`Format::name`](super::Format::name); empty before it is known.
    pub format: &'static str,
    /// Bytes read and written, everything counted.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes of the video elementary stream in the input.
    pub video_bytes_in: u64,
    /// Pictures that stayed as they were because their replacement came too late for the memory allowed.
    pub given_up: u64,
    /// Of a transport stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportReport>,
    /// Of a program or system stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramReport>,
}

/// Counts of a transport stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Video packets that became null packets, or left where these are removed.
    pub freed_packets: u64,
    /// Gaps in the continuity count of the video.
    pub continuity_errors: u64,
    /// Repeated packets of the video.
    pub repeated_packets: u64,
    /// Packets with `transport_error_indicator`.
    pub transport_errors: u64,
    /// Scrambled packets of the video, passed as they are.
    pub scrambled_packets: u64,
    /// Sections of the programme tables with a wrong CRC.
    pub crc_errors: u64,
    /// Losses of sync.
    pub sync_losses: u64,
    /// Bytes outside packets; passed, or left out at a constant rate.
    pub junk_bytes: u64,
    /// The pacing at a constant multiplex rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingReport>,
}

/// How the packets fitted a constant multiplex rate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacingReport {
    /// Null packets written to fill the rate.
    pub null_packets: u64,
    /// Packets written for a clock reference alone, so that two are never more than 40 ms apart.
    pub added_references: u64,
    /// Packets that left later than they did in the input.
    pub late_packets: u64,
    /// The latest of them, in µs.
    pub most_late_us: u64,
    /// The earliest packet against its time in the input, in µs.
    pub most_early_us: u64,
    /// Pictures not all there at their decoding time.
    pub underflows: u64,
    /// Jumps of the program clock.
    pub discontinuities: u64,
}

/// Counts of a program or system stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProgramReport {
    /// `stream_id` of the shaped video.
    pub video_stream_id: u8,
    /// Packs read.
    pub packs: u64,
    /// Packets of the shaped video read.
    pub video_packets: u64,
    /// Of these, how many lost their whole payload.
    pub emptied_packets: u64,
    /// Packs that left with them.
    pub removed_packs: u64,
    /// Bytes that became padding.
    pub padding_bytes: u64,
    /// Video packets passed as they are because they are scrambled or malformed.
    pub opaque_packets: u64,
    /// Bytes outside packs and packets, passed.
    pub junk_bytes: u64,
}
