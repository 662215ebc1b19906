//! What is between a sender's session and its socket.

use seaway_net::webrtc::{Publisher, ServerState, TurnFailure};
use seaway_protect::channel::{Received, SenderChannel};
use seaway_protect::{Error, SrtpKeys};
use seaway_units::Timestamp;
use std::net::SocketAddr;

/// A receiver's address, plain or with our handshake; or a media server behind ICE, DTLS and SRTP.
#[derive(Debug)]
pub(super) enum Channel {
    Receiver(Box<SenderChannel>),
    Server(Box<Publisher>),
}

impl Channel {
    /// To a receiver.
    pub(super) fn receiver(channel: SenderChannel) -> Self {
        Self::Receiver(Box::new(channel))
    }

    /// Whether packets may leave.
    pub(super) fn is_ready(&self, now: Timestamp) -> bool {
        match self {
            Self::Receiver(channel) => channel.is_ready(now),
            Self::Server(publisher) => publisher.state() == ServerState::Connected,
        }
    }

    /// The receiver that called; `None` where receivers do not call, or none did.
    pub(super) fn caller(&self) -> Option<SocketAddr> {
        match self {
            Self::Receiver(channel) => channel.peer().filter(|_| channel.is_listening()),
            Self::Server(_) => None,
        }
    }

    /// Whether receivers call.
    pub(super) fn is_listening(&self) -> bool {
        matches!(self, Self::Receiver(channel) if channel.is_listening())
    }

    /// The receiver has said goodbye.
    pub(super) fn on_receiver_left(&mut self) {
        if let Self::Receiver(channel) = self {
            channel.on_receiver_left();
        }
    }

    /// How the connection to a media server is.
    pub(super) fn server_state(&self) -> Option<ServerState> {
        match self {
            Self::Receiver(_) => None,
            Self::Server(publisher) => Some(publisher.state()),
        }
    }

    /// The next TURN server that gives no relay to a media server.
    pub(super) fn poll_turn_failure(&mut self) -> Option<TurnFailure> {
        match self {
            Self::Receiver(_) => None,
            Self::Server(publisher) => publisher.poll_failure(),
        }
    }

    /// The present keys of packets, where our handshake made them.
    pub(super) fn keys(&self) -> Option<&SrtpKeys> {
        match self {
            Self::Receiver(channel) => channel.keys(),
            Self::Server(_) => None,
        }
    }

    /// A datagram came.
    ///
    /// # Errors
    /// It is refused.
    pub(super) fn handle_datagram(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Received, Error> {
        match self {
            Self::Receiver(channel) => channel.handle_datagram(now, from, datagram),
            Self::Server(publisher) => {
                let packet = publisher.handle_datagram(now, from, datagram);
                Ok(packet.map_or(Received::Handshake, Received::Packet))
            }
        }
    }

    /// The instant named by `poll_timeout` has come.
    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        match self {
            Self::Receiver(channel) => channel.handle_timeout(now),
            Self::Server(publisher) => publisher.handle_timeout(now),
        }
    }

    /// When `handle_timeout` is due.
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Receiver(channel) => channel.poll_timeout(),
            Self::Server(publisher) => publisher.poll_timeout(),
        }
    }

    /// The next datagram of the channel itself, written to `buffer`, and where it goes.
    pub(super) fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        match self {
            Self::Receiver(channel) => channel.poll_datagram(now, buffer),
            Self::Server(publisher) => publisher.poll_datagram(buffer),
        }
    }

    /// Protects the packet in `buffer`; gives where it goes. `None` where the channel cannot.
    pub(super) fn seal(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        match self {
            Self::Receiver(channel) => channel.seal(buffer).ok(),
            Self::Server(publisher) => publisher.seal(now, buffer),
        }
    }

    /// Nothing follows. A media server gets a goodbye.
    pub(super) fn close(&mut self, now: Timestamp) {
        match self {
            Self::Receiver(_) => {}
            Self::Server(publisher) => publisher.close(now),
        }
    }
}
