//! What a packet costs at each end: frames of ten packets at 100 Mbit/s, reports each 10 ms, nothing lost, and
//! one packet in fifty lost and repaired.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use seaway_control::policy::Direct;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

const PACKETS: u64 = 10;
const FRAMES: u64 = 2_000;
const INTERVAL: TimeDelta = TimeDelta::from_micros(960);

fn main() {
    divan::main();
}

struct Pair {
    now: Timestamp,
    sender: Sender,
    receiver: Receiver,
    count: u64,
    sent: Vec<Message>,
}

impl Pair {
    fn new() -> Self {
        let rate = Bitrate::from_mbps(110);
        let limits = Limits { min: rate, start: rate, max: rate };
        let control = "fixed".parse().expect("a controller");
        let config = SenderConfig::new(1, control, limits, Format::Opaque);
        let start = Timestamp::ZERO;
        let sender = Sender::new(start, config, Box::new(Direct::new())).expect("a known controller");
        let receiver = Receiver::new(
            start,
            ReceiverConfig { description: Some(sender.description()), ..ReceiverConfig::new(2) },
        );
        Self { now: start, sender, receiver, count: 0, sent: Vec::new() }
    }

    /// One frame into the sender, and its packets out of it in their time.
    fn send(&mut self) {
        let data = FrameData::Synthetic(DataSize::from_bytes(PACKETS * 1100));
        let frame = Frame::new(self.now, FrameKind::Key, data, INTERVAL);
        self.sender.handle_frame(self.now, &frame).expect("a good frame");
        let end = self.now + INTERVAL;
        while let Some(next) = self.sender.poll_timeout().filter(|next| *next < end) {
            self.now = next.max(self.now);
            self.sender.handle_timeout(self.now);
            let mut message = Message::default();
            while self.sender.poll_transmit(self.now, self.now, &mut message).is_some() {
                self.sent.push(std::mem::take(&mut message));
            }
        }
        self.now = end;
        while self.sender.poll_event().is_some() {}
    }

    fn receive(&mut self, lost: u64) {
        for mut message in self.sent.drain(..) {
            self.count += 1;
            if lost > 0 && self.count.is_multiple_of(lost) {
                continue;
            }
            self.receiver.handle_message(self.now, self.now, Ecn::NotEct, &mut message);
        }
        self.receiver.handle_timeout(self.now);
        while let Some(event) = self.receiver.poll_event() {
            black_box(event);
        }
    }

    fn report(&mut self) {
        let mut message = Message::default();
        while self.receiver.poll_transmit(self.now, &mut message).is_some() {
            self.sender.handle_message(self.now, self.now, &message);
        }
    }
}

/// Both ends together, reports included.
#[divan::bench(args = [0, 50], sample_count = 20)]
fn both_ends(bencher: Bencher<'_, '_>, lost: u64) {
    bencher.counter(ItemsCount::new(PACKETS * FRAMES)).with_inputs(Pair::new).bench_local_values(
        |mut pair| {
            for _ in 0..FRAMES {
                pair.send();
                pair.receive(lost);
                pair.report();
            }
            pair
        },
    );
}

/// The sender without its feedback: cutting, pacing, stamping, history.
#[divan::bench(sample_count = 20)]
fn sender_alone(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(PACKETS * FRAMES)).with_inputs(Pair::new).bench_local_values(
        |mut pair| {
            for _ in 0..FRAMES {
                pair.send();
                pair.sent.clear();
            }
            pair
        },
    );
}

/// From a message to its octets and back.
#[divan::bench]
fn encode_and_decode(bencher: Bencher<'_, '_>) {
    let mut pair = Pair::new();
    pair.send();
    let message = pair.sent.pop().expect("a packet");
    let mut octets = Vec::with_capacity(2_000);
    bencher.bench_local(|| {
        octets.clear();
        black_box(&message).encode(&mut octets);
        Message::decode(&bytes::Bytes::copy_from_slice(&octets))
    });
}
