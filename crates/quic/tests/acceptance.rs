//! What users of QUIC for live media ask of a controller, over a simulated network: both transports, three seeds.

#[path = "../simulation/mod.rs"]
mod simulation;

use seaway_link::{DropTailConfig, JitterConfig, LinkConfig, QueueConfig};
use seaway_quic::ControllerConfig;
use seaway_units::{Bitrate, TimeDelta};
use simulation::network::Network;
use simulation::source::Source;
use simulation::stacks::{Transport, noq, quinn};
use simulation::{Record, run};
use std::sync::Arc;

const SEEDS: [u64; 3] = [1, 2, 3];

/// A drop-tail bottleneck of `mbps` and `queue` ms, on a path of `rtt` ms.
fn bottleneck(mbps: u64, rtt: i64, queue: i64) -> LinkConfig {
    LinkConfig {
        rate: Some(Bitrate::from_mbps(mbps)),
        delay: TimeDelta::from_millis(rtt) / 2,
        queue: Some(QueueConfig::DropTail(DropTailConfig::time(TimeDelta::from_millis(queue)))),
        ..LinkConfig::default()
    }
}

/// The way back of a path of `rtt` ms.
fn way_back(rtt: i64) -> LinkConfig {
    bottleneck(100, rtt, 100)
}

/// Our controller behind both transports.
fn ours(spec: &str, seed: u64) -> [(&'static str, Box<dyn Transport>); 2] {
    let config = Arc::new(ControllerConfig::new(spec).unwrap());
    [
        ("noq", Box::new(noq::Pair::new(config.clone(), seed))),
        ("quinn", Box::new(quinn::Pair::new(config, seed))),
    ]
}

fn over(
    there: &LinkConfig,
    back: &LinkConfig,
    transport: &mut dyn Transport,
    source: &mut Source,
    seed: u64,
) -> Record {
    let mut network = Network::new(there, back, seed);
    run(transport, &mut network, source, 30.0)
}

/// A source of 10 Mbit/s on 5 Mbit/s, with a round trip of 100 ms and half a second of queue: at least 95 % are used at a
/// round trip of at most 120 ms (p95) under noq. Quinn's pacer lets ten packets leave at once, which take 24 ms: 130 ms.
#[test]
fn a_source_of_twice_the_capacity_fills_the_link_without_a_queue() {
    for seed in SEEDS {
        for ((name, mut transport), longest) in ours("seaway", seed).into_iter().zip([120.0, 130.0]) {
            let mut source = Source::live(vec![Bitrate::from_mbps(10)]);
            let link = bottleneck(5, 100, 500);
            let record = over(&link, &way_back(100), &mut *transport, &mut source, seed);
            let (rate, rtt) = (record.rate(5.0, 30.0), record.round_trip(5.0, 30.0, 0.95));
            assert!(rate >= Bitrate::from_kbps(4750), "{name}, seed {seed}: {rate}");
            assert!(rtt <= longest, "{name}, seed {seed}: {rtt} ms");
        }
    }
}

/// A source with renditions of 2 and 4 Mbit/s on 3, 12 and again 3 Mbit/s: it sends 4 within two seconds of the rise and
/// none of it on 3 Mbit/s. Under noq the queue is below 50 ms within 200 ms of the fall, which is two round trips of 83 ms, as they
/// are by then, and a frame. Under quinn it is below 80 ms: its pacer lets ten packets leave at once, which fill 40 ms.
#[test]
fn a_source_rises_with_the_link_and_falls_with_it() {
    let (low, high) = (Bitrate::from_mbps(2), Bitrate::from_mbps(4));
    let mut link = bottleneck(3, 50, 500);
    link.steps = vec![
        (TimeDelta::from_secs(10), Bitrate::from_mbps(12)),
        (TimeDelta::from_secs(20), Bitrate::from_mbps(3)),
    ];
    for seed in SEEDS {
        for ((name, mut transport), queue) in ours("seaway", seed).into_iter().zip([50.0, 80.0]) {
            let mut source = Source::live(vec![low, high]);
            let record = over(&link, &way_back(50), &mut *transport, &mut source, seed);
            let share_of_high = |from: f64, to: f64| {
                let within = record.rates.iter().filter(|(at, ..)| (from..to).contains(&at.as_secs_f64()));
                let is_high: Vec<bool> = within.map(|(.., rate)| *rate == high).collect();
                is_high.iter().filter(|is_high| **is_high).count() as f64 / is_high.len() as f64
            };
            let shares = [share_of_high(2.0, 10.0), share_of_high(12.0, 20.0), share_of_high(20.2, 30.0)];
            let wait = record.wait(20.2, 30.0, 1.0);
            assert!(
                shares[0] < 0.02 && shares[1] == 1.0 && shares[2] < 0.02,
                "{name}, seed {seed}: {shares:?}"
            );
            assert!(wait < queue, "{name}, seed {seed}: {wait} ms");
        }
    }
}

/// A propagation delay of 10 ms that varies by 3 ms (standard deviation), so that packets overtake each other: at least 0.97 of
/// the rate of CUBIC, at a round trip of at most 80 ms (p95). CUBIC over noq, which undoes spurious losses, fills the queue: 118 ms.
/// Over quinn it takes what is overtaken for lost.
#[test]
fn jitter_costs_no_more_than_it_costs_cubic() {
    let mut link = bottleneck(5, 20, 100);
    link.jitter = Some(JitterConfig::Reordering { std: TimeDelta::from_millis(3), mean: TimeDelta::ZERO });
    for seed in SEEDS {
        let cubic: [Box<dyn Transport>; 2] = [
            Box::new(noq::Pair::new(Arc::new(noq_proto::congestion::CubicConfig::default()), seed)),
            Box::new(quinn::Pair::new(Arc::new(quinn_proto::congestion::CubicConfig::default()), seed)),
        ];
        for ((name, mut transport), mut cubic) in ours("seaway", seed).into_iter().zip(cubic) {
            let measured = |transport: &mut dyn Transport| {
                let record = over(&link, &way_back(20), transport, &mut Source::file(), seed);
                (record.rate(5.0, 30.0), record.round_trip(5.0, 30.0, 0.95))
            };
            let ((rate, rtt), (of_cubic, _)) = (measured(&mut *transport), measured(&mut *cubic));
            assert!(
                rate.as_bps_f64() >= 0.97 * of_cubic.as_bps_f64(),
                "{name}, seed {seed}: {rate}, {of_cubic}"
            );
            assert!(rtt <= 80.0, "{name}, seed {seed}: {rtt} ms");
        }
    }
}

/// A way back with a tenth of the rate: the rate does not collapse.
#[test]
fn a_slow_way_back_costs_little() {
    let mut back = way_back(50);
    back.rate = Some(Bitrate::from_kbps(500));
    for seed in SEEDS {
        for (name, mut transport) in ours("seaway", seed) {
            let link = bottleneck(5, 50, 200);
            let record = over(&link, &back, &mut *transport, &mut Source::file(), seed);
            let (rate, rtt) = (record.rate(5.0, 30.0), record.round_trip(5.0, 30.0, 0.95));
            assert!(rate >= Bitrate::from_kbps(4750) && rtt <= 75.0, "{name}, seed {seed}: {rate}, {rtt} ms");
        }
    }
}

/// Two runs with one seed give the same packets at the same instants.
#[test]
fn a_run_is_repeated_exactly() {
    for stack in [0, 1] {
        let arrivals = || {
            let (_, mut transport) = ours("seaway", 7).into_iter().nth(stack).unwrap();
            let mut source = Source::live(vec![Bitrate::from_mbps(2)]);
            let record = over(&bottleneck(3, 50, 100), &way_back(50), &mut *transport, &mut source, 7);
            record.packets.iter().map(|packet| (packet.arrived, packet.size)).collect::<Vec<_>>()
        };
        assert!(arrivals() == arrivals());
    }
}
