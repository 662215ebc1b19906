//! Why a handshake is refused.

use std::fmt;

/// The reason for which a handshake is refused, as libsrt numbers it (draft-sharabayko-srt-01, table 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal(u32);

impl Refusal {
    /// Its fields contradict each other.
    pub const ROGUE: Self = Self(1004);
    /// Another caller has the connection.
    pub const BACKLOG: Self = Self(1005);
    /// The peer is of a version without this handshake.
    pub const VERSION: Self = Self(1008);
    /// The passphrases differ.
    pub const BAD_SECRET: Self = Self(1010);
    /// One of both has no passphrase.
    pub const UNSECURE: Self = Self(1011);
    /// The peer is not in live mode.
    pub const MESSAGE_API: Self = Self(1012);

    /// The reason with this number.
    pub const fn new(code: u32) -> Self {
        Self(code)
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        self.0
    }

    /// Whether another call would be refused for the same reason: the two ends are set to what does not fit.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::VERSION | Self::BAD_SECRET | Self::UNSECURE | Self::MESSAGE_API)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            1001 => "its system refused a call",
            1002 => "its program refused the connection",
            1003 => "it has no memory or sockets left",
            1004 => "the handshake is wrong",
            1005 => "it has a connection already",
            1006 => "it failed",
            1007 => "it is about to end",
            1008 => "it has another version of SRT",
            1010 => "wrong passphrase",
            1011 => "one end has a passphrase, the other one has none",
            1012 => "it is not in live mode",
            1013 => "its congestion control is another one",
            1014 => "its packet filter is another one",
            1015 => "its group is another one",
            1016 => "the connection took too long",
            1400 => "the stream id is not understood",
            1401 => "the stream id has to have a user and a password",
            1402 => "its capacity is used up",
            1403 => "access is forbidden",
            1404 => "it has no such stream",
            1405 => "the mode is not for this stream",
            1409 => "the stream is in use",
            code => return write!(f, "reason {code}"),
        };
        f.write_str(text)
    }
}
