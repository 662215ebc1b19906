//! The bandwidth of the path: the largest delivery rate of ten rounds.

use crate::tcp::congestion::Delivery;
use std::collections::VecDeque;

/// Counts rounds and keeps the largest of their delivery rates, segments a second.
#[derive(Debug, Clone, Default)]
pub(super) struct Bandwidth {
    round: u64,
    /// A round ends with the first segment that left after so much was delivered.
    round_ends: u64,
    /// Falling rates with the round of each.
    rates: VecDeque<(u64, f64)>,
}

impl Bandwidth {
    /// Rounds over which the largest rate counts.
    const ROUNDS: u64 = 10;

    pub(super) fn get(&self) -> f64 {
        self.rates.front().map_or(0.0, |&(_, rate)| rate)
    }

    /// A round ends once what leaves from now on is delivered.
    pub(super) const fn begin_round(&mut self, delivered: u64) {
        self.round_ends = delivered;
    }

    /// True where a round begins. A rate that shows less than the path can is of use only where it is the largest.
    pub(super) fn update(&mut self, delivery: &Delivery, is_limited: bool) -> bool {
        let Some(sample) = delivery.sample else { return false };
        let is_round = sample.delivered_before >= self.round_ends;
        if is_round {
            self.round += 1;
            self.round_ends = delivery.delivered;
        }
        if !is_limited || sample.rate >= self.get() {
            self.add(sample.rate);
        }
        is_round
    }

    fn add(&mut self, rate: f64) {
        while self.rates.back().is_some_and(|&(_, other)| other <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((self.round, rate));
        while self.rates.front().is_some_and(|&(round, _)| round + Self::ROUNDS <= self.round) {
            self.rates.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::RateSample;

    /// A round each.
    #[test]
    fn the_largest_of_ten_rounds_counts() {
        let mut bandwidth = Bandwidth::default();
        let mut after = |rate: f64, is_limited: bool, rounds: u64| {
            for _ in 0..rounds {
                let delivered = bandwidth.round_ends + 10;
                let sample = RateSample { rate, delivered_before: delivered - 10, is_limited };
                let delivery = Delivery { delivered, sample: Some(sample), ..Delivery::default() };
                assert!(bandwidth.update(&delivery, is_limited));
            }
            bandwidth.get()
        };
        assert_eq!(after(100.0, false, 1), 100.0);
        assert_eq!(after(80.0, false, 9), 100.0);
        assert_eq!(after(80.0, false, 1), 80.0);
        assert_eq!(after(50.0, true, 20), 80.0);
        assert_eq!(after(90.0, true, 1), 90.0);
    }
}
