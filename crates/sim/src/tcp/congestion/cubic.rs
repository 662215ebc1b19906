//! CUBIC (RFC 9438).

use super::{Acked, Cause, WindowAdjustment};
use crate::tcp::send_state::MIN_THRESHOLD;
use seaway_units::Timestamp;

/// How steep the cubic is, in segments/s³ (section 5).
const C: f64 = 0.4;
/// What remains of the window after congestion (section 4.6).
const BETA: f64 = 0.7;
/// Growth of the Reno-friendly estimate that gives Reno's rate at this [`BETA`] (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// How much a round trip may add: to one and a half windows (section 4.2).
const MOST: f64 = 1.5;

/// Grows along a cubic around the window of the last congestion.
#[derive(Debug, Clone, Default)]
pub(in crate::tcp) struct Cubic {
    /// The window just before the last congestion; zero before the first.
    w_max: f64,
    /// The window at the last congestion, before fast convergence.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// The time since the last reduction, as the cubic counts it.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Timestamp,
    /// What the cubic aims at, and when it is there, in seconds from `start`.
    plateau: f64,
    k: f64,
    /// What Reno would have.
    reno: f64,
}

impl Epoch {
    fn new(start: Timestamp, cwnd: f64, w_max: f64) -> Self {
        let plateau = w_max.max(cwnd);
        let k = libm::cbrt((plateau - cwnd) / C);
        Self { start, plateau, k, reno: cwnd }
    }

    /// The window after `seconds` (section 4.2, figure 1).
    fn window_at(&self, seconds: f64) -> f64 {
        let distance = seconds - self.k;
        C * distance * distance * distance + self.plateau
    }
}

impl WindowAdjustment for Cubic {
    fn grow(&mut self, cwnd: f64, acked: Acked) -> f64 {
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(acked.now, cwnd, w_max));
        let segments = acked.segments as f64;
        let seconds = acked.now.since(epoch.start).as_secs_f64();
        let alpha = if epoch.reno >= self.cwnd_prior { 1.0 } else { ALPHA };
        epoch.reno += alpha * segments / cwnd;
        if epoch.window_at(seconds) < epoch.reno {
            return cwnd.max(epoch.reno);
        }
        let target = epoch.window_at(seconds + acked.srtt.as_secs_f64()).clamp(cwnd, MOST * cwnd);
        cwnd + segments * (target - cwnd) / cwnd
    }

    fn reduce(&mut self, cwnd: f64, flight: f64, cause: Cause) -> f64 {
        self.epoch = None;
        if cause == Cause::Timeout {
            // The cubic starts anew at the window that slow start reaches (section 4.8).
            self.w_max = 0.0;
            self.cwnd_prior = cwnd;
        } else {
            self.cwnd_prior = cwnd;
            // Fast convergence: the share shrinks, so make room sooner (section 4.7).
            self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        }
        (flight * BETA).max(MIN_THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() < tolerance, "{value} is not {expected}");
    }

    #[test]
    fn the_cubic_has_the_worked_values() {
        let epoch = Epoch::new(Timestamp::ZERO, 70.0, 100.0);
        close(epoch.k, 4.2172, 1e-4);
        for (seconds, window) in [(0.0, 70.0), (1.0, 86.68), (2.0, 95.64), (6.0, 102.27), (8.0, 121.65)] {
            close(epoch.window_at(seconds), window, 0.005);
        }
        close(Epoch::new(Timestamp::ZERO, 7.0, 10.0).k, 1.957, 1e-3);
        close(Epoch::new(Timestamp::ZERO, 700.0, 1000.0).k, 9.086, 1e-3);
        close(ALPHA, 0.5294, 5e-5);
    }

    #[test]
    fn a_shrinking_share_converges_fast() {
        let mut cubic = Cubic::default();
        assert_eq!(cubic.reduce(100.0, 100.0, Cause::Loss), 70.0);
        assert_eq!(cubic.w_max, 100.0);
        cubic.reduce(80.0, 80.0, Cause::Loss);
        assert_eq!(cubic.w_max, 0.85 * 80.0);
        assert_eq!(cubic.reduce(1.0, 1.0, Cause::Timeout), 2.0);
    }

    #[test]
    fn the_window_follows_the_cubic_through_its_plateau() {
        let mut cubic = Cubic::default();
        let mut cwnd = cubic.reduce(1000.0, 1000.0, Cause::Loss);
        let srtt = TimeDelta::from_millis(100);
        // An acknowledgement of the whole window each round trip, which takes the window to where the cubic will be
        // one later. Reno would be far below at this size.
        for round in 0..=150 {
            let now = Timestamp::ZERO + srtt * round;
            cwnd = cubic.grow(cwnd, Acked { now, segments: cwnd as u64, srtt });
            if round == 91 {
                close(cwnd, 1000.0, 2.0);
            }
        }
        let after = 15.1 - 9.086;
        close(cwnd, C * after * after * after + 1000.0, 5.0);
    }
}
