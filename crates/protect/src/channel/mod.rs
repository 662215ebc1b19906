//! The two ends of a keyed session between the session's machine and its socket: handshakes, SRTP, and whom to answer.

mod amplification;
mod caller;
mod listener;
mod receiver;
mod sender;

pub use amplification::AmplificationLimit;
pub use caller::CallerChannel;
pub use listener::{FORMER, ListenerChannel};
pub use receiver::ReceiverChannel;
pub use sender::SenderChannel;

use bytes::Bytes;
use seaway_units::TimeDelta;

/// A sender's consent to send expires: nothing but hellos leaves then. Three reporting intervals of 5 s (RFC 8083 section 4.1), which is
/// less than the 30 s of RFC 7675 section 5.1.
const CONSENT: TimeDelta = TimeDelta::from_secs(15);

/// What a datagram brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// An RTP or RTCP packet of the peer.
    Packet(Bytes),
    /// The peer has shown that it has the key, and there are new keys for packets.
    Established {
        /// The peer is another than before, or the first.
        is_new: bool,
    },
    /// A handshake message that needs no more than the answer.
    Handshake,
}
