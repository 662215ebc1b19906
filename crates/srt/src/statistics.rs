//! What an end has counted.

use seaway_units::TimeDelta;
use std::ops::AddAssign;

/// Counts of data packets, of either direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Different packets.
    pub packets: u64,
    /// Packets that were not there when one behind them came; at a sender, each report of one.
    pub lost: u64,
    /// Packets that came, or were sent, again.
    pub retransmitted: u64,
    /// Packets that were not there when they were due; at a sender, those that were too old or too many to keep.
    pub dropped: u64,
    /// Packets that came twice, or after they were due.
    pub late: u64,
    /// Packets beyond the buffer.
    pub beyond: u64,
    /// Packets that no key of ours decrypts.
    pub undecryptable: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.lost += other.lost;
        self.retransmitted += other.retransmitted;
        self.dropped += other.dropped;
        self.late += other.late;
        self.beyond += other.beyond;
        self.undecryptable += other.undecryptable;
    }
}

/// What an end has counted, over all its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Data packets.
    pub counts: Counts,
    /// Connections that were made.
    pub connections: u64,
    /// Handshakes that were refused.
    pub refused: u64,
    /// Datagrams that are no packet of SRT.
    pub malformed: u64,
    /// Packets that are not of the connection.
    pub unrelated: u64,
    /// Payloads that were given while there was no connection.
    pub unsent: u64,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// Its round-trip time.
    pub rtt: Option<TimeDelta>,
    /// Its latency, as both ends have agreed.
    pub latency: Option<TimeDelta>,
}
