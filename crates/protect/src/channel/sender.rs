//! The sender's end.

use super::Received;
use crate::handshake::{self, Established, Initiator, Ratchet, Token};
use crate::{Error, Protection, SrtpKeys};
use seaway_session::SessionKey;
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// A new handshake begins after so long without an authentic packet, or after three round trips: the receiver restarted, or
/// missed so many packets that it lost count.
const SILENCE: TimeDelta = TimeDelta::from_secs(1);
/// Consent to send expires: nothing but hellos leaves then. Three reporting intervals of 5 s (RFC 8083 section 4.1), which is less
/// than the 30 s of RFC 7675 section 5.1.
const CONSENT: TimeDelta = TimeDelta::from_secs(15);
/// A receiver that moved must answer at its new address within this time; else the sender turns to the other again.
const MOVE: TimeDelta = TimeDelta::from_secs(3);
/// A proof is first repeated after this time, or after a round trip.
const PROOF_REPEAT: TimeDelta = TimeDelta::from_millis(50);
/// So many refusals end the handshake. A single one may be the result of a damaged hello.
const REFUSALS: u32 = 3;

/// The sender's end: it makes the handshake, protects packets, and follows a receiver that moves.
///
/// A pure state machine; its calls are those of every machine here, and `poll_datagram` is to be drained after each.
#[derive(Debug)]
pub struct SenderChannel {
    to: SocketAddr,
    protection: Protection,
    keyed: Option<Keyed>,
    /// Any port of the receiver's host may report.
    takes_any_port: bool,
}

#[derive(Debug)]
struct Keyed {
    key: SessionKey,
    /// Where the receiver was first.
    home: SocketAddr,
    /// First synchronisation source of the session.
    session: u32,
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

/// A proof that is repeated until a packet of the receiver arrives.
#[derive(Debug)]
struct Proof {
    octets: Vec<u8>,
    next: Timestamp,
    interval: TimeDelta,
}

impl SenderChannel {
    /// Plain RTP to `to` and from `to` only.
    pub const fn plain(to: SocketAddr) -> Self {
        Self { to, protection: Protection::None, keyed: None, takes_any_port: false }
    }

    /// Plain RTP to `to`, where reports may come from other ports of the same host: RTCP has a port of its own (RFC 3550 section
    /// 11).
    pub const fn plain_host(to: SocketAddr) -> Self {
        Self { to, protection: Protection::None, keyed: None, takes_any_port: true }
    }

    /// A keyed session with the receiver at `to`, whose first synchronisation source is `session`. `seed` is random.
    pub const fn keyed(to: SocketAddr, key: SessionKey, session: u32, seed: [u8; 32]) -> Self {
        let keyed = Keyed {
            key,
            home: to,
            session,
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
        };
        Self { to, protection: Protection::None, keyed: Some(keyed), takes_any_port: false }
    }

    /// Where packets go.
    pub const fn peer(&self) -> SocketAddr {
        self.to
    }

    /// Whether packets may leave: the receiver has shown that it has the key and, within the last 15 s, that it is there.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        let Some(keyed) = &self.keyed else { return true };
        !keyed.is_replaced && keyed.last_received.is_some_and(|at| now.since(at) < CONSENT)
    }

    /// Whether a handshake was ever completed; true without a key.
    pub fn was_ready(&self) -> bool {
        self.keyed.as_ref().is_none_or(|keyed| keyed.last_received.is_some())
    }

    /// The present keys of packets.
    pub fn keys(&self) -> Option<&SrtpKeys> {
        self.keyed.as_ref()?.keys.as_ref()
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
        let Some(keyed) = &mut self.keyed else {
            let is_same_host = self.takes_any_port && from.ip() == self.to.ip();
            return if from == self.to || is_same_host {
                self.protection.open(datagram).map(Received::Packet)
            } else {
                Err(Error::UnknownSource)
            };
        };
        if handshake::is_handshake(datagram) {
            let Some((to, established)) = keyed.on_handshake(now, from, datagram)? else {
                return Ok(Received::Handshake);
            };
            self.protection = Protection::srtp(&established.keys, established.peer)?;
            self.to = to;
            return Ok(Received::Established { is_new: keyed.on_established(now, established) });
        }
        if keyed.last_received.is_none() {
            return Err(Error::NotReady);
        }
        let packet = self.protection.open(datagram)?;
        (keyed.last_received, keyed.proof) = (Some(now), None);
        if from == self.to {
            keyed.handshake.take_if(|handshake| handshake.to == from);
        } else if keyed.handshake.as_ref().is_none_or(|handshake| handshake.to == self.to) {
            // Authentic, but perhaps forwarded by an attacker: media moves only after an answer from there.
            keyed.begin(now, from);
        }
        Ok(Received::Packet(packet))
    }

    /// The instant named by `poll_timeout` has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let to = self.to;
        let Some(keyed) = self.keyed.as_mut().filter(|keyed| !keyed.is_replaced) else { return };
        let is_in_vain = keyed.given_up_at(to).is_some_and(|at| at <= now);
        let in_vain = keyed.handshake.take_if(|_| is_in_vain).map(|handshake| handshake.to);
        if keyed.handshake.is_none() && keyed.silent_at().is_none_or(|at| at <= now) {
            // A receiver that no longer answers where it moved may be back where it was first.
            keyed.begin(now, if in_vain == Some(to) { keyed.home } else { to });
        }
    }

    /// When `handle_timeout` or `poll_datagram` is due; `None`: never, by itself. Until the first handshake begins it is the
    /// beginning of time.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let keyed = self.keyed.as_ref().filter(|keyed| !keyed.is_replaced)?;
        if keyed.handshake.is_none() && keyed.proof.is_none() {
            // It is asked for several times a packet.
            return Some(keyed.silent_at().unwrap_or(Timestamp::ZERO));
        }
        let proof = keyed.proof.as_ref().map(|proof| proof.next);
        let other = match &keyed.handshake {
            Some(handshake) => handshake.initiator.poll_timeout(),
            None => keyed.silent_at().unwrap_or(Timestamp::ZERO),
        };
        proof.into_iter().chain([other]).chain(keyed.given_up_at(self.to)).min()
    }

    /// The handshake message that leaves now, written to `buffer`, and where it goes.
    pub fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        let keyed = self.keyed.as_mut().filter(|keyed| !keyed.is_replaced)?;
        if let Some(proof) = keyed.proof.as_mut().filter(|proof| proof.next <= now) {
            proof.next = now + proof.interval;
            proof.interval = (proof.interval + proof.interval).min(SILENCE);
            buffer.extend_from_slice(&proof.octets);
            return Some(self.to);
        }
        let handshake = keyed.handshake.as_mut()?;
        buffer.extend(handshake.initiator.poll_datagram(now)?);
        Some(handshake.to)
    }

    /// Protects a packet that leaves; gives where it goes.
    ///
    /// # Errors
    /// It must not leave: there are no keys, or they are used up.
    pub fn seal(&mut self, datagram: &mut Vec<u8>) -> Result<SocketAddr, Error> {
        if self.keyed.as_ref().is_some_and(|keyed| keyed.last_received.is_none() || keyed.is_replaced) {
            return Err(Error::NotReady);
        }
        let sealed = self.protection.seal(datagram);
        if let (Err(Error::KeyUsedUp), Some(keyed)) = (sealed, &mut self.keyed) {
            keyed.is_used_up = true;
        }
        sealed.map(|()| self.to)
    }
}

impl Keyed {
    fn begin(&mut self, now: Timestamp, to: SocketAddr) {
        let initiator = Initiator::new(now, &self.key, self.session, self.entropy.take());
        self.handshake = initiator.ok().map(|initiator| Box::new(Handshake { to, began: now, initiator }));
    }

    /// When the handshake gives way to one elsewhere; `None` where the receiver was never elsewhere.
    fn given_up_at(&self, to: SocketAddr) -> Option<Timestamp> {
        let handshake = self.handshake.as_ref()?;
        (handshake.to != to || to != self.home).then(|| handshake.began + MOVE)
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

    /// True the first time.
    fn on_established(&mut self, now: Timestamp, established: Established) -> bool {
        let Established { keys, proof, duration, token, .. } = established;
        let interval = duration.max(PROOF_REPEAT).min(SILENCE);
        self.proof = Some(Proof { octets: proof, next: now, interval });
        (self.token, self.keys) = (Some(token), Some(keys));
        self.silence = SILENCE.max((duration * 3).min(SILENCE * 3));
        self.handshake = None;
        (self.refusals, self.is_used_up) = (0, false);
        self.last_received.replace(now).is_none()
    }
}
