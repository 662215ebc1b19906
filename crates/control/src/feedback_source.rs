//! The receiving half of a controller.

use crate::feedback::{BufferLevel, PeerReport};
use crate::packet::Subflow;
use seaway_units::{DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::fmt;

/// A packet that arrived, duplicates left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The connection it came by.
    pub subflow: Subflow,
    /// Its place among the departures of its subflow, unwrapped: it counts every packet sent, retransmissions too.
    pub sequence: u64,
    /// The whole IP datagram, headers included.
    pub size: DataSize,
    /// The codepoint it arrived with.
    pub ecn: Ecn,
    /// The number the sending half wrote on it.
    pub tag: Option<u16>,
    /// When it left, on the sender's clock.
    pub sent: RemoteTimestamp,
    /// The sender's present estimate of the round-trip time, if it has one.
    pub rtt: Option<TimeDelta>,
    /// True on the last packet of a frame.
    pub ends_frame: bool,
}

/// The receiving half: turns arrivals into reports. Here `now` is the receiver's clock.
///
/// It also sets the feedback interval: `session` sends a message when [`poll_report`](Self::poll_report) gives
/// one and adds the block of packets to it. The same object runs at the sender, on matched reports, where the
/// peer is a browser. Driven by the [contract](crate#the-driving-contract).
pub trait FeedbackSource: fmt::Debug + Send + Sync {
    /// A packet arrived.
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival);
    /// Explicit loss notification (RFC 3135 section 5.3.2): a link on the way says that the channel lost this packet,
    /// before a later one arrives. Only a simulator has such links.
    fn on_channel_loss(&mut self, _lost: &Arrival) {}
    /// The receiver's buffer changed.
    fn on_buffer(&mut self, _now: Timestamp, _level: BufferLevel) {}
    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, _now: Timestamp) {}
    /// When its next timer is due; `None` until something arrives.
    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }
    /// False where it is known without asking that [`poll_report`](Self::poll_report) has nothing at `now`.
    fn has_report(&self, _now: Timestamp) -> bool {
        true
    }
    /// The next report that is due now, and its connection. Call it until it returns `None`.
    fn poll_report(&mut self, now: Timestamp) -> Option<(Subflow, PeerReport)>;
}
