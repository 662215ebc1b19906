//! A sender and a receiver joined by a path in virtual time.
#![allow(dead_code)] // Each test binary uses its part.

use bytes::Bytes;
use seaway_control::StreamId;
use seaway_control::policy::Direct;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use std::collections::BTreeMap;

pub(crate) const LIMITS: Limits =
    Limits { min: Bitrate::from_kbps(150), start: Bitrate::from_mbps(2), max: Bitrate::from_mbps(4) };

pub(crate) fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

pub(crate) fn config(control: &str) -> SenderConfig {
    let control = control.parse().expect("a controller");
    SenderConfig {
        initial_sequence: 65_500,
        timestamp_offset: u32::MAX - 90_000,
        ..SenderConfig::new(0x5EA0_0000, control, LIMITS, Format::Opaque)
    }
}

pub(crate) fn sender(now: Timestamp, config: SenderConfig) -> Sender {
    Sender::new(now, config, Box::new(Direct::new())).expect("a known controller")
}

pub(crate) fn receiver(now: Timestamp) -> Receiver {
    Receiver::new(now, ReceiverConfig::new(0xACE))
}

/// A reproducible stream of numbers in 0..1.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn draw(&mut self) -> f64 {
        // Knuth's MMIX generator; the high bits are good enough for losing packets.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// What happens to a packet: when it arrives, if it does.
pub(crate) type Path = Box<dyn FnMut(Timestamp, DataSize) -> Option<Timestamp>>;

/// Always there after `delay`.
pub(crate) fn ideal(delay: TimeDelta) -> Path {
    Box::new(move |now, _| Some(now + delay))
}

/// Lost with probability `loss`.
pub(crate) fn lossy(delay: TimeDelta, loss: f64, seed: u64) -> Path {
    let mut random = Random::new(seed);
    Box::new(move |now, _| (random.draw() >= loss).then_some(now + delay))
}

/// Each packet is late by up to `jitter` more, whatever the others are: they overtake one another.
pub(crate) fn reordering(delay: TimeDelta, jitter: TimeDelta, seed: u64) -> Path {
    let mut random = Random::new(seed);
    Box::new(move |now, _| Some(now + delay + jitter.mul_f64(random.draw())))
}

/// A drop-tail queue of `queue` before a server of `rate`.
pub(crate) fn bottleneck(delay: TimeDelta, rate: Bitrate, queue: TimeDelta) -> Path {
    let mut free = Timestamp::ZERO;
    Box::new(move |now, size| {
        let start = free.max(now);
        (start - now <= queue).then(|| {
            free = start + rate.time_to_send(size).expect("a rate");
            free + delay
        })
    })
}

/// A drop-tail queue of `queue` octets before a server whose rate steps at instants.
pub(crate) fn squeeze(delay: TimeDelta, steps: &'static [(u64, u64)], queue: DataSize) -> Path {
    let mut free = Timestamp::ZERO;
    let mut waiting: std::collections::VecDeque<(Timestamp, DataSize)> = std::collections::VecDeque::new();
    Box::new(move |now, size| {
        while waiting.front().is_some_and(|(leaves, _)| *leaves <= now) {
            waiting.pop_front();
        }
        let held: DataSize = waiting.iter().map(|(_, size)| *size).sum();
        if held + size > queue {
            return None;
        }
        let start = free.max(now);
        let rate = steps.iter().rev().find(|(from, _)| at(*from) <= start).expect("a first step").1;
        free = start + Bitrate::from_kbps(rate).time_to_send(size).expect("a rate");
        waiting.push_back((free, size));
        Some(free + delay)
    })
}

/// Loss in bursts of mean length `burst` at mean ratio `loss` (Gilbert-Elliott, lossless good state).
pub(crate) fn bursts(mut path: Path, loss: f64, burst: f64, seed: u64) -> Path {
    let mut random = Random::new(seed);
    let mut bad = false;
    let (leave, enter) = (1.0 / burst, loss / (1.0 - loss) / burst);
    Box::new(move |now, size| {
        let change = random.draw() < if bad { leave } else { enter };
        bad ^= change;
        let arrival = path(now, size);
        arrival.filter(|_| !bad)
    })
}

/// Nothing comes through between two instants.
pub(crate) fn outage(mut path: Path, from: Timestamp, to: Timestamp) -> Path {
    Box::new(move |now, size| path(now, size).filter(|_| !(from..to).contains(&now)))
}

/// A source of synthetic frames that follows its share.
pub(crate) struct Source {
    pub(crate) interval: TimeDelta,
    pub(crate) gop: u64,
    pub(crate) next: Timestamp,
    pub(crate) count: u64,
    pub(crate) key_wanted: bool,
}

impl Source {
    pub(crate) fn new(fps: i64) -> Self {
        let interval = TimeDelta::from_nanos(1_000_000_000 / fps);
        Self { interval, gop: u64::MAX, next: Timestamp::ZERO, count: 0, key_wanted: true }
    }

    pub(crate) fn frame(&mut self, sender: &Sender) -> Frame {
        let rate = sender.share(StreamId(0)).media;
        let target = rate.size_in(self.interval).max(DataSize::from_bytes(100));
        let key = std::mem::take(&mut self.key_wanted) || self.count.is_multiple_of(self.gop);
        let kind = if key { FrameKind::Key } else { FrameKind::Reference };
        let captured = self.next;
        self.count += 1;
        self.next += self.interval;
        let data = FrameData::Synthetic(target.saturating_sub(DataSize::from_bytes(target.as_bytes() / 10)));
        Frame { stream: StreamId(0), captured, kind, data, target, interval: self.interval }
    }
}

/// The two endpoints and what is between them.
pub(crate) struct Run {
    pub(crate) now: Timestamp,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) source: Option<Source>,
    pub(crate) there: Path,
    pub(crate) back: Path,
    /// The paths there and back of each lane, in place of the two.
    pub(crate) lanes: Vec<(Path, Path)>,
    /// Messages cross as bytes.
    pub(crate) bytes: bool,
    /// A queue marks every n-th packet that lets itself be marked; 0 for none.
    pub(crate) mark_every: u64,
    marks: u64,
    /// Every message that leaves, either way.
    pub(crate) tap: Option<std::rc::Rc<std::cell::RefCell<Vec<Message>>>>,
    flying: BTreeMap<(Timestamp, u64), (bool, Ecn, Message)>,
    order: u64,
    pub(crate) frames: Vec<(Timestamp, ReceivedFrame)>,
    pub(crate) sender_events: Vec<(Timestamp, SenderEvent)>,
    pub(crate) receiver_events: Vec<(Timestamp, ReceiverEvent)>,
    pub(crate) departures: Vec<(Timestamp, DataSize)>,
}

impl Run {
    pub(crate) fn new(sender: Sender, receiver: Receiver, there: Path, back: Path) -> Self {
        Self {
            now: Timestamp::ZERO,
            sender,
            receiver,
            source: Some(Source::new(25)),
            there,
            back,
            lanes: Vec::new(),
            bytes: false,
            mark_every: 0,
            marks: 0,
            tap: None,
            flying: BTreeMap::new(),
            order: 0,
            frames: Vec::new(),
            sender_events: Vec::new(),
            receiver_events: Vec::new(),
            departures: Vec::new(),
        }
    }

    /// Runs up to `end`.
    pub(crate) fn until(&mut self, end: Timestamp) -> &mut Self {
        while let Some(next) = self.next_instant().filter(|next| *next <= end) {
            self.now = next.max(self.now);
            self.step();
        }
        self.now = end;
        self
    }

    fn next_instant(&self) -> Option<Timestamp> {
        let flying = self.flying.first_key_value().map(|((when, _), _)| *when);
        let source = self.source.as_ref().map(|source| source.next);
        [flying, source, self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min()
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to_receiver, ecn, message) = entry.remove();
            self.arrive(to_receiver, ecn, message);
        }
        if let Some(source) = self.source.as_mut().filter(|source| source.next <= now) {
            if self.sender.should_skip() {
                source.next += source.interval;
                self.sender.on_frame_skipped(now);
                return self.step_rest();
            }
            let frame = source.frame(&self.sender);
            self.sender.handle_frame(now, &frame).expect("a good frame");
        }
        self.step_rest();
    }

    fn step_rest(&mut self) {
        let now = self.now;
        if self.sender.poll_timeout().is_some_and(|due| due <= now) {
            self.sender.handle_timeout(now);
        }
        if self.receiver.poll_timeout().is_some_and(|due| due <= now) {
            self.receiver.handle_timeout(now);
        }
        self.drain();
        let wake = self.sender.next_wake();
        assert_eq!(wake.map(|wake| wake.at), self.sender.poll_timeout());
        assert!(wake.is_none_or(|wake| wake.at > now), "the sender is not drained at {now}: {wake:?}");
        assert!(self.receiver.poll_timeout().is_none_or(|due| due > now), "nor the receiver at {now}");
    }

    fn arrive(&mut self, to_receiver: bool, mut ecn: Ecn, mut message: Message) {
        if self.bytes {
            let mut octets = Vec::new();
            message.encode(&mut octets);
            assert_eq!(octets.len(), message.wire_len());
            message = Message::decode(&Bytes::from(octets)).expect("what an endpoint sends can be read");
        }
        if self.mark_every > 0 && ecn.is_capable() {
            self.marks += 1;
            ecn = if self.marks.is_multiple_of(self.mark_every) { Ecn::Ce } else { ecn };
        }
        if to_receiver {
            self.receiver.handle_message(self.now, self.now, ecn, &mut message);
        } else {
            self.sender.handle_message(self.now, self.now, &message);
        }
        // The driving contract: drain after each input.
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        let now = self.now;
        let mut message = Message::default();
        while let Some(transmit) = self.sender.poll_transmit(now, now, &mut message) {
            if matches!(message, Message::Rtp(_)) {
                self.departures.push((now, transmit.size));
            }
            let lane = self.lanes.get_mut(usize::from(transmit.subflow.0));
            let there = lane.map_or(&mut self.there, |(there, _)| there);
            let arrival = there(now, transmit.size);
            self.carry(arrival, true, transmit.ecn, &message);
        }
        while let Some(transmit) = self.receiver.poll_transmit(now, &mut message) {
            let lane = self.lanes.get_mut(usize::from(transmit.subflow.0));
            let back = lane.map_or(&mut self.back, |(_, back)| back);
            let arrival = back(now, transmit.size);
            self.carry(arrival, false, transmit.ecn, &message);
        }
        while let Some(event) = self.sender.poll_event() {
            if let (SenderEvent::KeyFrameWanted { .. }, Some(source)) = (event, &mut self.source) {
                source.key_wanted = true;
            }
            self.sender_events.push((now, event));
        }
        while let Some(event) = self.receiver.poll_event() {
            match event {
                ReceiverEvent::Frame(frame) => self.frames.push((now, frame)),
                event => self.receiver_events.push((now, event)),
            }
        }
    }

    fn carry(&mut self, arrival: Option<Timestamp>, to_receiver: bool, ecn: Ecn, message: &Message) {
        if let Some(tap) = &self.tap {
            tap.borrow_mut().push(message.clone());
        }
        if let Some(arrival) = arrival {
            self.order += 1;
            self.flying.insert((arrival, self.order), (to_receiver, ecn, message.clone()));
        }
    }

    /// Capture-to-display delays; both ends have one clock here.
    pub(crate) fn delays(&self) -> Vec<TimeDelta> {
        let delay = |(shown, frame): &(Timestamp, ReceivedFrame)| {
            let captured = frame.captured.expect("a sender report came first");
            TimeDelta::from_nanos(shown.as_nanos() as i64 - captured.as_nanos() as i64)
        };
        self.frames.iter().map(delay).collect()
    }
}
