//! Reno: one segment a round trip up, half the flight down (RFC 5681 section 3.1).

use super::{Acked, Cause, WindowAdjustment};
use crate::tcp::send_state::MIN_THRESHOLD;

/// What remains of the flight after a mark: as after a loss (RFC 3168 section 6.1.2).
pub(super) const HALF: f64 = 0.5;
/// What remains of it with the alternative backoff (RFC 8511 section 3.1).
pub(super) const ABE: f64 = 0.8;

/// Additive increase, multiplicative decrease.
///
/// The window grows with every acknowledgement by the part of itself that was acknowledged (RFC 5681 section 3.1, equation 3,
/// by octets as RFC 3465 counts them): of whole segments it holds a fraction more, which a reduction keeps.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Reno {
    mark_factor: f64,
}

impl Reno {
    pub(super) const fn new(mark_factor: f64) -> Self {
        Self { mark_factor }
    }
}

impl WindowAdjustment for Reno {
    fn grow(&mut self, cwnd: f64, acked: Acked) -> f64 {
        cwnd + acked.segments as f64 / cwnd
    }

    fn reduce(&mut self, _cwnd: f64, flight: f64, cause: Cause) -> f64 {
        let factor = if cause == Cause::Mark { self.mark_factor } else { HALF };
        (flight * factor).max(MIN_THRESHOLD)
    }
}
