use crate::bench::{Bench, Source, ac, circle};
use seaway_sim::wlan::{Position, Schedule, WlanConfig};
use seaway_units::{Bitrate, DataSize, TimeDelta};

fn octets(count: u64) -> Option<DataSize> {
    Some(DataSize::from_bytes(count))
}

/// Goodput of `n` saturated stations in Mbit/s, and the part of the frames sent that was not acknowledged.
fn contention(config: &WlanConfig, n: usize) -> (f64, f64) {
    const SPAN: TimeDelta = TimeDelta::from_secs(5);
    let rate = config.data_mode().unwrap().rate as f64 * 1.1 / n as f64;
    let sources = (1..=n as u16).map(|i| Source::new(i, 0, 1472, Bitrate::from_bps(rate as u64))).collect();
    let mut bench = Bench::new(circle(config.clone(), n, 5.0), 1, sources);
    bench.measure(TimeDelta::from_secs(1), SPAN);
    let air = bench.air();
    (bench.total_goodput(SPAN), 1.0 - air.acknowledged as f64 / air.attempts as f64)
}

/// `docs/models/wlan.md`, section "Acceptance", rule 5: goodput within 10 % and loss within 0.04 of ns-3.37
/// (`docs/results/wlan-ns3.md`).
#[test]
fn contending_stations_share_as_in_ns_3() {
    for (aggregate, width, n, goodput, loss) in [
        (65_535, 20, 2, 37.46, 0.113),
        (65_535, 20, 5, 31.39, 0.319),
        (65_535, 20, 10, 25.52, 0.441),
        (0, 20, 2, 24.68, 0.112),
        (0, 20, 5, 20.14, 0.311),
        (0, 20, 10, 15.82, 0.490),
    ] {
        let config = WlanConfig { aggregate: octets(aggregate), ..ac(4, width, &[]) };
        let ours = contention(&config, n);
        assert!((ours.0 / goodput - 1.0).abs() < 0.1, "{n} {aggregate}: {ours:?}");
        assert!((ours.1 - loss).abs() < 0.04, "{n} {aggregate}: {ours:?}");
    }
}

/// `docs/models/wlan.md`, section "Acceptance", rule 5: without a lifetime there are always data to contend for
/// ("Retries and lifetime", rule 5).
#[test]
fn old_packets_cost_goodput() {
    let config = WlanConfig { aggregate: octets(0), ..ac(4, 20, &[]) };
    let mortal = contention(&config, 10).0;
    let mut config = config;
    config.ap.queue.time = TimeDelta::MAX;
    let immortal = contention(&config, 10).0;
    assert!(immortal > 1.2 * mortal, "{immortal} {mortal}");
}

/// `docs/models/wlan.md`, section "Acceptance", rule 6: two share the idle slots.
#[test]
fn two_stations_carry_more_than_one_without_aggregation() {
    let config = WlanConfig { aggregate: octets(0), ..ac(4, 80, &[]) };
    assert!(contention(&config, 2).0 > contention(&config, 1).0);
}

/// What a near and a far station get of 4 Mbit/s each, and the near one's mean delay in ms.
fn near_and_far(far: f64, schedule: Schedule) -> (f64, f64, f64) {
    const SPAN: TimeDelta = TimeDelta::from_secs(5);
    let config = WlanConfig { schedule, ..ac(4, 20, &[5.0, far]) };
    let sources = [1, 2].map(|to| Source::new(0, to, 1000, Bitrate::from_mbps(4)));
    let mut bench = Bench::new(config, 1, sources.to_vec());
    bench.measure(TimeDelta::from_secs(1), SPAN);
    let delays = &bench.tallies[0].delay_ms;
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    (bench.goodput(0, SPAN) / 4.0, bench.goodput(1, SPAN) / 4.0, mean)
}

/// `docs/models/wlan.md`, section "Acceptance", rule 7: a far station holds up a near one.
#[test]
fn head_of_line() {
    let oldest = |far| near_and_far(far, Schedule::OldestHead);
    let (near, far, _) = oldest(45.0);
    assert!(near > 0.995 && far > 0.995, "{near} {far}");
    let (near, far, _) = oldest(48.0);
    assert!(near > 0.995 && (0.9..0.99).contains(&far), "{near} {far}");
    for distance in [50.0, 51.0] {
        let (near, far, delay) = oldest(distance);
        assert!((0.7..0.97).contains(&near) && far < 0.2 && delay > 200.0, "{near} {far} {delay}");
        let (near, _, delay) = near_and_far(distance, Schedule::RoundRobin);
        assert!(near > 0.99 && delay < 20.0, "{near} {delay}");
    }
}

/// Two stations left and right of the access point, 40 m from it.
fn hidden(aggregate: u64, rts: u64, second: Position) -> f64 {
    const SPAN: TimeDelta = TimeDelta::from_secs(5);
    let (aggregate, rts) = (octets(aggregate), DataSize::from_bytes(rts));
    let mut config = WlanConfig { aggregate, rts, ..ac(4, 20, &[40.0, 40.0]) };
    config.station[1].at = second;
    let sources = [1, 2].map(|from| Source::new(from, 0, 1472, Bitrate::from_mbps(22)));
    let mut bench = Bench::new(config, 1, sources.to_vec());
    bench.measure(TimeDelta::from_secs(1), SPAN);
    bench.total_goodput(SPAN)
}

/// `docs/models/wlan.md`, section "Acceptance", rule 8.
#[test]
fn a_hidden_pair_and_what_an_rts_mends() {
    let apart = Position { x: -40.0, y: 0.0 };
    let near = Position { x: 40.0, y: 1.0 };
    let (aggregated, alone) = (hidden(65_535, 65_535, apart), hidden(0, 65_535, apart));
    assert!((0.8..1.0).contains(&(aggregated / hidden(65_535, 65_535, near))), "{aggregated}");
    let audible = hidden(0, 65_535, near);
    assert!((0.5..0.7).contains(&(alone / audible)), "{alone} {audible}");
    assert!(hidden(0, 0, apart) > 1.2 * alone);
}

/// `docs/models/wlan.md`, section "Beacons and association": a station that receives no beacon is not associated and
/// costs no air time.
#[test]
fn a_station_without_beacons_receives_nothing() {
    const SPAN: TimeDelta = TimeDelta::from_secs(2);
    let sources = [(0, 1), (2, 0)].map(|(from, to)| Source::new(from, to, 1000, Bitrate::from_mbps(1)));
    let mut bench = Bench::new(ac(4, 20, &[60.0, 52.0]), 1, sources.to_vec());
    bench.run(SPAN);
    assert!(bench.tallies.iter().all(|tally| tally.offered > 0 && tally.mac == tally.offered));
    assert_eq!(bench.air().attempts, 0);
}

/// `docs/models/wlan.md`, section "MAC constants": of two saturated stations the one with the shorter waits gets
/// more.
#[test]
fn video_goes_before_best_effort() {
    use seaway_sim::wlan::AccessCategory;
    const SPAN: TimeDelta = TimeDelta::from_secs(2);
    let categories = vec![(7, AccessCategory::Video)];
    let config = WlanConfig { categories, ..circle(ac(4, 20, &[]), 2, 5.0) };
    let mut sources = [1, 2].map(|from| Source::new(from, 0, 1472, Bitrate::from_mbps(30))).to_vec();
    sources[1].flow = 7;
    let mut bench = Bench::new(config, 1, sources);
    bench.measure(TimeDelta::from_secs(1), SPAN);
    let (effort, video) = (bench.goodput(0, SPAN), bench.goodput(1, SPAN));
    assert!(video > 1.5 * effort && effort > 1.0, "{video} {effort}");
}
