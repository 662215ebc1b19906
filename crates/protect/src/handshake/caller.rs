//! Which end of the media begins the handshake.

use crate::srtp::SourceRange;
use seaway_session::SourceId;

/// The end that begins the handshake; the other one listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The sender of media, the usual case.
    Sender,
    /// The receiver: no other host reaches it, as behind NAT, and the sender is reached.
    Receiver,
}

impl Caller {
    /// What both ends mix into the handshake.
    pub(super) const fn prologue(self) -> &'static [u8] {
        match self {
            Self::Sender => b"seaway keyed session 1",
            Self::Receiver => b"seaway keyed session 1, called by the receiver",
        }
    }

    /// The caller's synchronisation sources, by the first of them.
    pub(super) const fn own_sources(self, first: u32) -> SourceRange {
        Self::sources(matches!(self, Self::Sender), first)
    }

    /// The other end's.
    pub(super) const fn other_sources(self, first: u32) -> SourceRange {
        Self::sources(matches!(self, Self::Receiver), first)
    }

    const fn sources(of_sender: bool, first: u32) -> SourceRange {
        SourceRange { first, count: if of_sender { SourceId::COUNT } else { 1 } }
    }
}
