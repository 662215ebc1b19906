//! S002's transport on its own wire, over a link in virtual time.

use bytes::Bytes;
use seaway_control::RateController;
use seaway_session::window::{ClientConfig, WindowClient, WindowSender, WindowSenderConfig};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

/// Frames of one size each 40 ms into a FIFO of 64 kB, a link of 1 Mbit/s and 50 ms each way.
struct Run {
    sender: WindowSender,
    client: WindowClient,
    now: Timestamp,
    frame: usize,
    frames: u64,
    link_free_at: Timestamp,
    forward: VecDeque<(Timestamp, Bytes)>,
    back: VecDeque<(Timestamp, Bytes)>,
    passed: u64,
    lose: fn(u64, Timestamp) -> bool,
    shown: Vec<u32>,
}

impl Run {
    fn new(buffer: TimeDelta, frame: usize, lose: fn(u64, Timestamp) -> bool) -> Self {
        Self {
            sender: WindowSender::new(WindowSenderConfig {
                first: 65_000,
                ..WindowSenderConfig::new(DataSize::from_bytes(64_000))
            }),
            client: WindowClient::new(ClientConfig::new(buffer)),
            now: Timestamp::ZERO,
            frame,
            frames: 0,
            link_free_at: Timestamp::ZERO,
            forward: VecDeque::new(),
            back: VecDeque::new(),
            passed: 0,
            lose,
            shown: Vec::new(),
        }
    }

    fn seconds(&mut self, seconds: i64) {
        let end = self.now + TimeDelta::from_secs(seconds);
        while self.now < end {
            self.step();
            self.now += ms(1);
        }
    }

    /// A millisecond.
    fn step(&mut self) {
        let now = self.now;
        if now.as_nanos().is_multiple_of(40_000_000) {
            let data = Bytes::from(vec![self.frames as u8; self.frame]);
            self.sender.on_frame(now, ms(40 * self.frames as i64), &data);
            self.frames += 1;
        }
        while let Some((_, datagram)) = self.forward.pop_front_if(|(at, _)| *at <= now) {
            self.client.handle_datagram(now, &datagram);
        }
        while let Some((_, datagram)) = self.back.pop_front_if(|(at, _)| *at <= now) {
            self.sender.handle_answer(now, &datagram);
        }
        if self.client.poll_timeout().is_some_and(|due| due <= now) {
            self.client.handle_timeout(now);
        }
        if self.sender.poll_timeout().is_some_and(|due| due <= now) {
            self.sender.handle_timeout(now);
        }
        while let Some(answer) = self.client.poll_answer() {
            self.back.push_back((now + ms(50), answer));
        }
        while let Some(frame) = self.client.poll_frame() {
            assert_eq!(frame.data.len(), self.frame);
            assert!(frame.data.iter().all(|octet| *octet == (frame.presentation_ms / 40) as u8));
            self.shown.push(frame.presentation_ms);
        }
        let mut buffer = Vec::new();
        while let Some(size) = self.sender.poll_datagram(now, &mut buffer) {
            assert_eq!(size, DataSize::from_bytes(buffer.len() as u64 + 28));
            assert!(buffer.len() <= 522);
            let lost = (self.lose)(self.passed, now);
            self.passed += 1;
            let waits = self.link_free_at.max(now);
            self.link_free_at = waits + Bitrate::from_mbps(1).time_to_send(size).unwrap();
            if !lost && waits - now < ms(200) {
                self.forward
                    .push_back((self.link_free_at + ms(50), Bytes::from(std::mem::take(&mut buffer))));
            }
            buffer.clear();
        }
    }

    fn window(&self) -> f64 {
        let mut window = 0.0;
        self.sender.controller().inspect(&mut |gauge| {
            if gauge.name == "window" {
                window = gauge.value;
            }
        });
        window
    }
}

/// Every frame is shown in its order, through the wrap of the sequence number.
#[test]
fn a_clean_path_shows_every_frame() {
    let mut run = Run::new(ms(1000), 1300, |_, _| false);
    run.seconds(60);
    let (sent, seen) = (run.sender.statistics(), run.client.statistics());
    assert!(run.shown.is_sorted() && seen.shown + 40 > run.frames, "{seen:?} of {}", run.frames);
    assert_eq!((seen.concealed, seen.requested, sent.repaired, sent.lost, sent.malformed), (0, 0, 0, 0, 0));
}

/// `docs/models/window-transport.md`, section "Acceptance", rule 3: with time to spare each loss is requested once,
/// and repaired.
#[test]
fn what_can_be_shown_in_time_is_asked_for_once() {
    let mut run = Run::new(ms(1500), 1300, |count, _| count % 50 == 49);
    run.seconds(120);
    let (sent, seen) = (run.sender.statistics(), run.client.statistics());
    assert!(seen.requested > 50, "{seen:?}");
    assert_eq!(sent.repaired, seen.requested, "{sent:?} {seen:?}");
    // A repair that is lost again is not requested again.
    assert!(seen.repaired * 100 >= seen.requested * 95, "{seen:?}");
    assert!(seen.shown * 100 >= (run.frames - 60) * 97, "{seen:?} of {}", run.frames);
}

/// `docs/models/window-transport.md`, section "Acceptance", rule 3: no request where the media buffered ahead last no
/// round-trip time; the loss is accepted, and the window halves for it all the same.
#[test]
fn no_request_below_a_round_trip() {
    let mut run = Run::new(ms(80), 1300, |count, _| count % 50 == 49);
    run.seconds(120);
    let (sent, seen) = (run.sender.statistics(), run.client.statistics());
    assert_eq!((seen.requested, sent.repaired), (0, 0), "{seen:?}");
    assert!(sent.lost > 50 && seen.given_up > 50, "{sent:?} {seen:?}");
    assert!(seen.given_up.abs_diff(sent.lost) <= 3, "{sent:?} {seen:?}");
    let mut clean = Run::new(ms(80), 1300, |_, _| false);
    clean.seconds(120);
    assert!(run.window() < 0.7 * clean.window(), "{} and {}", run.window(), clean.window());
}

/// `docs/models/window-transport.md`, section "Acceptance", rule 4: a timeout gives up what was out and sends nothing
/// again.
#[test]
fn a_timeout_repeats_nothing() {
    let outage = |_, now: Timestamp| (20..25).contains(&(now.as_nanos() / 1_000_000_000));
    let mut run = Run::new(ms(80), 1300, outage);
    run.seconds(60);
    let (sent, seen) = (run.sender.statistics(), run.client.statistics());
    assert_eq!(sent.repaired, 0, "{sent:?}");
    assert!(seen.received > 2000 && seen.shown > 500, "{seen:?}");
    let last = *run.shown.last().unwrap();
    assert!(last > 50_000, "it came back: {last}");
}

/// `docs/models/window-transport.md`, section "Acceptance", rule 6: its throughput under periodic loss is that of a
/// Reno.
#[test]
fn takes_what_a_reno_takes() {
    let mut run = Run::new(ms(80), 2600, |count, _| count % 100 == 99);
    run.seconds(30);
    let before = run.sender.statistics().sent;
    run.seconds(120);
    let rate = (run.sender.statistics().sent - before) as f64 / 120.0;
    // sqrt(3/2p) packets in a round-trip time of 104.4 ms.
    let reno = 150f64.sqrt() / 0.1044;
    assert!((rate / reno - 1.0).abs() < 0.15, "{rate} packets/s, Reno {reno}");
}

/// More than 32 packets leave in a round-trip time here, so that acknowledgements pass the hole before its repair comes.
#[test]
fn a_repair_comes_in_time_behind_the_acknowledgements() {
    let mut run = Run::new(ms(1500), 4300, |count, _| count % 200 == 199);
    run.seconds(60);
    let (sent, seen) = (run.sender.statistics(), run.client.statistics());
    assert!(seen.requested > 20 && sent.sent > 9_000, "{sent:?} {seen:?}");
    assert!(seen.repaired * 100 >= seen.requested * 95, "{seen:?}");
    assert!(seen.concealed * 20 <= seen.requested, "{seen:?}");
}

/// The last frame is shown too, once the sender says that none follows.
#[test]
fn the_end_makes_the_last_frame_whole() {
    let mut run = Run::new(ms(300), 1300, |count, _| count == 70);
    run.seconds(2);
    run.sender.finish();
    let frames = run.frames;
    for _ in 0..1000 {
        run.now += ms(1);
        if run.now.as_nanos().is_multiple_of(40_000_000) {
            run.now += ms(1);
        }
        run.step();
    }
    let seen = run.client.statistics();
    assert!(run.sender.is_drained() && run.client.has_ended(), "{seen:?}");
    assert_eq!((seen.shown, seen.concealed, run.client.held()), (frames, 0, DataSize::ZERO));
    assert_eq!(run.sender.statistics().begun_frames, frames);
}

/// What has not begun to leave is dropped; the frame that is leaving is completed.
#[test]
fn an_abandoned_queue_ends_with_a_whole_frame() {
    let mut sender = WindowSender::new(WindowSenderConfig::new(DataSize::from_bytes(64_000)));
    let (now, mut buffer) = (Timestamp::ZERO, Vec::new());
    for frame in 0..10 {
        assert!(sender.on_frame(now, ms(40 * frame), &Bytes::from(vec![frame as u8; 1300])));
    }
    assert!(sender.poll_datagram(now, &mut buffer).is_some());
    sender.abandon();
    assert_eq!(sender.occupancy(), DataSize::from_bytes(1300 - 512));
    assert!(!sender.is_drained());
}

/// A peer that sends frames for a far future fills no memory.
#[test]
fn what_waits_is_bounded() {
    let mut client = WindowClient::new(ClientConfig::new(ms(200)));
    for number in 0..200_000u32 {
        let mut datagram = vec![0; 11];
        datagram[..2].copy_from_slice(&(number as u16).to_be_bytes());
        datagram[2..6].copy_from_slice(&(number + 1000).to_be_bytes());
        client.handle_datagram(Timestamp::ZERO, &Bytes::from(datagram));
        while client.poll_answer().is_some() {}
    }
    assert_eq!(client.held(), DataSize::from_bytes(1 << 17));
    assert_eq!(client.statistics().overflow, 200_000 - (1 << 17));
}
