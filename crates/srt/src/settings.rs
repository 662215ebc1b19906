//! What an end is set to.

use crate::Error;
use seaway_units::TimeDelta;
use std::fmt;

/// Octets of a stream id at most (section 3.2.1.3).
pub(crate) const MAX_STREAM_ID: usize = 512;

/// The length of the key of a stream (`pbkeylen`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyLength {
    /// AES-128.
    #[default]
    Aes128,
    /// AES-192.
    Aes192,
    /// AES-256.
    Aes256,
}

impl KeyLength {
    /// The length with so many octets.
    pub const fn from_octets(octets: usize) -> Option<Self> {
        match octets {
            16 => Some(Self::Aes128),
            24 => Some(Self::Aes192),
            32 => Some(Self::Aes256),
            _ => None,
        }
    }

    /// Octets of the key.
    pub const fn octets(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes192 => 24,
            Self::Aes256 => 32,
        }
    }
}

/// What both ends know, and the keys of the stream are wrapped with.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(String);

impl Passphrase {
    /// A passphrase of 10 to 79 octets.
    pub fn new(text: &str) -> Result<Self, Error> {
        match text.len() {
            10..=79 => Ok(Self(text.to_owned())),
            len => Err(Error::Passphrase(len)),
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}

/// Which way the stream goes. Both ends of a connection have the same keys, so one of them alone sends data: two would
/// encrypt different data with the same counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// This end sends it.
    Send,
    /// This end receives it.
    Receive,
}

/// What an end is set to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which way the stream goes.
    pub direction: Direction,
    /// From sending to delivery; the larger one of both ends counts. Up to 65 s.
    pub latency: TimeDelta,
    /// With a passphrase all data is encrypted, and a peer without it is refused.
    pub passphrase: Option<Passphrase>,
    /// The length of a caller's key; the listener's where none is named.
    pub key_length: Option<KeyLength>,
    /// What a caller asks for.
    pub stream_id: Option<String>,
    /// Data packets under one key.
    pub key_packets: u64,
}

impl Settings {
    /// Latency where none is named, as in libsrt.
    pub const LATENCY: TimeDelta = TimeDelta::from_millis(120);
    /// Data packets under one key, as in libsrt: ten hours at 5 Mbit/s.
    pub const KEY_PACKETS: u64 = 1 << 24;

    /// Live mode without encryption.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            latency: Self::LATENCY,
            passphrase: None,
            key_length: None,
            stream_id: None,
            key_packets: Self::KEY_PACKETS,
        }
    }

    /// Sets what a caller asks for.
    pub fn with_stream_id(mut self, stream_id: &str) -> Result<Self, Error> {
        if stream_id.len() > MAX_STREAM_ID {
            return Err(Error::StreamId(stream_id.len()));
        }
        self.stream_id = Some(stream_id.to_owned());
        Ok(self)
    }

    pub(crate) fn latency_ms(&self) -> u16 {
        u16::try_from(self.latency.as_millis().max(0)).unwrap_or(u16::MAX)
    }
}
