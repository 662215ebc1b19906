//! What an end reports.

use crate::Refusal;
use seaway_units::TimeDelta;
use std::fmt;
use std::net::SocketAddr;

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A connection was made.
    Connected {
        /// With whom.
        peer: SocketAddr,
        /// The latency that both have agreed on.
        latency: TimeDelta,
        /// Whether data is encrypted.
        is_encrypted: bool,
        /// What the caller asks for.
        stream_id: Option<String>,
    },
    /// The connection is over. A caller calls again, a listener takes the next caller.
    Disconnected {
        /// With whom it was.
        peer: SocketAddr,
        /// Why.
        cause: Disconnection,
    },
    /// Our call is not answered. It is repeated.
    Unanswered,
    /// Our call is refused. It is repeated, unless the reason [is final](Refusal::is_final).
    Refused(Refusal),
    /// The call of another was refused.
    CallerRefused {
        /// Of whom.
        peer: SocketAddr,
        /// Why.
        refusal: Refusal,
    },
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnection {
    /// The peer has closed it.
    Shutdown,
    /// The peer is silent.
    Silence,
    /// This end has closed it, and makes others.
    Closed,
}

impl fmt::Display for Disconnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shutdown => "it has closed the connection",
            Self::Silence => "it is silent",
            Self::Closed => "the connection was closed",
        })
    }
}
