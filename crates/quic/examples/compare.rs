//! Our controller beside those of the two transports, as a table: `make quic` writes it to `docs/results/quic.md`.

#![allow(clippy::print_stdout)]
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod simulation;

use seaway_link::{DropTailConfig, LinkConfig, LossConfig, LossPlace, QueueConfig};
use seaway_quic::ControllerConfig;
use seaway_units::{Bitrate, TimeDelta};
use simulation::network::Network;
use simulation::source::Source;
use simulation::stacks::{Transport, noq, quinn};
use std::sync::Arc;

const SEEDS: [u64; 3] = [1, 2, 3];
/// Seconds of a run, and from where on it is measured.
const END: f64 = 60.0;
const WARM_UP: f64 = 10.0;

/// A path: its name, Mbit/s, ms of round trip, ms of queue, and the share of packets that is lost.
const PATHS: [(&str, f64, i64, i64, f64); 9] = [
    ("clean", 5.0, 50, 50, 0.0),
    ("bufferbloat", 5.0, 50, 1000, 0.0),
    ("2 % random loss", 5.0, 50, 50, 0.02),
    ("round trip 200 ms", 5.0, 200, 200, 0.0),
    ("200 ms, bufferbloat", 5.0, 200, 1000, 0.0),
    ("200 ms, 2 % random loss", 5.0, 200, 200, 0.02),
    ("shallow queue", 5.0, 50, 20, 0.0),
    ("0.5 Mbit/s", 0.5, 50, 300, 0.0),
    ("50 Mbit/s, 20 ms", 50.0, 20, 100, 0.0),
];

/// A controller behind its transport, for a seed.
type Make = fn(u64) -> Box<dyn Transport>;

const CONTROLLERS: [(&str, Make); 6] = [
    ("noq: `seaway`", |seed| Box::new(noq::Pair::new(ours(), seed))),
    ("noq: BBRv3", |seed| {
        Box::new(noq::Pair::new(Arc::new(noq_proto::congestion::Bbr3Config::default()), seed))
    }),
    ("noq: CUBIC", |seed| {
        Box::new(noq::Pair::new(Arc::new(noq_proto::congestion::CubicConfig::default()), seed))
    }),
    ("quinn: `seaway`", |seed| Box::new(quinn::Pair::new(ours(), seed))),
    ("quinn: BBR", |seed| {
        Box::new(quinn::Pair::new(Arc::new(quinn_proto::congestion::BbrConfig::default()), seed))
    }),
    ("quinn: CUBIC", |seed| {
        Box::new(quinn::Pair::new(Arc::new(quinn_proto::congestion::CubicConfig::default()), seed))
    }),
];

fn ours() -> Arc<ControllerConfig> {
    Arc::new(ControllerConfig::new("seaway").expect("it runs over QUIC"))
}

fn main() {
    println!("{HEAD}");
    let names: Vec<_> = CONTROLLERS.iter().map(|(name, _)| *name).collect();
    println!("| path | {} |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len()));
    for (name, mbps, rtt, queue, loss) in PATHS {
        let (there, back) = links(mbps, rtt, queue, loss);
        let cells: Vec<_> = CONTROLLERS.iter().map(|(_, make)| cell(&there, &back, *make)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
    println!("{FOOT}");
}

fn links(mbps: f64, rtt: i64, queue: i64, loss: f64) -> (LinkConfig, LinkConfig) {
    let link = |rate, queue| LinkConfig {
        rate: Some(rate),
        delay: TimeDelta::from_millis(rtt) / 2,
        queue: Some(QueueConfig::DropTail(DropTailConfig::time(TimeDelta::from_millis(queue)))),
        ..LinkConfig::default()
    };
    let mut there = link(Bitrate::from_bps_f64(mbps * 1e6), queue);
    if loss > 0.0 {
        there.loss = Some(LossConfig::Independent { rate: loss, at: LossPlace::default() });
    }
    (there, link(Bitrate::from_mbps(100), 100))
}

/// Utilisation in % and the round trip's 95th percentile in ms, the mean of the seeds; where they differ, from least to most.
fn cell(there: &LinkConfig, back: &LinkConfig, make: Make) -> String {
    let capacity = there.rate.expect("every path has a rate").as_bps_f64();
    let runs = SEEDS.map(|seed| {
        let mut network = Network::new(there, back, seed);
        let record = simulation::run(&mut *make(seed), &mut network, &mut Source::file(), END);
        (100.0 * record.rate(WARM_UP, END).as_bps_f64() / capacity, record.round_trip(WARM_UP, END, 0.95))
    });
    let used = spread(runs.map(|run| run.0));
    format!("{used} %, {} ms", spread(runs.map(|run| run.1)))
}

fn spread(values: [f64; SEEDS.len()]) -> String {
    let (least, most) =
        values.iter().fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(*value), b.max(*value)));
    let (least, most) = (format!("{least:.0}"), format!("{most:.0}"));
    if least == most { least } else { format!("{least}–{most}") }
}

const HEAD: &str = "\
# Over QUIC

`make quic` makes this page: our controller behind the traits of noq and quinn (`crates/quic`), beside the controllers of those
transports. Two endpoints exchange packets over one simulated bottleneck in virtual time. A file is sent for 60 s; the first ten are
left out. A cell gives the utilisation of the bottleneck and the round trip's 95th percentile, from the least to the most of three
seeds. The queue is drop-tail and the way back has 100 Mbit/s. All transports have their default settings.
";

const FOOT: &str = "
* `clean` has a queue of 50 ms, `bufferbloat` of 1 s, `shallow queue` of 20 ms, the path of 0.5 Mbit/s of 300 ms and that of
  50 Mbit/s of 100 ms. The other paths of 50 ms have 50 ms of queue, those of 200 ms as much as their round trip.
* quinn's pacer lets ten packets leave at once, whatever the controller: 24 ms at 5 Mbit/s, 240 ms at 0.5. noq's lets 10 ms leave.
* quinn's BBR is BBRv1. noq's BBRv3 seeds itself from the operating system, so its numbers change from run to run; all others are
  the same each time.";
