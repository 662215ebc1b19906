//! The caller's side of one handshake.

use super::noise::{self, Secret, Secrets};
use super::{Caller, Kind, NOISE_LEN, TAG_LEN, Token, read, write};
use crate::Error;
use crate::srtp::{SourceRange, SrtpKeys};
use seaway_session::SessionKey;
use seaway_units::{TimeDelta, Timestamp};
use snow::HandshakeState;
use std::fmt;

/// A hello is repeated after this time, and then after twice the time before.
const FIRST_REPEAT: TimeDelta = TimeDelta::from_millis(200);
const LONGEST_REPEAT: TimeDelta = TimeDelta::from_millis(500);

/// The caller's side of one handshake: repeats its hello until a reply comes.
pub struct Initiator {
    caller: Caller,
    state: HandshakeState,
    hello: [u8; NOISE_LEN],
    began: Timestamp,
    next: Timestamp,
    interval: TimeDelta,
}

/// What a handshake yields to the caller.
#[derive(Debug, Clone)]
pub struct Established {
    /// The keys of its packets and of the other end's.
    pub keys: SrtpKeys,
    /// The other end's synchronisation sources.
    pub peer: SourceRange,
    /// To be sent before the first packet, and again until a packet of the other end arrives.
    pub proof: Vec<u8>,
    /// Since the first hello: a round-trip time or more.
    pub duration: TimeDelta,
    pub(crate) token: Token,
}

impl Initiator {
    /// A handshake of `caller`, whose first synchronisation source is `source`; `entropy` is random and used once.
    ///
    /// # Errors
    /// The cipher cannot be set up.
    pub fn new(
        now: Timestamp,
        caller: Caller,
        key: &SessionKey,
        source: u32,
        entropy: Secret,
    ) -> Result<Self, Error> {
        let mut state = noise::begin(key, caller, entropy, true)?;
        let hello = noise::write(&mut state, source)?;
        Ok(Self { caller, state, hello, began: now, next: now, interval: FIRST_REPEAT })
    }

    /// The hello, where it is due.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        if now < self.next {
            return None;
        }
        self.next = now + self.interval;
        self.interval = (self.interval + self.interval).min(LONGEST_REPEAT);
        Some(write(Kind::Hello, &[&self.hello]))
    }

    /// When the next hello is due.
    pub const fn poll_timeout(&self) -> Timestamp {
        self.next
    }

    /// A handshake message came. A forged one changes nothing.
    ///
    /// # Errors
    /// It is no answer to this hello, or it says that the other end has another key.
    pub fn handle_datagram(&mut self, now: Timestamp, datagram: &[u8]) -> Result<Established, Error> {
        match read(datagram).ok_or(Error::Malformed)? {
            (Kind::Reply, message) => self.on_reply(now, message),
            (Kind::Refusal, echo) if *echo == self.hello[..TAG_LEN] => Err(Error::OtherKey),
            _ => Err(Error::NotAuthentic),
        }
    }

    fn on_reply(&mut self, now: Timestamp, message: &[u8]) -> Result<Established, Error> {
        let source = noise::read(&mut self.state, message)?;
        let Secrets { forward, backward, tag, token } = Secrets::of(&mut self.state);
        Ok(Established {
            keys: SrtpKeys { send: forward, receive: backward },
            peer: self.caller.other_sources(source),
            proof: write(Kind::Proof, &[&self.hello, &tag]),
            duration: now.since(self.began),
            token,
        })
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator")
            .field("began", &self.began)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
