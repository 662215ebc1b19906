use crate::bench::{Arrival, Bench, Load, Source, ac, circle};
use proptest::prelude::*;
use seaway_link::{Packet, Port};
use seaway_sim::Cell;
use seaway_sim::wlan::{
    AssociationModel, Guard, Position, RateChoice, Schedule, Standard, Station, Waypoint, WlanConfig,
};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// Packets far apart in both directions: a device that was idle while others sent, or has just responded, sends at once.
#[test]
fn a_rested_station_waits_for_the_medium_alone() {
    let source = |from: u16, to: u16, start: i64| Source {
        interval: TimeDelta::from_millis(12),
        start: TimeDelta::from_micros(start),
        ..Source::new(from, to, 1000, Bitrate::from_mbps(1))
    };
    let sources = vec![
        source(1, 0, 0),
        source(0, 2, 3_000),
        source(0, 1, 3_100),
        source(3, 0, 6_000),
        source(2, 0, 9_000),
    ];
    let mut bench = Bench::new(circle(ac(4, 20, &[]), 3, 5.0), 1, sources);
    bench.run(TimeDelta::from_secs(4));
    for tally in &bench.tallies {
        assert!(tally.received + 1 >= tally.offered, "{} of {}", tally.received, tally.offered);
        // A packet, another one's exchange, a beacon, and what is counted before and after.
        let longest = tally.delay_ms.iter().fold(0.0, |longest: f64, delay| longest.max(*delay));
        assert!(longest < 1.5, "{longest} ms");
    }
}

/// `docs/models/wlan.md`, section "Acceptance", rule 11: one packet every 20 ms waits for the slot grid, at most one
/// slot, and is sent.
#[test]
fn an_idle_cell_costs_a_slot_and_the_transmission() {
    let old = WlanConfig { station: ac(4, 20, &[5.0]).station, ..WlanConfig::new(Standard::A) };
    for (config, least, most) in [(ac(4, 20, &[5.0]), 1, 9_000), (old, 34_000, 34_000)] {
        let mode = config.data_mode().unwrap();
        let octets = if config.standard.is_qos() { 1000 + 28 + 38 + 4 } else { 1000 + 28 + 36 };
        let duration = mode.duration(octets);
        let source = Source {
            interval: TimeDelta::from_micros(20_003),
            ..Source::new(1, 0, 1000, Bitrate::from_mbps(1))
        };
        let mut bench = Bench::new(config, 1, vec![source]);
        bench.run(TimeDelta::from_secs(4));
        let mut waits: Vec<i64> = bench.tallies[0]
            .delay_ms
            .iter()
            .map(|delay| (delay * 1e6).round() as i64 - duration as i64)
            .collect();
        waits.sort_unstable();
        assert_eq!(bench.tallies[0].received, bench.tallies[0].offered);
        // A beacon is in the way of two in a hundred.
        let inside = waits.iter().filter(|wait| (least..=most).contains(*wait)).count();
        assert!(waits[0] >= least && inside as f64 > 0.95 * waits.len() as f64, "{waits:?}");
    }
}

fn push(bench: &mut Bench, number: u64, octets: u64) {
    let load = Load { to: Port(0), source: 0, number, sent: Timestamp::ZERO };
    let packet = Packet::new(DataSize::from_bytes(octets), Ecn::NotEct, load);
    bench.enter(Port(1), packet);
}

/// `docs/models/wlan.md`, sections "Receiver", rule 1, and "Acceptance", rule 11: each frame of an A-MPDU is
/// delivered at its own end.
#[test]
fn frames_of_an_aggregate_arrive_one_by_one() {
    let config = ac(4, 20, &[5.0]);
    let mode = config.data_mode().unwrap();
    let source = Source { start: TimeDelta::from_secs(9), ..Source::new(1, 0, 1472, Bitrate::from_mbps(1)) };
    let mut bench = Bench::new(config, 1, vec![source]);
    bench.keep = true;
    (0..8).for_each(|number| push(&mut bench, number, 1500));
    bench.run(TimeDelta::from_millis(50));
    let at: Vec<u64> = bench.arrivals.iter().map(|arrival| arrival.at.as_nanos()).collect();
    assert_eq!(at.len(), 8);
    let step = 8.0 * 1544.0 / mode.rate as f64 * 1e9;
    for pair in at.windows(2).take(6) {
        assert!(((pair[1] - pair[0]) as f64 - step).abs() < 2.0, "{at:?}");
    }
}

fn strictly_in_order(arrivals: &[Arrival], sources: usize) {
    for source in 0..sources {
        let numbers: Vec<u64> = arrivals
            .iter()
            .filter(|arrival| arrival.load.source == source)
            .map(|arrival| arrival.load.number)
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "out of order or twice");
    }
}

/// `docs/models/wlan.md`, section "Acceptance", rule 10: at 48 m most frames of an A-MPDU are lost, and answers too
/// where stations are hidden.
#[test]
fn lost_frames_come_later_in_order_and_once() {
    let mut config = ac(4, 20, &[48.0, 47.0]);
    config.station[1].at = Position { x: -47.0, y: 0.0 };
    let sources = [1, 2].map(|from| Source::new(from, 0, 1472, Bitrate::from_mbps(20)));
    let mut bench = Bench::new(config, 3, sources.to_vec());
    bench.keep = true;
    bench.run(TimeDelta::from_secs(5));
    assert!(bench.air().acknowledged * 3 < bench.air().attempts * 2);
    assert!(bench.arrivals.len() > 1000);
    strictly_in_order(&bench.arrivals, 2);
}

fn check_conservation(bench: &Bench, now: Timestamp) {
    let mut inside = 0;
    for queue in 0..bench.cell.queue_names().len() {
        let statistics = bench.cell.statistics(queue, now);
        let out = statistics.delivered.packets + statistics.drops.total() + statistics.inside;
        assert_eq!(statistics.carried_in + statistics.arrivals.packets, out, "queue {queue}");
        inside += statistics.inside;
    }
    let sum = |of: fn(&crate::bench::Tally) -> u64| bench.tallies.iter().map(of).sum::<u64>();
    let gone = sum(|tally| tally.received) + sum(|tally| tally.tail + tally.age + tally.mac);
    assert_eq!(sum(|tally| tally.offered), gone + inside);
    let air = bench.air();
    assert!(air.air_nanos <= air.nanos);
}

/// `docs/models/wlan.md`, section "Acceptance", rule 13.
#[test]
fn the_same_seed_gives_the_same_packets() {
    let run = |seed, reversed: bool| {
        let mut sources: Vec<Source> =
            (1..=3).map(|from| Source::new(from, 0, 1000, Bitrate::from_mbps(9))).collect();
        if reversed {
            sources.reverse();
        }
        let mut bench = Bench::new(circle(ac(4, 20, &[]), 3, 46.0), seed, sources);
        bench.keep = true;
        bench.run(TimeDelta::from_secs(1));
        bench.arrivals
    };
    assert_eq!(run(1, false), run(1, false));
    assert_ne!(run(1, false), run(2, false));
    assert_eq!(run(1, false).len(), run(1, true).len());
}

fn some_cell() -> impl Strategy<Value = WlanConfig> {
    let standard = prop_oneof![
        Just(Standard::B),
        Just(Standard::A),
        Just(Standard::G),
        Just(Standard::N),
        Just(Standard::Ac)
    ];
    let places = prop::collection::vec((-60.0..60.0f64, -60.0..60.0f64), 1..5);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let choice = prop_oneof![
        (0..8u8).prop_map(RateChoice::Constant),
        Just(RateChoice::Ideal),
        Just(RateChoice::Minstrel)
    ];
    // The first station may walk, from the start to 400 ms.
    let walk = prop::option::of((-60.0..60.0f64, -60.0..60.0f64));
    let belonging = (prop_oneof![Just(AssociationModel::Geometric), Just(AssociationModel::Frames)], walk);
    let octets = prop::sample::select(vec![0, 2_000, 65_535]);
    (standard, places, flags, 1..600usize, octets, choice, belonging).prop_map(
        |(
            standard,
            places,
            (short_guard, detects, rts, round),
            packets,
            aggregate,
            choice,
            (assoc, walk),
        )| {
            let mut station: Vec<Station> = places
                .into_iter()
                .enumerate()
                .map(|(index, (x, y))| Station::at(format!("sta{index}"), Position { x, y }))
                .collect();
            let point = |(x, y)| Waypoint { time: TimeDelta::from_millis(400), at: Position { x, y } };
            station[0].path.extend(walk.map(point));
            let is_high = standard.is_qos();
            let rate = match choice {
                RateChoice::Constant(_) => None,
                RateChoice::Ideal => Some(RateChoice::Ideal),
                RateChoice::Minstrel => Some(RateChoice::Minstrel),
            };
            let mut config = WlanConfig {
                station,
                guard: (is_high && short_guard).then_some(Guard::Short),
                mcs: is_high.then_some(choice),
                rate: rate.filter(|_| !is_high),
                aggregate: is_high.then(|| DataSize::from_bytes(aggregate)),
                preamble_detection: detects,
                rts: DataSize::from_bytes(if rts { 500 } else { 65_535 }),
                assoc,
                schedule: if round { Schedule::RoundRobin } else { Schedule::OldestHead },
                ..WlanConfig::new(standard)
            };
            config.ap.queue.packets = packets;
            config
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// `docs/models/wlan.md`, section "Acceptance", rule 12: nothing is lost without being counted, nothing
    /// overtakes, whatever the cell.
    #[test]
    fn random_cells_conserve_packets(
        config in some_cell(),
        flows in prop::collection::vec((0..5u16, 0..5u16, 100..1400u64, 1..20u64), 1..5),
        seed in any::<u64>(),
    ) {
        let devices = config.station.len() as u16 + 1;
        let sources: Vec<Source> = flows
            .into_iter()
            .map(|(from, to, payload, mbps)| (from % devices, to % devices, payload, mbps))
            .filter(|(from, to, ..)| (*from == 0) != (*to == 0))
            .map(|(from, to, payload, mbps)| Source::new(from, to, payload, Bitrate::from_mbps(mbps)))
            .collect();
        let count = sources.len();
        let mut bench = Bench::new(config, seed, sources);
        bench.keep = true;
        bench.run(TimeDelta::from_millis(700));
        check_conservation(&bench, Timestamp::ZERO + TimeDelta::from_millis(700));
        strictly_in_order(&bench.arrivals, count);
    }
}
