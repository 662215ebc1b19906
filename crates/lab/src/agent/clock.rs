//! The clock of an end that runs faster or slower than the simulator's.

use seaway_units::Timestamp;

/// Agrees with the simulator's clock at its beginning, and gains or loses from then on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DriftingClock {
    /// Billionths; above zero: fast.
    drift: i64,
}

const BILLION: i128 = 1_000_000_000;

impl DriftingClock {
    /// A clock that is fast by so many millionths, or slow where that is below zero.
    pub(crate) fn new(ppm: f64) -> Self {
        Self { drift: (ppm * 1e3).round() as i64 }
    }

    /// What it shows at an instant of the simulator.
    pub(crate) fn local(self, at: Timestamp) -> Timestamp {
        if self.drift == 0 {
            return at;
        }
        let nanos = i128::from(at.as_nanos());
        clamped(nanos + (nanos * i128::from(self.drift)).div_euclid(BILLION))
    }

    /// The first instant of the simulator at which it shows `at` or more.
    pub(crate) fn global(self, at: Timestamp) -> Timestamp {
        if self.drift == 0 {
            return at;
        }
        let nanos = i128::from(at.as_nanos()) * BILLION;
        let rate = BILLION + i128::from(self.drift);
        clamped((nanos + rate - 1).div_euclid(rate))
    }
}

fn clamped(nanos: i128) -> Timestamp {
    Timestamp::from_nanos(nanos.clamp(0, i128::from(u64::MAX)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 millionths of 100 s are 20 ms.
    #[test]
    fn a_fast_clock_gains_and_a_slow_one_loses() {
        let at = Timestamp::from_nanos(100_000_000_000);
        assert_eq!(DriftingClock::new(200.0).local(at).as_nanos(), 100_020_000_000);
        assert_eq!(DriftingClock::new(-200.0).local(at).as_nanos(), 99_980_000_000);
        assert_eq!(DriftingClock::default().local(at), at);
    }

    /// A timer that waits for the clock is neither early nor a nanosecond late.
    #[test]
    fn the_way_back_is_the_first_instant() {
        for ppm in [-1000.0, -200.0, -0.5, 0.0, 0.5, 200.0, 1000.0] {
            let clock = DriftingClock::new(ppm);
            for nanos in [0, 1, 999, 123_456_789, 90_000_000_007] {
                let shown = Timestamp::from_nanos(nanos);
                let at = clock.global(shown);
                assert!(clock.local(at) >= shown, "{ppm}, {nanos}");
                let before = Timestamp::from_nanos(at.as_nanos().saturating_sub(1));
                assert!(at == before || clock.local(before) < shown, "{ppm}, {nanos}");
            }
        }
    }
}
