//! A relay, and a server of the tests' own, in virtual time.

use super::super::ice_server::Account;
use super::relay::Relay;
use super::requests::decoded;
use crate::clock::Clock;
use rtc::crypto::default_provider;
use rtc::stun::attributes::{ATTR_CHANNEL_NUMBER, ATTR_MESSAGE_INTEGRITY, ATTR_NONCE, ATTR_REALM};
use rtc::stun::error_code::{ErrorCode, ErrorCodeAttribute};
use rtc::stun::integrity::MessageIntegrity;
use rtc::stun::message::{
    CLASS_ERROR_RESPONSE, CLASS_INDICATION, CLASS_REQUEST, CLASS_SUCCESS_RESPONSE, Getter, METHOD_ALLOCATE,
    METHOD_CHANNEL_BIND, METHOD_DATA, METHOD_REFRESH, METHOD_SEND, Message, MessageType, Method, Setter,
    TransactionId,
};
use rtc::stun::textattrs::TextAttribute;
use rtc::turn::proto::data::Data;
use rtc::turn::proto::lifetime::Lifetime;
use rtc::turn::proto::peeraddr::PeerAddress;
use rtc::turn::proto::relayaddr::RelayedAddress;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const REALM: &str = "example.org";

/// A TURN server with one account, "me" with the password "word".
struct Server {
    relayed: SocketAddr,
    password: &'static str,
    /// What success is signed with.
    signs_with: &'static str,
    nonce: &'static str,
    /// These requests fail so.
    refuses: Option<(Method, u16)>,
    is_gone: bool,
    channels: BTreeMap<u16, SocketAddr>,
    requests: usize,
    indications: Vec<Vec<u8>>,
    in_channels: Vec<(u16, Vec<u8>)>,
    /// All that it said.
    said: Vec<Vec<u8>>,
}

impl Server {
    fn new(relayed: &str) -> Self {
        Self {
            relayed: relayed.parse().unwrap(),
            password: "word",
            signs_with: "word",
            nonce: "first",
            refuses: None,
            is_gone: false,
            channels: BTreeMap::new(),
            requests: 0,
            indications: Vec::new(),
            in_channels: Vec::new(),
            said: Vec::new(),
        }
    }

    fn key(password: &str) -> Vec<u8> {
        let (name, realm, crypto) = ("me".to_owned(), REALM.to_owned(), default_provider().unwrap());
        MessageIntegrity::long_term_integrity_key(name, realm, password.to_owned(), crypto.crypto()).unwrap()
    }

    fn handle(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        if self.is_gone {
            return None;
        }
        let Some(request) = decoded(datagram) else {
            let number = u16::from_be_bytes([datagram[0], datagram[1]]);
            assert!(self.channels.contains_key(&number), "no channel {number:x}");
            let length = usize::from(u16::from_be_bytes([datagram[2], datagram[3]]));
            self.in_channels.push((number, datagram[4..4 + length].to_vec()));
            return None;
        };
        if request.typ.class == CLASS_INDICATION {
            assert_eq!(request.typ.method, METHOD_SEND);
            let mut data = Data::default();
            data.get_from(&request).unwrap();
            self.indications.push(data.0);
            return None;
        }
        assert_eq!(request.typ.class, CLASS_REQUEST);
        self.requests += 1;
        let answer = self.answer(request);
        self.said.push(answer.clone());
        Some(answer)
    }

    fn answer(&mut self, mut request: Message) -> Vec<u8> {
        let crypto = default_provider().unwrap();
        let (method, id) = (request.typ.method, request.transaction_id);
        let error = |code: u16, nonce: &str| {
            let reason = b"no \x1b[31mway".to_vec();
            built(
                id,
                MessageType::new(method, CLASS_ERROR_RESPONSE),
                vec![
                    Box::new(ErrorCodeAttribute { code: ErrorCode(code), reason }),
                    Box::new(TextAttribute::new(ATTR_REALM, REALM.to_owned())),
                    Box::new(TextAttribute::new(ATTR_NONCE, nonce.to_owned())),
                ],
            )
        };
        let is_authentic = request.contains(ATTR_MESSAGE_INTEGRITY)
            && MessageIntegrity::check(&mut request, &Self::key(self.password), crypto.crypto()).is_ok();
        if !is_authentic {
            return error(401, self.nonce);
        }
        if TextAttribute::get_from_as(&request, ATTR_NONCE).unwrap().text != self.nonce {
            return error(438, self.nonce);
        }
        if let Some((_, code)) = self.refuses.filter(|(refused, _)| *refused == method) {
            return error(code, self.nonce);
        }
        let mut attributes: Vec<Box<dyn Setter>> = vec![Box::new(Lifetime(Duration::from_secs(600)))];
        if method == METHOD_ALLOCATE {
            attributes.push(Box::new(RelayedAddress { ip: self.relayed.ip(), port: self.relayed.port() }));
        }
        if method == METHOD_CHANNEL_BIND {
            let mut peer = PeerAddress::default();
            peer.get_from(&request).unwrap();
            let peer = SocketAddr::new(peer.ip, peer.port);
            let value = request.get(ATTR_CHANNEL_NUMBER).unwrap();
            let number = u16::from_be_bytes([value[0], value[1]]);
            if self.channels.iter().any(|(known, bound)| (*bound == peer) != (*known == number)) {
                return error(400, self.nonce);
            }
            self.channels.insert(number, peer);
        }
        let key = Self::key(self.signs_with);
        attributes.push(Box::new(MessageIntegrity::new_raw_integrity_with_provider(key, crypto.crypto())));
        built(id, MessageType::new(method, CLASS_SUCCESS_RESPONSE), attributes)
    }
}

fn built(id: TransactionId, kind: MessageType, attributes: Vec<Box<dyn Setter + '_>>) -> Vec<u8> {
    let mut message = Message::new();
    let head: Vec<Box<dyn Setter + '_>> = vec![Box::new(id), Box::new(kind)];
    message.build(&head.into_iter().chain(attributes).collect::<Vec<_>>()).unwrap();
    message.raw
}

/// A relay and its server, and what passed between them.
struct Pair {
    clock: Clock,
    now: Timestamp,
    relay: Relay,
    server: Server,
    arrived: Vec<(SocketAddr, Vec<u8>)>,
}

impl Pair {
    fn new(server: Server) -> Self {
        let (clock, now) = (Clock::start(), Timestamp::ZERO);
        let local = if server.relayed.is_ipv4() { "192.0.2.1:5000" } else { "[2001:db8::1]:5000" };
        let account = Account { name: "me".into(), password: "word".into() };
        let address = SocketAddr::new(server.relayed.ip(), 3478);
        let relay = Relay::new(clock.instant(now), local.parse().unwrap(), address, "h:3478".into(), account);
        let relay = relay.unwrap();
        let mut pair = Self { clock, now, relay, server, arrived: Vec::new() };
        pair.exchange();
        pair
    }

    fn instant(&self) -> Instant {
        self.clock.instant(self.now)
    }

    fn exchange(&mut self) {
        while let Some(datagram) = self.relay.poll_datagram() {
            if let Some(answer) = self.server.handle(&datagram) {
                assert!(self.relay.takes(&answer));
                self.relay.handle_datagram(self.clock.instant(self.now), &answer);
            }
        }
        self.arrived.extend(std::iter::from_fn(|| {
            let (peer, data) = self.relay.poll_arrived()?;
            Some((peer, data.to_vec()))
        }));
    }

    fn send(&mut self, peer: SocketAddr, data: &[u8]) {
        self.relay.send(self.instant(), peer, data);
        self.exchange();
    }

    /// Time passes; all timeouts are kept.
    fn pass(&mut self, length: TimeDelta) {
        let end = self.now + length;
        while let Some(due) = self.relay.poll_timeout().map(|due| self.clock.timestamp(due)) {
            if due > end {
                break;
            }
            self.now = self.now.max(due);
            self.relay.handle_timeout(self.instant());
            self.exchange();
        }
        self.now = end;
    }

    /// What is said of the server, once it has failed.
    fn failure(&mut self) -> String {
        self.relay.poll_failure().expect("a failure").to_string()
    }
}

fn peer(of: SocketAddr) -> SocketAddr {
    let address = if of.is_ipv4() { "198.51.100.7:6000" } else { "[2001:db8::7]:6000" };
    address.parse().unwrap()
}

const RELAYED: [&str; 2] = ["203.0.113.5:49152", "[2001:db8::5]:49152"];

#[test]
fn a_relay_carries_both_ways_by_a_channel() {
    for relayed in RELAYED {
        let mut pair = Pair::new(Server::new(relayed));
        assert_eq!(pair.relay.poll_candidate(), Some(relayed.parse().unwrap()));
        assert_eq!((pair.relay.poll_candidate(), pair.relay.is_asked()), (None, false));
        let peer = peer(pair.server.relayed);
        // The first asks for permission, the second for a channel, the third has it.
        for data in [&b"one"[..], b"two", b"three"] {
            pair.send(peer, data);
        }
        assert_eq!(pair.server.indications, [b"two"]);
        let channels: Vec<_> = pair.server.channels.clone().into_iter().collect();
        let [(number, bound)] = channels[..] else { panic!("{channels:?}") };
        assert_eq!((bound, &pair.server.in_channels[..]), (peer, &[(number, b"three".to_vec())][..]));
        let [high, low] = number.to_be_bytes();
        pair.relay.handle_datagram(pair.instant(), &[high, low, 0, 4, b'b', b'a', b'c', b'k']);
        pair.exchange();
        assert_eq!(pair.arrived, [(peer, b"back".to_vec())]);
        pair.relay.close(pair.instant());
        let before = pair.server.requests;
        pair.exchange();
        assert_eq!(pair.server.requests, before + 1);
        assert!(pair.relay.poll_failure().is_none());
    }
}

/// Every refresh, permission and channel finds its nonce stale: an hour with a new one every seven seconds.
#[test]
fn a_stale_nonce_costs_nothing() {
    const NONCES: [&str; 4] = ["a", "b", "c", "d"];
    for relayed in RELAYED {
        let mut pair = Pair::new(Server::new(relayed));
        let peer = peer(pair.server.relayed);
        pair.send(peer, b"");
        pair.send(peer, b"");
        let channels = pair.server.channels.clone();
        for second in 0..3600 {
            if second % 7 == 0 {
                pair.server.nonce = NONCES[second / 7 % 4];
            }
            pair.send(peer, b"media");
            pair.pass(TimeDelta::from_secs(1));
        }
        assert_eq!((pair.server.in_channels.len(), pair.server.indications.len()), (3600, 1));
        assert_eq!(pair.server.channels, channels);
        assert!(pair.relay.poll_failure().is_none());
    }
}

#[test]
fn a_server_that_gives_no_relay_is_named_with_the_reason() {
    let with = |change: fn(&mut Server)| {
        let mut server = Server::new(RELAYED[0]);
        change(&mut server);
        let mut pair = Pair::new(server);
        pair.pass(TimeDelta::from_secs(5));
        assert!(!pair.relay.is_asked() && pair.relay.address().is_none());
        assert!(pair.relay.poll_candidate().is_none() && pair.relay.poll_timeout().is_none());
        let (failure, address) = (pair.failure(), peer(pair.server.relayed));
        // It is over.
        let before = pair.server.requests;
        pair.send(address, b"");
        pair.pass(TimeDelta::from_secs(3600));
        assert_eq!((pair.server.requests, pair.relay.poll_failure()), (before, None));
        failure
    };
    let said = |text: &str| format!("the TURN server h:3478: {text}");
    assert_eq!(with(|server| server.password = "other"), said("it refuses the name or the password (401)"));
    assert_eq!(with(|server| server.is_gone = true), said("no answer within 4 s"));
    let refused = with(|server| server.refuses = Some((METHOD_ALLOCATE, 486)));
    assert_eq!(refused, said("it gives no relay: 486 no [31mway"));
    // Who does not know the password signs nothing.
    assert_eq!(with(|server| server.signs_with = "other"), said("no answer within 4 s"));
    let unusable = with(|server| server.relayed = "0.0.0.0:49152".parse().unwrap());
    assert_eq!(unusable, said("the address of its relay cannot be used"));
}

#[test]
fn a_relay_that_ends_is_noticed() {
    let mut pair = Pair::new(Server::new(RELAYED[0]));
    pair.server.is_gone = true;
    pair.pass(TimeDelta::from_secs(40));
    assert_eq!(pair.failure(), "the TURN server h:3478: it answers no longer");
    let mut pair = Pair::new(Server::new(RELAYED[0]));
    pair.server.refuses = Some((METHOD_REFRESH, 437));
    pair.pass(TimeDelta::from_secs(30));
    assert!(pair.failure().contains("it has ended the relay: 437"));
}

/// Data goes as indications then.
#[test]
fn a_server_without_channels_is_used_without() {
    let mut pair = Pair::new(Server::new(RELAYED[0]));
    pair.server.refuses = Some((METHOD_CHANNEL_BIND, 400));
    let peer = peer(pair.server.relayed);
    for _ in 0..100 {
        pair.send(peer, b"media");
        pair.pass(TimeDelta::from_secs(1));
    }
    assert_eq!(pair.server.indications.len(), 99);
    assert!(pair.server.requests < 40, "{}", pair.server.requests);
    assert!(pair.relay.poll_failure().is_none());
}

#[test]
fn peers_are_bounded_and_others_are_ignored() {
    let mut pair = Pair::new(Server::new(RELAYED[0]));
    let before = pair.server.requests;
    for port in 1..1000 {
        pair.send(SocketAddr::from(([198, 51, 100, 7], port)), b"check");
    }
    assert_eq!(pair.server.requests - before, 64);
    let data = |from: &str| {
        let from: SocketAddr = from.parse().unwrap();
        let kind = MessageType::new(METHOD_DATA, CLASS_INDICATION);
        let peer = PeerAddress { ip: from.ip(), port: from.port() };
        built(TransactionId::new(), kind, vec![Box::new(peer), Box::new(Data(b"check".to_vec()))])
    };
    for (from, count) in [("198.51.100.8:1", 0), ("198.51.100.7:60000", 1)] {
        assert!(pair.relay.takes(&data(from)));
        pair.relay.handle_datagram(pair.instant(), &data(from));
        pair.exchange();
        assert_eq!(pair.arrived.len(), count, "{from}");
    }
}

/// Nothing that a server says makes the client panic, or answer more than once.
#[test]
fn damaged_answers_do_no_harm() {
    let mut whole = Pair::new(Server::new(RELAYED[0]));
    let address = peer(whole.server.relayed);
    whole.send(address, b"");
    whole.send(address, b"");
    let count = whole.server.said.len();
    assert_eq!(count, 4);
    for number in 0..count {
        let length = whole.server.said[number].len();
        for at in 0..length {
            for is_cut in [false, true] {
                let mut pair = Pair { server: Server::new(RELAYED[0]), ..Pair::silent() };
                damage(&mut pair, number, at, is_cut);
            }
        }
    }
}

impl Pair {
    /// One whose server has not answered.
    fn silent() -> Self {
        let mut pair = Self::new(Server { is_gone: true, ..Server::new(RELAYED[0]) });
        // It asks again.
        pair.now = Timestamp::ZERO + TimeDelta::from_millis(600);
        pair.relay.handle_timeout(pair.instant());
        pair
    }
}

/// A session whose answer of this number is damaged there, with packets to a peer.
fn damage(pair: &mut Pair, number: usize, at: usize, is_cut: bool) {
    let address = peer(pair.server.relayed);
    let mut answers = 0;
    for _ in 0..4 {
        while let Some(datagram) = pair.relay.poll_datagram() {
            let Some(mut answer) = pair.server.handle(&datagram) else { continue };
            if answers == number {
                if is_cut { answer.truncate(at) } else { answer[at] ^= 0xFF }
            }
            answers += 1;
            let _ = pair.relay.takes(&answer);
            pair.relay.handle_datagram(pair.clock.instant(pair.now), &answer);
        }
        pair.relay.send(pair.clock.instant(pair.now), address, b"media");
    }
    assert!(pair.server.requests <= 8, "{}", pair.server.requests);
}
