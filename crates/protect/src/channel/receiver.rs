//! The receiver's end.

use super::{CallerChannel, ListenerChannel, Received};
use crate::handshake::Caller;
use crate::{Error, SrtpKeys};
use seaway_session::SessionKey;
use seaway_units::Timestamp;
use std::net::SocketAddr;

/// The receiver's end: it opens packets, and knows where its sender is now.
///
/// A pure state machine; its calls are those of every machine here, and `poll_datagram` is to be drained after each.
#[derive(Debug)]
pub struct ReceiverChannel(End);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one read of memory less a packet; there are few sessions")]
enum End {
    /// Is called by senders.
    Listener(ListenerChannel),
    /// Calls a sender.
    Caller(CallerChannel),
}

impl ReceiverChannel {
    /// Receives from any sender that has `key`; `source` is our synchronisation source, `seed` is random.
    pub const fn new(now: Timestamp, key: SessionKey, source: u32, seed: [u8; 32]) -> Self {
        Self(End::Listener(ListenerChannel::new(now, Caller::Sender, key, source, seed)))
    }

    /// Calls the sender that listens at `to`; `source` is our synchronisation source, `seed` is random.
    pub const fn calling(to: SocketAddr, key: SessionKey, source: u32, seed: [u8; 32]) -> Self {
        Self(End::Caller(CallerChannel::new(to, Caller::Receiver, key, source, seed)))
    }

    /// Whether it calls a sender.
    pub const fn is_calling(&self) -> bool {
        matches!(self.0, End::Caller(_))
    }

    /// Where the sender is, once it has shown that it has the key.
    pub fn peer(&self) -> Option<SocketAddr> {
        match &self.0 {
            End::Listener(listener) => listener.peer(),
            End::Caller(caller) => caller.was_ready().then(|| caller.peer()),
        }
    }

    /// Where its packets came from before, until 3 s after the last one from there. Reports go there as well: who copies packets on the
    /// path and is faster with them than the path has moved the sender's address only seemingly.
    pub fn former_peer(&self, now: Timestamp) -> Option<SocketAddr> {
        match &self.0 {
            End::Listener(listener) => listener.former_peer(now),
            End::Caller(_) => None,
        }
    }

    /// The keys of the present session.
    pub fn keys(&self) -> Option<&SrtpKeys> {
        match &self.0 {
            End::Listener(listener) => listener.keys(),
            End::Caller(caller) => caller.keys(),
        }
    }

    /// A datagram came. The answer, if there is one, is next in `poll_datagram`.
    ///
    /// # Errors
    /// It is refused; [`Error::OtherKey`] where it is the hello of an end with another key, which gets a refusal, or where the called
    /// sender has another one.
    pub fn handle_datagram(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Received, Error> {
        match &mut self.0 {
            End::Listener(listener) => listener.handle_datagram(now, from, datagram),
            End::Caller(caller) => caller.handle_datagram(now, from, datagram),
        }
    }

    /// The instant named by `poll_timeout` has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if let End::Caller(caller) = &mut self.0 {
            caller.handle_timeout(now);
        }
    }

    /// When `handle_timeout` or `poll_datagram` is due; `None`: never, by itself.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        match &self.0 {
            End::Listener(_) => None,
            End::Caller(caller) => caller.poll_timeout(),
        }
    }

    /// The handshake message that leaves now, written to `buffer`, and where it goes.
    pub fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        match &mut self.0 {
            End::Listener(listener) => listener.poll_datagram(buffer),
            End::Caller(caller) => caller.poll_datagram(now, buffer),
        }
    }

    /// Protects a packet that leaves; gives where it goes.
    ///
    /// # Errors
    /// There is no sender to send it to.
    pub fn seal(&mut self, datagram: &mut Vec<u8>) -> Result<SocketAddr, Error> {
        match &mut self.0 {
            End::Listener(listener) => listener.seal(datagram),
            End::Caller(caller) => caller.seal(datagram),
        }
    }
}
