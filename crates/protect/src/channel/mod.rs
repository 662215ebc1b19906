//! The two ends of a keyed session between the session's machine and its socket: handshakes, SRTP, and whom to answer.

mod amplification;
mod receiver;
mod sender;

pub use amplification::AmplificationLimit;
pub use receiver::{FORMER, ReceiverChannel};
pub use sender::SenderChannel;

use bytes::Bytes;

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
