//! The live session: what `demo`, `send` and `recv` are made of.
//!
//! One thread drives the sockets ([`media`]); [`sending`] has a thread for the camera, [`receiving`] one for the
//! screen, the page has one of its own, and the calling thread keeps the [`board`]: it hears everybody's news,
//! tells them by the [`console`] and makes the [`report`].

pub(crate) mod board;
pub(crate) mod camera;
pub(crate) mod console;
pub(crate) mod media;
pub(crate) mod options;
pub(crate) mod receiving;
pub(crate) mod recording;
pub(crate) mod report;
pub(crate) mod screen;
pub(crate) mod sending;
pub(crate) mod url;

use seaway_session::SourceId;
use seaway_units::TimeDelta;
use std::io::Read;

/// The board is kept this often.
pub(crate) const STEP: TimeDelta = TimeDelta::from_millis(20);

/// Numbers that nobody off the path can guess: who forges a packet has to hit them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secrets {
    /// First synchronisation source of the session.
    pub(crate) session: u32,
    /// First sequence number.
    pub(crate) sequence: u16,
    /// Media timestamp of the clock's origin.
    pub(crate) timestamp: u32,
}

impl Secrets {
    /// From the operating system.
    ///
    /// # Errors
    /// It gives none.
    pub(crate) fn draw() -> std::io::Result<Self> {
        let mut bytes = [0; 10];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let session = word(0) / SourceId::COUNT * SourceId::COUNT;
        Ok(Self { session, timestamp: word(4), sequence: u16::from_be_bytes([bytes[8], bytes[9]]) })
    }
}
