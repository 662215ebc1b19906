//! DCTCP: the window falls by the part of it that was marked (RFC 8257 section 3.3).

use super::reno::{HALF, Reno};
use super::{Acked, Cause, Echo, WindowAdjustment};
use crate::tcp::send_state::MIN_THRESHOLD;

/// Weight `g` of the newest window in the estimate (section 4.2).
const GAIN: f64 = 1.0 / 16.0;

/// Reno that answers marks in proportion.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Dctcp {
    reno: Reno,
    /// The estimated part of segments that are marked.
    alpha: f64,
    acked: u64,
    marked: u64,
    /// The observation window ends when this segment is acknowledged.
    window_end: u64,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { reno: Reno::new(HALF), alpha: 1.0, acked: 0, marked: 0, window_end: 0 }
    }
}

impl WindowAdjustment for Dctcp {
    fn grow(&mut self, cwnd: f64, acked: Acked) -> f64 {
        self.reno.grow(cwnd, acked)
    }

    fn reduce(&mut self, cwnd: f64, flight: f64, cause: Cause) -> f64 {
        let threshold = self.reno.reduce(cwnd, flight, cause);
        if cause == Cause::Mark { (cwnd * (1.0 - self.alpha / 2.0)).max(MIN_THRESHOLD) } else { threshold }
    }

    fn on_echo(&mut self, echo: Echo) {
        let Echo { next, segments, is_marked, sent, .. } = echo;
        self.acked += segments;
        self.marked += if is_marked { segments } else { 0 };
        if next <= self.window_end {
            return;
        }
        if self.acked > 0 {
            let part = self.marked as f64 / self.acked as f64;
            self.alpha += GAIN * (part - self.alpha);
        }
        (self.acked, self.marked, self.window_end) = (0, 0, sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{TimeDelta, Timestamp};

    #[test]
    fn the_estimate_has_the_worked_values() {
        let mut dctcp = Dctcp::default();
        assert_eq!(dctcp.reduce(20.0, 20.0, Cause::Mark), 10.0);
        for window in 1..=16 {
            let (now, srtt) = (Timestamp::ZERO, TimeDelta::ZERO);
            let edge = 10 * window;
            dctcp.on_echo(Echo { now, next: edge, segments: 10, is_marked: false, sent: edge, srtt });
        }
        assert!((dctcp.alpha - 0.3561).abs() < 5e-5, "{}", dctcp.alpha);
        assert_eq!(dctcp.reduce(20.0, 20.0, Cause::Loss), 10.0);
    }
}
