//! What the fuzz target does with a string of octets, and the property tests with random ones.

use bytes::Bytes;
use seaway_protect::channel::{Received, ReceiverChannel, SenderChannel};
use seaway_session::SessionKey;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeSet;
use std::net::SocketAddr;

pub(crate) const SESSION: u32 = 0x5EA0_0400;
pub(crate) const SOURCE: u32 = 0x0DD5_0000;

pub(crate) fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

/// A datagram on its way.
#[derive(Debug, Clone)]
pub(crate) struct Flying {
    pub(crate) at: Timestamp,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) octets: Vec<u8>,
}

/// Two ends and what flies between them. The sender sends a numbered packet a millisecond, the receiver answers each.
pub(crate) struct Ends {
    pub(crate) now: Timestamp,
    pub(crate) sender: SenderChannel,
    pub(crate) receiver: ReceiverChannel,
    pub(crate) sender_at: SocketAddr,
    pub(crate) receiver_at: SocketAddr,
    pub(crate) flying: Vec<Flying>,
    /// What left just now.
    pub(crate) launched: Vec<Flying>,
    /// Every datagram that left the sender.
    pub(crate) record: Vec<Vec<u8>>,
    pub(crate) session: u32,
    next: u32,
    /// Numbers of the packets that came, with when.
    pub(crate) came: Vec<(Timestamp, u32)>,
    pub(crate) answered: usize,
    pub(crate) handshakes: usize,
}

pub(crate) const DELAY: TimeDelta = TimeDelta::from_millis(20);

pub(crate) fn key(octet: u8) -> SessionKey {
    SessionKey::new([octet; 32])
}

pub(crate) fn receiver(now: Timestamp, octet: u8, seed: u8) -> ReceiverChannel {
    ReceiverChannel::new(now, key(octet), SOURCE, [seed; 32])
}

impl Ends {
    pub(crate) fn new(octet: u8) -> Self {
        let (sender_at, receiver_at) = (address(1000), address(5004));
        Self {
            now: Timestamp::ZERO,
            sender: SenderChannel::keyed(receiver_at, key(octet), SESSION, [11; 32]),
            receiver: receiver(Timestamp::ZERO, 1, 22),
            sender_at,
            receiver_at,
            flying: Vec::new(),
            launched: Vec::new(),
            record: Vec::new(),
            session: SESSION,
            next: 0,
            came: Vec::new(),
            answered: 0,
            handshakes: 0,
        }
    }

    /// Another sender with the receiver's key takes the place of this one, at another address.
    pub(crate) fn restart_sender(&mut self, port: u16, session: u32, seed: u8) -> SenderChannel {
        let sender = SenderChannel::keyed(self.receiver_at, key(1), session, [seed; 32]);
        (self.session, self.sender_at) = (session, address(port));
        std::mem::replace(&mut self.sender, sender)
    }

    /// An RTP packet with a header extension, whose payload is its number.
    fn packet(&self, number: u32) -> Vec<u8> {
        let mut packet = vec![0x90, 96];
        packet.extend((number as u16).to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(self.session.to_be_bytes());
        packet.extend([0x10, 0x00, 0, 0]);
        packet.extend(number.to_be_bytes());
        packet
    }

    fn report() -> Vec<u8> {
        let mut packet = vec![0x80, 201, 0, 1];
        packet.extend(SOURCE.to_be_bytes());
        packet
    }

    fn launch(&mut self, from: SocketAddr, to: SocketAddr, octets: Vec<u8>) {
        if from != self.receiver_at {
            self.record.push(octets.clone());
        }
        self.launched.push(Flying { at: self.now + DELAY, from, to, octets });
    }

    /// What is due leaves, and a packet of media where there may be one.
    pub(crate) fn send(&mut self) {
        if self.sender.poll_timeout().is_some_and(|due| due <= self.now) {
            self.sender.handle_timeout(self.now);
        }
        let mut buffer = Vec::new();
        while let Some(to) = self.sender.poll_datagram(self.now, &mut buffer) {
            self.handshakes += 1;
            self.launch(self.sender_at, to, std::mem::take(&mut buffer));
        }
        if self.sender.is_ready(self.now) {
            let mut packet = self.packet(self.next);
            self.next += 1;
            let to = self.sender.seal(&mut packet).expect("it is ready");
            self.launch(self.sender_at, to, packet);
        }
    }

    /// A datagram comes to the receiver; its answer is no longer, and nothing is answered unasked.
    pub(crate) fn arrive(&mut self, from: SocketAddr, octets: &[u8]) {
        let received = self.receiver.handle_datagram(self.now, from, octets);
        let mut answer = Vec::new();
        if let Some(to) = self.receiver.poll_datagram(self.now, &mut answer) {
            assert!(answer.len() <= octets.len() || matches!(received, Ok(Received::Established { .. })));
            self.answered += answer.len();
            self.launch(self.receiver_at, to, answer);
        }
        assert_eq!(self.receiver.poll_datagram(self.now, &mut Vec::new()), None);
        let Ok(Received::Packet(packet)) = received else { return };
        self.came.push((self.now, number(&packet)));
        let mut report = Self::report();
        let to = self.receiver.seal(&mut report).expect("it has a sender");
        let former = self.receiver.former_peer(self.now);
        former.into_iter().for_each(|former| self.launch(self.receiver_at, former, report.clone()));
        self.launch(self.receiver_at, to, report);
    }

    /// Delivers what is due by now.
    pub(crate) fn deliver(&mut self) {
        let now = self.now;
        let due: Vec<Flying> = self.flying.extract_if(.., |datagram| datagram.at <= now).collect();
        for datagram in due {
            if datagram.to == self.receiver_at {
                self.arrive(datagram.from, &datagram.octets);
            } else if datagram.to == self.sender_at {
                let _ = self.sender.handle_datagram(now, datagram.from, &datagram.octets);
            }
        }
    }

    /// Runs for so many milliseconds; `path` gives whether a datagram that just left goes on its way.
    pub(crate) fn run(&mut self, millis: u64, mut path: impl FnMut(&mut Flying) -> bool) {
        for _ in 0..millis {
            self.now += TimeDelta::from_millis(1);
            self.deliver();
            self.send();
            self.launched.retain_mut(&mut path);
            self.flying.append(&mut self.launched);
        }
    }

    /// No packet came twice.
    pub(crate) fn check_unique(&self) {
        let numbers: BTreeSet<_> = self.came.iter().map(|(_, number)| number).collect();
        assert_eq!(numbers.len(), self.came.len());
    }
}

fn number(packet: &Bytes) -> u32 {
    u32::from_be_bytes(packet[16..20].try_into().expect("a packet of ours"))
}

/// Two ends while the octets are taken for a programme of attacks: datagrams of any content and from any address, real ones
/// damaged, delayed, dropped or repeated, and steps of time.
pub(crate) fn channels(octets: &[u8]) {
    let mut ends = Ends::new(1);
    let mut programme = octets.iter().copied();
    while let Some(operation) = programme.next() {
        let mut next = || programme.next().unwrap_or(0);
        let from = address(1000 + u16::from(operation >> 5));
        match operation % 6 {
            0 => ends.run(u64::from(next()), |_| true),
            1 => ends.run(u64::from(next() % 8), |_| false),
            2 => {
                let len = next() % 100;
                let datagram: Vec<u8> = [b'S', b'W', 1].into_iter().chain((0..len).map(|_| next())).collect();
                ends.arrive(from, &datagram);
                let _ = ends.sender.handle_datagram(ends.now, ends.receiver_at, &datagram);
            }
            3 => {
                let at = usize::from(next()) % ends.record.len().max(1);
                let Some(mut datagram) = ends.record.get(at).cloned() else { continue };
                let (place, change) = (usize::from(next()) % datagram.len(), next());
                datagram[place] ^= change;
                ends.arrive(from, &datagram);
            }
            4 => {
                let reversed = ends.flying.iter().rev().cloned().collect();
                ends.flying = reversed;
            }
            _ => {
                let at = usize::from(next()) % ends.flying.len().max(1);
                if let Some(datagram) = ends.flying.get_mut(at) {
                    let place = usize::from(next()) % (datagram.octets.len() + 1);
                    datagram.octets.truncate(place);
                }
            }
        }
    }
    ends.check_unique();
}
