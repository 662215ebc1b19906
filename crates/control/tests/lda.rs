//! LDA, LDA+, SRTP, VTP and UTFRC in a closed loop.

use seaway_control::{LocalSignal, StreamId};
use seaway_testkit::build;
use seaway_testkit::path::{Bottleneck, Path, PathRun};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

const LIMITS: LocalSignal = LocalSignal::Limits {
    min: Bitrate::from_kbps(50),
    start: Bitrate::from_kbps(300),
    max: Bitrate::from_mbps(20),
};

/// 4 Mbit/s, 100 ms, 200 ms of queue.
fn run(spec: &str, channel: impl FnOnce(Path) -> Path) -> PathRun {
    let halves = build(spec, DataSize::from_bytes(1000), Ecn::NotEct);
    let bottleneck = Bottleneck { rate: Bitrate::from_mbps(4), queue: TimeDelta::from_millis(200) };
    let path = Path { bottleneck: Some(bottleneck), ..Path::new(TimeDelta::from_millis(100)) };
    let mut run = PathRun::new(channel(path), halves);
    run.controller.on_signal(Timestamp::ZERO, LIMITS);
    run
}

/// What arrives, Mbit/s, over five minutes.
fn settled(run: &mut PathRun) -> f64 {
    run.measure(TimeDelta::from_secs(120));
    run.receive_rate(TimeDelta::from_secs(300)).as_bps_f64() / 1e6
}

/// Without loss they fill the link; SRTP, which knows no bottleneck, swings about it.
#[test]
fn clean_link() {
    for (spec, least) in
        [("lda", 0.9), ("lda-plus", 0.8), ("lda-srtp", 0.6), ("vtp", 0.95), ("lda-plus(interval=1 s)", 0.9)]
    {
        let used = settled(&mut run(spec, |path| path)) / 4.0;
        assert!((least..=1.001).contains(&used), "{spec}: {used}");
    }
}

/// Random loss is congestion to them: LDA+ and SRTP come out near the equation (S000 Eq. 1), LDA below it.
#[test]
fn random_loss_follows_the_equation() {
    for (p, equation) in [(0.01, 0.899), (0.04, 0.355)] {
        for (spec, least, most) in [("lda", 0.1, 1.0), ("lda-plus", 0.8, 1.3), ("lda-srtp", 0.8, 1.3)] {
            let ratio = settled(&mut run(spec, |path| path.losing(p, 3))) / equation;
            assert!((least..most).contains(&ratio), "{spec} at {p}: {ratio} of the equation");
        }
    }
}

/// The trains see the bottleneck through the flow's own packets.
#[test]
fn trains_measure_the_bottleneck() {
    let mut run = run("lda", |path| path);
    run.measure(TimeDelta::from_secs(60));
    let measured = run.gauge("bottleneck_rate").unwrap() / 4e6;
    assert!((0.8..=1.01).contains(&measured), "{measured}");
}

/// VTP takes a loss at a low trip time for the channel's: it keeps the link in loss that halves others.
#[test]
fn vtp_keeps_the_link_in_random_loss() {
    for (p, least) in [(0.01, 0.9), (0.04, 0.85), (0.1, 0.75)] {
        let mut run = run("vtp", |path| path.losing(p, 3));
        let used = settled(&mut run) / (4.0 * (1.0 - p));
        assert!(used > least, "{p}: {used}");
    }
}

/// VTP gives way where the queue overflows: little is refused, and the queue is not always full.
#[test]
fn vtp_answers_congestion() {
    let mut run = run("vtp", |path| path);
    run.measure(TimeDelta::from_secs(120));
    let counters = run.measure(TimeDelta::from_secs(300));
    let refused = counters.refused as f64 / counters.sent as f64;
    let queueing = counters.rtt_sum / counters.reports as f64 - 0.102;
    assert!(refused < 0.002, "{refused}");
    assert!((0.03..0.17).contains(&queueing), "{queueing}");
}

/// UTFRC gives a medium that needs more just now more, and TFRC's rate in the long run.
#[test]
fn utfrc_follows_the_medium() {
    let settled = |spec: &str, busy: bool| {
        let mut run = run(spec, |path| path.losing(0.01, 3));
        let (mut sent, mut sums, mut seconds) = (0u64, [0.0; 2], [0u32; 2]);
        for second in 0..600 {
            let high = busy && second % 8 < 2;
            for _ in 0..10 {
                let (now, bytes) = (run.now(), if high { 30_000 } else { 10_000 });
                let size = DataSize::from_bytes(bytes);
                let interval = TimeDelta::from_millis(100);
                let frame = LocalSignal::Frame { stream: StreamId(0), size, target: size, interval };
                run.controller.on_signal(now, frame);
                sent += run.measure(interval).sent;
            }
            if second > 60 {
                let kind = usize::from(high);
                sums[kind] += run.controller.target().rate.as_bps_f64();
                seconds[kind] += 1;
            }
        }
        let mean = |kind: usize| sums[kind] / f64::from(seconds[kind].max(1));
        (sent as f64, mean(1) / mean(0))
    };
    let (plain, _) = settled("tfrc", false);
    let (even, _) = settled("utfrc", false);
    let (uneven, more) = settled("utfrc", true);
    assert!((even / plain - 1.0).abs() < 0.02, "{even} for {plain} packets");
    assert!((uneven / plain - 1.0).abs() < 0.15, "{uneven} for {plain} packets");
    assert!(more > 1.25, "only {more} times as much where twice is needed");
}
