//! The window in a closed loop.

use seaway_testkit::path::{Bottleneck, Path, PathRun};
use seaway_units::{Bitrate, Ecn, TimeDelta};

fn run(path: Path) -> PathRun {
    PathRun::named("window", Ecn::NotEct, path)
}

/// Under periodic loss it is a Reno without delayed acknowledgements: sqrt(3/2p) packets a round-trip time.
#[test]
fn tcp_under_periodic_loss() {
    for nth in [100, 400] {
        let mut run = run(Path::new(TimeDelta::from_millis(100)).losing_every(nth));
        run.measure(TimeDelta::from_secs(30));
        let sent = run.measure(TimeDelta::from_secs(300)).sent as f64 / 300.0;
        let reno = (1.5 * nth as f64).sqrt() / 0.1;
        assert!((sent / reno - 1.0).abs() < 0.1, "every {nth}th: {sent} packets/s, Reno {reno}");
    }
}

/// It fills a link with a queue of its own delay, and keeps to itself what a maximum allows.
#[test]
fn fills_a_link() {
    let bottleneck = Bottleneck { rate: Bitrate::from_mbps(4), queue: TimeDelta::from_millis(100) };
    let mut run = run(Path { bottleneck: Some(bottleneck), ..Path::new(TimeDelta::from_millis(80)) });
    run.measure(TimeDelta::from_secs(30));
    let rate = run.receive_rate(TimeDelta::from_secs(60)).as_bps_f64() / 1e6;
    assert!((3.8..=4.01).contains(&rate), "{rate}");
    assert!(run.controller.target().rate > Bitrate::from_mbps(2));
}
