//! Keyed sessions where the sender listens and receivers call.

use proptest::prelude::*;
use seaway_protect::Error;
use seaway_protect::channel::{Received, ReceiverChannel, SenderChannel};
use seaway_protect::handshake::{HELLO_LEN, PROOF_LEN, REPLY_LEN};
use seaway_session::SessionKey;
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

const KEY: SessionKey = SessionKey::new([1; 32]);
const SESSION: u32 = 0x5EA0_0400;
const SENDER_AT: u16 = 5004;
const DELAY: TimeDelta = TimeDelta::from_millis(20);

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

struct Datagram {
    at: Timestamp,
    from: u16,
    to: SocketAddr,
    octets: Vec<u8>,
}

struct Caller {
    channel: ReceiverChannel,
    source: u32,
    /// Where others see it.
    port: u16,
    came: u32,
    is_replaced: bool,
}

fn caller(port: u16, octet: u8) -> Caller {
    let (key, source) = (SessionKey::new([octet; 32]), 0x0DD5_0000 + u32::from(port));
    let channel = ReceiverChannel::calling(address(SENDER_AT), key, source, [port as u8; 32]);
    Caller { channel, source, port, came: 0, is_replaced: false }
}

/// A sender that sends a packet a millisecond, and callers that report each.
struct Path {
    now: Timestamp,
    sender: SenderChannel,
    callers: Vec<Caller>,
    flying: Vec<Datagram>,
    /// What left the sender, and what came there, for each port before its proof.
    sent: u32,
    established: Vec<bool>,
    refused: u32,
}

impl Path {
    fn new(callers: Vec<Caller>) -> Self {
        Self {
            now: Timestamp::ZERO,
            sender: SenderChannel::listening(Timestamp::ZERO, KEY, SESSION, [22; 32]),
            callers,
            flying: Vec::new(),
            sent: 0,
            established: Vec::new(),
            refused: 0,
        }
    }

    fn launch(&mut self, from: u16, to: SocketAddr, octets: Vec<u8>) {
        self.flying.push(Datagram { at: self.now + DELAY, from, to, octets });
    }

    fn packet(&mut self) -> Vec<u8> {
        self.sent += 1;
        let number = (self.sent as u16).to_be_bytes();
        [&[0x80, 96][..], &number, &[0; 4], &SESSION.to_be_bytes(), &[7; 100]].concat()
    }

    fn at_sender(&mut self, from: u16, octets: &[u8]) {
        match self.sender.handle_datagram(self.now, address(from), octets) {
            Ok(Received::Established { is_new }) => self.established.push(is_new),
            Err(Error::OtherKey) => self.refused += 1,
            _ => {}
        }
        let mut answer = Vec::new();
        while let Some(to) = self.sender.poll_datagram(self.now, &mut answer) {
            assert!(answer.len() <= octets.len());
            self.launch(SENDER_AT, to, std::mem::take(&mut answer));
        }
    }

    fn at_caller(&mut self, index: usize, octets: &[u8]) {
        let caller = &mut self.callers[index];
        match caller.channel.handle_datagram(self.now, address(SENDER_AT), octets) {
            Ok(Received::Packet(_)) => {
                caller.came += 1;
                let mut report = [&[0x80, 201, 0, 1][..], &caller.source.to_be_bytes()].concat();
                let to = caller.channel.seal(&mut report).expect("it is established");
                let port = caller.port;
                self.launch(port, to, report);
            }
            Err(Error::Replaced) => caller.is_replaced = true,
            _ => {}
        }
    }

    fn step(&mut self, mut path: impl FnMut(&Datagram) -> bool) {
        self.now += TimeDelta::from_millis(1);
        let now = self.now;
        let due: Vec<Datagram> = self.flying.extract_if(.., |datagram| datagram.at <= now).collect();
        for Datagram { from, to, octets, .. } in due {
            if to == address(SENDER_AT) {
                self.at_sender(from, &octets);
            } else if let Some(index) = self.callers.iter().position(|caller| address(caller.port) == to) {
                self.at_caller(index, &octets);
            }
        }
        let before = self.flying.len();
        if self.sender.is_ready(now) {
            let mut packet = self.packet();
            let to = self.sender.seal(&mut packet).expect("it is ready");
            self.launch(SENDER_AT, to, packet);
        }
        for index in 0..self.callers.len() {
            let caller = &mut self.callers[index];
            caller.channel.handle_timeout(now);
            let (mut octets, port) = (Vec::new(), caller.port);
            while let Some(to) = self.callers[index].channel.poll_datagram(now, &mut octets) {
                self.launch(port, to, std::mem::take(&mut octets));
            }
        }
        let mut launched = self.flying.split_off(before);
        launched.retain(|datagram| path(datagram));
        self.flying.append(&mut launched);
    }

    fn run(&mut self, millis: u32) {
        (0..millis).for_each(|_| self.step(|_| true));
    }
}

#[test]
fn nothing_leaves_before_the_proof_but_a_reply() {
    let mut path = Path::new(vec![caller(1000, 1)]);
    let mut sizes = Vec::new();
    for _ in 0..90 {
        path.step(|datagram| {
            sizes.push(datagram.octets.len());
            true
        });
    }
    // The reply is launched where the hello arrives, before this looks.
    assert_eq!(sizes[..2], [HELLO_LEN, PROOF_LEN]);
    assert_eq!(HELLO_LEN, REPLY_LEN);
    // Hello 20, reply 40, proof 60, media 80 ms: a round trip and a half before them.
    assert_eq!(path.callers[0].came, 10);
    assert_eq!(path.established, [true]);
    path.run(3000);
    assert!(path.callers[0].came >= 2_990, "{}", path.callers[0].came);
    assert_eq!(path.established.len(), 1, "reports keep it alive");
}

#[test]
fn a_caller_with_another_key_gets_a_refusal_and_ends_nothing() {
    let mut path = Path::new(vec![caller(1000, 1), caller(1001, 2)]);
    path.run(3000);
    assert!(path.refused >= 3 && path.callers[1].came == 0 && path.callers[1].channel.peer().is_none());
    assert!(path.callers[0].came > 2_900, "{}", path.callers[0].came);
}

#[test]
fn a_second_receiver_replaces_the_first_by_its_proof() {
    let mut path = Path::new(vec![caller(1000, 1)]);
    path.run(300);
    path.callers.push(caller(1001, 1));
    path.run(300);
    assert!(path.callers[0].is_replaced && path.callers[1].came > 200);
    assert_eq!(path.sender.peer(), Some(address(1001)));
    assert_eq!(path.established, [true, true]);
    let came = path.callers[0].came;
    path.run(5000);
    assert_eq!((path.callers[0].came, path.established.len()), (came, 2), "the first does not call again");
}

/// Its router gave the mapping to another.
#[test]
fn a_receiver_with_another_address_calls_again() {
    let mut path = Path::new(vec![caller(1000, 1)]);
    path.run(300);
    let came = path.callers[0].came;
    path.callers[0].port = 2000;
    path.run(1200);
    assert_eq!(path.sender.peer(), Some(address(2000)));
    assert_eq!(path.established, [true, false]);
    path.run(1000);
    assert!(path.callers[0].came > came + 1000, "{}", path.callers[0].came - came);
}

#[test]
fn a_forwarded_report_moves_no_media() {
    let mut path = Path::new(vec![caller(1000, 1)]);
    path.run(300);
    let mut report = [&[0x80, 201, 0, 1][..], &path.callers[0].source.to_be_bytes()].concat();
    path.callers[0].channel.seal(&mut report).unwrap();
    path.at_sender(666, &report);
    assert_eq!(path.sender.peer(), Some(address(1000)));
}

#[test]
fn a_sender_waits_for_the_next_receiver() {
    let mut path = Path::new(vec![caller(1000, 1)]);
    path.run(300);
    path.sender.on_receiver_left();
    assert!(!path.sender.is_ready(path.now) && path.sender.peer().is_none());
    path.callers[0] = caller(1001, 1);
    path.run(200);
    assert!(path.sender.is_ready(path.now) && path.callers[0].came > 100);
    // Without a goodbye it stops when consent expires.
    path.callers.clear();
    let sent = path.sent;
    path.run(20_000);
    assert!((14_500..15_100).contains(&(path.sent - sent)), "{}", path.sent - sent);
}

/// A sender that calls is no receiver that calls: neither takes the other for its peer.
#[test]
fn the_roles_are_not_confused() {
    let mut calling = SenderChannel::keyed(address(SENDER_AT), KEY, SESSION, [3; 32]);
    let mut hello = Vec::new();
    calling.handle_timeout(Timestamp::ZERO);
    calling.poll_datagram(Timestamp::ZERO, &mut hello).unwrap();
    let mut path = Path::new(Vec::new());
    path.at_sender(1000, &hello);
    assert_eq!((path.refused, path.sender.peer()), (1, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Damaged, repeated and invented datagrams, to either end and from anywhere.
    #[test]
    fn attacks_change_nothing(programme in proptest::collection::vec(any::<[u8; 4]>(), 0..100)) {
        let mut path = Path::new(vec![caller(1000, 1)]);
        for [operation, place, change, from] in programme {
            path.run(u32::from(place % 32));
            let Some(datagram) = path.flying.first() else { continue };
            let (to, mut octets) = (datagram.to, datagram.octets.clone());
            let at = usize::from(place) % octets.len();
            match operation % 4 {
                0 => octets[at] ^= change,
                1 => octets.truncate(at),
                2 => octets = [&[b'S', b'W', 1, change % 8][..], &octets[..at]].concat(),
                _ => {}
            }
            match to == address(SENDER_AT) {
                true => path.at_sender(2000 + u16::from(from), &octets),
                false => path.at_caller(0, &octets),
            }
        }
        path.run(4000);
        prop_assert!(path.sender.is_ready(path.now) && path.callers[0].came > 0);
        prop_assert!(!path.callers[0].is_replaced && path.sender.peer() == Some(address(1000)));
    }
}
