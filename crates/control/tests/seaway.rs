//! `seaway` in a closed loop.

use seaway_control::LocalSignal;
use seaway_testkit::path::{Bottleneck, Channel, Path, PathRun};
use seaway_units::{Bitrate, Ecn, TimeDelta, Timestamp};

/// 10 Mbit/s with 200 ms of drop-tail queue and a round-trip time of 50 ms.
fn bottleneck() -> Path {
    let bottleneck = Bottleneck { rate: Bitrate::from_mbps(10), queue: TimeDelta::from_millis(200) };
    Path { bottleneck: Some(bottleneck), ..Path::new(TimeDelta::from_millis(50)) }
}

fn start(path: Path) -> PathRun {
    let mut run = PathRun::named("seaway", Ecn::NotEct, path);
    let (min, start, max) = (Bitrate::from_kbps(150), Bitrate::from_kbps(300), Bitrate::from_mbps(20));
    run.controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start, max });
    run
}

/// Share of the capacity that arrives, and the mean round-trip time in milliseconds.
fn steady(mut run: PathRun) -> (f64, f64) {
    run.measure(TimeDelta::from_secs(10));
    let counters = run.measure(TimeDelta::from_secs(20));
    let packet = run.path().packet.as_bytes_f64();
    let rate = counters.received as f64 * packet * 8.0 / 20.0;
    (rate / 10e6, counters.rtt_sum / counters.reports as f64 * 1e3)
}

#[test]
fn the_queue_is_short_and_the_link_is_full() {
    let (share, rtt) = steady(start(bottleneck()));
    assert!((0.97..=1.0).contains(&share), "{share} {rtt}");
    assert!((50.0..62.0).contains(&rtt), "{rtt}");
}

/// What a controller that takes loss for congestion cannot do.
#[test]
fn loss_of_the_channel_costs_no_more_than_itself() {
    for (p, least) in [(0.01, 0.97), (0.05, 0.97), (0.2, 0.9)] {
        let (share, rtt) = steady(start(bottleneck().losing(p, 7)));
        assert!(share > least * (1.0 - p), "{p}: {share}");
        assert!(rtt < 65.0, "{p}: {rtt}");
    }
}

#[test]
fn channel_loss_is_found_within_a_fifth() {
    for p in [0.02, 0.05, 0.1, 0.2] {
        let mut run = start(bottleneck().losing(p, 3));
        run.measure(TimeDelta::from_secs(20));
        let found: f64 = (0..40)
            .map(|_| {
                run.measure(TimeDelta::from_millis(500));
                run.controller.target().channel_loss.get()
            })
            .sum();
        assert!((found / 40.0 / p - 1.0).abs() < 0.2, "{p}: {}", found / 40.0);
    }
}

#[test]
fn an_overflow_is_no_channel_loss() {
    let queue = TimeDelta::from_millis(5);
    let bottleneck = Bottleneck { rate: Bitrate::from_mbps(10), queue };
    let mut run = start(Path { bottleneck: Some(bottleneck), ..Path::new(TimeDelta::from_millis(50)) });
    run.measure(TimeDelta::from_secs(20));
    let counters = run.measure(TimeDelta::from_secs(20));
    assert!(counters.overflowed * 100 < counters.sent, "{counters:?}");
    assert!(run.controller.target().channel_loss.get() < 0.005);
}

#[test]
fn silence_halves_the_rate_and_truth_restores_it() {
    let mut run = start(bottleneck());
    run.measure(TimeDelta::from_secs(10));
    let before = run.controller.target().rate;
    run.path().channel = Box::new(|_| Channel::Lose);
    run.measure(TimeDelta::from_secs(5));
    assert!(run.controller.target().rate.as_bps_f64() < 0.1 * before.as_bps_f64());
    run.path().channel = Box::new(|_| Channel::Deliver);
    run.measure(TimeDelta::from_secs(10));
    let (share, _) = steady(run);
    assert!(share > 0.95, "{share}");
}

/// Half of the packets of one moment of the start are lost, which looks like an overflow, and 12 % of all others.
#[test]
fn a_start_that_the_channels_loss_cut_begins_again() {
    let mut run = start(bottleneck());
    run.path().channel = Box::new(|packet| {
        let is_lost = if (40..100).contains(&packet) { packet % 2 == 0 } else { packet % 8 == 0 };
        if is_lost { Channel::Lose } else { Channel::Deliver }
    });
    let mut phases = Vec::new();
    for _ in 0..500 {
        run.measure(TimeDelta::from_millis(10));
        let phase = run.controller.phase();
        if phases.last() != Some(&phase) {
            phases.push(phase);
        }
    }
    assert_eq!(phases, ["start", "delay", "start", "delay"]);
    assert!(run.controller.target().rate > Bitrate::from_mbps(9));
}

/// As where the peer is there only after them: nothing reports them, ever.
#[test]
fn a_start_whose_first_packets_are_lost_goes_on() {
    for lost in [13, 40, 100] {
        let mut run = start(bottleneck());
        run.path().channel =
            Box::new(move |packet| if packet < lost { Channel::Lose } else { Channel::Deliver });
        run.measure(TimeDelta::from_secs(12));
        let (share, _) = steady(run);
        assert!(share > 0.95, "{lost}: {share}");
    }
}
