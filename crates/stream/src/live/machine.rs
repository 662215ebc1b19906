//! What the machines of sender and receiver have in common.

use bytes::Bytes;
use seaway_protect::Error;
use seaway_session::Message;

/// Datagrams rejected before they reach the session, and answers withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RejectCounters {
    /// From an address or of a synchronisation source other than the peer's.
    pub unknown_source: u64,
    /// Not a message of the session.
    pub malformed: u64,
    /// Changed on the way, or made without the key.
    pub not_authentic: u64,
    /// Authentic, but it came before.
    pub replayed: u64,
    /// Reports that did not leave: they would have been more than three times the octets that came from their address.
    pub withheld: u64,
}

impl RejectCounters {
    /// Decodes the message in a packet; counts the packet if there is none.
    pub(super) fn decode(&mut self, packet: &Bytes) -> Option<Message> {
        let message = Message::decode(packet).ok();
        self.malformed += u64::from(message.is_none());
        message
    }

    /// As [`decode`](Self::decode), of any sender of RTP.
    pub(super) fn decode_plain(&mut self, packet: &Bytes, transport_id: Option<u8>) -> Option<Message> {
        let message = Message::decode_plain(packet, transport_id).ok();
        self.malformed += u64::from(message.is_none());
        message
    }

    /// Counts a datagram that was refused.
    pub(super) fn count(&mut self, error: Error) {
        let counter = match error {
            Error::UnknownSource | Error::NotReady => &mut self.unknown_source,
            Error::NotAuthentic | Error::OtherKey | Error::Busy => &mut self.not_authentic,
            Error::Replayed => &mut self.replayed,
            _ => &mut self.malformed,
        };
        *counter += 1;
    }
}
