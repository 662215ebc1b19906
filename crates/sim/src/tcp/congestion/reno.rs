//! Reno: one segment a round trip up, half the flight down (RFC 5681 section 3.1).

use super::{Acked, Cause, WindowAdjustment};
use crate::tcp::track::MIN_THRESHOLD;

/// What remains of the flight after a mark: as after a loss (RFC 3168 section 6.1.2).
pub(super) const HALF: f64 = 0.5;
/// What remains of it with the alternative backoff (RFC 8511 section 3.1).
pub(super) const ABE: f64 = 0.8;

/// Additive increase, multiplicative decrease.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Reno {
    mark_factor: f64,
    /// Segments acknowledged since the window last grew: appropriate byte counting (RFC 3465).
    acked: f64,
}

impl Reno {
    pub(super) const fn new(mark_factor: f64) -> Self {
        Self { mark_factor, acked: 0.0 }
    }
}

impl WindowAdjustment for Reno {
    fn grow(&mut self, cwnd: f64, acked: Acked) -> f64 {
        self.acked += acked.segments as f64;
        if self.acked < cwnd {
            return cwnd;
        }
        self.acked -= cwnd;
        cwnd + 1.0
    }

    fn reduce(&mut self, _cwnd: f64, flight: f64, cause: Cause) -> f64 {
        self.acked = 0.0;
        let factor = if cause == Cause::Mark { self.mark_factor } else { HALF };
        (flight * factor).max(MIN_THRESHOLD)
    }
}
