//! How far acknowledgements run ahead of the bandwidth, as where they come together (Linux, `bbr_update_ack_aggregation`).

use seaway_units::{TimeDelta, Timestamp};

/// The largest excess of the present and the last five rounds, segments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aggregation {
    /// Since when acknowledgements have come faster than the bandwidth, and how many segments since.
    epoch: Option<(Timestamp, f64)>,
    /// Of the present window of rounds, and of the one before.
    excess: (f64, f64),
    rounds: u32,
}

impl Aggregation {
    const ROUNDS: u32 = 5;
    /// The excess counts up to what the bandwidth delivers in this time.
    const LONGEST: TimeDelta = TimeDelta::from_millis(100);

    pub(super) fn get(&self, bandwidth: f64) -> f64 {
        self.excess.0.max(self.excess.1).min(bandwidth * Self::LONGEST.as_secs_f64())
    }

    /// `newly` segments were delivered.
    pub(super) fn update(&mut self, now: Timestamp, newly: f64, bandwidth: f64, is_round: bool, cwnd: f64) {
        if is_round {
            self.rounds += 1;
            if self.rounds >= Self::ROUNDS {
                (self.rounds, self.excess) = (0, (0.0, self.excess.0));
            }
        }
        let expected = |since: Timestamp| bandwidth * (now - since).as_secs_f64();
        let (since, before) = match self.epoch {
            Some((since, before)) if before > expected(since) => (since, before),
            _ => (now, 0.0),
        };
        self.epoch = Some((since, before + newly));
        self.excess.0 = self.excess.0.max((before + newly - expected(since)).min(cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 segments a second eight arrive at once each 80 ms: all of them run ahead.
    #[test]
    fn what_comes_together_is_the_excess() {
        let mut aggregation = Aggregation::default();
        for step in 0..40 {
            let now = Timestamp::ZERO + TimeDelta::from_millis(80 * step);
            aggregation.update(now, 8.0, 100.0, step % 3 == 0, 20.0);
        }
        assert_eq!(aggregation.get(100.0), 8.0);
        assert_eq!(aggregation.get(50.0), 5.0);
    }
}
