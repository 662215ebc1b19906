//! Unpredictable random numbers (RFC 3550 sections 5.1 and 8).

use seaway_session::{SessionKey, SourceId};
use std::io;

/// First values of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    /// First synchronisation source.
    pub(super) session: u32,
    /// First sequence number; below 2^15, so that both ends of SRTP count its rollovers alike (RFC 3711 section 3.3.1).
    pub(super) sequence: u16,
    /// Media timestamp of the clock's origin.
    pub(super) timestamp: u32,
    /// Seed of the handshakes.
    pub(super) seed: [u8; 32],
    /// The canonical name of this end in RTCP: 96 random bits (RFC 7022 section 4.2).
    pub(super) name: u128,
}

impl Identity {
    /// Values from the operating system.
    ///
    /// # Errors
    /// It gives none.
    pub(super) fn random() -> io::Result<Self> {
        let session = u32::from_be_bytes(random()?) / SourceId::COUNT * SourceId::COUNT;
        let sequence = u16::from_be_bytes(random()?) >> 1;
        let name = u128::from_be_bytes(random()?) >> 32;
        Ok(Self { session, sequence, timestamp: u32::from_be_bytes(random()?), seed: random()?, name })
    }

    /// The canonical name as text.
    pub(super) fn cname(&self) -> String {
        format!("{:024x}", self.name)
    }
}

/// A fresh key from the operating system's random numbers.
///
/// # Errors
/// It gives none.
pub fn fresh_key() -> io::Result<SessionKey> {
    random().map(SessionKey::new)
}

fn random<const LEN: usize>() -> io::Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
