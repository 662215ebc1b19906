//! A relay at a TURN server (RFC 8656): the client of crate `rtc`, whose answers are authenticated and whose peers are bounded.

use super::super::ice_server::Account;
use super::TurnFailure;
use super::requests::{Number, Requests, decoded, transaction};
use bytes::BytesMut;
use rtc::crypto::{RTCCryptoProvider, default_provider};
use rtc::sansio::Protocol;
use rtc::shared::{TaggedBytesMut, TransportContext, TransportProtocol};
use rtc::stun::attributes::{ATTR_NONCE, ATTR_REALM};
use rtc::stun::error_code::{CODE_STALE_NONCE, CODE_UNAUTHORIZED, ErrorCodeAttribute};
use rtc::stun::integrity::MessageIntegrity;
use rtc::stun::message::{
    CLASS_ERROR_RESPONSE, CLASS_INDICATION, CLASS_SUCCESS_RESPONSE, Getter, METHOD_ALLOCATE,
    METHOD_CHANNEL_BIND, METHOD_REFRESH, Message, TransactionId, is_stun_message,
};
use rtc::stun::textattrs::TextAttribute;
use rtc::turn::client::{Client, ClientConfig, Event};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server that has given no relay by then is given up.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// The first retransmission (RFC 8489 section 6.2.1), in milliseconds.
const RETRANSMISSION: u64 = 500;
/// The relay is refreshed this often: a translator before this host forgets an idle port, and a server that is gone is noticed.
const REFRESH: Duration = Duration::from_secs(25);
/// Addresses that the server is asked to relay to.
const MOST_PEERS: usize = 64;
/// Datagrams that may wait to be taken.
const MOST_ARRIVED: usize = 256;
/// Characters of a server's reason that are shown.
const LONGEST_REASON: usize = 100;
/// Octets of a message's head before the number of the transaction.
const BEFORE_NUMBER: usize = 8;
/// What the first octet of a packet in a channel is (RFC 8656 section 12.4).
const CHANNELS: std::ops::RangeInclusive<u8> = 0x40..=0x7F;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is waited for until this instant.
    Asked(Instant),
    /// At this address.
    Relaying(SocketAddr),
    Failed,
}

/// One server, and the relay that it gives.
///
/// A pure state machine. After each call, drain every `poll_*`.
pub(super) struct Relay {
    name: String,
    server: SocketAddr,
    local: SocketAddr,
    client: Client,
    crypto: Arc<dyn RTCCryptoProvider>,
    account: Account,
    /// Of the password, once the server has named its realm.
    key: Option<Vec<u8>>,
    state: State,
    requests: Requests,
    permissions: BTreeMap<Number, SocketAddr>,
    /// Whom the server was asked to relay to, and whether it has not refused.
    peers: BTreeMap<SocketAddr, bool>,
    /// The relay's address, where that is new.
    candidate: Option<SocketAddr>,
    failure: Option<TurnFailure>,
    outgoing: VecDeque<BytesMut>,
    arrived: VecDeque<(SocketAddr, BytesMut)>,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("server", &self.server)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Relay {
    /// Asks the server called `name` for a relay, from a socket at `local`.
    ///
    /// # Errors
    /// The library refuses, in words.
    pub(super) fn new(
        now: Instant,
        local: SocketAddr,
        server: SocketAddr,
        name: String,
        account: Account,
    ) -> Result<Self, String> {
        let crypto = default_provider().map_err(|error| error.to_string())?;
        let config = ClientConfig {
            turn_serv_addr: server.to_string(),
            local_addr: local,
            transport_protocol: TransportProtocol::UDP,
            username: account.name.clone(),
            password: account.password.clone(),
            rto_in_ms: RETRANSMISSION,
            allocation_refresh_interval_cap: Some(REFRESH),
            ..ClientConfig::default()
        };
        let mut client = Client::new(config, crypto.clone()).map_err(|error| error.to_string())?;
        client.allocate(now).map_err(|error| error.to_string())?;
        let mut relay = Self {
            name,
            server,
            local,
            client,
            crypto,
            account,
            key: None,
            state: State::Asked(now + ANSWER_WITHIN),
            requests: Requests::default(),
            permissions: BTreeMap::new(),
            peers: BTreeMap::new(),
            candidate: None,
            failure: None,
            outgoing: VecDeque::new(),
            arrived: VecDeque::new(),
        };
        relay.settle();
        Ok(relay)
    }

    pub(super) const fn server(&self) -> SocketAddr {
        self.server
    }

    /// Whether the server has not answered yet.
    pub(super) const fn is_asked(&self) -> bool {
        matches!(self.state, State::Asked(_))
    }

    /// The address of the relay.
    pub(super) const fn address(&self) -> Option<SocketAddr> {
        match self.state {
            State::Relaying(address) => Some(address),
            State::Asked(_) | State::Failed => None,
        }
    }

    /// Whether a datagram from the server's address is of the relay; the same port may belong to a peer.
    pub(super) fn takes(&self, datagram: &[u8]) -> bool {
        if !is_stun_message(datagram) {
            return datagram.first().is_some_and(|first| CHANNELS.contains(first));
        }
        let is_data = decoded(datagram).is_some_and(|message| message.typ.class == CLASS_INDICATION);
        is_data || self.requests.of_answer(transaction(datagram)).is_some()
    }

    /// A datagram of the server's came.
    pub(super) fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) {
        if self.state == State::Failed {
            return;
        }
        let is_answer =
            |message: &Message| [CLASS_SUCCESS_RESPONSE, CLASS_ERROR_RESPONSE].contains(&message.typ.class);
        let passed = match decoded(datagram).filter(is_answer) {
            Some(answer) => self.answer(answer),
            None => Some(BytesMut::from(datagram)),
        };
        if let Some(message) = passed {
            let transport = TransportContext {
                local_addr: self.local,
                peer_addr: self.server,
                ecn: None,
                transport_protocol: TransportProtocol::UDP,
            };
            // What the library refuses is of no use.
            let _ = self.client.handle_read(TaggedBytesMut { now, transport, message });
        }
        self.settle();
    }

    /// The answer as the client is to see it; `None` where it is to see nothing.
    fn answer(&mut self, mut answer: Message) -> Option<BytesMut> {
        let own = self.requests.of_answer(answer.transaction_id)?;
        let is_signed = self.requests.is_signed(own);
        if answer.typ.class == CLASS_ERROR_RESPONSE {
            self.error(own, is_signed, &answer)?;
        } else if !is_signed {
            self.fail("it asks for no password, which only a server for tests does");
            return None;
        } else {
            let key = self.key.as_ref()?;
            MessageIntegrity::check(&mut answer, key, self.crypto.crypto()).ok()?;
        }
        self.requests.remove(own);
        answer.raw.get_mut(BEFORE_NUMBER..BEFORE_NUMBER + own.0.len())?.copy_from_slice(&own.0);
        Some(BytesMut::from(&answer.raw[..]))
    }

    /// A request has failed; `None` where the client is not to see it.
    fn error(&mut self, own: TransactionId, is_signed: bool, answer: &Message) -> Option<()> {
        let mut error = ErrorCodeAttribute::default();
        error.get_from(answer).ok()?;
        match (answer.typ.method, error.code) {
            (METHOD_ALLOCATE, CODE_UNAUTHORIZED) if !is_signed => self.learn_realm(answer),
            (_, CODE_STALE_NONCE) if is_signed => {
                let nonce = TextAttribute::get_from_as(answer, ATTR_NONCE).ok()?;
                let key = self.key.as_ref()?;
                let again = self.requests.sign_again(own, &nonce, key, self.crypto.crypto())?;
                self.outgoing.push_back(BytesMut::from(&again[..]));
                None
            }
            (METHOD_ALLOCATE, CODE_UNAUTHORIZED) => {
                self.fail("it refuses the name or the password (401)");
                None
            }
            (METHOD_ALLOCATE, _) => {
                self.fail(&format!("it gives no relay: {}", in_words(&error)));
                None
            }
            (METHOD_REFRESH, _) => {
                self.fail(&format!("it has ended the relay: {}", in_words(&error)));
                None
            }
            // Without a channel, data goes as indications.
            (METHOD_CHANNEL_BIND, _) => {
                self.requests.on_refused(own);
                None
            }
            _ => Some(()),
        }
    }

    fn learn_realm(&mut self, answer: &Message) -> Option<()> {
        let realm = TextAttribute::get_from_as(answer, ATTR_REALM).ok();
        let (name, password) = (self.account.name.clone(), self.account.password.clone());
        let key = realm.and_then(|realm| {
            MessageIntegrity::long_term_integrity_key(name, realm.text, password, self.crypto.crypto()).ok()
        });
        if key.is_none() {
            self.fail("it asks for a password and names no realm");
        }
        self.key = Some(key?);
        Some(())
    }

    /// Sends `data` to `peer` from the relay. It is lost where the server does not permit that yet, as on any network.
    pub(super) fn send(&mut self, now: Instant, peer: SocketAddr, data: &[u8]) {
        let Some(address) = self.address() else { return };
        let is_known = self.peers.contains_key(&peer);
        if !is_known && self.peers.len() >= MOST_PEERS {
            return;
        }
        let Ok(mut relay) = self.client.relay(address) else { return };
        if !is_known {
            self.peers.insert(peer, true);
            let asked = relay.create_permission(now, peer).ok().flatten();
            self.permissions.extend(asked.map(|id| (id.0, peer)));
        } else if self.peers.get(&peer) == Some(&true) {
            let _ = relay.send_to(now, data, peer);
        }
        self.settle();
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Failed => return,
            State::Asked(until) if until <= now => {
                self.fail(&format!("no answer within {} s", ANSWER_WITHIN.as_secs()));
            }
            State::Asked(_) | State::Relaying(_) => {}
        }
        let _ = self.client.handle_timeout(now);
        self.settle();
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Instant> {
        let until = match self.state {
            State::Failed => return None,
            State::Asked(until) => Some(until),
            State::Relaying(_) => None,
        };
        self.client.poll_timeout().into_iter().chain(until).min()
    }

    /// Gives the relay back.
    pub(super) fn close(&mut self, now: Instant) {
        if let Some(address) = self.address()
            && let Ok(mut relay) = self.client.relay(address)
        {
            let _ = relay.close(now);
        }
        self.settle();
        self.state = State::Failed;
    }

    /// The next datagram to the server.
    pub(super) fn poll_datagram(&mut self) -> Option<BytesMut> {
        self.outgoing.pop_front()
    }

    /// The next datagram that a peer sent to the relay, and that peer.
    pub(super) fn poll_arrived(&mut self) -> Option<(SocketAddr, BytesMut)> {
        self.arrived.pop_front()
    }

    /// The address of the relay, once it is there.
    pub(super) fn poll_candidate(&mut self) -> Option<SocketAddr> {
        self.candidate.take()
    }

    /// Why there is no relay, or none any more.
    pub(super) fn poll_failure(&mut self) -> Option<TurnFailure> {
        self.failure.take()
    }

    /// Takes what the client gives.
    fn settle(&mut self) {
        while let Some(event) = self.client.poll_event() {
            self.follow(event);
        }
        while let Some(datagram) = self.client.poll_write() {
            self.requests.on_sent(&datagram.message);
            self.outgoing.push_back(datagram.message);
        }
    }

    fn follow(&mut self, event: Event) {
        match event {
            Event::AllocateResponse(_, address) => self.on_relay(address),
            Event::AllocateError(_, error) => self.fail(&format!("its answer cannot be used: {error}")),
            Event::TransactionTimeout(id) => {
                self.permissions.remove(&id.0);
                if !self.requests.remove(id) {
                    self.fail("it answers no longer");
                }
            }
            Event::CreatePermissionResponse(id, _) => {
                self.permissions.remove(&id.0);
            }
            Event::CreatePermissionError(id, _) => {
                if let Some(peer) = self.permissions.remove(&id.0) {
                    self.peers.insert(peer, false);
                }
            }
            Event::DataIndicationOrChannelData(_, peer, data) => {
                let is_permitted = self.peers.keys().any(|known| known.ip() == peer.ip());
                if is_permitted && self.arrived.len() < MOST_ARRIVED {
                    self.arrived.push_back((peer, data));
                }
            }
            _ => {}
        }
    }

    fn on_relay(&mut self, address: SocketAddr) {
        let ip = address.ip();
        if address.port() == 0 || ip.is_unspecified() || ip.is_multicast() {
            return self.fail("the address of its relay cannot be used");
        }
        if self.is_asked() {
            self.state = State::Relaying(address);
            self.candidate = Some(address);
        }
    }

    fn fail(&mut self, why: &str) {
        if self.state != State::Failed {
            self.state = State::Failed;
            self.failure = Some(TurnFailure { server: self.name.clone(), why: why.to_owned() });
        }
    }
}

/// A refusal as it can be shown.
fn in_words(error: &ErrorCodeAttribute) -> String {
    let reason = String::from_utf8_lossy(&error.reason);
    let reason: String = reason.chars().filter(|letter| !letter.is_control()).take(LONGEST_REASON).collect();
    format!("{} {reason}", error.code.0).trim_end().to_owned()
}
