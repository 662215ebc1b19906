//! Buffer-aware control in a closed loop.

use seaway_control::LocalSignal;
use seaway_testkit::build;
use seaway_testkit::path::{Path, PathRun, PlayoutBuffer};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// `packet` bytes at most `rate` times a second into a buffer that plays `consume` of them a second.
fn run(spec: &str, packet: u64, rate: f64, consume: f64, capacity: u64) -> PathRun {
    let packet = DataSize::from_bytes(packet);
    let bits = |packets: f64| Bitrate::from_bps_f64(packets * packet.as_bits() as f64);
    let halves = build(spec, packet, Ecn::NotEct);
    let buffer = PlayoutBuffer { capacity: DataSize::from_bytes(capacity), consume: bits(consume) };
    let path = Path { packet, buffer: Some(buffer), ..Path::new(TimeDelta::from_millis(25)) };
    let mut run = PathRun::new(path, halves);
    let limits = LocalSignal::Limits { min: Bitrate::ZERO, start: bits(consume), max: bits(rate) };
    run.controller.on_signal(Timestamp::ZERO, limits);
    run
}

/// The testbed of S000: 10.7 packets a second into 16 KiB that play 1.56.
fn testbed(spec: &str) -> PathRun {
    run(spec, 1500, 10.7, 1.56, 16_384)
}

/// S000 Fig. 10: type I never refuses a packet, type II again and again.
#[test]
fn type_1_does_not_overflow_and_type_2_does() {
    let overflowed = |spec| testbed(spec).measure(TimeDelta::from_secs(60)).overflowed;
    assert_eq!(overflowed("buffer-type1"), 0, "S000's section 4.4 to the letter");
    let (first, second) = (overflowed("buffer-type1(gamma=adverse)"), overflowed("buffer-type2"));
    assert!(first <= 2, "type I refused {first}");
    assert!(second >= 3, "type II refused {second}");
}

/// S000 Fig. 11: after 5.6 s the rate of type II varies more.
#[test]
fn type_2_varies_more() {
    let deviation = |spec| {
        let mut run = testbed(spec);
        run.measure(TimeDelta::from_millis(5600));
        let rates: Vec<f64> = (0..3000)
            .map(|_| {
                run.measure(TimeDelta::from_millis(10));
                run.controller.target().rate.as_bps_f64()
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / 3000.0;
        (rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / 3000.0).sqrt()
    };
    let (first, second) = (deviation("buffer-type1(gamma=adverse)"), deviation("buffer-type2"));
    assert!(second > first, "type I {first}, type II {second}");
}

/// S000 Fig. 12: a larger buffer reaches the highest rate sooner, where a fifth more is more than a packet each
/// round-trip time.
#[test]
fn larger_buffer_reacts_sooner() {
    let time = |capacity| {
        let mut run = run("buffer-type1", 160, 500.0, 200.0, capacity);
        let highest = Bitrate::from_bps(499 * 160 * 8);
        (0..100_000)
            .position(|_| {
                run.measure(TimeDelta::from_millis(1));
                run.controller.target().rate >= highest
            })
            .unwrap()
    };
    let (small, large) = (time(16_384), time(32_768));
    assert!(large < small, "{small} and {large} ms");
}

/// Whatever the rule, the buffer never starves a player whose rate the network carries.
#[test]
fn does_not_starve() {
    for spec in ["buffer-type1", "buffer-type1(gamma=adverse)", "buffer-type2"] {
        let mut run = testbed(spec);
        run.measure(TimeDelta::from_secs(10));
        let received = run.measure(TimeDelta::from_secs(60)).received as f64 / 60.0;
        assert!(received >= 1.5, "{spec}: {received} packets/s");
    }
}
