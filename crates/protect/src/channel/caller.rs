//! The end that calls the other.

use super::{CONSENT, Received};
use crate::handshake::{self, Caller, Established, Initiator, Ratchet, Token};
use crate::{Error, Protection, SrtpKeys};
use seaway_session::SessionKey;
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// A new handshake begins after so long without an authentic packet, or after three round trips: the other end
/// restarted, or one missed so many packets that it lost count.
const SILENCE: TimeDelta = TimeDelta::from_secs(1);
/// An end that moved must answer at its new address within this time; else the caller turns to the other address again.
const MOVE: TimeDelta = TimeDelta::from_secs(3);
/// A proof is first repeated after this time, or after a round trip.
const PROOF_REPEAT: TimeDelta = TimeDelta::from_millis(50);
/// So many refusals end the handshake. A single one may be the result of a damaged hello.
const REFUSALS: u32 = 3;

/// The end that begins the handshakes: of the sender, or of a receiver that calls a listening sender.
///
/// A pure state machine; its calls are those of every machine here, and `poll_datagram` is to be drained after each.
#[derive(Debug)]
pub struct CallerChannel {
    to: SocketAddr,
    protection: Protection,
    role: Caller,
    key: SessionKey,
    /// Where the other end was first.
    home: SocketAddr,
    /// Our first synchronisation source.
    source: u32,
    /// The first one of the other end, once it is known.
    peer_source: Option<u32>,
    entropy: Ratchet,
    /// Large and seldom there, so it stands elsewhere: the rest is looked at several times a packet.
    handshake: Option<Box<Handshake>>,
    proof: Option<Proof>,
    token: Option<Token>,
    keys: Option<SrtpKeys>,
    /// The last authentic packet, or the handshake where none came yet.
    last_received: Option<Timestamp>,
    silence: TimeDelta,
    refusals: u32,
    is_replaced: bool,
    /// The keys protect no more packets.
    is_used_up: bool,
}

#[derive(Debug)]
struct Handshake {
    to: SocketAddr,
    began: Timestamp,
    initiator: Initiator,
}

/// A proof that is repeated until a packet of the other end arrives.
#[derive(Debug)]
struct Proof {
    octets: Vec<u8>,
    next: Timestamp,
    interval: TimeDelta,
}

impl CallerChannel {
    /// Calls the other end at `to`; `source` is our first synchronisation source, `seed` is random.
    pub const fn new(to: SocketAddr, role: Caller, key: SessionKey, source: u32, seed: [u8; 32]) -> Self {
        Self {
            to,
            protection: Protection::None,
            role,
            key,
            home: to,
            source,
            peer_source: None,
            entropy: Ratchet::new(seed),
            handshake: None,
            proof: None,
            token: None,
            keys: None,
            last_received: None,
            silence: SILENCE,
            refusals: 0,
            is_replaced: false,
            is_used_up: false,
        }
    }

    /// Where packets go.
    pub const fn peer(&self) -> SocketAddr {
        self.to
    }

    /// Whether packets may leave: the other end has shown that it has the key and, within the last 15 s, that it is there.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        !self.is_replaced && self.last_received.is_some_and(|at| now.since(at) < CONSENT)
    }

    /// Whether a handshake was ever completed.
    pub const fn was_ready(&self) -> bool {
        self.last_received.is_some()
    }

    /// The present keys of packets.
    pub const fn keys(&self) -> Option<&SrtpKeys> {
        self.keys.as_ref()
    }

    /// A datagram came.
    ///
    /// # Errors
    /// It is refused. [`Error::OtherKey`] and [`Error::Replaced`] say that the session cannot begin or cannot go on.
    pub fn handle_datagram(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Received, Error> {
        if handshake::is_handshake(datagram) {
            let Some((to, established)) = self.on_handshake(now, from, datagram)? else {
                return Ok(Received::Handshake);
            };
            self.protection = Protection::srtp(&established.keys, established.peer)?;
            self.to = to;
            return Ok(Received::Established { is_new: self.on_established(now, established) });
        }
        if self.last_received.is_none() {
            return Err(Error::NotReady);
        }
        let packet = self.protection.open(datagram)?;
        (self.last_received, self.proof) = (Some(now), None);
        if from == self.to {
            self.handshake.take_if(|handshake| handshake.to == from);
        } else if self.handshake.as_ref().is_none_or(|handshake| handshake.to == self.to) {
            // Authentic, but perhaps forwarded by an attacker: packets go there only after an answer from there.
            self.begin(now, from);
        }
        Ok(Received::Packet(packet))
    }

    /// The instant named by `poll_timeout` has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.is_replaced {
            return;
        }
        let is_in_vain = self.given_up_at().is_some_and(|at| at <= now);
        let in_vain = self.handshake.take_if(|_| is_in_vain).map(|handshake| handshake.to);
        if self.handshake.is_none() && self.silent_at().is_none_or(|at| at <= now) {
            // Who no longer answers where it moved may be back where it was first.
            self.begin(now, if in_vain == Some(self.to) { self.home } else { self.to });
        }
    }

    /// When `handle_timeout` or `poll_datagram` is due; `None`: never, by itself. Until the first handshake begins it is the
    /// beginning of time.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        if self.is_replaced {
            return None;
        }
        if self.handshake.is_none() && self.proof.is_none() {
            // It is asked for several times a packet.
            return Some(self.silent_at().unwrap_or(Timestamp::ZERO));
        }
        let proof = self.proof.as_ref().map(|proof| proof.next);
        let other = match &self.handshake {
            Some(handshake) => handshake.initiator.poll_timeout(),
            None => self.silent_at().unwrap_or(Timestamp::ZERO),
        };
        proof.into_iter().chain([other]).chain(self.given_up_at()).min()
    }

    /// The handshake message that leaves now, written to `buffer`, and where it goes.
    pub fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        if self.is_replaced {
            return None;
        }
        if let Some(proof) = self.proof.as_mut().filter(|proof| proof.next <= now) {
            proof.next = now + proof.interval;
            proof.interval = (proof.interval + proof.interval).min(SILENCE);
            buffer.extend_from_slice(&proof.octets);
            return Some(self.to);
        }
        let handshake = self.handshake.as_mut()?;
        buffer.extend(handshake.initiator.poll_datagram(now)?);
        Some(handshake.to)
    }

    /// Protects a packet that leaves; gives where it goes.
    ///
    /// # Errors
    /// It must not leave: there are no keys, or they are used up.
    pub fn seal(&mut self, datagram: &mut Vec<u8>) -> Result<SocketAddr, Error> {
        if self.last_received.is_none() || self.is_replaced {
            return Err(Error::NotReady);
        }
        let sealed = self.protection.seal(datagram);
        if sealed == Err(Error::KeyUsedUp) {
            self.is_used_up = true;
        }
        sealed.map(|()| self.to)
    }

    fn begin(&mut self, now: Timestamp, to: SocketAddr) {
        let initiator = Initiator::new(now, self.role, &self.key, self.source, self.entropy.take());
        self.handshake = initiator.ok().map(|initiator| Box::new(Handshake { to, began: now, initiator }));
    }

    /// When the handshake gives way to one elsewhere; `None` where the other end was never elsewhere.
    fn given_up_at(&self) -> Option<Timestamp> {
        let handshake = self.handshake.as_ref()?;
        (handshake.to != self.to || self.to != self.home).then(|| handshake.began + MOVE)
    }

    /// When a new handshake is due; `None` where none was completed yet.
    fn silent_at(&self) -> Option<Timestamp> {
        let silence = if self.is_used_up { TimeDelta::ZERO } else { self.silence };
        self.last_received.map(|at| at + silence)
    }

    fn on_handshake(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Option<(SocketAddr, Established)>, Error> {
        if self.token.as_ref().is_some_and(|token| token.is_in(datagram)) {
            self.is_replaced = true;
            return Err(Error::Replaced);
        }
        let Some(handshake) = self.handshake.as_mut().filter(|handshake| handshake.to == from) else {
            return Err(Error::UnknownSource);
        };
        match handshake.initiator.handle_datagram(now, datagram) {
            Ok(established) => Ok(Some((handshake.to, established))),
            Err(Error::OtherKey) => {
                self.refusals += 1;
                if self.refusals >= REFUSALS { Err(Error::OtherKey) } else { Ok(None) }
            }
            Err(error) => Err(error),
        }
    }

    /// True for another end than before, and for the first.
    fn on_established(&mut self, now: Timestamp, established: Established) -> bool {
        let Established { keys, peer, proof, duration, token } = established;
        let interval = duration.max(PROOF_REPEAT).min(SILENCE);
        self.proof = Some(Proof { octets: proof, next: now, interval });
        (self.token, self.keys) = (Some(token), Some(keys));
        self.silence = SILENCE.max((duration * 3).min(SILENCE * 3));
        self.handshake = None;
        (self.refusals, self.is_used_up) = (0, false);
        self.last_received = Some(now);
        self.peer_source.replace(peer.first) != Some(peer.first)
    }
}
