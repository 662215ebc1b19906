//! A media server whose transport-wide feedback is about pictures alone and waits for twenty packets, as LiveKit's (1.9.12) does.

mod common;

use common::*;
use seaway_control::StreamId;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use seaway_wire::List;
use seaway_wire::rtcp::twcc::TwccWriter;
use seaway_wire::rtcp::{ReceiverReport, ReportBlock};
use std::collections::BTreeMap;
use std::time::Duration;

const SERVER: u32 = 0xACE;
const SOUND: StreamId = StreamId(1);
const KBPS: u64 = 2_000;

/// What arrived and is not reported yet, by transport-wide number.
#[derive(Default)]
struct Server {
    pending: BTreeMap<u16, Timestamp>,
    next: u16,
    reported: Option<Timestamp>,
    count: u8,
}

impl Server {
    const FEWEST: usize = 20;
    const INTERVAL: TimeDelta = TimeDelta::from_millis(100);

    /// A report, if the packet of now calls for one.
    fn on_packet(&mut self, now: Timestamp, number: u16) -> Option<Message> {
        self.pending.insert(number, now);
        let last = *self.reported.get_or_insert(now);
        if self.pending.len() <= Self::FEWEST || now - last < Self::INTERVAL {
            return None;
        }
        self.reported = Some(now);
        self.count = self.count.wrapping_add(1);
        let newest = *self.pending.last_key_value()?.0;
        let arrivals = (self.next..=newest).map(|number| self.pending.get(&number).copied());
        let writer = TwccWriter { sender_ssrc: SERVER, media_ssrc: 0x5EA0_0000, feedback_count: self.count };
        let mut octets = vec![0; 1500];
        let emitted = writer.emit(self.next, arrivals, &mut octets).expect("it fits");
        octets.truncate(emitted.len);
        self.next = newest + 1;
        self.pending.clear();
        Some(Message::Rtcp(octets.into()))
    }
}

struct Published {
    sender: Sender,
    there: Path,
    server: Server,
    there_flying: BTreeMap<(Timestamp, u64), (RtpPacket, DataSize)>,
    back_flying: BTreeMap<Timestamp, Message>,
    source: Source,
    sound: Vec<RtpPacket>,
    /// What arrived in each second.
    arrived: Vec<u64>,
    order: u64,
}

impl Published {
    fn new(control: &str) -> Self {
        let plain = PlainReceiver {
            cname: "a@b".into(),
            wall_clock: Duration::from_secs(4_000_000_000),
            unreported: Some(SOUND),
        };
        let mut config = SenderConfig {
            limits: Limits { start: Bitrate::from_kbps(300), ..LIMITS },
            feedback: FeedbackFormat::Twcc,
            pushback: None,
            plain: Some(plain),
            ..config(control)
        };
        config.streams.push(StreamConfig::audio(StreamDescription::opus(), Bitrate::from_kbps(80)));
        Self {
            sender: sender(Timestamp::ZERO, config),
            there: bottleneck(ms(20), Bitrate::from_kbps(KBPS), ms(300)),
            server: Server::default(),
            there_flying: BTreeMap::new(),
            back_flying: BTreeMap::new(),
            source: Source::new(25),
            sound: Vec::new(),
            arrived: Vec::new(),
            order: 0,
        }
    }

    /// Pictures and sound for so many milliseconds, one after the other.
    fn run(mut self, millis: u64) -> Self {
        for now in (0..millis).map(at) {
            self.deliver(now);
            if now >= self.source.next {
                let frame = self.source.frame(&self.sender);
                self.sender.handle_frame(now, &frame).unwrap();
            }
            if now.as_nanos().is_multiple_of(20_000_000) {
                let data = FrameData::Coded(vec![0xFC; 160].into());
                let frame = Frame { stream: SOUND, ..Frame::new(now, FrameKind::Key, data, ms(20)) };
                self.sender.handle_frame(now, &frame).unwrap();
            }
            if self.sender.poll_timeout().is_some_and(|due| due <= now) {
                self.sender.handle_timeout(now);
            }
            self.drain(now);
        }
        self
    }

    fn deliver(&mut self, now: Timestamp) {
        while let Some(entry) = self.there_flying.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((arrival, _), (packet, size)) = entry.remove_entry();
            let second = (arrival.as_nanos() / 1_000_000_000) as usize;
            self.arrived.resize(self.arrived.len().max(second + 1), 0);
            self.arrived[second] += size.as_bytes();
            match packet.transport_sequence {
                None => self.sound.push(packet),
                Some(number) => {
                    let report = self.server.on_packet(arrival, number);
                    self.back_flying.extend(report.map(|report| (arrival + ms(20), report)));
                }
            }
        }
        while let Some(entry) = self.back_flying.first_entry().filter(|entry| *entry.key() <= now) {
            self.sender.handle_message(now, now, &entry.remove());
        }
    }

    fn drain(&mut self, now: Timestamp) {
        let mut message = Message::default();
        while let Some(transmit) = self.sender.poll_transmit(now, now, &mut message) {
            if let (Message::Rtp(packet), Some(arrival)) = (&message, (self.there)(now, transmit.size)) {
                self.order += 1;
                self.there_flying.insert((arrival, self.order), (packet.clone(), transmit.size));
            }
        }
        while let Some(event) = self.sender.poll_event() {
            self.source.key_wanted |= matches!(event, SenderEvent::KeyFrameWanted { .. });
        }
    }
}

/// With `seaway` fewer packets than the server waits for left before the first report, and then none.
#[test]
fn feedback_that_waits_for_twenty_packets_starts() {
    for control in ["seaway", "gcc", "tfrc"] {
        let run = Published::new(control).run(30_000);
        let share = |from: usize, to: usize| {
            let octets: u64 = run.arrived[from..to].iter().sum();
            octets as f64 * 8.0 / 1000.0 / ((to - from) as f64 * KBPS as f64)
        };
        assert!(share(0, 5) > 0.2 && share(20, 30) > 0.9, "{control}: {:?}", run.arrived);
    }
}

/// They would count as lost, if they had transport-wide numbers.
#[test]
fn sound_without_feedback_is_no_loss() {
    let run = Published::new("seaway").run(20_000);
    assert!(run.sound.len() >= 995, "{}", run.sound.len());
    let is_next = |pair: &[RtpPacket]| pair[1].sequence_number == pair[0].sequence_number.wrapping_add(1);
    assert!(run.sound.windows(2).all(is_next));
    let ssrc = run.sound[0].ssrc;
    assert!(run.sound.iter().all(|packet| packet.ssrc == ssrc && packet.control.is_none()));
    let statistics = run.sender.statistics();
    assert_eq!((statistics.audio.queued, statistics.audio.dropped), (1000, 0));
    assert!(statistics.received > 500 && statistics.lost * 100 < statistics.received, "{statistics:?}");
}

/// A receiver report on the sound says nothing of the path that the controller is on.
#[test]
fn reports_on_that_sound_are_none_for_the_controller() {
    let mut run = Published::new("seaway").run(400);
    let of =
        |ssrc| ReportBlock { ssrc, highest_sequence: 65_510, fraction_lost: 255, ..ReportBlock::default() };
    let mut found = |ssrc: u32| {
        let blocks = [of(ssrc)];
        let report = ReceiverReport { ssrc: SERVER, blocks: List::from(&blocks[..]) };
        let mut octets = vec![0; report.buffer_len()];
        report.emit(&mut octets).unwrap();
        run.sender.handle_message(at(500), at(500), &Message::Rtcp(octets.into()));
        std::iter::from_fn(|| run.sender.poll_event())
            .any(|event| matches!(event, SenderEvent::FeedbackFound { .. }))
    };
    let sound = run.sound[0].ssrc;
    assert!(!found(sound));
    assert!(found(0x5EA0_0000), "one on the pictures does");
}
