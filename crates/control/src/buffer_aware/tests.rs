//! S000's worked numbers and state diagram.

use super::*;
use seaway_units::{DataSize, Ecn};

const CAPACITY: u64 = 16_384;

fn controller(law: Law) -> BufferAware {
    let flow = FlowConfig { packet: DataSize::from_bytes(160), ecn: Ecn::NotEct };
    let mut controller = BufferAware::new(BufferConfig::new(law, flow));
    controller.on_signal(
        Timestamp::ZERO,
        LocalSignal::Limits {
            min: Bitrate::ZERO,
            start: Bitrate::from_bps(50 * 160 * 8),
            max: Bitrate::from_bps(1000 * 160 * 8),
        },
    );
    controller
}

fn level(part: f64) -> BufferLevel {
    let held = DataSize::from_bytes((part * CAPACITY as f64).round() as u64);
    BufferLevel { held, capacity: DataSize::from_bytes(CAPACITY) }
}

/// S000 Fig. 5: from every state to every state.
#[test]
fn all_nine_transitions() {
    let parts = [(BufferState::Underflow, 0.1), (BufferState::Stable, 0.5), (BufferState::Overflow, 0.95)];
    for (from, first) in parts {
        for (to, second) in parts {
            let mut controller = controller(Law::TYPE_2);
            controller.on_level(Timestamp::ZERO, level(first), 0.1, 0.1);
            assert_eq!(controller.state, from);
            let before = controller.packet_rate();
            controller.on_level(Timestamp::ZERO, level(second), 0.1, 0.1);
            assert_eq!(controller.state, to);
            let factor = controller.packet_rate() / before;
            let expected = match to {
                BufferState::Underflow => 1.2,
                BufferState::Stable => (before * 0.1 + 1.0) / 0.1 / before,
                BufferState::Overflow => 0.9,
            };
            assert!((factor - expected).abs() < 1e-12, "{from:?} to {to:?}");
        }
    }
}

/// S000 Eq. 10 at its thresholds: overflow from nine tenths on, underflow below a fifth.
#[test]
fn thresholds() {
    let state = |bytes| {
        let mut controller = controller(Law::TYPE_2);
        let level = BufferLevel { held: DataSize::from_bytes(bytes), capacity: DataSize::from_bytes(10_000) };
        controller.on_level(Timestamp::ZERO, level, 0.1, 0.1);
        controller.state
    };
    assert_eq!(state(1999), BufferState::Underflow);
    assert_eq!(state(2000), BufferState::Stable);
    assert_eq!(state(8999), BufferState::Stable);
    assert_eq!(state(9000), BufferState::Overflow);
}

/// S000 sections 3.3 and 4.4: both interpretations of the multipliers.
#[test]
fn multipliers_by_trend() {
    for (rule, steps) in
        [(GammaRule::Literal, [1.3, 1.2, 0.9, 0.8]), (GammaRule::Adverse, [1.2, 1.3, 0.8, 0.9])]
    {
        let trends = [(0.05, 0.1), (0.15, 0.1), (0.92, 0.95), (0.98, 0.95)];
        for ((first, second), expected) in trends.into_iter().zip(steps) {
            let mut controller = controller(Law { rule, ..Law::TYPE_2 });
            controller.on_level(Timestamp::ZERO, level(first), 0.1, 0.1);
            let before = controller.packet_rate();
            controller.on_level(Timestamp::ZERO, level(second), 0.1, 0.1);
            assert!(
                (controller.packet_rate() / before - expected).abs() < 1e-12,
                "{rule:?} {first} {second}"
            );
        }
    }
}

/// Type I looks one report ahead: 80 % and rising by 12 % is an overflow already.
#[test]
fn prediction() {
    let mut controller = controller(Law::TYPE_1);
    controller.on_level(Timestamp::ZERO, level(0.68), 0.1, 0.1);
    controller.on_level(Timestamp::ZERO, level(0.80), 0.1, 0.1);
    assert_eq!(controller.state, BufferState::Overflow);
    controller.on_level(Timestamp::ZERO, level(0.80), 0.1, 0.1);
    assert_eq!(controller.state, BufferState::Stable);
}

/// S000 Eq. 15: 50 packets/s at 0.1 s grow to 60; from 25 to 30 ms to 75; from 25 to 60 ms they fall to 37.5.
#[test]
fn stable_state() {
    for (before, after, rate) in [(0.1, 0.1, 60.0), (0.025, 0.030, 75.0), (0.025, 0.060, 37.5)] {
        let mut controller = controller(Law::TYPE_1);
        controller.on_level(Timestamp::ZERO, level(0.5), before, after);
        assert!((controller.packet_rate() - rate).abs() < 1e-9, "{rate}");
    }
}

/// The same with round-trip times in milliseconds, as S000's table 1 prints them: 50 packets/s at 100 ms grow to 50.01.
#[test]
fn stable_state_in_milliseconds() {
    let mut controller = controller(Law::TYPE_1);
    controller.config.growth = PER_MILLISECOND;
    controller.on_level(Timestamp::ZERO, level(0.5), 0.1, 0.1);
    assert!((controller.packet_rate() - 50.01).abs() < 1e-9, "{}", controller.packet_rate());
}

/// S000 Eq. 11 and Fig. 8: with t(S) = 5 ms a pause of 20 ms gives 24 % of the rate at 1 ms.
#[test]
fn pause_between_packets() {
    let mut controller = controller(Law::TYPE_1);
    controller.packet_time = 0.005;
    let rate_at = |controller: &mut BufferAware, pause: f64| {
        controller.rate = Some(1.0 / (0.005 + pause));
        controller.reached().as_bps_f64()
    };
    let slow = rate_at(&mut controller, 0.020);
    let fast = rate_at(&mut controller, 0.001);
    assert!((slow / fast - 0.24).abs() < 1e-4);
    assert_eq!(rate_at(&mut controller, 0.0), fast, "a millisecond at least");
    controller.config.clamp_pause = true;
    assert!((rate_at(&mut controller, 0.5) - slow).abs() < 1.0, "20 ms at most, where it is clamped");
}

/// S000 Eq. 17 takes the sample before the present one.
#[test]
fn smoothed_round_trip_lags_a_sample() {
    let mut smoothed = SmoothedRtt::default();
    assert_eq!(smoothed.update(0.1), (0.1, 0.1));
    assert_eq!(smoothed.update(0.2), (0.1, 0.1));
    let (before, after) = smoothed.update(0.2);
    assert!((before - 0.1).abs() < 1e-12 && (after - 0.11).abs() < 1e-12);
}
