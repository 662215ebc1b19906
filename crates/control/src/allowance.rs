//! The outputs of a controller: its target and its allowance.

use crate::packet::{ProbeId, Subflow};
use seaway_units::{Bitrate, DataSize, Probability, TimeDelta};

/// What one subflow may send.
///
/// The subflow's next packet is due at `max(last due + size / rate + gap, now - credit)`, if it fits in `window`.
/// A window controller leaves `rate` at [`Bitrate::MAX`]; inter-packet-delay control is all `gap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Pacing rate in wire octets; at zero nothing leaves.
    pub rate: Bitrate,
    /// Extra pause behind each packet.
    pub gap: TimeDelta,
    /// How much of the past may be made up for: the bound on a burst.
    pub credit: TimeDelta,
    /// What may leave now (not what may be in flight). `None`: no window.
    pub window: Option<DataSize>,
}

impl Allowance {
    /// A pacing rate alone: no gap, no credit, no window.
    pub const fn paced(rate: Bitrate) -> Self {
        Self { rate, gap: TimeDelta::ZERO, credit: TimeDelta::ZERO, window: None }
    }
}

/// What media and its repair may use together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Wire rate for media, repair and headers.
    pub rate: Bitrate,
    /// Loss that slowing down would not cure; repair should cover it.
    pub channel_loss: Probability,
}

impl Target {
    /// This rate, and no loss that repair should cover.
    pub const fn new(rate: Bitrate) -> Self {
        Self { rate, channel_loss: Probability::ZERO }
    }
}

/// A burst of padding or media by which a controller learns the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Its name in [`SentPacket::probe`](crate::SentPacket::probe).
    pub id: ProbeId,
    /// The connection it is sent by.
    pub subflow: Subflow,
    /// The rate to send it at.
    pub rate: Bitrate,
    /// At least this much in all.
    pub size: DataSize,
    /// At least so many packets.
    pub packets: u8,
}
