//! The endpoints of crate `session` on sockets: machines for a [`Reactor`](crate::Reactor).
//!
//! Other threads talk to an endpoint by mail (and then ring the bell), and read what it has to tell from a channel.

mod receiver;
mod sender;

pub use receiver::{ReceiverMachine, ReceiverMail, ReceiverNews, ReceiverSnapshot};
pub use sender::{Dial, SenderMachine, SenderMail, SenderNews, SenderSnapshot};

use crate::reactor::Outgoing;
use crate::socket::Incoming;
use bytes::Bytes;
use seaway_session::Message;
use seaway_units::{Ecn, TimeDelta, Timestamp};
use std::net::SocketAddr;

/// How often an endpoint tells how it is.
pub const SNAPSHOT_INTERVAL: TimeDelta = TimeDelta::from_millis(100);

/// What a socket refused before an endpoint saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Screened {
    /// Datagrams from somebody who is not the peer.
    pub strangers: u64,
    /// Datagrams that are no message.
    pub malformed: u64,
}

impl Screened {
    /// The message in `datagram`, counted where it is none.
    fn message(&mut self, datagram: &Incoming<'_>) -> Option<Message> {
        match Message::decode(&Bytes::copy_from_slice(datagram.data)) {
            Ok(message) => Some(message),
            Err(_) => {
                self.malformed += 1;
                None
            }
        }
    }
}

/// Writes what leaves.
fn encode(message: &Message, to: SocketAddr, ecn: Ecn, buffer: &mut Vec<u8>) -> Outgoing {
    message.encode(buffer);
    Outgoing { socket: 0, to, ecn }
}

/// The next of a row of instants, none of them in the past.
pub(crate) fn next_tick(due: Timestamp, now: Timestamp) -> Timestamp {
    let next = due + SNAPSHOT_INTERVAL;
    if next > now { next } else { now + SNAPSHOT_INTERVAL }
}
