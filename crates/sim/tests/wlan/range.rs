use crate::bench::{Bench, Source, ac};
use seaway_sim::wlan::{ErrorModel, WlanConfig};
use seaway_units::{Bitrate, TimeDelta};

fn goodput(config: WlanConfig, seed: u64) -> f64 {
    const SPAN: TimeDelta = TimeDelta::from_millis(1_500);
    let rate = Bitrate::from_bps((config.data_mode().unwrap().rate as f64 * 1.1) as u64);
    let mut bench = Bench::new(config, seed, vec![Source::new(1, 0, 1472, rate)]);
    bench.measure(TimeDelta::from_secs(1), SPAN);
    bench.goodput(0, SPAN)
}

/// Where goodput falls to half of that at 5 m.
fn half(error: ErrorModel, width: u16) -> f64 {
    let at = |distance: f64| goodput(WlanConfig { error, ..ac(4, width, &[distance]) }, 1);
    let whole = at(5.0);
    let (mut near, mut far) = (15.0, 51.0);
    while far - near > 0.1 {
        let middle = (near + far) / 2.0;
        if at(middle) > whole / 2.0 { near = middle } else { far = middle }
    }
    near
}

/// `docs/models/wlan.md`, section "Acceptance", rules 4 and 14; the distances of ns-3.37 are from
/// `docs/results/wlan-ns3.md`.
#[test]
fn reach_by_model_and_width() {
    let yans = (half(ErrorModel::Yans, 20), half(ErrorModel::Yans, 80));
    let nist = (half(ErrorModel::Nist, 20), half(ErrorModel::Nist, 80));
    for (ours, theirs) in [(yans.0, 46.11), (nist.0, 37.65), (yans.1, 27.87), (nist.1, 23.69)] {
        assert!((ours - theirs).abs() < 1.0, "{ours} m, ns-3 {theirs} m");
    }
    assert!(nist.0 < yans.0 && nist.1 < yans.1, "{yans:?} {nist:?}");
    assert!((nist.1 / nist.0 - 0.630).abs() < 0.02, "{nist:?}");
    assert!((yans.1 / yans.0 - 0.606).abs() < 0.02, "{yans:?}");
}

/// `docs/models/wlan.md`, section "Acceptance", rule 4: falling with distance, and nothing beyond 51.46 m.
#[test]
fn goodput_falls_to_nothing() {
    let mut last = f64::INFINITY;
    for quarter in (0..40).step_by(2) {
        let distance = 42.0 + f64::from(quarter) / 4.0;
        let here = goodput(ac(4, 20, &[distance]), 1);
        assert!(here < last * 1.05 + 0.3, "{distance} m: {here} after {last}");
        assert!(distance < 51.46 || here == 0.0);
        last = here;
    }
    // Without preamble detection robust frames go further.
    let far = WlanConfig { preamble_detection: false, ..ac(0, 20, &[55.0]) };
    assert!(goodput(far, 1) > 1.0);
}
