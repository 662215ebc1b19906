//! The sender's end.

use super::{CallerChannel, ListenerChannel, Received};
use crate::handshake::Caller;
use crate::{Error, Protection, SrtpKeys};
use seaway_session::SessionKey;
use seaway_units::Timestamp;
use std::net::SocketAddr;

/// The sender's end: it protects packets, and follows a receiver that moves.
///
/// A pure state machine; its calls are those of every machine here, and `poll_datagram` is to be drained after each.
#[derive(Debug)]
pub struct SenderChannel(End);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one read of memory less a packet; there are few sessions")]
enum End {
    Plain {
        to: SocketAddr,
        /// Any port of the receiver's host may report.
        takes_any_port: bool,
    },
    /// Calls a receiver.
    Caller(CallerChannel),
    /// Is called by receivers.
    Listener(ListenerChannel),
}

impl SenderChannel {
    /// Plain RTP to `to` and from `to` only.
    pub const fn plain(to: SocketAddr) -> Self {
        Self(End::Plain { to, takes_any_port: false })
    }

    /// Plain RTP to `to`, where reports may come from other ports of the same host: RTCP has a port of its own (RFC 3550 section
    /// 11).
    pub const fn plain_host(to: SocketAddr) -> Self {
        Self(End::Plain { to, takes_any_port: true })
    }

    /// A keyed session with the receiver at `to`, whose first synchronisation source is `session`. `seed` is random.
    pub const fn keyed(to: SocketAddr, key: SessionKey, session: u32, seed: [u8; 32]) -> Self {
        Self(End::Caller(CallerChannel::new(to, Caller::Sender, key, session, seed)))
    }

    /// A keyed session with the receiver that calls; its first synchronisation source is `session`. `seed` is random.
    pub const fn listening(now: Timestamp, key: SessionKey, session: u32, seed: [u8; 32]) -> Self {
        Self(End::Listener(ListenerChannel::new(now, Caller::Receiver, key, session, seed)))
    }

    /// Where packets go; `None` where no receiver has called.
    pub fn peer(&self) -> Option<SocketAddr> {
        match &self.0 {
            End::Plain { to, .. } => Some(*to),
            End::Caller(caller) => Some(caller.peer()),
            End::Listener(listener) => listener.peer(),
        }
    }

    /// Whether receivers call.
    pub const fn is_listening(&self) -> bool {
        matches!(self.0, End::Listener(_))
    }

    /// Whether packets may leave: the receiver has shown that it has the key and, within the last 15 s, that it is there.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        match &self.0 {
            End::Plain { .. } => true,
            End::Caller(caller) => caller.is_ready(now),
            End::Listener(listener) => listener.is_ready(now),
        }
    }

    /// Whether a handshake was ever completed; true without a key.
    pub fn was_ready(&self) -> bool {
        match &self.0 {
            End::Plain { .. } => true,
            End::Caller(caller) => caller.was_ready(),
            End::Listener(listener) => listener.peer().is_some(),
        }
    }

    /// The present keys of packets.
    pub fn keys(&self) -> Option<&SrtpKeys> {
        match &self.0 {
            End::Plain { .. } => None,
            End::Caller(caller) => caller.keys(),
            End::Listener(listener) => listener.keys(),
        }
    }

    /// The receiver has left; a sender that listens waits for the next one.
    pub fn on_receiver_left(&mut self) {
        if let End::Listener(listener) = &mut self.0 {
            listener.hang_up();
        }
    }

    /// A datagram came.
    ///
    /// # Errors
    /// It is refused. [`Error::OtherKey`] and [`Error::Replaced`] say that the session cannot begin or cannot go on; where receivers
    /// call, the first that one with another key was refused.
    pub fn handle_datagram(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Received, Error> {
        match &mut self.0 {
            End::Plain { to, takes_any_port } => {
                let is_same_host = *takes_any_port && from.ip() == to.ip();
                match from == *to || is_same_host {
                    true => Protection::None.open(datagram).map(Received::Packet),
                    false => Err(Error::UnknownSource),
                }
            }
            End::Caller(caller) => caller.handle_datagram(now, from, datagram),
            End::Listener(listener) => listener.handle_datagram(now, from, datagram),
        }
    }

    /// The instant named by `poll_timeout` has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if let End::Caller(caller) = &mut self.0 {
            caller.handle_timeout(now);
        }
    }

    /// When `handle_timeout` or `poll_datagram` is due; `None`: never, by itself. Until the first handshake begins it is the
    /// beginning of time.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        match &self.0 {
            End::Caller(caller) => caller.poll_timeout(),
            End::Plain { .. } | End::Listener(_) => None,
        }
    }

    /// The handshake message that leaves now, written to `buffer`, and where it goes.
    pub fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        match &mut self.0 {
            End::Plain { .. } => None,
            End::Caller(caller) => caller.poll_datagram(now, buffer),
            End::Listener(listener) => listener.poll_datagram(buffer),
        }
    }

    /// Protects a packet that leaves; gives where it goes.
    ///
    /// # Errors
    /// It must not leave: there are no keys, or they are used up.
    pub fn seal(&mut self, datagram: &mut Vec<u8>) -> Result<SocketAddr, Error> {
        match &mut self.0 {
            End::Plain { to, .. } => Ok(*to),
            End::Caller(caller) => caller.seal(datagram),
            End::Listener(listener) => listener.seal(datagram),
        }
    }
}
