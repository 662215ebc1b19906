//! GCC in a closed loop.

use seaway_control::LocalSignal;
use seaway_testkit::build;
use seaway_testkit::path::{Bottleneck, Path, PathRun};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

fn start(spec: &str, path: Path) -> PathRun {
    let mut run = PathRun::named(spec, Ecn::NotEct, path);
    let (min, start, max) = (Bitrate::from_kbps(100), Bitrate::from_kbps(300), Bitrate::from_mbps(20));
    run.controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start, max });
    run
}

/// 200 ms of queue, packets of 1200 B.
fn link(mbps: u64, rtt: i64) -> Path {
    let bottleneck = Some(Bottleneck { rate: Bitrate::from_mbps(mbps), queue: TimeDelta::from_millis(200) });
    let packet = DataSize::from_bytes(1200);
    Path { bottleneck, packet, ..Path::new(TimeDelta::from_millis(rtt)) }
}

/// Probes find the link within a second; without them 8 % a second takes most of a minute.
#[test]
fn probes_find_the_link() {
    let mut run = start("gcc", link(4, 40));
    run.measure(TimeDelta::from_secs(2));
    let rate = run.receive_rate(TimeDelta::from_secs(3)).as_bps_f64() / 1e6;
    assert!(rate > 2.4, "{rate} Mbit/s after two seconds");
    let mut slow = start("gcc(probing=off)", link(4, 40));
    slow.measure(TimeDelta::from_secs(2));
    let slow = slow.receive_rate(TimeDelta::from_secs(3)).as_bps_f64() / 1e6;
    assert!(slow < 0.7, "{slow} Mbit/s without probes");
}

/// It fills most of a link with a short queue and no loss.
#[test]
fn fills_a_link_with_little_queue() {
    for (spec, least) in [("gcc", 0.85), ("gcc(loss=2024)", 0.85), ("gcc(variant=draft)", 0.75)] {
        let mut run = start(spec, link(4, 40));
        run.measure(TimeDelta::from_secs(60));
        let counters = run.measure(TimeDelta::from_secs(60));
        let share = counters.received as f64 * 9600.0 / 60.0 / 4e6;
        let queueing = counters.rtt_sum / counters.reports as f64 * 1e3 - 42.4;
        assert!((least..=1.001).contains(&share), "{spec}: {share} of the link");
        assert!(queueing < 60.0, "{spec}: {queueing} ms of queue");
        assert!(counters.refused < counters.sent / 200, "{spec}: {} refused", counters.refused);
    }
}

/// Loss the path has of its own does not slow the present form down to 5 %; the draft stands 1 %, and falls where
/// a tenth and more is lost.
#[test]
fn random_loss() {
    let share = |spec: &str, loss| {
        let mut run = start(spec, link(4, 40).losing(loss, 7));
        run.measure(TimeDelta::from_secs(60));
        run.send_rate(TimeDelta::from_secs(60)).as_bps_f64() / 4e6
    };
    for loss in [0.005, 0.01, 0.02, 0.05] {
        let part = share("gcc", loss);
        assert!((0.8..1.1).contains(&part), "gcc at {loss}: {part}");
    }
    let at = share("gcc(variant=draft)", 0.01);
    assert!((0.7..1.1).contains(&at), "draft at 1 %: {at}");
    let at = share("gcc(variant=draft)", 0.2);
    assert!(at < 0.1, "draft at 20 %: {at}");
}

/// A drop to a quarter: the queue is drained within seconds, and the link found again.
#[test]
fn squeeze() {
    for spec in ["gcc", "gcc(variant=draft)"] {
        let mut run = start(spec, link(4, 40));
        run.measure(TimeDelta::from_secs(40));
        run.path().bottleneck = link(1, 40).bottleneck;
        run.measure(TimeDelta::from_secs(5));
        let counters = run.measure(TimeDelta::from_secs(20));
        let share = counters.received as f64 * 9600.0 / 20.0 / 1e6;
        let queueing = counters.rtt_sum / counters.reports as f64 * 1e3 - 49.6;
        assert!((0.7..=1.001).contains(&share), "{spec}: {share} of 1 Mbit/s");
        assert!(queueing < 80.0, "{spec}: {queueing} ms of queue");
    }
}

/// An application that sends little is probed for more, and the estimate does not follow it down.
#[test]
fn application_limited() {
    let path = Path { source: Some(Bitrate::from_kbps(500)), ..link(4, 40) };
    let mut run = start("gcc", path);
    run.measure(TimeDelta::from_secs(30));
    assert_eq!(run.gauge("application_limited"), Some(1.0));
    let estimate = run.controller.target().rate;
    assert!((Bitrate::from_kbps(700)..Bitrate::from_mbps(5)).contains(&estimate), "{estimate}");
}

/// A link slower than the least that some implementations measure is not overrun for ever.
#[test]
fn yields_on_a_slow_link() {
    for spec in ["gcc", "gcc(probing=off)", "gcc(variant=draft)"] {
        let bottleneck = Bottleneck { rate: Bitrate::from_kbps(20), queue: TimeDelta::from_secs(2) };
        let packet = DataSize::from_bytes(200);
        let path = Path { bottleneck: Some(bottleneck), packet, ..Path::new(TimeDelta::from_millis(40)) };
        let mut run = PathRun::new(path, build(spec, packet, Ecn::NotEct));
        let [min, start, max] = [5, 10, 200].map(Bitrate::from_kbps);
        run.controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start, max });
        run.measure(TimeDelta::from_secs(120));
        let counters = run.measure(TimeDelta::from_secs(120));
        let share = |packets: u64| packets as f64 * 1600.0 / 120.0 / 20e3;
        let (sent, arrived) = (share(counters.sent), share(counters.received));
        assert!(sent < 1.15 && arrived > 0.6, "{spec}: {sent:.2} of the link sent, {arrived:.2} arrived");
    }
}
