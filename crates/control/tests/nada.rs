//! NADA in a closed loop.

use seaway_control::LocalSignal;
use seaway_testkit::path::{Bottleneck, Channel, Path, PathRun};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

fn start(spec: &str, path: Path) -> PathRun {
    let mut run = PathRun::named(spec, Ecn::Ect1, path);
    let (min, max) = (Bitrate::from_kbps(150), Bitrate::from_kbps(1500));
    run.controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start: min, max });
    run
}

/// Mean of the reference rate, kbit/s, from 60 to 300 s: independent loss, no queue, a round-trip time of 100 ms.
fn mean_rate(spec: &str, packet: u64, loss: f64) -> f64 {
    let seeds = 1..=4;
    let of_seed = |seed| {
        let packet = DataSize::from_bytes(packet);
        let path = Path { packet, ..Path::new(TimeDelta::from_millis(100)).losing(loss, seed) };
        let mut run = start(spec, path);
        run.measure(TimeDelta::from_secs(60));
        let sum: f64 = (0..2400)
            .map(|_| {
                run.measure(TimeDelta::from_millis(100));
                run.gauge("reference_rate").unwrap()
            })
            .sum();
        sum / 2400.0 / 1e3
    };
    seeds.clone().map(of_seed).sum::<f64>() / seeds.count() as f64
}

/// Random loss without a queue: accelerated ramp-up in every half second free of loss lifts the mean far above
/// the equilibrium of the gradual update. Within 15 % of an independent model of the same rules.
#[test]
fn random_loss_without_a_queue() {
    for (loss, packet, expected) in [
        (0.005, 1000, 1496.0),
        (0.01, 1000, 1477.0),
        (0.02, 1000, 1250.0),
        (0.03, 1000, 582.0),
        (0.05, 1000, 238.0),
        (0.10, 1000, 170.0),
        (0.02, 500, 1012.0),
        (0.03, 500, 381.0),
        (0.05, 500, 194.0),
    ] {
        for side in ["receiver", "sender"] {
            let rate = mean_rate(&format!("nada(side={side})"), packet, loss);
            assert!(
                (rate / expected - 1.0).abs() < 0.15,
                "{side}, {packet} B, loss {loss}: {rate} kbit/s, not {expected}"
            );
        }
    }
}

/// The same with the ratios smoothed at every packet.
#[test]
fn random_loss_with_the_packet_clock() {
    for (loss, expected) in [(0.01, 1319.0), (0.02, 541.0), (0.03, 296.0), (0.05, 210.0)] {
        let rate = mean_rate("nada(ploss_clock=packet)", 1000, loss);
        assert!((rate / expected - 1.0).abs() < 0.15, "loss {loss}: {rate} kbit/s, not {expected}");
    }
}

fn bottleneck(rate: Bitrate, queue: i64) -> Path {
    let bottleneck = Some(Bottleneck { rate, queue: TimeDelta::from_millis(queue) });
    Path { bottleneck, ..Path::new(TimeDelta::from_millis(100)) }
}

/// RFC 8867 section 5.1 on its first level: 1 Mbit/s, 50 ms each way, 300 ms of queue. The equilibrium of the
/// gradual update is a queueing delay of XREF RMAX / r_ref, here 15 ms.
#[test]
fn fills_a_link_with_little_queue() {
    for spec in ["nada", "nada(side=sender)", "nada(variant=draft)"] {
        let mut run = start(spec, bottleneck(Bitrate::from_mbps(1), 300));
        run.measure(TimeDelta::from_secs(20));
        let counters = run.measure(TimeDelta::from_secs(60));
        let kbps = counters.received as f64 * 8.0 / 60.0;
        let queueing = counters.rtt_sum / counters.reports as f64 * 1e3 - 108.0;
        assert!((900.0..=1000.1).contains(&kbps), "{spec}: {kbps} kbit/s");
        assert!((2.0..50.0).contains(&queueing), "{spec}: {queueing} ms of queue");
        assert_eq!(counters.refused, 0, "{spec}");
    }
}

/// RFC 8867 section 5.1: from 1 Mbit/s to 2.5, 0.6 and 1 again; it rests at the signal XREF RMAX / r_ref.
#[test]
fn follows_the_capacity() {
    for spec in ["nada", "nada(side=sender)", "nada(variant=draft)"] {
        let mut run = start(spec, bottleneck(Bitrate::from_mbps(1), 300));
        run.measure(TimeDelta::from_secs(40));
        for (kbps, least) in [(2500, 1490.0), (600, 590.0), (1000, 960.0)] {
            let rate = Bitrate::from_kbps(kbps);
            run.path().bottleneck = Some(Bottleneck { rate, queue: TimeDelta::from_millis(300) });
            run.measure(TimeDelta::from_secs(30));
            let received = run.receive_rate(TimeDelta::from_secs(30)).as_bps_f64() / 1e3;
            assert!((least..=1500.5).contains(&received), "{spec} at {kbps} kbit/s: {received} kbit/s");
            let signal = run.gauge("congestion_signal").unwrap();
            let balance = 15_000.0 / kbps.min(1500) as f64;
            assert!((signal - balance).abs() < 5.0 || kbps > 1500, "{spec} at {kbps} kbit/s: {signal} ms");
        }
    }
}

/// Marks are answered where loss would be (RFC 8698 equation 2), and the draft does not listen to them.
#[test]
fn marks_slow_it_down() {
    let rate = |spec| {
        let mut path = Path::new(TimeDelta::from_millis(100));
        path.channel = Box::new(|count| if count % 8 == 0 { Channel::Mark } else { Channel::Deliver });
        let mut run = start(spec, path);
        run.measure(TimeDelta::from_secs(60));
        run.send_rate(TimeDelta::from_secs(60)).as_bps_f64() / 1e3
    };
    // Without loss and without delay its mode stays accelerated ramp-up: RFC 8698 has marks count in the
    // gradual mode only.
    assert!((rate("nada") - 1500.0).abs() < 15.0);
    assert!((rate("nada(variant=draft)") - 1500.0).abs() < 15.0);
}

/// Two flows with weights 1 and 2 hold rates of 1 to 2 at one queue: here each alone at the signal of 30 ms.
#[test]
fn weight_moves_the_balance() {
    let queueing = |spec| {
        let mut run = start(spec, bottleneck(Bitrate::from_kbps(750), 300));
        run.measure(TimeDelta::from_secs(60));
        let counters = run.measure(TimeDelta::from_secs(60));
        counters.rtt_sum / counters.reports as f64 * 1e3
    };
    let (one, two) = (queueing("nada"), queueing("nada(prio=2)"));
    assert!((two - one - 20.0).abs() < 8.0, "{one} ms, {two} ms");
}
