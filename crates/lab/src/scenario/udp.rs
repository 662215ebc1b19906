//! `kind = "udp"`: datagrams at a constant rate, without control.

use seaway_units::{Bitrate, DataSize, TimeDelta};
use serde::Deserialize;

/// The keys of a UDP flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpFlow {
    /// IP datagrams per second times their size.
    pub rate: Bitrate,
    /// The size of a datagram (RFC 8868 section 6.2: 1500 B).
    #[serde(default = "rfc_8868")]
    pub packet: DataSize,
    /// Datagrams leave together this often, as what an application writes at once does; absent: one by one.
    pub every: Option<TimeDelta>,
}

fn rfc_8868() -> DataSize {
    DataSize::from_bytes(1500)
}
