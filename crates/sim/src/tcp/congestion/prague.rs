//! Prague: a scalable response to marks that depends little on the round trip (RFC 9331 section 4.3;
//! draft-briscoe-iccrg-prague-congestion-control).

use super::reno::{HALF, Reno};
use super::{Acked, Cause, Echo, WindowAdjustment};
use crate::tcp::send_state::MIN_THRESHOLD;
use seaway_units::{TimeDelta, Timestamp};

/// Weight of the newest part in the estimate, that of DCTCP (RFC 8257 section 4.2).
const GAIN: f64 = 1.0 / 16.0;
/// Shorter round trips behave like this one: the example of RFC 9331 section 4.3.
const LEAST_ROUND_TRIP: TimeDelta = TimeDelta::from_millis(25);

/// Falls by the part of it that was marked, and grows like Reno on a path of at least 25 ms.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Prague {
    /// For losses.
    reno: Reno,
    /// The estimated part of segments that are marked. It begins at 1, as DCTCP's (Reading: the draft lets a flow choose).
    alpha: f64,
    acked: u64,
    marked: u64,
    /// When the estimate was last brought up to date, and the window last reduced for a mark.
    updated: Timestamp,
    reduced: Option<Timestamp>,
    /// Of the latest acknowledgement.
    now: Timestamp,
    round_trip: TimeDelta,
}

impl Default for Prague {
    fn default() -> Self {
        Self {
            reno: Reno::new(HALF),
            alpha: 1.0,
            acked: 0,
            marked: 0,
            updated: Timestamp::ZERO,
            reduced: None,
            now: Timestamp::ZERO,
            round_trip: LEAST_ROUND_TRIP,
        }
    }
}

impl WindowAdjustment for Prague {
    /// A segment a round trip where that is 25 ms or longer; below, as much in a second as there.
    fn grow(&mut self, cwnd: f64, acked: Acked) -> f64 {
        let ratio = acked.srtt.as_secs_f64() / acked.srtt.max(LEAST_ROUND_TRIP).as_secs_f64();
        cwnd + acked.segments as f64 * ratio * ratio / cwnd
    }

    fn reduce(&mut self, cwnd: f64, flight: f64, cause: Cause) -> f64 {
        if cause != Cause::Mark {
            return self.reno.reduce(cwnd, flight, cause);
        }
        if self.reduced.is_some_and(|at| self.now - at < self.round_trip) {
            return cwnd;
        }
        self.reduced = Some(self.now);
        (cwnd * (1.0 - self.alpha / 2.0)).max(MIN_THRESHOLD)
    }

    fn on_echo(&mut self, echo: Echo) {
        self.now = echo.now;
        self.round_trip = echo.srtt.max(LEAST_ROUND_TRIP);
        self.acked += echo.segments;
        self.marked += if echo.is_marked { echo.segments } else { 0 };
        if echo.now - self.updated < self.round_trip {
            return;
        }
        if self.acked > 0 {
            let part = self.marked as f64 / self.acked as f64;
            self.alpha += GAIN * (part - self.alpha);
        }
        (self.acked, self.marked, self.updated) = (0, 0, echo.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(millis: i64, segments: u64, is_marked: bool, srtt: i64) -> Echo {
        let now = Timestamp::ZERO + TimeDelta::from_millis(millis);
        Echo { now, next: 0, segments, is_marked, sent: 0, srtt: TimeDelta::from_millis(srtt) }
    }

    /// Sixteen round trips without a mark leave (15/16)^16 of it; one marked in full takes a sixteenth of the rest.
    #[test]
    fn the_estimate_has_the_worked_values() {
        let mut prague = Prague::default();
        for round in 1..=16 {
            prague.on_echo(echo(25 * round, 10, false, 25));
        }
        assert!((prague.alpha - 0.3561).abs() < 5e-5, "{}", prague.alpha);
        prague.on_echo(echo(25 * 17, 10, true, 25));
        assert!((prague.alpha - (0.3561 + (1.0 - 0.3561) / 16.0)).abs() < 1e-4, "{}", prague.alpha);
        // Half of a round marked.
        prague.alpha = 0.0;
        prague.on_echo(echo(25 * 17 + 1, 5, true, 25));
        prague.on_echo(echo(25 * 18, 5, false, 25));
        assert_eq!(prague.alpha, 1.0 / 32.0);
    }

    #[test]
    fn a_short_round_trip_is_counted_as_25_ms() {
        let mut prague = Prague { alpha: 0.5, ..Prague::default() };
        // Five round trips of 5 ms make one update and one reduction.
        for round in 6..=10 {
            prague.on_echo(echo(5 * round, 10, true, 5));
            let window = prague.reduce(20.0, 20.0, Cause::Mark);
            let expected = if round == 6 { 20.0 * (1.0 - (0.5 + 0.5 / 16.0) / 2.0) } else { 20.0 };
            assert!((window - expected).abs() < 1e-9, "round {round}: {window}");
        }
        let acked = |srtt| Acked { now: Timestamp::ZERO, segments: 20, srtt: TimeDelta::from_millis(srtt) };
        assert_eq!(prague.grow(20.0, acked(5)), 20.04);
        assert_eq!(prague.grow(20.0, acked(25)), 21.0);
        assert_eq!(prague.grow(20.0, acked(100)), 21.0);
        assert_eq!(prague.reduce(20.0, 20.0, Cause::Loss), 10.0);
    }
}
