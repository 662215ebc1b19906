//! NADA's sender and its two receivers, step by step.

use super::*;
use crate::feedback::{Congestion, PeerReport};
use crate::info::FlowConfig;
use crate::packet::{Content, PacketId, StreamId};
use seaway_units::RemoteTimestamp;

const FLOW: FlowConfig = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::Ect1 };

fn at(ms: i64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_millis(1000 + ms)
}

fn nada(variant: Variant) -> Nada {
    let mut nada = Nada::new(NadaConfig::new(variant, FLOW));
    let (min, max) = (Bitrate::from_kbps(150), Bitrate::from_kbps(1500));
    nada.on_signal(at(0), LocalSignal::Limits { min, start: Bitrate::from_kbps(300), max });
    nada
}

fn packet(sequence: u64) -> SentPacket {
    SentPacket {
        id: PacketId(sequence),
        subflow: Subflow(0),
        sequence,
        size: DataSize::from_bytes(1000),
        content: Content::Media(StreamId(0)),
        probe: None,
        backlog: DataSize::ZERO,
    }
}

fn report(nada: &mut Nada, now: Timestamp, delay_ms: i64, ramp_up: bool, kbps: u64) {
    let congestion = Some(Congestion { delay: TimeDelta::from_millis(delay_ms), ramp_up });
    let peer =
        PeerReport { congestion, receive_rate: Some(Bitrate::from_kbps(kbps)), ..PeerReport::default() };
    let rtt = Some(TimeDelta::from_millis(100));
    nada.on_feedback(now, &Feedback { subflow: Subflow(0), rtt, packets: &[], requested: &[], peer });
}

/// RFC 8698 section 4.3: it begins at RMIN; ramp-up multiplies what arrives, and never lowers the rate.
#[test]
fn ramp_up() {
    let mut nada = nada(Variant::Rfc8698);
    assert_eq!(nada.target().rate, Bitrate::from_kbps(150));
    report(&mut nada, at(100), 0, true, 400);
    assert_eq!(nada.target().rate, Bitrate::from_bps(462_500), "1.15625 times 400 kbit/s");
    report(&mut nada, at(200), 0, true, 100);
    assert_eq!(nada.target().rate, Bitrate::from_bps(462_500));
    report(&mut nada, at(300), 0, true, 2000);
    assert_eq!(nada.target().rate, Bitrate::from_kbps(1500), "RMAX");
    let causes: Vec<_> = std::iter::from_fn(|| nada.poll_decision()).map(|decision| decision.cause).collect();
    assert_eq!(causes, ["accelerated ramp-up"; 2]);
}

/// RFC 8698 section 4.3, the first worked step: 1 Mbit/s, x from 20 to 30 ms.
#[test]
fn gradual_update() {
    let mut nada = nada(Variant::Rfc8698);
    nada.rate = 1e6;
    nada.previous = 20.0;
    nada.updated_at = Some(at(0));
    report(&mut nada, at(100), 30, false, 900);
    assert_eq!(nada.target().rate, Bitrate::from_kbps(977));
    assert_eq!(nada.phase(), "gradual update");
    // A jump of half a second is clipped to RMIN.
    report(&mut nada, at(200), 600, false, 900);
    assert_eq!(nada.signal.unwrap().delay, 500.0, "XMAX");
    assert_eq!(nada.target().rate, Bitrate::from_kbps(150));
}

/// RFC 8698 section 5.2.2: a backlog lowers the encoder and raises the sender, inside the limits.
#[test]
fn shaping_moves_both_rates() {
    let mut nada = nada(Variant::Rfc8698);
    let backlog = LocalSignal::Backlog { waiting: DataSize::from_bytes(2000), oldest: TimeDelta::ZERO };
    nada.rate = 960e3;
    nada.on_signal(at(0), backlog);
    assert_eq!(nada.target().rate, Bitrate::from_kbps(912));
    assert_eq!(nada.allowance(Subflow(0)).rate, Bitrate::from_kbps(1008));
    nada.rate = 1.5e6;
    nada.on_signal(at(0), backlog);
    assert_eq!(nada.allowance(Subflow(0)).rate, Bitrate::from_kbps(1500));
    let mut draft = super::tests::nada(Variant::Draft);
    draft.on_signal(at(0), backlog);
    assert_eq!(draft.target().rate, draft.allowance(Subflow(0)).rate);
}

/// Held for 8 intervals and a round-trip time, then halved each interval, not while nothing is sent.
#[test]
fn silence_halves() {
    let mut nada = nada(Variant::Rfc8698);
    report(&mut nada, at(100), 0, true, 2000);
    assert_eq!(nada.poll_timeout(), None);
    nada.on_sent(at(110), &packet(0));
    assert_eq!(nada.poll_timeout(), Some(at(1010)));
    nada.handle_timeout(at(1009));
    assert_eq!(nada.target().rate, Bitrate::from_kbps(1500));
    for (ms, kbps) in [(1010, 750), (1110, 375), (1210, 187), (1310, 150)] {
        nada.handle_timeout(at(ms));
        assert_eq!(nada.target().rate.as_bps() / 1000, kbps);
    }
    nada.handle_timeout(at(1410));
    assert_eq!(nada.poll_timeout(), None);
}

fn batch(range: std::ops::Range<u64>, queueing: i64) -> Vec<PacketReport> {
    let reports = range.filter(|sequence| sequence % 100 != 88).map(|sequence| {
        let sent = at(10 * sequence as i64);
        let arrived = sent + TimeDelta::from_millis(30 + queueing);
        let received = Some(RemoteTimestamp::from_nanos(arrived.as_nanos()));
        PacketReport {
            packet: packet(sequence),
            sent,
            fate: Fate::Received { at: received, ecn: Ecn::NotEct },
        }
    });
    reports.collect()
}

fn feed(nada: &mut Nada, now: Timestamp, packets: &[PacketReport]) {
    let peer = PeerReport::default();
    nada.on_feedback(now, &Feedback { subflow: Subflow(0), rtt: None, packets, requested: &[], peer });
}

/// ns3-rmcat acts on the first packet of a batch where an interval has passed, so that the batch counts at the
/// next report only; a batch that finds less than half an interval gone waits.
#[test]
fn draft_acts_on_the_first_of_a_batch() {
    let mut nada = nada(Variant::Draft);
    nada.on_sent(at(0), &packet(0));
    feed(&mut nada, at(100), &batch(0..6, 0));
    assert_eq!(nada.updated_at, Some(at(100)));
    assert_eq!(nada.signal.unwrap().receive_rate, 0.0, "one packet measures no rate");
    feed(&mut nada, at(140), &batch(6..9, 0));
    assert_eq!(nada.updated_at, Some(at(100)));
    feed(&mut nada, at(160), &batch(9..11, 0));
    assert_eq!(nada.updated_at, Some(at(160)));
    assert!((nada.signal.unwrap().receive_rate - 800e3).abs() < 1e-3);
}

/// The draft has losses from gaps, and warps the delay while they are recent.
#[test]
fn draft_signal() {
    let mut nada = nada(Variant::Draft);
    nada.on_sent(at(0), &packet(0));
    for step in 0..20 {
        let first = 10 * step;
        feed(&mut nada, at(100 * (step as i64 + 1)), &batch(first..first + 10, 0));
    }
    assert!(nada.phase() == "gradual update", "a loss within half a second");
    assert!(nada.signal.unwrap().delay > 0.0);
    feed(&mut nada, at(2900), &batch(200..210, 900));
    feed(&mut nada, at(3000), &batch(210..220, 900));
    // The queue has 900 ms, losses were seen lately, so that the delay is warped to almost nothing.
    let warped = equation::warped(900.0, 50.0);
    assert!(nada.signal.unwrap().delay < warped + 20.0);
}

/// RFC 8698 section 5.1.1 at both sides: the same packets give the same signal.
#[test]
fn both_sides_agree() {
    use crate::feedback_source::{Arrival, FeedbackSource};
    let config = NadaConfig::new(Variant::Rfc8698, FLOW);
    let mut receiver = NadaReceiver::new(config);
    let mut sender = nada(Variant::Rfc8698);
    sender.config.side = Side::Sender;
    let mut reports = Vec::new();
    let mut from_receiver = Vec::new();
    for sequence in 0..600_u64 {
        let queueing = if (300..400).contains(&sequence) { 25 } else { 0 };
        for report in batch(sequence..sequence + 1, queueing) {
            let Fate::Received { at: Some(arrived), .. } = report.fate else { unreachable!() };
            let now = Timestamp::from_nanos(arrived.as_nanos());
            receiver.on_arrival(
                now,
                &Arrival {
                    subflow: Subflow(0),
                    sequence,
                    size: report.packet.size,
                    ecn: Ecn::NotEct,
                    tag: None,
                    sent: RemoteTimestamp::from_nanos(report.sent.as_nanos()),
                    rtt: None,
                    ends_frame: false,
                },
            );
            reports.push(report);
            if let Some((_, peer)) = receiver.poll_report(now) {
                from_receiver.push((now, peer.congestion.unwrap(), peer.receive_rate.unwrap()));
                feed(&mut sender, now + TimeDelta::from_millis(30), &std::mem::take(&mut reports));
                let signal = sender.signal.unwrap();
                let (_, congestion, rate) = from_receiver.last().unwrap();
                assert!((signal.delay - congestion.delay.as_millis_f64()).abs() < 0.5, "{sequence}");
                assert_eq!(signal.ramp_up, congestion.ramp_up, "{sequence}");
                let ratio = signal.receive_rate / rate.as_bps_f64();
                assert!((ratio - 1.0).abs() < 0.1, "{sequence}: {ratio}");
            }
        }
    }
    assert!(from_receiver.len() > 50);
}
