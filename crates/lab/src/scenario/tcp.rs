//! `kind = "tcp"`: a TCP connection as cross traffic.

use seaway_units::{DataSize, TimeDelta};
use serde::Deserialize;

/// The keys of a TCP flow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpFlow {
    /// Recovery and window rules.
    #[serde(default)]
    pub algorithm: TcpAlgorithm,
    /// A full segment as an IP datagram.
    #[serde(default = "full_segment")]
    pub packet: DataSize,
    /// The lowest retransmission timeout (RFC 6298: 1 s; Linux and ns-2: 200 ms).
    #[serde(default = "rfc_6298")]
    pub min_rto: TimeDelta,
    /// Initial window in packets; absent: RFC 6928.
    pub initial_window: Option<u32>,
    /// The receiver answers every second segment.
    #[serde(default)]
    pub delayed_ack: bool,
    /// What is to be transferred; absent: endless.
    pub size: Option<DataSize>,
}

fn full_segment() -> DataSize {
    DataSize::from_bytes(1500)
}

fn rfc_6298() -> TimeDelta {
    TimeDelta::from_secs(1)
}

/// The TCP variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TcpAlgorithm {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    #[default]
    NewReno,
    /// RFC 6675.
    Sack,
    /// RFC 9438 over SACK.
    Cubic,
}

impl std::fmt::Display for TcpAlgorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Cubic => "cubic",
        })
    }
}
