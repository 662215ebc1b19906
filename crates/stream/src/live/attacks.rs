//! A receiver's machine beside a true sender while an attacker copies, repeats and forges: addresses, restarts and
//! synchronisation sources. In virtual time; what leaves arrives at once.

use super::receiver_machine::{Access, ReceiverMachine};
use seaway_control::StreamId;
use seaway_control::policy::Direct;
use seaway_net::{Incoming, Machine};
use seaway_protect::channel::{Received, ReceiverChannel, SenderChannel};
use seaway_protect::handshake::HELLO_LEN;
use seaway_session::{
    Format, Frame, FrameData, FrameKind, Limits, Message, Receiver, ReceiverConfig, Sender, SenderConfig,
    SessionKey, Transmit,
};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc;

const KEY: SessionKey = SessionKey::new([7; 32]);
const HERE: u16 = 5004;
const LANES: [u16; 2] = [1000, 1001];
const ATTACKER: u16 = 666;

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

/// The sender and its channel.
struct End {
    sender: Sender,
    channel: SenderChannel,
    /// Where its lanes are.
    at: [u16; 2],
    /// When the next frame is captured.
    next: Timestamp,
}

/// 1 Mbit/s.
const INTERVAL: TimeDelta = TimeDelta::from_millis(40);
const FRAME: DataSize = DataSize::from_bytes(4_500);

impl End {
    fn new(now: Timestamp, session: u32, lanes: u8, key: bool, at: [u16; 2]) -> Self {
        let rate = Bitrate::from_mbps(1);
        let limits = Limits { min: rate, start: rate, max: rate };
        let control = "gcc".parse().expect("a controller");
        let mut config = SenderConfig::new(session, control, limits, Format::Opaque);
        config.lanes = lanes;
        let sender = Sender::new(now, config, Box::new(Direct::new())).expect("a known controller");
        let seed = [session.to_be_bytes()[1] ^ at[0] as u8; 32];
        let channel = match key {
            true => SenderChannel::keyed(address(HERE), KEY, session, seed),
            false => SenderChannel::plain(address(HERE)),
        };
        Self { sender, channel, at, next: now }
    }

    /// What leaves now, and from which port.
    fn poll(&mut self, now: Timestamp) -> Vec<(u16, Vec<u8>)> {
        let (mut left, mut buffer) = (Vec::new(), Vec::new());
        if self.channel.poll_timeout().is_some_and(|due| due <= now) {
            self.channel.handle_timeout(now);
        }
        while self.channel.poll_datagram(now, &mut buffer).is_some() {
            left.push((self.at[0], std::mem::take(&mut buffer)));
        }
        if !self.channel.is_ready(now) {
            return left;
        }
        if self.next <= now {
            let (captured, kind) = (self.next, FrameKind::Key);
            let data = FrameData::Synthetic(FRAME);
            let frame =
                Frame { stream: StreamId(0), captured, kind, data, target: FRAME, interval: INTERVAL };
            // A full queue refuses it.
            let _ = self.sender.handle_frame(now, &frame);
            self.next = now + INTERVAL;
        }
        self.sender.handle_timeout(now);
        let mut message = Message::default();
        while let Some(Transmit { subflow, .. }) = self.sender.poll_transmit(now, now, &mut message) {
            message.encode(&mut buffer);
            self.channel.seal(&mut buffer).expect("it is ready");
            left.push((self.at[usize::from(subflow.0) % 2], std::mem::take(&mut buffer)));
        }
        left
    }

    fn arrive(&mut self, now: Timestamp, octets: &[u8]) {
        if let Ok(Received::Packet(packet)) = self.channel.handle_datagram(now, address(HERE), octets) {
            let message = Message::decode(&packet).expect("a message of the receiver");
            self.sender.handle_message(now, now, &message);
        }
    }
}

/// The receiver, and what it sent to each port.
struct Scene {
    now: Timestamp,
    machine: ReceiverMachine,
    answers: Vec<(u16, Vec<u8>)>,
    // The other ends of the machine's threads.
    _commands: mpsc::Sender<super::receiver_machine::ReceiverCommand>,
    updates: mpsc::Receiver<super::receiver_machine::ReceiverUpdate>,
}

impl Scene {
    fn new(key: bool) -> Self {
        let now = Timestamp::ZERO;
        let access = match key {
            true => Access::Keyed(Box::new(ReceiverChannel::new(now, KEY, 0x0DD5_0000, [3; 32]))),
            false => Access::Open { peer: None, lock: TimeDelta::from_secs(1) },
        };
        let (commands, incoming) = mpsc::channel();
        let (outgoing, updates) = mpsc::channel();
        let receiver = Receiver::new(now, ReceiverConfig::new(0x0DD5_0000));
        let machine = ReceiverMachine::new(now, receiver, access, None, incoming, outgoing);
        Self { now, machine, answers: Vec::new(), _commands: commands, updates }
    }

    /// A datagram comes to the receiver.
    fn arrive(&mut self, from: u16, data: &[u8]) {
        let from = address(from);
        self.machine.handle_datagram(self.now, 0, &Incoming { at: self.now, from, ecn: Ecn::NotEct, data });
        self.drain();
    }

    fn drain(&mut self) {
        let mut buffer = Vec::new();
        while let Some(outgoing) = self.machine.poll_datagram(self.now, &mut buffer) {
            self.answers.push((outgoing.to.port(), std::mem::take(&mut buffer)));
        }
        while self.updates.try_recv().is_ok() {}
    }

    /// So many milliseconds, in which `path` delivers what the sender sends. Gives how many octets went to each port that was
    /// answered.
    fn run(&mut self, end: &mut End, millis: u64, mut path: impl FnMut(&mut Self, u16, &[u8])) -> Sent {
        let mut sent = Sent::default();
        for _ in 0..millis {
            self.now += TimeDelta::from_millis(1);
            for (from, octets) in end.poll(self.now) {
                path(self, from, &octets);
            }
            if self.machine.poll_timeout().is_some_and(|due| due <= self.now) {
                self.machine.handle_timeout(self.now);
                self.drain();
            }
            for (to, octets) in std::mem::take(&mut self.answers) {
                sent.0.push((to, octets.len()));
                if end.at.contains(&to) {
                    end.arrive(self.now, &octets);
                }
            }
        }
        sent
    }

    fn received(&self) -> u64 {
        self.machine.statistics().received.packets
    }
}

/// Where answers went, and their lengths.
#[derive(Default)]
struct Sent(Vec<(u16, usize)>);

impl Sent {
    fn to(&self, port: u16) -> usize {
        self.0.iter().filter(|(to, _)| *to == port).count()
    }
}

fn deliver(scene: &mut Scene, from: u16, octets: &[u8]) {
    scene.arrive(from, octets);
}

#[test]
fn copies_of_a_lane_do_not_take_its_reports_away() {
    let (mut scene, mut end) = (Scene::new(true), End::new(Timestamp::ZERO, 1024, 2, true, LANES));
    scene.run(&mut end, 2_000, deliver);
    let before = scene.run(&mut end, 5_000, deliver);
    assert!(LANES.iter().all(|lane| before.to(*lane) > 50), "{:?}", LANES.map(|lane| before.to(lane)));
    // Copies that are later move nothing.
    let later = scene.run(&mut end, 5_000, |scene, from, octets| {
        scene.arrive(from, octets);
        scene.arrive(ATTACKER, octets);
    });
    assert_eq!(later.to(ATTACKER), 0);
    // Those of one lane that are first take a copy of its reports at most.
    let first = scene.run(&mut end, 5_000, |scene, from, octets| {
        if from == LANES[1] {
            scene.arrive(ATTACKER, octets);
        }
        scene.arrive(from, octets);
    });
    for lane in LANES {
        assert!(
            first.to(lane) * 100 >= before.to(lane) * 95,
            "{lane}: {} of {}",
            first.to(lane),
            before.to(lane)
        );
    }
    assert!(first.to(ATTACKER) > 0 && first.to(ATTACKER) <= first.to(LANES[1]));
    // When the attacker has gone, so has its address.
    scene.run(&mut end, 4_000, deliver);
    let after = scene.run(&mut end, 5_000, deliver);
    assert_eq!(after.to(ATTACKER), 0);
    assert!(LANES.iter().all(|lane| after.to(*lane) * 100 >= before.to(*lane) * 95));
}

/// The mapping of a NAT changes, and so does the sender's process, with packets of the old one still on their way.
#[test]
fn a_sender_that_starts_again_at_another_address_is_let_in_by_its_proof() {
    let (mut scene, mut old) = (Scene::new(true), End::new(Timestamp::ZERO, 1024, 0, true, LANES));
    scene.run(&mut old, 2_000, deliver);
    old.at = [2000; 2];
    scene.run(&mut old, 500, deliver);
    let delayed = (1..=20).flat_map(|millis| old.poll(scene.now + TimeDelta::from_millis(millis)));
    let delayed: Vec<_> = delayed.collect();
    assert!(!delayed.is_empty());
    let mut new = End::new(scene.now, 9 << 10, 0, true, [3000; 2]);
    let before = scene.received();
    scene.run(&mut new, 100, deliver);
    let begun = scene.received() - before;
    assert!(begun > 5, "{begun} packets in the first 100 ms");
    // From the address of either mapping, or forged as the new one's: packets of the old session are no more than refused.
    for (from, octets) in &delayed {
        [*from, LANES[0], 3000].into_iter().for_each(|from| scene.arrive(from, octets));
    }
    let count = scene.received();
    assert_eq!(count, before + begun);
    let sent = scene.run(&mut new, 5_000, deliver);
    assert!(sent.to(3000) > 50 && sent.to(2000) <= 1 && sent.to(LANES[0]) == 0, "a notice at most");
    assert!(scene.received() > count + 400);
}

/// The address of the sender changes between its hello and its proof: the cookie is of the other one.
#[test]
fn a_rebind_amid_the_handshake_costs_another_handshake() {
    let (mut scene, mut end) = (Scene::new(true), End::new(Timestamp::ZERO, 1024, 0, true, LANES));
    let mut rebound = false;
    let path = |scene: &mut Scene, from: u16, octets: &[u8]| {
        // From the proof on all comes from another port.
        rebound |= octets.len() != HELLO_LEN;
        scene.arrive(if rebound { 2000 } else { from }, octets);
    };
    end.at = [1000, 2000];
    scene.run(&mut end, 3_000, path);
    assert!(scene.received() > 50, "{}", scene.received());
}

/// Without a key the first address holds the session, whatever synchronisation source another uses.
#[test]
fn an_unknown_sender_with_the_sources_of_the_session_is_refused() {
    for key in [true, false] {
        let (mut scene, mut end) = (Scene::new(key), End::new(Timestamp::ZERO, 1024, 0, key, LANES));
        scene.run(&mut end, 2_000, deliver);
        // Plain RTP with the same sources and its own numbers and times.
        let mut forger = End::new(scene.now, 1024, 0, false, [ATTACKER; 2]);
        let before = scene.received();
        let (mut forged, mut own) = (0, 0);
        let sent = scene.run(&mut end, 5_000, |scene, from, octets| {
            own += 1;
            scene.arrive(from, octets);
            for (from, octets) in forger.poll(scene.now) {
                forged += 1;
                scene.arrive(from, &octets);
            }
        });
        let received = scene.received() - before;
        assert!(
            forged > 100 && received <= own && received + 60 >= own,
            "{received} of {own}, {forged} forged"
        );
        assert_eq!(sent.to(ATTACKER), 0);
        // What the attacker sent left no trace: the sender goes on alone.
        let before = scene.received();
        scene.run(&mut end, 5_000, deliver);
        assert!(scene.received() > before + 400);
    }
}

/// Two senders that made the same sources of 4 million possible ones: who proves the key last is received, and the other one ends.
#[test]
fn a_second_sender_with_the_same_sources_and_the_key_takes_over() {
    let (mut scene, mut first) = (Scene::new(true), End::new(Timestamp::ZERO, 1024, 0, true, LANES));
    scene.run(&mut first, 2_000, deliver);
    let mut second = End::new(scene.now, 1024, 0, true, [3000; 2]);
    let mut notified = false;
    let both = scene.run(&mut second, 5_000, |scene, from, octets| {
        scene.arrive(from, octets);
        for (from, octets) in first.poll(scene.now) {
            scene.arrive(from, &octets);
        }
        for (_, octets) in scene.answers.extract_if(.., |(to, _)| *to == LANES[0]) {
            let came = first.channel.handle_datagram(scene.now, address(HERE), &octets);
            notified |= came == Err(seaway_protect::Error::Replaced);
        }
    });
    assert!(notified && !first.channel.is_ready(scene.now) && both.to(3000) > 50);
    // The numbers of the second one are far from those of the first: it is followed within these seconds.
    let before = scene.received();
    scene.run(&mut second, 5_000, deliver);
    assert!(scene.received() - before > 450, "{}", scene.received() - before);
}
