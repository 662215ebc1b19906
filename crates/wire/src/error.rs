//! What is wrong with a packet, and where.

use std::fmt;

/// Why bytes could not be read or a value could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The bytes end before the field does.
    Truncated {
        /// What was to be read.
        field: &'static str,
        /// Where it begins, in octets from the start of the packet.
        offset: usize,
        /// Octets it needs from there.
        needed: usize,
        /// Octets there are from there.
        available: usize,
    },
    /// A field holds what its format forbids.
    Invalid {
        /// The field.
        field: &'static str,
        /// Where it stands, in octets from the start of the packet.
        offset: usize,
        /// What it holds.
        seen: u64,
        /// What it may hold.
        expected: &'static str,
    },
    /// A value to be written does not fit its field.
    TooLarge {
        /// The field.
        field: &'static str,
        /// The value.
        seen: u64,
        /// The largest that fits.
        limit: u64,
    },
    /// The buffer to be written into is too small.
    NoRoom {
        /// What was to be written.
        field: &'static str,
        /// Octets it needs.
        needed: usize,
        /// Octets the buffer has.
        available: usize,
    },
}

impl Error {
    /// The same error in a packet that begins `base` octets into a larger one.
    pub(crate) fn moved(self, base: usize) -> Self {
        match self {
            Self::Truncated { field, offset, needed, available } => {
                Self::Truncated { field, offset: base + offset, needed, available }
            }
            Self::Invalid { field, offset, seen, expected } => {
                Self::Invalid { field, offset: base + offset, seen, expected }
            }
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { field, offset, needed, available } => {
                write!(f, "{field} at octet {offset} needs {needed} octets, {available} are left")
            }
            Self::Invalid { field, offset, seen, expected } => {
                write!(f, "{field} at octet {offset} is {seen}, expected {expected}")
            }
            Self::TooLarge { field, seen, limit } => write!(f, "{field} is {seen}, at most {limit} fits"),
            Self::NoRoom { field, needed, available } => {
                write!(f, "{field} needs {needed} octets, the buffer has {available}")
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_where_and_what_was_seen() {
        let invalid = Error::Invalid { field: "RTP version", offset: 0, seen: 1, expected: "2" };
        assert_eq!(invalid.moved(8).to_string(), "RTP version at octet 8 is 1, expected 2");
        let truncated = Error::Truncated { field: "RTP header", offset: 0, needed: 12, available: 3 };
        assert_eq!(truncated.to_string(), "RTP header at octet 0 needs 12 octets, 3 are left");
    }
}
