//! `kind = "tcp"`: TCP as cross traffic.

use seaway_units::{DataSize, TimeDelta};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::fmt;

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
    /// Data is capable of ECN (RFC 3168). Under `dctcp` and `prague` it always is.
    #[serde(default)]
    pub ecn: bool,
    /// A connection begins with SYN and SYN-ACK.
    #[serde(default = "yes")]
    pub handshake: bool,
    /// What a transfer moves, in octets of payload; absent: it has no end.
    pub size: Option<TransferSize>,
    /// Mean of the exponentially distributed time between two transfers; absent: there is one.
    pub idle: Option<TimeDelta>,
    /// The first transfer comes after such a time, not at once.
    #[serde(default)]
    pub starts_idle: bool,
}

fn full_segment() -> DataSize {
    DataSize::from_bytes(1500)
}

fn rfc_6298() -> TimeDelta {
    TimeDelta::from_secs(1)
}

fn yes() -> bool {
    true
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
    /// RFC 8257 over SACK, with ECT(1).
    Dctcp,
    /// RFC 9331 over SACK, with ECT(1).
    Prague,
    /// BBR, version 1, over SACK.
    Bbr,
}

impl fmt::Display for TcpAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Cubic => "cubic",
            Self::Dctcp => "dctcp",
            Self::Prague => "prague",
            Self::Bbr => "bbr",
        })
    }
}

/// How much a transfer moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransferSize {
    /// Always the same.
    Fixed(DataSize),
    /// Drawn uniformly for each transfer.
    Uniform(DataSize, DataSize),
    /// Drawn from a Pareto distribution for each transfer.
    Pareto {
        /// Mean.
        mean: DataSize,
        /// Above 1; the lower, the heavier the tail.
        shape: f64,
    },
}

impl<'de> Deserialize<'de> for TransferSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Pareto {
            mean: DataSize,
            shape: f64,
        }
        struct SizeVisitor;
        impl<'de> Visitor<'de> for SizeVisitor {
            type Value = TransferSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a size such as \"50 kB\", { uniform = [\"30 kB\", \"50 kB\"] } or \
                     { pareto = { mean = \"12 kB\", shape = 1.2 } }",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TransferSize, E> {
                text.parse().map(TransferSize::Fixed).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TransferSize, A::Error> {
                match map.next_key::<String>()?.as_deref() {
                    Some("uniform") => {
                        let (from, to) = map.next_value()?;
                        Ok(TransferSize::Uniform(from, to))
                    }
                    Some("pareto") => {
                        let Pareto { mean, shape } = map.next_value()?;
                        Ok(TransferSize::Pareto { mean, shape })
                    }
                    Some(other) => Err(A::Error::unknown_field(other, &["uniform", "pareto"])),
                    None => Err(A::Error::missing_field("uniform")),
                }
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}
