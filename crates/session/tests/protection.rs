//! Repair that follows the loss of the channel (docs/models/protection.md).

mod common;

use common::*;
use seaway_session::*;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// How late a picture may be above the least delay of the path.
const DEADLINE: TimeDelta = TimeDelta::from_millis(200);

/// 3 Mbit/s, requests answered after `delay`.
fn run(retransmits: bool, fec: bool, delay: TimeDelta, there: Path) -> Run {
    run_within(DEADLINE, retransmits, fec, delay, there)
}

fn run_within(deadline: TimeDelta, retransmits: bool, fec: bool, delay: TimeDelta, there: Path) -> Run {
    let adaptive = Some(AdaptiveRepair { deadline, fec });
    let repair = retransmits.then(RepairLimits::default);
    let limits = Limits { max: Bitrate::from_mbps(3), ..LIMITS };
    let config = SenderConfig { adaptive, repair, limits, ..config("fixed(rate=3 Mbit/s)") };
    let requests = RepairRequests { deadline, ..RepairRequests::default() };
    let repair = Some(RepairRequests { repeats: if retransmits { requests.repeats } else { 0 }, ..requests });
    let playout = Playout::Adaptive { min: deadline, max: deadline };
    let receiver = ReceiverConfig { repair, playout, ..ReceiverConfig::new(0xACE) };
    let receiver = Receiver::new(Timestamp::ZERO, receiver);
    Run::new(sender(Timestamp::ZERO, config), receiver, there, ideal(delay))
}

/// The parts of the pictures captured from the second second on that were shown, and of that time that was frozen.
fn shown_and_frozen(run: &mut Run) -> (f64, f64) {
    run.until(at(2_000));
    let (captured, received) = (run.sender.statistics().frames.captured, run.receiver.statistics());
    run.until(at(62_000));
    let (sent, after) = (run.sender.statistics(), run.receiver.statistics());
    let frozen = after.freezes.total - received.freezes.total;
    let shown = after.frames.displayed - received.frames.displayed;
    (shown as f64 / (sent.frames.captured - captured) as f64, frozen.as_secs_f64() / 60.0)
}

#[test]
fn video_survives_fifteen_per_cent_of_loss() {
    for seed in 1..4 {
        let mut run = run(true, true, ms(30), lossy(ms(30), 0.15, seed));
        let (shown, frozen) = shown_and_frozen(&mut run);
        assert!(shown >= 0.99 && frozen <= 0.005, "seed {seed}: {shown} shown, {frozen} frozen");
        let media = run.sender.share(seaway_control::StreamId(0)).media;
        assert!(media >= Bitrate::from_kbps(1500), "seed {seed}: {media} are left for media");
    }
}

#[test]
fn a_short_path_is_repaired_by_retransmission_alone() {
    let mut run = run(true, true, ms(10), lossy(ms(10), 0.1, 1));
    let (shown, frozen) = shown_and_frozen(&mut run);
    assert!(shown >= 0.99 && frozen <= 0.005, "{shown} shown, {frozen} frozen");
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert_eq!(received.recovered, 0);
    assert!(sent.repair.packets * 10 < sent.media.packets * 13 / 10 * 10 / 8, "{sent:#?}");
}

#[test]
fn where_no_retransmission_comes_in_time_repair_packets_do() {
    for delay in [100, 200] {
        let mut run = run(true, true, ms(delay), lossy(ms(delay), 0.05, 2));
        // Before the round trip is measured, requests assume a shorter one.
        run.until(at(2000));
        let early = run.receiver.statistics().requests;
        let (shown, frozen) = shown_and_frozen(&mut run);
        assert!(shown >= 0.98 && frozen <= 0.01, "{delay} ms: {shown} shown, {frozen} frozen");
        let received = run.receiver.statistics();
        assert!(received.recovered > 500 && received.requests < early + 20, "{received:#?}");
    }
}

/// Nothing comes through for 18 ms, which takes the end of a picture, or the beginning of the next. The gap shows too late for a repair
/// within 100 ms where the round trip takes 40: without early requests 20 pictures are lost.
#[test]
fn what_does_not_come_is_requested_before_it_is_known_to_be_missing() {
    let mut lost = 0;
    for phase in 0..20 {
        let first = outage(ideal(ms(20)), at(2000), at(2030));
        let burst = 4000 + 2 * phase;
        let there = outage(first, at(burst), at(burst + 18));
        let mut run = run_within(ms(100), true, true, ms(20), there);
        run.until(at(3000));
        let before = run.receiver.statistics().frames.lost;
        run.until(at(5000));
        lost += run.receiver.statistics().frames.lost - before;
        assert_eq!(
            run.sender.statistics().refused.unmatched,
            0,
            "numbers that are not given yet are no forgery"
        );
    }
    assert!(lost <= 5, "{lost}");
}

/// A receiver that requests nothing requests no ends of pictures either.
#[test]
fn where_nothing_is_requested_silence_is_not() {
    let mut run = run_within(ms(100), false, true, ms(20), bursts(ideal(ms(20)), 0.05, 8.0, 1));
    run.until(at(10_000));
    let received = run.receiver.statistics();
    assert!(received.missing > 50 && received.requests == 0, "{received:#?}");
}

#[test]
fn bursts_are_repaired_too() {
    let mut run = run(true, true, ms(25), bursts(ideal(ms(25)), 0.05, 4.0, 3));
    let (shown, frozen) = shown_and_frozen(&mut run);
    assert!(shown >= 0.97 && frozen <= 0.02, "{shown} shown, {frozen} frozen");
}

#[test]
fn a_clean_path_carries_media_alone() {
    let mut run = run(true, true, ms(100), ideal(ms(100)));
    let (shown, frozen) = shown_and_frozen(&mut run);
    assert_eq!((shown, frozen), (1.0, 0.0));
    let sent = run.sender.statistics();
    assert_eq!(sent.repair.packets, 0);
    let share = run.sender.share(seaway_control::StreamId(0));
    assert_eq!((share.media, share.repair), (Bitrate::from_mbps(3), Bitrate::ZERO));
}

#[test]
fn repair_ends_with_the_loss() {
    let mut lossy = lossy(ms(100), 0.1, 1);
    let path: Path =
        Box::new(move |now, size| if now < at(20_000) { lossy(now, size) } else { Some(now + ms(100)) });
    let mut run = run(true, true, ms(100), path);
    run.until(at(40_000));
    let before = run.sender.statistics().repair.packets;
    assert!(before > 1_000, "{before}");
    run.until(at(60_000));
    assert_eq!(run.sender.statistics().repair.packets, before);
}

#[test]
fn as_values_and_as_octets_the_same_is_recovered() {
    let outcome = |bytes| {
        let mut run = run(false, true, ms(30), lossy(ms(30), 0.1, 5));
        run.bytes = bytes;
        run.until(at(10_000));
        let received = run.receiver.statistics();
        (received.recovered, received.repaired, received.frames, received.received)
    };
    assert!(outcome(false).0 > 100);
    assert_eq!(outcome(false), outcome(true));
}
