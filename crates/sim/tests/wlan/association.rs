use crate::bench::{Bench, Source, Tally, ac, circle};
use seaway_sim::Cell;
use seaway_sim::wlan::{
    AssociationModel, AssociationStatistics, Position, Standard, Station, Waypoint, WlanConfig,
};
use seaway_units::{Bitrate, TimeDelta, Timestamp};

fn frames(config: WlanConfig) -> WlanConfig {
    WlanConfig { assoc: AssociationModel::Frames, ..config }
}

/// One flow down to the first station, or up from it.
fn flow(is_down: bool) -> Vec<Source> {
    let (from, to) = if is_down { (0, 1) } else { (1, 0) };
    vec![Source::new(from, to, 1000, Bitrate::from_mbps(1))]
}

fn association(bench: &Bench, station: usize, at: TimeDelta) -> AssociationStatistics {
    bench.cell.association(2 * (station - 1), Timestamp::ZERO + at).unwrap()
}

/// When the station of a cell of one became associated, in µs.
fn joined(config: WlanConfig, seed: u64) -> f64 {
    let mut bench = Bench::new(frames(config), seed, Vec::new());
    let end = TimeDelta::from_secs(1);
    bench.run(end);
    let found = association(&bench, 1, end);
    assert_eq!((found.made, found.lost, found.beacons_missed), (1, 0, 0));
    end.as_nanos() as f64 / 1e3 - found.nanos as f64 / 1e3
}

/// `docs/models/wlan.md`, section "Worked checks", check 6. A station listens for 120 ms, waits for the next boundary of
/// the slot grid, and then: the request, SIFS and its acknowledgement, SIFS and the CF-End, AIFS of voice, the answer.
#[test]
fn association_takes_the_worked_time() {
    for seed in 1..=5 {
        let at = joined(ac(4, 20, &[5.0]), seed);
        let first = 120_000.0 + 164.0 + 16.0 + 44.0 + 16.0 + 52.0 + 34.0 + 224.0;
        assert!((first..=first + 9.0).contains(&at), "{at} µs, {first} and up to a slot wanted");
    }
    // Without priorities both wait with SIFS and two slots: the frames of b last 552 and 512, its answers 304.
    let b = WlanConfig {
        station: vec![Station::at("sta0", Position { x: 5.0, y: 0.0 })],
        ..WlanConfig::new(Standard::B)
    };
    let at = joined(b, 1);
    let first = 120_000.0 + 50.0 + 552.0 + 10.0 + 304.0 + 50.0 + 512.0;
    assert!((at - first).abs() < 1.0, "{at} µs, {first} wanted");
}

/// Beacons, data and frames of association compete: five that listen for the same 120 ms collide and all arrive.
#[test]
fn five_at_once_collide_and_associate() {
    for seed in 1..=5 {
        let mut bench = Bench::new(frames(circle(ac(4, 20, &[]), 5, 5.0)), seed, Vec::new());
        let end = TimeDelta::from_secs(1);
        bench.run(end);
        let times: Vec<u64> =
            (1..=5).map(|station| end.as_nanos() as u64 - association(&bench, station, end).nanos).collect();
        let last = times.iter().max().unwrap();
        assert!(times.iter().all(|time| *time > 120_550_000) && *last < 135_000_000, "{times:?}");
    }
}

/// The first station walks from 10 m to 70 m and back. Its counts and the goodput of each second.
fn walk(config: WlanConfig, is_down: bool) -> (AssociationStatistics, Vec<f64>) {
    let point = |seconds, x| Waypoint { time: TimeDelta::from_secs(seconds), at: Position { x, y: 0.0 } };
    let path = vec![point(5, 10.0), point(10, 70.0), point(20, 70.0), point(25, 10.0)];
    let station = vec![Station { path, ..Station::at("sta0", Position { x: 10.0, y: 0.0 }) }];
    let mut bench = Bench::new(frames(WlanConfig { station, ..config }), 1, flow(is_down));
    bench.keep = true;
    let end = TimeDelta::from_secs(30);
    bench.run(end);
    let mut rates = vec![0.0; 30];
    for arrival in &bench.arrivals {
        rates[arrival.at.as_nanos() as usize / 1_000_000_000] += 8e-3;
    }
    (association(&bench, 1, end), rates)
}

/// What is wrong with a station's walk out of reach and back, by what it received in each second. Beacons at MCS 0 reach
/// 51.455 m, at 8.45 s and at 21.55 s; association ends ten beacons later.
fn faults(rates: &[f64]) -> Vec<&'static str> {
    let all =
        |span: std::ops::Range<usize>, holds: fn(f64) -> bool| rates[span].iter().all(|rate| holds(*rate));
    [
        ("absent at the start", all(1..8, |rate| rate > 0.9)),
        ("present out of reach", all(10..20, |rate| rate == 0.0)),
        ("not back again", all(23..30, |rate| rate > 0.9)),
    ]
    .into_iter()
    .filter_map(|(fault, holds)| (!holds).then_some(fault))
    .collect()
}

/// A station walks out of reach and comes back, with a flow in either direction.
#[test]
fn a_station_walks_out_and_back() {
    for is_down in [true, false] {
        let (counts, rates) = walk(ac(4, 20, &[]), is_down);
        assert_eq!((counts.made, counts.lost), (2, 1), "{counts:?}");
        assert!((9..=11).contains(&counts.beacons_missed), "{counts:?}");
        assert_eq!(faults(&rates), Vec::<&str>::new(), "{rates:?}");
        // From 0.12 s to 9.4 or 9.5 s, and from at most 0.3 s after 21.55 s on.
        let seconds = counts.nanos as f64 / 1e9;
        assert!((17.3..=17.9).contains(&seconds), "{seconds} s associated");
    }
}

/// A wrong model that absorbs: who has left does not come back.
#[test]
fn a_station_that_stays_away_is_found_out() {
    let (_, mut rates) = walk(ac(4, 20, &[]), true);
    rates[10..].fill(0.0);
    assert_eq!(faults(&rates), ["not back again"]);
    // Of beacons every two seconds few fall into a scan of 120 ms, and ten of them are not missed in ten seconds.
    let rare = WlanConfig { beacon_interval: TimeDelta::from_secs(2), ..ac(4, 20, &[]) };
    assert!(faults(&walk(rare, true).1).contains(&"absent at the start"));
}

/// What the near station gets, Mbit/s, and what becomes of the packets for the one that walks.
fn beside(path: Vec<Waypoint>, at: f64) -> (f64, Tally) {
    let walks = Station { path, ..Station::at("walks", Position { x: at, y: 0.0 }) };
    let near = Station::at("near", Position { x: 5.0, y: 0.0 });
    let config = frames(WlanConfig { station: vec![near, walks], ..ac(4, 20, &[]) });
    let sources = (1..=2).map(|to| Source::new(0, to, 1000, Bitrate::from_mbps(4))).collect();
    let mut bench = Bench::new(config, 1, sources);
    let span = TimeDelta::from_secs(4);
    bench.measure(TimeDelta::from_secs(4), span);
    (bench.goodput(0, span), bench.tallies[1].clone())
}

/// The access point does not notice that a station has gone. It requests block acknowledgements for ever, ahead of all data,
/// and the other station starves, as in ns-3.37 (`docs/results/wlan-ns3.md`). Packets for a station that never associated are not sent.
#[test]
fn a_silent_departure_starves_the_others() {
    let gone = Waypoint { time: TimeDelta::from_secs(1), at: Position { x: 70.0, y: 0.0 } };
    let (rate, lost) = beside(vec![gone], 5.0);
    assert!(rate < 0.01 && lost.received == 0, "{rate} {lost:?}");
    let (rate, dropped) = beside(Vec::new(), 70.0);
    assert!(rate > 3.95 && dropped.received == 0, "{rate} {dropped:?}");
    assert!(dropped.mac == dropped.offered && dropped.age == 0, "{dropped:?}");
}
