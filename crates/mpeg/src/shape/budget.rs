//! How many bits each picture may have (S002, 2.2 and 2.3), under a target that may change at any picture.

use super::config::Target;
use std::collections::VecDeque;

/// Pictures over which the rate of the input is measured, and a deviation is made up for.
const HORIZON: usize = 30;

/// Keeps the books: budgets in proportion to the input, unused bits carried over.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    target: Target,
    /// Bits allowed and not spent; negative: overdrawn.
    carry: f64,
    /// Bits and seconds of the newest pictures, the rate of the input.
    recent: VecDeque<(f64, f64)>,
    /// For a target in bit/s: bits that the target has promised beyond the budgets given.
    promised: f64,
}

impl Account {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, carry: 0.0, recent: VecDeque::new(), promised: 0.0 }
    }

    pub(crate) fn set_target(&mut self, target: Target) {
        if self.target != target {
            self.target = target;
            self.promised = 0.0;
        }
    }

    /// Takes note of a picture and returns its budget, carry-over left out.
    pub(crate) fn open(&mut self, target: Target, bits: u64, seconds: f64) -> f64 {
        self.set_target(target);
        self.observe(bits, seconds);
        self.allow(bits, seconds)
    }

    /// Takes note of a picture of `bits` that lasts `seconds`.
    pub(crate) fn observe(&mut self, bits: u64, seconds: f64) {
        self.recent.push_back((bits as f64, seconds));
        if self.recent.len() > HORIZON {
            self.recent.pop_front();
        }
    }

    /// The budget of an observed picture, carry-over left out.
    pub(crate) fn allow(&mut self, bits: u64, seconds: f64) -> f64 {
        let bits = bits as f64;
        match self.target {
            Target::Ratio(ratio) => bits * ratio.clamp(0.0, 1.0),
            Target::Rate(rate) => {
                let rate = rate.as_bps_f64();
                let (all_bits, all_seconds) =
                    self.recent.iter().fold((0.0, 0.0), |(b, s), &(bits, seconds)| (b + bits, s + seconds));
                let due = rate * all_seconds / f64::max(all_bits, 1.0) * bits;
                let budget = (due + self.promised / HORIZON as f64).clamp(0.0, bits);
                let limit = rate * all_seconds;
                self.promised = (self.promised + rate * seconds - budget).clamp(-limit, limit);
                budget
            }
        }
    }

    /// What earlier pictures left, or overdrew.
    pub(crate) fn carry(&self) -> f64 {
        self.carry
    }

    /// Closes a picture: `allowed` of it, `spent`. A debt or a credit beyond the last pictures' bits lapses.
    pub(crate) fn settle(&mut self, allowed: f64, spent: u64) {
        let limit: f64 = self.recent.iter().map(|&(bits, _)| bits).sum();
        self.carry = (self.carry + allowed - spent as f64).clamp(-limit, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::Bitrate;

    #[test]
    fn a_rate_is_met_on_average_whatever_the_picture_sizes() {
        let mut account = Account::new(Target::Rate(Bitrate::from_kbps(2000)));
        let mut total = 0.0;
        for i in 0..1000u64 {
            let bits = if i % 15 == 0 { 500_000 } else { 80_000 + i % 7 * 1000 };
            account.observe(bits, 0.04);
            total += account.allow(bits, 0.04);
        }
        let rate = total / (1000.0 * 0.04);
        assert!((rate / 2e6 - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn a_rate_above_the_input_allows_the_input() {
        let mut account = Account::new(Target::Rate(Bitrate::from_mbps(100)));
        account.observe(1000, 0.04);
        assert_eq!(account.allow(1000, 0.04), 1000.0);
    }
}
