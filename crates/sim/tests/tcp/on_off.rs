//! Sources that come and go (RFC 8867 section 5.7).

use crate::path::{Connection, Path, Setting, config};
use seaway_sim::tcp::LossRecovery;
use seaway_sim::traffic::{SizeModel, Transfers};
use seaway_units::{DataSize, TimeDelta};

/// Two of ten start with a transfer of 30 to 50 kB, eight with a pause of 10 s in the mean. Each transfer takes a
/// few round trips, so about 0.3 Mbit/s are offered.
#[test]
fn ten_on_off_sources_offer_what_they_should() {
    let kb = |kilo: u64| DataSize::from_bytes(kilo * 1000);
    let source = |index| Connection {
        transfers: Transfers::OnOff {
            size: SizeModel::Uniform(kb(30), kb(50)),
            idle: TimeDelta::from_secs(10),
            starts_idle: index >= 2,
        },
        ..Connection::endless(config(LossRecovery::NewReno))
    };
    let mut path = Path::new(&Setting { loss: 0.002, ..Setting::default() }, (0..10).map(source).collect());
    let mbps = path.goodputs(0.0, 1200.0).iter().sum::<f64>() / 1e6;
    assert!((0.27..0.33).contains(&mbps), "{mbps}");
    let all = || (0..10).map(|index| path.source(index).transferred());
    let (completed, begun) = all().fold((0, 0), |(c, b), one| (c + one.completed, b + one.begun));
    assert!(begun - completed <= 3, "{begun} begun, {completed} completed");
    // SYN, then windows of 10, 20, 40 segments: four round trips and a bit.
    let mean = all().map(|one| one.completion).sum::<TimeDelta>().as_secs_f64() / completed as f64;
    assert!((0.35..0.55).contains(&mean), "{mean}");
}
