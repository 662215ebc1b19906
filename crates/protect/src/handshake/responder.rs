//! The listener's side of every handshake.

use super::budget::Budget;
use super::noise::{self, Ratchet, Secret, Secrets};
use super::{Caller, Kind, NOISE_LEN, TAG_LEN, Token, read, write};
use crate::Error;
use crate::srtp::{SourceRange, SrtpKeys};
use rtc_crypto::constant_time_eq;
use seaway_session::SessionKey;
use seaway_units::Timestamp;
use snow::HandshakeState;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The listener's side of every handshake. Its state is one secret, the last accepted hello and a few counts, whatever comes.
pub struct Responder {
    caller: Caller,
    key: SessionKey,
    source: u32,
    secret: Ratchet,
    accepted: Option<[u8; NOISE_LEN]>,
    budget: Budget,
}

/// What a listener does with a handshake message.
#[derive(Debug)]
pub enum Answer {
    /// Sends this back: no longer than the message.
    Reply(Vec<u8>),
    /// Sends this back: the other end has another key.
    Refusal(Vec<u8>),
    /// The other end has the key and received the reply at its address.
    Accepted(Box<Accepted>),
    /// Nothing: the proof came before.
    Nothing,
}

/// What a handshake yields to the listener.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The keys of its packets and of the caller's.
    pub keys: SrtpKeys,
    /// The caller's synchronisation sources.
    pub peer: SourceRange,
    pub(crate) token: Token,
}

impl Responder {
    /// Answers `caller` for the end whose first synchronisation source is `source`; `seed` is random.
    pub const fn new(now: Timestamp, caller: Caller, key: SessionKey, source: u32, seed: Secret) -> Self {
        Self { caller, key, source, secret: Ratchet::new(seed), accepted: None, budget: Budget::new(now) }
    }

    /// A handshake message came from this address.
    ///
    /// # Errors
    /// It gets no answer: it is malformed, not authentic, or one too many.
    pub fn handle_datagram(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Answer, Error> {
        match read(datagram).ok_or(Error::Malformed)? {
            (Kind::Hello, hello) => self.on_hello(now, from, hello),
            (Kind::Proof, proof) => self.on_proof(now, from, proof),
            _ => Err(Error::NotAuthentic),
        }
    }

    fn on_hello(&mut self, now: Timestamp, from: SocketAddr, hello: &[u8]) -> Result<Answer, Error> {
        match self.reply(now, from, hello) {
            Ok((_, _, reply)) => Ok(Answer::Reply(write(Kind::Reply, &[&reply]))),
            Err(Error::NotAuthentic) => Ok(Answer::Refusal(write(Kind::Refusal, &[&hello[..TAG_LEN]]))),
            Err(error) => Err(error),
        }
    }

    fn on_proof(&mut self, now: Timestamp, from: SocketAddr, proof: &[u8]) -> Result<Answer, Error> {
        let (hello, tag) = proof.split_at(NOISE_LEN);
        if self.accepted.is_some_and(|accepted| accepted == hello) {
            return Ok(Answer::Nothing);
        }
        let (mut state, first, _) = self.reply(now, from, hello)?;
        let secrets = Secrets::of(&mut state);
        if !constant_time_eq(&secrets.tag, tag) {
            return Err(Error::NotAuthentic);
        }
        self.secret.advance();
        self.accepted = hello.try_into().ok();
        let keys = SrtpKeys { send: secrets.backward, receive: secrets.forward };
        let peer = self.caller.own_sources(first);
        Ok(Answer::Accepted(Box::new(Accepted { keys, peer, token: secrets.token })))
    }

    /// The handshake that `hello` begins, which is the same each time until a proof is accepted.
    fn reply(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        hello: &[u8],
    ) -> Result<(HandshakeState, u32, [u8; NOISE_LEN]), Error> {
        let input = [hello, &octets(from)].concat();
        let mut state = noise::begin(&self.key, self.caller, self.secret.derive(&input), false)?;
        // Without the key it fails here, before anything costly.
        let session = noise::read(&mut state, hello)?;
        self.budget.pay(now, hello)?;
        let reply = noise::write(&mut state, self.source)?;
        Ok((state, session, reply))
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("source", &self.source).finish_non_exhaustive()
    }
}

/// An address as octets; an IPv4 address has one form.
fn octets(address: SocketAddr) -> [u8; 18] {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut octets = [0; 18];
    octets[..16].copy_from_slice(&ip.octets());
    octets[16..].copy_from_slice(&address.port().to_be_bytes());
    octets
}
