use crate::bench::{Bench, Source, ac};
use seaway_sim::wlan::{Guard, Mode, WlanConfig};
use seaway_units::{Bitrate, DataSize, TimeDelta};

/// Goodput of one station without losses, Mbit/s (8): `k` frames of `payload` an access.
fn expected(config: &WlanConfig, payload: u64) -> f64 {
    let mode = config.data_mode().unwrap();
    let mpdu = payload + 28 + 8 + 26 + 4;
    let padded = (mpdu + 4).next_multiple_of(4);
    let psdu = |k: u64| (k - 1) * padded + mpdu + 4;
    let fits = |k: u64| psdu(k) <= config.largest_aggregate() && mode.duration(psdu(k)) <= 5_484_000;
    let k = (1..=64).take_while(|&k| k == 1 || fits(k)).last().unwrap();
    let octets = if k == 1 { mpdu + 4 } else { psdu(k) };
    let response = Mode::response(&mode, false).duration(if k == 1 { 14 } else { 32 });
    let cycle = (43_000.0 + 67_500.0 + (mode.duration(octets) + 16_000 + response) as f64) / 1e9;
    let beacons = 1.0 - (244.0 + 25.0) / 102_400.0;
    (k * 8 * payload) as f64 / cycle / 1e6 * beacons
}

fn saturated(config: WlanConfig, payload: u64, up: bool) -> (f64, f64) {
    let expected = expected(&config, payload);
    let rate = Bitrate::from_bps((expected * 1.15e6) as u64);
    let (from, to) = if up { (1, 0) } else { (0, 1) };
    let mut bench = Bench::new(config, 1, vec![Source::new(from, to, payload, rate)]);
    bench.run(TimeDelta::from_millis(500));
    bench.restart();
    bench.run(TimeDelta::from_millis(2500));
    (bench.goodput(0, TimeDelta::from_secs(2)), expected)
}

/// `docs/models/wlan.md`, section "Worked checks", check 5.
#[test]
fn one_saturated_station_reaches_the_worked_goodput() {
    let (goodput, expected) = saturated(ac(4, 20, &[5.0]), 1472, true);
    assert!((expected - 39.76).abs() < 0.01, "{expected}");
    assert!((goodput / 39.76 - 1.0).abs() < 0.005, "{goodput}");
}

/// `docs/models/wlan.md`, section "Acceptance", rule 3.
#[test]
fn saturation_at_every_rate() {
    for width in [20, 40, 80, 160] {
        for (mcs, guard) in (0..10).flat_map(|mcs| [(mcs, Guard::Long), (mcs, Guard::Short)]) {
            let config = WlanConfig { guard: Some(guard), ..ac(mcs, width, &[5.0]) };
            if config.check().is_err() {
                continue;
            }
            for up in [true, false] {
                let (goodput, expected) = saturated(config.clone(), 1472, up);
                assert!((goodput / expected - 1.0).abs() < 0.01, "{mcs} {width} {up}: {goodput} {expected}");
            }
        }
    }
}

/// `docs/models/wlan.md`, section "Acceptance", rule 3: smaller packets, of which 64 do not fill an A-MPDU, and
/// packets sent alone.
#[test]
fn saturation_with_other_packets() {
    for (mcs, width) in [(4, 20), (9, 80)] {
        for payload in [200, 500, 1000] {
            for aggregate in [65_535, 0] {
                let config =
                    WlanConfig { aggregate: Some(DataSize::from_bytes(aggregate)), ..ac(mcs, width, &[5.0]) };
                let (goodput, expected) = saturated(config, payload, true);
                let what = format!("{mcs} {width} {payload} {aggregate}");
                assert!((goodput / expected - 1.0).abs() < 0.01, "{what}: {goodput} {expected}");
            }
        }
    }
}
