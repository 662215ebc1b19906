//! S002 section 3.3 rule by rule.

use super::*;
use crate::feedback::PacketReport;
use crate::packet::{Content, StreamId};

const SEGMENT: f64 = 512.0;

struct Bench {
    window: Window,
    out: Vec<SentPacket>,
    next: u64,
}

fn at(millis: i64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_millis(millis)
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(set: impl FnOnce(&mut WindowConfig)) -> Self {
        let flow = FlowConfig { packet: DataSize::from_bytes(512), ecn: Ecn::NotEct };
        let mut config = WindowConfig::new(flow);
        set(&mut config);
        Self { window: Window::new(config), out: Vec::new(), next: 0 }
    }

    fn room(&self) -> u64 {
        self.window.allowance(Subflow(0)).window.unwrap().as_bytes()
    }

    fn send(&mut self, now: i64, count: u64) {
        for _ in 0..count {
            let packet = SentPacket {
                id: PacketId(self.next),
                subflow: Subflow(0),
                sequence: self.next,
                size: DataSize::from_bytes(512),
                content: Content::Media(StreamId(0)),
                probe: None,
                backlog: DataSize::from_bytes(512),
            };
            self.next += 1;
            self.window.on_sent(at(now), &packet);
            self.out.push(packet);
        }
    }

    /// Sends all that the window lets.
    fn fill(&mut self, now: i64) {
        while self.room() >= 512 {
            self.send(now, 1);
        }
    }

    fn report(&mut self, now: i64, packets: &[(u64, Fate)], requested: &[u64]) {
        let reports: Vec<_> = packets
            .iter()
            .map(|(id, fate)| PacketReport {
                packet: self.out[*id as usize],
                sent: at(now - 100),
                fate: *fate,
            })
            .collect();
        let requested: Vec<_> = requested.iter().map(|id| PacketId(*id)).collect();
        let rtt = Some(TimeDelta::from_millis(100));
        let peer = PeerReport::default();
        let feedback = Feedback { subflow: Subflow(0), rtt, packets: &reports, requested: &requested, peer };
        self.window.on_feedback(at(now), &feedback);
    }

    fn ack(&mut self, now: i64, ids: std::ops::Range<u64>) {
        for id in ids {
            self.report(now, &[(id, ACKED)], &[]);
        }
    }
}

const ACKED: Fate = Fate::Received { at: None, ecn: Ecn::NotEct };

/// Rules 1 and 2: one segment, doubled a round-trip time, then a segment a round-trip time.
#[test]
fn slow_start_and_avoidance() {
    let mut bench = Bench::new();
    bench.window.threshold = 8.0 * SEGMENT;
    let mut acked = 0;
    for (now, windows) in [(0, 1), (100, 2), (200, 4), (300, 8)] {
        assert_eq!(bench.room(), windows * 512);
        bench.fill(now);
        assert_eq!(bench.next - acked, windows);
        bench.ack(now + 100, acked..bench.next);
        acked = bench.next;
    }
    // 8 acknowledgements of 1/8 segment and a little less each.
    assert!((bench.window.window / SEGMENT - 8.0 - 0.95).abs() < 0.05, "{}", bench.window.window);
}

/// Rule 1 to the letter of S002: any room is room for a packet.
#[test]
fn literal_gate() {
    let mut exact = Bench::new();
    exact.window.window = 700.0;
    exact.send(0, 1);
    assert_eq!(exact.room(), 188);
    let mut literal = Bench::with(|config| config.literal_gate = true);
    literal.window.window = 700.0;
    literal.send(0, 1);
    assert_eq!(literal.room(), 512);
}

/// Rules 3 and 4: half of what is in flight, once a window of data.
#[test]
fn one_cut_a_window() {
    let mut bench = Bench::new();
    bench.window.window = 20.0 * SEGMENT;
    bench.fill(0);
    bench.report(100, &[(0, Fate::Lost), (1, ACKED), (2, ACKED), (3, ACKED)], &[]);
    // 17 segments are still out with the lost one.
    assert_eq!(bench.window.window, 8.5 * SEGMENT);
    assert_eq!(bench.window.flight, 16.0 * SEGMENT);
    assert_eq!(bench.window.phase(), "congestion avoidance");
    bench.report(110, &[(5, Fate::Lost), (8, ACKED)], &[5]);
    assert!(
        (8.5 * SEGMENT..8.7 * SEGMENT).contains(&bench.window.window),
        "no cut in the same window of data"
    );
    bench.ack(110, 9..20);
    bench.fill(200);
    bench.ack(300, 20..22);
    bench.report(300, &[(22, Fate::Lost)], &[]);
    assert!(bench.window.window < 6.0 * SEGMENT, "{}", bench.window.window);
}

/// Rule 3: a request cuts too, though the packet is served; RFC 2001 halves the window instead.
#[test]
fn request_cuts() {
    let mut bench = Bench::with(|config| config.halve_window = true);
    bench.window.window = 20.0 * SEGMENT;
    bench.send(0, 10);
    bench.report(100, &[(3, ACKED)], &[0]);
    assert_eq!(bench.window.window, (20.0 * SEGMENT + 512.0) / 2.0, "it grew by the acknowledgement first");
    assert_eq!(bench.window.flight, 9.0 * SEGMENT);
}

/// Rule 5: a timeout gives all up, sends nothing again, and doubles.
#[test]
fn timeout() {
    let mut bench = Bench::new();
    bench.window.window = 10.0 * SEGMENT;
    bench.fill(0);
    assert_eq!(bench.window.poll_timeout(), Some(at(1000)));
    bench.window.handle_timeout(at(1000));
    assert_eq!((bench.window.window, bench.window.flight), (SEGMENT, 0.0));
    assert_eq!(bench.window.threshold, 5.0 * SEGMENT);
    bench.ack(1100, 0..10);
    assert_eq!(
        (bench.window.window, bench.window.flight),
        (SEGMENT, 0.0),
        "what was given up counts no more"
    );
    bench.send(1200, 1);
    assert_eq!(bench.window.timeout_at, Some(at(2200)), "the samples above undid the backoff");
    bench.window.handle_timeout(at(2200));
    bench.send(2200, 1);
    assert_eq!(bench.window.timeout_at, Some(at(4200)), "doubled");
}

/// Rule 7: after a pause it begins again with one segment.
#[test]
fn restart_after_a_pause() {
    let mut bench = Bench::new();
    bench.window.window = 10.0 * SEGMENT;
    bench.send(0, 1);
    bench.ack(100, 0..1);
    assert_eq!(bench.window.poll_timeout(), Some(at(1000)));
    bench.window.handle_timeout(at(1000));
    assert_eq!(bench.window.window, SEGMENT);
    assert_eq!(bench.window.poll_timeout(), None);
}
