//! The error of this crate.

/// Why a datagram is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no packet of the protocol.
    #[error("not a packet of the session")]
    Malformed,
    /// It is of a synchronisation source that the peer does not have.
    #[error("unknown synchronisation source")]
    UnknownSource,
    /// It was changed on its way, or made without the key.
    #[error("not authentic")]
    NotAuthentic,
    /// It came before, or is older than the replay window.
    #[error("replayed")]
    Replayed,
    /// It is a handshake message of an end with another key.
    #[error("made with another key")]
    OtherKey,
    /// More handshakes come than are computed.
    #[error("too many handshakes")]
    Busy,
    /// Another sender with the same key took the place of this one.
    #[error("another sender with the same key took over")]
    Replaced,
    /// No handshake was made yet.
    #[error("the session has no keys yet")]
    NotReady,
    /// The key has protected as many packets as it may.
    #[error("the key is used up")]
    KeyUsedUp,
    /// The cipher cannot be set up.
    #[error("the cipher cannot be set up")]
    Cipher,
}
