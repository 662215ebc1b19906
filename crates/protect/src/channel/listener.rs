//! The end that listens.

use super::{CONSENT, Received};
use crate::handshake::{self, Accepted, Answer, Caller, Responder, Token};
use crate::{Error, Protection, SrtpKeys};
use seaway_session::SessionKey;
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// For so long after the last packet from there, reports go to the sender's former address as well.
pub const FORMER: TimeDelta = TimeDelta::from_secs(3);

/// The end that answers handshakes, opens packets, and knows where the caller is now: of a receiver, or of a sender that listens.
///
/// It keeps one session at a time. Its memory is bounded whatever comes: the state of the handshakes, two keys, and a replay
/// window for each of the caller's sources, 1024 of a sender.
#[derive(Debug)]
pub struct ListenerChannel {
    role: Caller,
    responder: Responder,
    session: Option<Session>,
    /// The previous caller, which is to be notified that it was replaced.
    replaced: Option<(SocketAddr, Token)>,
    answer: Option<(SocketAddr, Vec<u8>)>,
}

#[derive(Debug)]
struct Session {
    /// First synchronisation source of the caller.
    first: u32,
    /// Where the caller is: where the last authentic packet of a sender came from, or the last proof of a receiver.
    peer: SocketAddr,
    /// When an authentic packet came last, or the proof.
    last_received: Timestamp,
    /// Where they came from before, and when the last did, be it a repeated one.
    former: Option<(SocketAddr, Timestamp)>,
    keys: SrtpKeys,
    protection: Protection,
    token: Token,
}

impl Session {
    /// An authentic packet came from there.
    fn came_from(&mut self, now: Timestamp, from: SocketAddr) {
        if from != self.peer {
            self.former = Some((std::mem::replace(&mut self.peer, from), now));
        }
    }

    /// A packet came from there that had come before.
    fn repeated_from(&mut self, now: Timestamp, from: SocketAddr) {
        if let Some((former, last)) = &mut self.former
            && *former == from
        {
            *last = now;
        }
    }
}

impl ListenerChannel {
    /// Answers any caller that has `key`; `source` is our first synchronisation source, `seed` is random.
    pub const fn new(now: Timestamp, role: Caller, key: SessionKey, source: u32, seed: [u8; 32]) -> Self {
        let responder = Responder::new(now, role, key, source, seed);
        Self { role, responder, session: None, replaced: None, answer: None }
    }

    /// Whether there is a caller from whom something came within the last 15 s.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        self.session.as_ref().is_some_and(|session| now.since(session.last_received) < CONSENT)
    }

    /// The caller has left: nothing goes there any more.
    pub fn hang_up(&mut self) {
        self.session = None;
    }

    /// Where the caller is: a sender where its last authentic packet came from, a receiver where its last proof did.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.session.as_ref().map(|session| session.peer)
    }

    /// Where a sender's packets came from before, until 3 s after the last one from there. Reports go there as well: who copies packets on the
    /// path and is faster with them than the path has moved the sender's address only seemingly.
    pub fn former_peer(&self, now: Timestamp) -> Option<SocketAddr> {
        let (address, last) = self.session.as_ref()?.former?;
        (now.since(last) < FORMER).then_some(address)
    }

    /// The keys of the present session.
    pub fn keys(&self) -> Option<&SrtpKeys> {
        self.session.as_ref().map(|session| &session.keys)
    }

    /// A datagram came. The answer, if there is one, is next in `poll_datagram`.
    ///
    /// # Errors
    /// It is refused; [`Error::OtherKey`] where it is the hello of an end with another key, which gets a refusal.
    pub fn handle_datagram(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Received, Error> {
        if handshake::is_handshake(datagram) {
            return self.handle_handshake(now, from, datagram);
        }
        let session = self.session.as_mut().ok_or(Error::NotReady)?;
        match session.protection.open(datagram) {
            Ok(packet) => {
                session.last_received = now;
                // Media moves by a proof alone: a report is perhaps forwarded by an attacker.
                if self.role == Caller::Sender {
                    session.came_from(now, from);
                }
                Ok(Received::Packet(packet))
            }
            Err(error) => {
                if error == Error::Replayed {
                    session.repeated_from(now, from);
                }
                self.notify_replaced(from, datagram.len());
                Err(error)
            }
        }
    }

    fn handle_handshake(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Received, Error> {
        match self.responder.handle_datagram(now, from, datagram)? {
            Answer::Reply(reply) => self.answer = Some((from, reply)),
            Answer::Refusal(refusal) => {
                self.answer = Some((from, refusal));
                return Err(Error::OtherKey);
            }
            Answer::Accepted(accepted) => return self.on_accepted(now, from, *accepted),
            Answer::Nothing => {}
        }
        Ok(Received::Handshake)
    }

    fn on_accepted(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        accepted: Accepted,
    ) -> Result<Received, Error> {
        let Accepted { keys, peer, token } = accepted;
        let protection = Protection::srtp(&keys, peer)?;
        let (first, last_received) = (peer.first, now);
        let session = Session { first, peer: from, last_received, former: None, keys, protection, token };
        let old = self.session.replace(session);
        let is_new = old.as_ref().is_none_or(|old| old.first != peer.first);
        // The same sources at another address: another end that made the same ones of 4 million, or this one behind another address,
        // which has a new token and ignores the notice.
        if let Some(old) = old.filter(|old| is_new || old.peer != from) {
            self.answer = Some((old.peer, old.token.to_notice()));
            self.replaced = Some((old.peer, old.token));
        }
        Ok(Received::Established { is_new })
    }

    /// The caller before may still send: then it missed that it was replaced.
    fn notify_replaced(&mut self, from: SocketAddr, len: usize) {
        if let Some((_, token)) = self.replaced.as_ref().filter(|(address, _)| *address == from)
            && len >= handshake::NOTICE_LEN
        {
            self.answer = Some((from, token.to_notice()));
        }
    }

    /// The handshake message that leaves now, written to `buffer`, and where it goes.
    pub fn poll_datagram(&mut self, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        let (to, octets) = self.answer.take()?;
        buffer.extend(octets);
        Some(to)
    }

    /// Protects a packet that leaves; gives where it goes.
    ///
    /// # Errors
    /// There is no caller to send it to, or the keys are used up.
    pub fn seal(&mut self, datagram: &mut Vec<u8>) -> Result<SocketAddr, Error> {
        let session = self.session.as_mut().ok_or(Error::NotReady)?;
        session.protection.seal(datagram)?;
        Ok(session.peer)
    }
}
