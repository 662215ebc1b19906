//! What packets carry inside the lab's simulator.

use bytes::Bytes;
use seaway_session::Message;
use seaway_sim::tcp::Segment;

/// The content of a packet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cargo {
    /// A datagram without meaning.
    Filling,
    /// What one end of a TCP flow sends the other.
    Segment(Segment),
    /// What one endpoint of a media session sends the other.
    Message(Message),
    /// The same as octets.
    Octets(Bytes),
}

/// How messages travel. The results are the same; a test holds them to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Carriage {
    /// As they are, which is faster.
    #[default]
    Messages,
    /// Encoded by the one end and decoded by the other, as a socket would carry them.
    Octets,
}

impl Carriage {
    /// Loads a message.
    pub(crate) fn load(self, message: Message) -> Cargo {
        match self {
            Self::Messages => Cargo::Message(message),
            Self::Octets => {
                let mut octets = Vec::with_capacity(message.wire_len());
                message.encode(&mut octets);
                Cargo::Octets(Bytes::from(octets))
            }
        }
    }
}

impl Cargo {
    /// The TCP segment; `None` where there is none.
    pub(crate) const fn segment(&self) -> Option<Segment> {
        match self {
            Self::Segment(segment) => Some(*segment),
            _ => None,
        }
    }

    /// The message that was loaded; `None` where there is none, or the octets make none.
    pub(crate) fn unload(self) -> Option<Message> {
        match self {
            Self::Filling | Self::Segment(_) => None,
            Self::Message(message) => Some(message),
            Self::Octets(octets) => Message::decode(&octets).ok(),
        }
    }
}
