//! What the fuzz targets do with a string of octets, and the property tests with random ones.

use bytes::Bytes;
use seaway_control::policy::Direct;
use seaway_session::window::{ClientConfig, WindowClient, WindowSender, WindowSenderConfig};
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// What can be read is written to the same effect, and counts the octets it takes.
pub(crate) fn message(octets: &[u8]) {
    let Ok(message) = Message::decode(&Bytes::copy_from_slice(octets)) else { return };
    let mut written = Vec::new();
    message.encode(&mut written);
    assert_eq!(written.len(), message.wire_len());
    assert_eq!(Message::decode(&Bytes::from(written)), Ok(message));
}

/// Two endpoints that exchange frames while the octets are taken for a programme of attacks: datagrams of any
/// content, real ones damaged, delayed or repeated, and steps of time.
pub(crate) fn endpoints(octets: &[u8]) {
    let mut pair = Pair::new();
    let mut programme = octets.iter().copied();
    while let Some(operation) = programme.next() {
        let mut next = || programme.next().unwrap_or(0);
        match operation % 6 {
            0 => pair.step(TimeDelta::from_micros(i64::from(next()) * 500)),
            1 => pair.frame(),
            2 => {
                let len = next();
                let datagram: Vec<u8> = (0..len).map(|_| next()).collect();
                pair.receive(&datagram, operation & 0x80 != 0);
            }
            3 => pair.damage(next(), next(), next(), operation & 0x80 != 0),
            4 => pair.deliver(next()),
            _ => pair.deliver(u8::MAX),
        }
    }
    pair.drain_timers();
}

/// A stream's packets with gaps, among them repair packets of any content: what arrives is shown, and nothing else.
pub(crate) fn repair_packets(octets: &[u8]) {
    let mut pair = Pair::new();
    pair.frame();
    let media: Vec<RtpPacket> = pair.flying.iter().filter_map(|(_, message)| rtp(message)).collect();
    let Some(first) = media.first() else { return };
    let mut programme = octets.chunks(24);
    for number in 0..200u16 {
        let Some(forged) = programme.next() else { break };
        let mut packet = first.clone();
        packet.sequence_number = packet.sequence_number.wrapping_add(number * 2);
        if let Some(marking) = &mut packet.marking {
            marking.sequence_number = marking.sequence_number.wrapping_add(number * 2);
        }
        pair.hand(true, Message::Rtp(packet.clone()));
        let repair = RtpPacket {
            payload_type: payload_type::fec(seaway_control::StreamId(0)),
            ssrc: packet.ssrc + 1,
            sequence_number: number,
            marking: None,
            payload: Bytes::copy_from_slice(forged).into(),
            ..packet
        };
        pair.hand(true, Message::Rtp(repair));
        pair.step(TimeDelta::from_millis(1));
    }
    pair.drain_timers();
    assert!(pair.receiver.statistics().recovered <= 200);
}

/// The two ends of the window transport, while the octets are taken for a programme: datagrams of any content to either end,
/// and steps of time. Memory stays bounded, and no timer stays due.
pub(crate) fn window(octets: &[u8]) {
    let queue = DataSize::from_bytes(20_000);
    let mut sender = WindowSender::new(WindowSenderConfig::new(queue));
    let mut client = WindowClient::new(ClientConfig::new(TimeDelta::from_millis(200)));
    let mut now = Timestamp::ZERO;
    for attack in octets.chunks(24) {
        let [operation, wait, datagram @ ..] = attack else { break };
        now += TimeDelta::from_millis(i64::from(*wait) * 8);
        sender.on_frame(now, now - Timestamp::ZERO, &Bytes::from_static(&[7; 900]));
        let mut datagram = datagram.to_vec();
        let mut sent = Vec::new();
        while sender.poll_datagram(now, &mut sent).is_some() {
            if *operation & 4 == 0 {
                client.handle_datagram(now, &Bytes::from(std::mem::take(&mut sent)));
            }
            sent.clear();
        }
        if *operation & 1 == 0 {
            client.handle_datagram(now, &Bytes::from(datagram));
        } else {
            if let Some(kind) = datagram.first_mut() {
                *kind = 1 + *kind % 2;
            }
            sender.handle_answer(now, &datagram);
        }
        if *operation & 0xf8 == 0xf8 {
            sender.abandon();
        }
        client.handle_timeout(now);
        sender.handle_timeout(now);
        while let Some(answer) = client.poll_answer() {
            sender.handle_answer(now, &answer);
        }
        while client.poll_frame().is_some() {}
        assert!(client.poll_timeout().is_none_or(|due| due > now), "a timer stays due");
        assert!(sender.occupancy() <= queue);
    }
}

fn rtp(message: &Message) -> Option<RtpPacket> {
    match message {
        Message::Rtp(packet) => Some(packet.clone()),
        Message::Rtcp(_) => None,
    }
}

struct Pair {
    now: Timestamp,
    sender: Sender,
    receiver: Receiver,
    /// What was sent and may still arrive, with who it is for.
    flying: Vec<(bool, Message)>,
}

impl Pair {
    fn new() -> Self {
        let limits =
            Limits { min: Bitrate::from_kbps(100), start: Bitrate::from_mbps(1), max: Bitrate::from_mbps(4) };
        let control = "tfrc(count=2)".parse().expect("a controller");
        let adaptive = Some(AdaptiveRepair { deadline: TimeDelta::from_millis(200), fec: true });
        let config = SenderConfig { adaptive, ..SenderConfig::new(1, control, limits, Format::Opaque) };
        let start = Timestamp::ZERO;
        let sender = Sender::new(start, config, Box::new(Direct::new())).expect("a known controller");
        let receiver = Receiver::new(
            start,
            ReceiverConfig { description: Some(sender.description()), ..ReceiverConfig::new(2) },
        );
        Self { now: start, sender, receiver, flying: Vec::new() }
    }

    fn frame(&mut self) {
        self.step(TimeDelta::from_millis(1));
        let data = FrameData::Synthetic(DataSize::from_bytes(3000));
        let frame = Frame::new(self.now, FrameKind::Reference, data, TimeDelta::from_millis(40));
        self.sender.handle_frame(self.now, &frame).expect("a good frame");
        self.drain();
    }

    fn step(&mut self, span: TimeDelta) {
        self.now += span;
        self.sender.handle_timeout(self.now);
        self.assert_no_timer_is_overdue();
        self.receiver.handle_timeout(self.now);
        self.drain();
    }

    /// What is due after a timeout was handled are packets and reports alone.
    fn assert_no_timer_is_overdue(&self) {
        let wake = self.sender.next_wake().filter(|wake| wake.at <= self.now);
        let is_timer = |wake: &Wake| !matches!(wake.why, WakeReason::Pacing | WakeReason::Report);
        assert!(!wake.as_ref().is_some_and(is_timer), "{wake:?} is overdue at {}", self.now);
    }

    /// Bounded: an endpoint that was woken must not schedule a wake-up at the same instant.
    fn drain(&mut self) {
        const MANY: usize = 10_000;
        let mut message = Message::default();
        while self.sender.poll_transmit(self.now, self.now, &mut message).is_some() {
            self.flying.push((true, message.clone()));
            assert!(self.flying.len() < MANY, "the sender does not fall silent");
        }
        while self.receiver.poll_transmit(self.now, &mut message).is_some() {
            self.flying.push((false, message.clone()));
            assert!(self.flying.len() < MANY, "the receiver does not fall silent");
        }
        let excess = self.flying.len().saturating_sub(256);
        self.flying.drain(..excess);
        while self.sender.poll_event().is_some() {}
        while self.receiver.poll_event().is_some() {}
    }

    fn hand(&mut self, to_receiver: bool, mut message: Message) {
        if to_receiver {
            self.receiver.handle_message(self.now, self.now, Ecn::NotEct, &mut message);
        } else {
            self.sender.handle_message(self.now, self.now, &message);
        }
        self.drain();
    }

    fn receive(&mut self, datagram: &[u8], to_receiver: bool) {
        if let Ok(message) = Message::decode(&Bytes::copy_from_slice(datagram)) {
            self.hand(to_receiver, message);
        }
    }

    /// A copy of what flies arrives with one octet changed.
    fn damage(&mut self, which: u8, place: u8, with: u8, to_receiver: bool) {
        let Some((_, message)) = self.flying.get(usize::from(which) % self.flying.len().max(1)) else {
            return;
        };
        let mut octets = Vec::new();
        message.encode(&mut octets);
        let len = octets.len();
        octets[usize::from(place) % len] ^= with;
        self.receive(&octets, to_receiver);
    }

    fn deliver(&mut self, which: u8) {
        if self.flying.is_empty() {
            return;
        }
        let index = usize::from(which) % self.flying.len();
        let (to_receiver, message) = self.flying.remove(index);
        self.hand(to_receiver, message);
    }

    /// Left alone, both follow their timers and come to rest at each instant.
    fn drain_timers(&mut self) {
        for _ in 0..50 {
            let next = [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min();
            let Some(next) = next else { break };
            assert!(next > self.now || self.now == Timestamp::ZERO, "woken at {} for {next}", self.now);
            self.step(next.max(self.now) - self.now);
        }
    }
}
