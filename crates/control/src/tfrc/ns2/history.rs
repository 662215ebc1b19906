//! ns-2's loss intervals: with fewer than eight, the open one is added to the closed ones.

/// Closed intervals, newest first, and the open one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct History {
    closed: [f64; Self::MOST],
    discounts: [f64; Self::MOST],
    len: usize,
    /// `I_0`: 0 right after an event began.
    open: f64,
    /// `F`, as of the last evaluation.
    pending: f64,
}

impl History {
    const MOST: usize = 8;
    const WEIGHTS: [f64; Self::MOST] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
    /// Least discount (`minDiscountRatio_`).
    const FLOOR: f64 = 0.5;

    pub(super) const fn new() -> Self {
        Self { closed: [0.0; Self::MOST], discounts: [1.0; Self::MOST], len: 0, open: 0.0, pending: 1.0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first gap: a synthetic interval, and an open one that counts from the last report.
    pub(super) const fn begin(&mut self, synthetic: f64, open: f64) {
        self.closed[0] = synthetic;
        self.len = 1;
        self.open = open;
    }

    /// The next `packets` numbers begin no event.
    pub(super) const fn advance(&mut self, packets: u64) {
        self.open += packets as f64;
    }

    /// The next number begins an event.
    pub(super) fn event(&mut self) {
        self.open += 1.0;
        for discount in &mut self.discounts {
            *discount *= self.pending;
        }
        self.closed.copy_within(..Self::MOST - 1, 1);
        self.discounts.copy_within(..Self::MOST - 1, 1);
        (self.closed[0], self.discounts[0]) = (self.open, 1.0);
        self.len = (self.len + 1).min(Self::MOST);
        (self.open, self.pending) = (0.0, 1.0);
    }

    /// Loss event rate; 0 before the first loss.
    pub(super) fn rate(&mut self) -> f64 {
        if self.len == 0 {
            return 0.0;
        }
        let closed = self.mean(0, self.len, 1.0, 0.0, 0.0);
        if self.open > 0.0 && 2.0 * closed / self.open < 1.0 {
            self.pending = (2.0 * closed / self.open).max(Self::FLOOR);
        }
        let with_open = self.mean(1, self.len.min(Self::MOST - 1), self.pending, self.open, 1.0);
        (1.0 / closed.max(with_open)).min(1.0)
    }

    fn mean(&self, shift: usize, count: usize, factor: f64, total: f64, weight: f64) -> f64 {
        let (total, weight) = (0..count).fold((total, weight), |(total, sum), index| {
            let weight = Self::WEIGHTS[index + shift] * factor * self.discounts[index];
            (total + weight * self.closed[index], sum + weight)
        });
        total / weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One interval of 100 and an open one of 150: 125, where the RFC has 150.
    #[test]
    fn open_interval_is_added() {
        let mut history = History { len: 1, open: 150.0, ..History::new() };
        history.closed[0] = 100.0;
        assert!((history.rate() - 0.008).abs() < 1e-12);
    }

    /// Eight of 100 and an open one of 500: the discount stops at 0.5, the mean is 214.3.
    #[test]
    fn discount_has_a_higher_floor() {
        let mut history = History { closed: [100.0; 8], len: 8, open: 500.0, ..History::new() };
        assert!((1.0 / history.rate() - 214.2857).abs() < 1e-3);
        assert_eq!(history.pending, 0.5);
        history.event();
        assert_eq!(history.discounts[..2], [1.0, 0.5]);
        assert_eq!(history.closed[0], 501.0);
    }

    /// Before the first loss there is no rate, and nothing is ever above one.
    #[test]
    fn rates_lie_between_none_and_one() {
        let mut history = History::new();
        assert!(history.is_empty());
        history.advance(1000);
        assert_eq!(history.rate(), 0.0);
        history.begin(0.0, 0.5);
        assert!(!history.is_empty());
        assert_eq!(history.rate(), 1.0);
    }

    /// Intervals of 10, 20, ... 90 and a synthetic one of 5, of which the last eight stay, newest first:
    /// (90 + 80 + 70 + 60 + 0.8 * 50 + 0.6 * 40 + 0.4 * 30 + 0.2 * 20)/6 = 63.33.
    #[test]
    fn the_last_eight_intervals_are_weighed() {
        let mut history = History::new();
        history.begin(5.0, 0.0);
        for tens in 1..=9 {
            history.advance(10 * tens - 1);
            history.event();
            assert_eq!((history.open, history.len), (0.0, (tens as usize + 1).min(8)));
        }
        assert_eq!(history.closed, [90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0]);
        assert!((1.0 / history.rate() - 380.0 / 6.0).abs() < 1e-9);
        // An open one of 120 takes the place of the oldest: (120 + 90 + 80 + 70 + 0.8 * 60 + 0.6 * 50 + 0.4 * 40 + 0.2 * 30)/6.
        history.advance(120);
        assert!((1.0 / history.rate() - 460.0 / 6.0).abs() < 1e-9);
        // 1.05 times twice the mean of 63.33: F = 1/1.05, on all but the open one.
        history.advance(13);
        let discount = 2.0 * (380.0 / 6.0) / 133.0;
        let (closed, weights) = (340.0 * discount, 1.0 + 5.0 * discount);
        assert!((1.0 / history.rate() - (133.0 + closed) / weights).abs() < 1e-9);
        assert_eq!(history.pending, discount);
        // Once an event begins the discount stays on what there is, and multiplies with the next one.
        history.event();
        assert_eq!((history.discounts[0], history.discounts[1], history.pending), (1.0, discount, 1.0));
        history.pending = 0.5;
        history.event();
        assert_eq!(history.discounts[..4], [1.0, 0.5, discount / 2.0, discount / 2.0]);
    }
}
