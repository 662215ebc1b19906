//! Random numbers that an off-path attacker would have to guess (RFC 3550 sections 5.1 and 8).

use seaway_session::SourceId;
use std::io::{self, Read};

/// First values of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    /// First synchronisation source.
    pub(super) session: u32,
    /// First sequence number.
    pub(super) sequence: u16,
    /// Media timestamp of the clock's origin.
    pub(super) timestamp: u32,
}

impl Identity {
    /// Values from the operating system.
    ///
    /// # Errors
    /// It gives none.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; 10];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let session = word(0) / SourceId::COUNT * SourceId::COUNT;
        Ok(Self { session, timestamp: word(4), sequence: u16::from_be_bytes([bytes[8], bytes[9]]) })
    }
}
