//! Feedback in one type for all formats: packet reports, matched with the packets that were sent.

use crate::packet::{PacketId, SentPacket, Subflow};
use seaway_units::{Bitrate, DataSize, Ecn, Probability, RemoteTimestamp, TimeDelta, Timestamp};

/// One feedback message, already matched with what we sent. Any part may be absent.
#[derive(Debug, Clone, Copy)]
pub struct Feedback<'a> {
    /// The connection that it reports on.
    pub subflow: Subflow,
    /// A fresh sample of the round-trip time, the peer's holding time taken off.
    pub rtt: Option<TimeDelta>,
    /// What became of packets, in order of departure; each is reported once, save that a packet called lost
    /// may come [late](Fate::Late) after all.
    pub packets: &'a [PacketReport],
    /// Packets that the receiver requests again (NACK).
    pub requested: &'a [PacketId],
    /// What the receiving half computed itself.
    pub peer: PeerReport,
}

/// What became of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketReport {
    /// The packet as it left.
    pub packet: SentPacket,
    /// When it left, on our clock.
    pub sent: Timestamp,
    /// How it fared.
    pub fate: Fate,
}

/// How a packet fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Received {
        /// When, on the peer's clock, where the format says so.
        at: Option<RemoteTimestamp>,
        /// The codepoint it arrived with.
        ecn: Ecn,
    },
    /// It is taken for lost: three later packets arrived, or its time ran out.
    Lost,
    /// It was taken for lost and arrived after all.
    Late {
        /// When, on the peer's clock, where the format says so.
        at: Option<RemoteTimestamp>,
    },
}

/// What the receiving half computed itself; also what it hands to the wire.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PeerReport {
    /// The newest packet the report knows of.
    pub echoed: Option<PacketId>,
    /// Loss *event* rate (RFC 5348 section 5), 0 before the first loss.
    pub loss_event_rate: Option<Probability>,
    /// A loss event began since the last report.
    pub new_loss_event: bool,
    /// Rate of arrival since the last report (`X_recv`).
    pub receive_rate: Option<Bitrate>,
    /// Packets that arrived with the CE mark since the start.
    pub ce_packets: Option<u32>,
    /// NADA's aggregate congestion signal.
    pub congestion: Option<Congestion>,
    /// The receiver's buffer.
    pub buffer: Option<BufferLevel>,
    /// A bound the receiver sets (REMB).
    pub limit: Option<Bitrate>,
}

/// The receiver's playout buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferLevel {
    /// What it holds.
    pub held: DataSize,
    /// What it can hold.
    pub capacity: DataSize,
}

/// NADA's report (RFC 8698 section 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Congestion {
    /// Aggregate congestion signal (`x_curr`).
    pub delay: TimeDelta,
    /// True for accelerated ramp-up (`rmode` 0).
    pub ramp_up: bool,
}
