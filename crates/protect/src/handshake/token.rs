//! The token that notifies a sender that another took over.

use super::{Kind, TAG_LEN, read, write};
use rtc_crypto::constant_time_eq;
use std::fmt;

/// A secret of both ends of one session until it is sent.
#[derive(Clone)]
pub(crate) struct Token([u8; TAG_LEN]);

impl Token {
    pub(super) const fn new(octets: [u8; TAG_LEN]) -> Self {
        Self(octets)
    }

    /// The message that carries it.
    pub(crate) fn to_notice(&self) -> Vec<u8> {
        write(Kind::Replaced, &[&self.0])
    }

    /// Whether `datagram` is the message that carries it.
    pub(crate) fn is_in(&self, datagram: &[u8]) -> bool {
        matches!(read(datagram), Some((Kind::Replaced, token)) if constant_time_eq(token, &self.0))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}
