//! The worked numbers of RFC 5348 section 4, RFC 4828 and S003, through the controller itself.

use super::*;
use crate::feedback::{Fate, PacketReport, PeerReport};
use crate::info::FlowConfig;
use crate::packet::{Content, PacketId};
use seaway_units::Probability;
use seaway_units::{DataSize, Ecn, TimeDelta};

const FLOW: FlowConfig = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::NotEct };

fn config() -> Config {
    Config { damping: false, ..Config::new(Profile::Rfc5348, FLOW) }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_millis(millis)
}

fn packet(sequence: u64, size: u64) -> SentPacket {
    SentPacket {
        id: PacketId(sequence),
        subflow: Subflow(0),
        sequence,
        size: DataSize::from_bytes(size),
        content: Content::Padding,
        probe: None,
        backlog: DataSize::ZERO,
    }
}

fn rate(tfrc: &Tfrc) -> f64 {
    tfrc.target().rate.as_bytes_per_second()
}

/// A report at `now` about a packet that left a round-trip time of 100 ms ago.
fn report(tfrc: &mut Tfrc, now: i64, loss_event_rate: f64, receive_rate: u64) {
    report_after(tfrc, now, 100, loss_event_rate, receive_rate);
}

fn report_after(tfrc: &mut Tfrc, now: i64, rtt: i64, loss_event_rate: f64, receive_rate: u64) {
    let fate = Fate::Received { at: None, ecn: Ecn::NotEct };
    let packets = [PacketReport { packet: packet(0, 1000), sent: at(now - rtt), fate }];
    let peer = PeerReport {
        loss_event_rate: Probability::new(loss_event_rate),
        receive_rate: Some(Bitrate::from_bps(8 * receive_rate)),
        ..PeerReport::default()
    };
    let rtt = Some(TimeDelta::from_millis(rtt));
    tfrc.on_feedback(
        at(now),
        &Feedback { subflow: Subflow(0), rtt, packets: &packets, requested: &[], peer },
    );
}

/// After the first report, sending at its allowed rate all the time.
fn answered(config: Config) -> Tfrc {
    let mut tfrc = Tfrc::new(config, 1);
    tfrc.on_sent(at(0), &packet(0, 1000));
    report(&mut tfrc, 100, 0.0, 0);
    tfrc
}

/// A report that takes two datagrams: the second has arrivals alone, and is no report of silence.
#[test]
fn arrivals_without_a_report_change_nothing() {
    let profile = Profile::Rfc3448;
    let ns2: Box<dyn RateController> = Box::new(Ns2Tfrc::new(Config::new(profile, FLOW), 1));
    let rfc: Box<dyn RateController> = Box::new(Tfrc::new(config(), 1));
    for mut tfrc in [ns2, rfc] {
        tfrc.on_sent(at(0), &packet(0, 1000));
        let fate = Fate::Received { at: None, ecn: Ecn::NotEct };
        let mut feed = |now: i64, peer| {
            let packets = [PacketReport { packet: packet(now as u64, 1000), sent: at(now - 100), fate }];
            let rtt = Some(TimeDelta::from_millis(100));
            let feedback = Feedback { subflow: Subflow(0), rtt, packets: &packets, requested: &[], peer };
            tfrc.on_feedback(at(now), &feedback);
            tfrc.target().rate
        };
        let peer = PeerReport {
            loss_event_rate: Probability::new(0.01),
            receive_rate: Some(Bitrate::from_mbps(10)),
            ..PeerReport::default()
        };
        for step in 1..20 {
            feed(step * 100, peer);
        }
        let before = feed(2000, peer);
        assert_eq!(feed(2001, PeerReport::default()), before);
    }
}

/// Two connections at p = 0.01 and R = 0.1 s: the equation gives each 112 332 B/s, of which the first report allows 40 000 B/s. Rates are
/// added, in bit/s, and the rest are means.
#[test]
fn gauges_of_two_connections() {
    let mut tfrc = Tfrc::new(Config { ecn: Ecn::Ect0, ..config() }, 2);
    assert_eq!(tfrc.subflows(), 2);
    assert_eq!(tfrc.marking(at(0), &packet(0, 1000)), Marking { ecn: Ecn::Ect0, tag: None });
    for subflow in [0, 1].map(Subflow) {
        tfrc.on_sent(at(0), &SentPacket { subflow, ..packet(0, 1000) });
        let fate = Fate::Received { at: None, ecn: Ecn::NotEct };
        let packets = [PacketReport { packet: packet(0, 1000), sent: at(0), fate }];
        let peer = PeerReport {
            loss_event_rate: Probability::new(0.01),
            receive_rate: Some(Bitrate::from_mbps(8)),
            ..PeerReport::default()
        };
        let rtt = Some(TimeDelta::from_millis(100));
        tfrc.on_feedback(at(100), &Feedback { subflow, rtt, packets: &packets, requested: &[], peer });
    }
    let mut gauges = Vec::new();
    tfrc.inspect(&mut |gauge| gauges.push((gauge.name, gauge.value)));
    for (name, value) in [
        ("subflows", 2.0),
        ("allowed_rate", 2.0 * 8.0 * 40_000.0),
        ("loss_event_rate", 0.01),
        ("rtt", 0.1),
        ("damping", 1.0),
        ("equation_rate", 2.0 * 8.0 * 112_332.3),
    ] {
        let seen = gauges.iter().find(|gauge| gauge.0 == name).map(|gauge| gauge.1).unwrap();
        assert!((seen / value - 1.0).abs() < 1e-5, "{name}: {seen}");
    }
    assert!((tfrc.equation_rate() - 112_332.3).abs() < 1.0);
}

/// S003: `n` times the rate of the equation, or a loss event rate that is divided by `n²`; at p = 0.01 and 0.0025, R = 0.1 s.
#[test]
fn a_weight_counts_at_once() {
    for (weight, allowed) in
        [(Weight::One, 112_332.3), (Weight::Rate(2.0), 224_664.6), (Weight::Loss(2.0), 239_557.9)]
    {
        let mut tfrc = answered(config());
        report(&mut tfrc, 200, 0.01, 1_000_000);
        assert!((rate(&tfrc) - 112_332.3).abs() < 1.0);
        tfrc.set_weight(weight);
        assert!((rate(&tfrc) - allowed).abs() < 1.0, "{weight:?}: {}", rate(&tfrc));
        tfrc.set_weight(Weight::One);
        assert!((rate(&tfrc) - 112_332.3).abs() < 1.0, "{weight:?}: {}", rate(&tfrc));
    }
}

/// What a decision names, with its two numbers: what decided, and what it is compared with.
#[test]
fn decisions_name_what_bounds_the_rate() {
    let mut tfrc = answered(config());
    let mut decided = |now, loss_event_rate, received| {
        report(&mut tfrc, now, loss_event_rate, received);
        std::iter::from_fn(|| tfrc.poll_decision()).last().unwrap()
    };
    let limited = decided(200, 0.01, 40_000);
    assert_eq!((limited.cause, limited.signal.name), ("receive rate limit", "receive_limit"));
    // After a loss 0.85 of what is received.
    assert_eq!((limited.signal.value, (limited.threshold / 8.0).round()), (8.0 * 34_000.0, 112_332.0));
    let lost = decided(300, 0.02, 1_000_000);
    assert_eq!((lost.cause, lost.signal.value, lost.threshold), ("loss event", 0.02, 0.01));
    let fewer = decided(400, 0.01, 1_000_000);
    assert_eq!((fewer.cause, fewer.signal.value, fewer.threshold), ("equation", 0.01, 0.02));
}

/// RFC 5348 section 4.2.
#[test]
fn initial_rates() {
    for (segment, window) in [(500, 2000.0), (1000, 4000.0), (1460, 4380.0), (4000, 8000.0)] {
        let flow = FlowConfig { packet: DataSize::from_bytes(segment), ..FLOW };
        for (profile, first) in [(Profile::Rfc5348, window), (Profile::Rfc3448, segment as f64)] {
            let mut tfrc = Tfrc::new(Config { damping: false, ..Config::new(profile, flow) }, 1);
            assert_eq!(rate(&tfrc), segment as f64, "one packet a second");
            tfrc.on_sent(at(0), &packet(0, segment));
            report(&mut tfrc, 100, 0.0, 0);
            assert!((rate(&tfrc) - first / 0.1).abs() < 1.0, "{profile:?} {segment}");
        }
    }
}

/// RFC 5348 section 4.3: one doubling a round-trip time, up to twice the receive rate.
#[test]
fn slow_start_doubles_once_a_round_trip() {
    let mut tfrc = answered(config());
    for (now, received, allowed) in [
        (150, 40_000, 40_000.0),
        (200, 40_000, 80_000.0),
        (300, 80_000, 160_000.0),
        (401, 80_000, 160_000.0),
        (502, 80_000, 160_000.0),
    ] {
        tfrc.on_sent(at(now - 100), &packet(1, 1000));
        report(&mut tfrc, now, 0.0, received);
        assert_eq!(rate(&tfrc), allowed, "{now}");
    }
    assert_eq!(tfrc.phase(), "slow start");
    let causes: Vec<_> = std::iter::from_fn(|| tfrc.poll_decision()).map(|decision| decision.cause).collect();
    assert_eq!(causes, ["first round-trip time", "slow start doubling", "slow start doubling"]);
}

/// RFC 5348 section 4.4 before any feedback: halved at each expiry, down to s/64.
#[test]
fn silence_halves_down_to_the_longest_pause() {
    for profile in [Profile::Rfc5348, Profile::Rfc3448] {
        let mut tfrc = Tfrc::new(Config { profile, ..config() }, 1);
        assert_eq!(tfrc.poll_timeout(), None);
        tfrc.on_sent(at(0), &packet(0, 1000));
        assert_eq!(tfrc.poll_timeout(), Some(at(2000)));
        tfrc.handle_timeout(at(1999));
        assert_eq!(rate(&tfrc), 1000.0, "too early");
        for expected in [500.0, 250.0, 125.0, 62.5, 31.25, 15.625, 15.625] {
            let due = tfrc.poll_timeout().unwrap();
            tfrc.handle_timeout(due);
            assert_eq!(rate(&tfrc), expected);
            assert_eq!(tfrc.poll_timeout(), Some(due + TimeDelta::from_secs_f64(2000.0 / expected)));
            tfrc.on_sent(due, &packet(1, 1000));
        }
    }
}

/// The worked numbers of RFC 5348 section 4.4: s = 1000, R = 0.1, p = 0.01, X_Bps = 112332.
#[test]
fn nofeedback_timer_with_losses() {
    for (received, rates) in
        [(200_000, [112_332.0, 56_166.0, 28_083.0]), (40_000, [80_000.0, 40_000.0, 20_000.0])]
    {
        let mut tfrc = answered(config());
        // Twice, so that the unlimited entry of the start is older than two round-trip times.
        for now in [200, 350, 500] {
            tfrc.on_sent(at(now - 100), &packet(1, 1000));
            report(&mut tfrc, now, 0.01, received);
        }
        for expected in rates {
            assert!((rate(&tfrc) - expected).abs() < 0.5, "{} instead of {expected}", rate(&tfrc));
            let due = tfrc.poll_timeout().unwrap();
            tfrc.on_sent(due, &packet(1, 1000));
            tfrc.handle_timeout(due);
        }
    }
}

/// RFC 5348 and RFC 3448 section 4.4, worked: s = 1000, R = 0.1, p = 0.01, X = min(112332, 2 X_recv); recover_rate is 40000. An idle
/// sender keeps its rate where it received less; a busy one does not.
#[test]
fn nofeedback_timer_of_an_idle_sender_with_losses() {
    for (profile, is_idle, received, expected) in [
        (Profile::Rfc5348, true, 39_000, 78_000.0),
        (Profile::Rfc5348, true, 40_000, 40_000.0),
        (Profile::Rfc5348, true, 50_000, 50_000.0),
        (Profile::Rfc5348, true, 80_000, 56_166.0),
        (Profile::Rfc5348, false, 39_000, 39_000.0),
        (Profile::Rfc5348, true, 200_000, 56_166.0),
        (Profile::Rfc3448, true, 39_000, 78_000.0),
        (Profile::Rfc3448, true, 40_000, 40_000.0),
        (Profile::Rfc3448, false, 39_000, 39_000.0),
        (Profile::Rfc3448, true, 80_000, 56_166.0),
        (Profile::Rfc3448, true, 200_000, 56_166.0),
    ] {
        let mut tfrc = answered(Config { profile, ..config() });
        for now in [200, 350, 500] {
            tfrc.on_sent(at(now - 100), &packet(1, 1000));
            report(&mut tfrc, now, 0.01, received);
        }
        let due = tfrc.poll_timeout().unwrap();
        if !is_idle {
            tfrc.on_sent(due, &packet(1, 1000));
        }
        tfrc.handle_timeout(due);
        assert!((rate(&tfrc) - expected).abs() < 0.5, "{profile:?}, {received}, {is_idle}: {}", rate(&tfrc));
    }
}

/// The same before a loss: below twice recover_rate an idle sender keeps its rate, and else it is halved.
#[test]
fn nofeedback_timer_of_an_idle_sender_without_losses() {
    for (profile, received, before, after) in [
        (Profile::Rfc5348, 40_000, 80_000.0, 40_000.0),
        (Profile::Rfc5348, 39_000, 78_000.0, 78_000.0),
        // It began with a packet each round-trip time, and doubled twice.
        (Profile::Rfc3448, 100_000, 40_000.0, 20_000.0),
    ] {
        let mut tfrc = answered(Config { profile, ..config() });
        tfrc.on_sent(at(100), &packet(1, 1000));
        report(&mut tfrc, 200, 0.0, received);
        tfrc.on_sent(at(250), &packet(1, 1000));
        report(&mut tfrc, 350, 0.0, received);
        assert_eq!(rate(&tfrc), before);
        tfrc.handle_timeout(tfrc.poll_timeout().unwrap());
        assert_eq!(rate(&tfrc), after);
    }
}

/// Before a round-trip time is known an idle sender has no rate to begin again with: it keeps what it has, and the timer stops.
#[test]
fn idle_sender_before_any_feedback_waits() {
    let mut tfrc = Tfrc::new(config(), 1);
    tfrc.on_sent(at(0), &packet(0, 1000));
    for timeout in [Some(at(6000)), None] {
        tfrc.handle_timeout(tfrc.poll_timeout().unwrap());
        assert_eq!((rate(&tfrc), tfrc.poll_timeout()), (500.0, timeout));
    }
    let causes: Vec<_> = std::iter::from_fn(|| tfrc.poll_decision()).map(|decision| decision.cause).collect();
    assert_eq!(causes, ["nofeedback timer"]);
}

/// RFC 5348 section 4.4: an idle sender keeps what it may begin again with.
#[test]
fn idle_sender_is_not_punished_below_the_initial_rate() {
    let mut tfrc = answered(config());
    let due = tfrc.poll_timeout().unwrap();
    tfrc.handle_timeout(due);
    assert_eq!(rate(&tfrc), 40_000.0);
    tfrc.on_sent(due, &packet(1, 1000));
    tfrc.handle_timeout(tfrc.poll_timeout().unwrap());
    assert_eq!(rate(&tfrc), 20_000.0, "it was not idle this time");
}

/// A media server reports every 400 ms at the least: silence is only what is longer than twice that.
#[test]
fn rare_feedback_is_no_silence() {
    let mut tfrc = answered(config());
    tfrc.on_signal(at(100), LocalSignal::FeedbackInterval(TimeDelta::from_millis(400)));
    assert!(tfrc.poll_timeout().unwrap() >= at(900));
    report(&mut tfrc, 500, 0.0, 40_000);
    assert_eq!(tfrc.poll_timeout(), Some(at(1300)));
}

/// RFC 5348 section 4.5: damped by the square root of the round-trip time, never below s/64.
#[test]
fn damping_shows_in_the_allowance() {
    let mut tfrc = Tfrc::new(Config { damping: true, ..config() }, 1);
    tfrc.on_sent(at(0), &packet(0, 1000));
    report(&mut tfrc, 100, 0.0, 0);
    report_after(&mut tfrc, 300, 200, 0.01, 1_000_000);
    let factor = (0.9 + 0.1 * 2f64.sqrt()) / 2f64.sqrt();
    let x = 1000.0 * Equation::RFC.packet_rate(0.01, 0.11, 0.44);
    assert!((rate(&tfrc) / (x * factor) - 1.0).abs() < 1e-4);
    assert_eq!(tfrc.allowance(Subflow(0)).rate, tfrc.target().rate);
}

/// A loss event rate that rounds to 0 must not bring slow start back.
#[test]
fn no_way_back_into_slow_start() {
    let mut tfrc = answered(config());
    report(&mut tfrc, 200, 0.01, 100_000);
    report(&mut tfrc, 300, 0.0, 100_000);
    assert_eq!(tfrc.phase(), "congestion avoidance");
}

/// A report that was overtaken changes nothing.
#[test]
fn overtaken_reports_are_ignored() {
    let mut tfrc = answered(config());
    report(&mut tfrc, 300, 0.01, 100_000);
    let before = rate(&tfrc);
    report_after(&mut tfrc, 301, 150, 0.5, 100);
    assert_eq!(rate(&tfrc), before);
}

/// RFC 4828 section 3 on the wire: the data rate is the nominal one times s_true / (s_true + 40), at least 10 ms
/// from packet to packet.
#[test]
fn small_packets() {
    for (data, factor) in [(40.0, 0.5), (120.0, 0.75), (1.0, 1.0 / 41.0)] {
        let wire = data as u64 + 40;
        let flow = FlowConfig { packet: DataSize::from_bytes(wire), ..FLOW };
        let config = Config { damping: false, small_packets: true, ..Config::new(Profile::Rfc5348, flow) };
        let mut tfrc = Tfrc::new(config, 1);
        tfrc.on_sent(at(0), &packet(0, wire));
        report(&mut tfrc, 100, 0.0, 0);
        report(&mut tfrc, 200, 0.5, 100_000);
        let x = 1460.0 * Equation::RFC.packet_rate(0.5, 0.1, 0.4);
        let allowance = tfrc.allowance(Subflow(0));
        assert_eq!((allowance.rate, allowance.credit), (Bitrate::MAX, TimeDelta::ZERO));
        let data_rate = data / allowance.gap.as_secs_f64();
        assert!((data_rate / (x * factor).min(data / 0.010) - 1.0).abs() < 1e-6, "{data}");
    }
    let mut fast = Tfrc::new(Config { small_packets: true, ..config() }, 1);
    fast.on_sent(at(0), &packet(0, 100));
    report(&mut fast, 10, 0.0, 0);
    assert_eq!(fast.allowance(Subflow(0)).gap, TimeDelta::from_millis(10));
}

/// S003: packets a second follow the equation whatever their size.
#[test]
fn per_packet_size_spaces_packets_evenly() {
    let mut tfrc = answered(Config { segment: Segment::PerPacket, ..config() });
    for sequence in 1..40 {
        tfrc.on_sent(at(100), &packet(sequence, 100 + 37 * (sequence % 20)));
    }
    report(&mut tfrc, 200, 0.02, 10_000_000);
    let allowance = tfrc.allowance(Subflow(0));
    let even = 1.0 / Equation::RFC.packet_rate(0.02, 0.1, 0.4);
    assert!((allowance.gap.as_secs_f64() - even).abs() < 1e-8);
    assert_eq!(allowance.rate, Bitrate::MAX);
}

#[test]
fn limits_hold() {
    let mut tfrc = Tfrc::new(config(), 2);
    let (min, max) = (Bitrate::from_kbps(100), Bitrate::from_kbps(200));
    tfrc.on_signal(at(0), LocalSignal::Limits { min, start: min, max });
    assert_eq!(tfrc.target().rate, min);
    assert_eq!(tfrc.allowance(Subflow(1)).rate, Bitrate::from_kbps(50));
    assert_eq!(tfrc.allowance(Subflow(2)).rate, Bitrate::ZERO, "there is no third subflow");
    tfrc.on_sent(at(0), &packet(0, 1000));
    report(&mut tfrc, 100, 0.0, 0);
    assert_eq!(tfrc.target().rate, max);
}

/// Sender-side and receiver-side loss event rate agree on one trace, at every report.
#[test]
fn both_sides_agree_on_one_trace() {
    use crate::feedback_source::{Arrival, FeedbackSource};
    use seaway_units::RemoteTimestamp;
    let rtt = Some(TimeDelta::from_millis(100));
    let mut receiver = TfrcReceiver::new(config(), 1);
    let mut sender = Tfrc::new(Config { loss: LossSide::Sender, ..config() }, 1);
    let mut batch = Vec::new();
    let mut reports = 0;
    for sequence in 0..20_000u64 {
        let millis = sequence as i64;
        if sequence % 83 == 7 || sequence % 1009 < 9 {
            continue;
        }
        let packet = packet(sequence, 1000);
        let sent = RemoteTimestamp::from_nanos(at(millis).as_nanos());
        let ecn = if sequence % 331 == 0 { Ecn::Ce } else { Ecn::Ect0 };
        let arrival = Arrival {
            subflow: Subflow(0),
            sequence,
            size: packet.size,
            ecn,
            tag: None,
            sent,
            rtt,
            ends_frame: false,
        };
        let received = RemoteTimestamp::from_nanos(at(millis).as_nanos());
        for arrived in [false, true] {
            if arrived {
                receiver.on_arrival(at(millis), &arrival);
                let fate = Fate::Received { at: Some(received), ecn };
                batch.push(PacketReport { packet, sent: at(millis), fate });
            } else {
                receiver.handle_timeout(at(millis));
            }
            let Some((_, peer)) = receiver.poll_report(at(millis)) else { continue };
            let feedback = Feedback { subflow: Subflow(0), rtt, packets: &batch, requested: &[], peer };
            sender.on_feedback(at(millis + 100), &feedback);
            batch.clear();
            let reported = peer.loss_event_rate.unwrap().get();
            assert_eq!(sender.all[0].loss_event_rate, reported, "packet {sequence}");
            reports += 1;
        }
    }
    assert!(reports > 150);
}
