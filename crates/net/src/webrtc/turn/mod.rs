//! Relays at TURN servers (RFC 8656) for a connection to a media server.

mod relay;
mod requests;
#[cfg(test)]
mod tests;

use super::ice_server::Account;
use bytes::BytesMut;
use relay::Relay;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::Instant;

/// Why a TURN server gives no relay, or none any more. The session goes on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// Its name and port.
    pub server: String,
    /// The reason, in words.
    pub why: String,
}

impl fmt::Display for TurnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the TURN server {}: {}", self.server, self.why)
    }
}

/// The relays of one socket.
#[derive(Debug)]
pub(super) struct Relays {
    local: SocketAddr,
    relays: Vec<Relay>,
    failures: VecDeque<TurnFailure>,
}

impl Relays {
    /// Servers that are asked for a relay.
    pub(super) const MOST: usize = 4;

    pub(super) const fn new(local: SocketAddr) -> Self {
        Self { local, relays: Vec::new(), failures: VecDeque::new() }
    }

    /// Asks a server, called `name`, for a relay; it is passed over where it was asked already, or as many were as are asked at most.
    pub(super) fn ask(&mut self, now: Instant, server: SocketAddr, name: String, account: Account) {
        let is_known = self.relays.iter().any(|relay| relay.server() == server);
        if is_known || self.relays.len() >= Self::MOST {
            return;
        }
        match Relay::new(now, self.local, server, name.clone(), account) {
            Ok(relay) => self.relays.push(relay),
            Err(why) => self.on_failure(TurnFailure { server: name, why }),
        }
    }

    /// A server cannot be asked.
    pub(super) fn on_failure(&mut self, failure: TurnFailure) {
        if self.failures.len() < Self::MOST {
            self.failures.push_back(failure);
        }
    }

    /// Whether an answer is waited for.
    pub(super) fn are_asked(&self) -> bool {
        self.relays.iter().any(Relay::is_asked)
    }

    /// A datagram came. False where it is of no relay.
    pub(super) fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) -> bool {
        let relay = self.relays.iter_mut().find(|relay| relay.server() == from && relay.takes(datagram));
        let is_taken = relay.is_some();
        relay.into_iter().for_each(|relay| relay.handle_datagram(now, datagram));
        is_taken
    }

    /// Sends `data` to `peer` from the relay at `local`. False where that is none.
    pub(super) fn send(&mut self, now: Instant, local: SocketAddr, peer: SocketAddr, data: &[u8]) -> bool {
        let is_own = local == self.local;
        let relay = self.relays.iter_mut().find(|relay| !is_own && relay.address() == Some(local));
        relay.into_iter().for_each(|relay| relay.send(now, peer, data));
        !is_own
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.relays.iter_mut().for_each(|relay| relay.handle_timeout(now));
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Instant> {
        self.relays.iter_mut().filter_map(Relay::poll_timeout).min()
    }

    /// Gives them back.
    pub(super) fn close(&mut self, now: Instant) {
        self.relays.iter_mut().for_each(|relay| relay.close(now));
    }

    /// The next datagram to a server, and that.
    pub(super) fn poll_datagram(&mut self) -> Option<(SocketAddr, BytesMut)> {
        let mut relays = self.relays.iter_mut();
        relays.find_map(|relay| relay.poll_datagram().map(|datagram| (relay.server(), datagram)))
    }

    /// The next datagram that came to a relay: that relay's address, the peer's, and the data.
    pub(super) fn poll_arrived(&mut self) -> Option<(SocketAddr, SocketAddr, BytesMut)> {
        self.relays.iter_mut().find_map(|relay| {
            let address = relay.address()?;
            relay.poll_arrived().map(|(peer, data)| (address, peer, data))
        })
    }

    /// The address of a relay that is new.
    pub(super) fn poll_candidate(&mut self) -> Option<SocketAddr> {
        self.relays.iter_mut().find_map(Relay::poll_candidate)
    }

    /// The next server that gives no relay.
    pub(super) fn poll_failure(&mut self) -> Option<TurnFailure> {
        let own = self.failures.pop_front();
        own.or_else(|| self.relays.iter_mut().find_map(Relay::poll_failure))
    }
}
