//! What the machines of sender and receiver have in common.

use bytes::Bytes;
use seaway_net::{Incoming, Outgoing};
use seaway_session::Message;
use seaway_units::Ecn;
use std::net::SocketAddr;

/// Datagrams rejected before they reach the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RejectCounters {
    /// From an address other than the peer's.
    pub unknown_source: u64,
    /// Not a message of the session.
    pub malformed: u64,
}

impl RejectCounters {
    /// Decodes the message in `datagram`; counts the datagram if there is none.
    pub(super) fn decode(&mut self, datagram: &Incoming<'_>) -> Option<Message> {
        let message = Message::decode(&Bytes::copy_from_slice(datagram.data)).ok();
        self.malformed += u64::from(message.is_none());
        message
    }
}

/// Writes a departing message to `buffer`.
pub(super) fn encode(message: &Message, to: SocketAddr, ecn: Ecn, buffer: &mut Vec<u8>) -> Outgoing {
    message.encode(buffer);
    Outgoing { socket: 0, to, ecn }
}
