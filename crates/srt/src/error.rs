//! The error of this crate.

/// Why a datagram or a setting is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It ends before what it has to have.
    #[error("{what}: {len} octets, at least {least} expected")]
    Truncated {
        /// The part.
        what: &'static str,
        /// Octets that are there.
        len: usize,
        /// Octets that have to be there.
        least: usize,
    },
    /// A field has a value that is not of live mode.
    #[error("{what}: {seen:#x}")]
    Unexpected {
        /// The field.
        what: &'static str,
        /// Its value.
        seen: u32,
    },
    /// A passphrase has 10 to 79 octets.
    #[error("a passphrase has 10 to 79 octets, this one {0}")]
    Passphrase(usize),
    /// A stream id has 512 octets at most.
    #[error("a stream id has 512 octets at most, this one {0}")]
    StreamId(usize),
    /// A payload has 1 to 1456 octets.
    #[error("a payload has 1 to 1456 octets, this one {0}")]
    Payload(usize),
}
