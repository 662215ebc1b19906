//! The weighted average of loss intervals with history discounting (RFC 5348 sections 5.4, 5.5).

/// The last eight closed loss intervals, newest first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossIntervals {
    intervals: [Interval; Self::MOST],
    len: usize,
    /// Floor of the discount factor (`THRESHOLD`); 1 switches discounting off.
    floor: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    /// In packets.
    length: f64,
    /// `DF_i`.
    discount: f64,
}

impl LossIntervals {
    const MOST: usize = 8;
    /// `w_i` for n = 8.
    const WEIGHTS: [f64; Self::MOST] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

    /// No interval yet; `discount_floor` is the least discount factor, 1 for no discounting.
    pub const fn new(discount_floor: f64) -> Self {
        let none = Interval { length: 0.0, discount: 1.0 };
        Self { intervals: [none; Self::MOST], len: 0, floor: discount_floor }
    }

    /// True before the first loss event.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A loss event began and closed an interval of `length` packets.
    pub fn close(&mut self, length: f64) {
        let discount = self.discount(length);
        for interval in &mut self.intervals {
            interval.discount *= discount;
        }
        self.intervals.copy_within(..Self::MOST - 1, 1);
        self.intervals[0] = Interval { length, discount: 1.0 };
        self.len = (self.len + 1).min(Self::MOST);
    }

    /// The mean with the open interval at `open` packets, where that one counts; `None` before the first loss.
    /// The loss event rate is its inverse.
    pub fn mean(&self, open: Option<f64>) -> Option<f64> {
        let closed = self.closed_mean()?;
        Some(open.map_or(closed, |open| closed.max(self.mean_with_open(open))))
    }

    /// `T1 / W1`: the closed intervals alone.
    fn closed_mean(&self) -> Option<f64> {
        let (total, weight) = self.sum(0, self.len, |weight| weight);
        (weight > 0.0).then_some(total / weight)
    }

    /// `T0 / W0`: the open interval in front, the oldest one left out, older ones discounted.
    fn mean_with_open(&self, open: f64) -> f64 {
        let discount = self.discount(open);
        let (total, weight) = self.sum(1, self.len - 1, |weight| weight * discount);
        (Self::WEIGHTS[0] * open + total) / (Self::WEIGHTS[0] + weight)
    }

    /// Weighted sum of the first `count` closed intervals, their weights starting at `w_shift`.
    fn sum(&self, shift: usize, count: usize, scale: impl Fn(f64) -> f64) -> (f64, f64) {
        let weighted = self.intervals[..count].iter().zip(&Self::WEIGHTS[shift..]);
        weighted.fold((0.0, 0.0), |(total, sum), (interval, weight)| {
            let weight = scale(weight * interval.discount);
            (total + weight * interval.length, sum + weight)
        })
    }

    /// `DF`: below 1 while the open interval is longer than twice the mean.
    fn discount(&self, open: f64) -> f64 {
        match self.closed_mean() {
            Some(mean) if open > 2.0 * mean => (2.0 * mean / open).max(self.floor),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(floor: f64, newest_first: &[f64]) -> LossIntervals {
        let mut intervals = LossIntervals::new(floor);
        // Set one by one, so that closing does not discount: the worked numbers start undiscounted.
        for length in newest_first.iter().rev() {
            intervals.intervals.copy_within(..LossIntervals::MOST - 1, 1);
            intervals.intervals[0] = Interval { length: *length, discount: 1.0 };
            intervals.len = (intervals.len + 1).min(LossIntervals::MOST);
        }
        intervals
    }

    /// Worked means of RFC 5348 section 5.4 with eight intervals of 100.
    #[test]
    fn means_without_discounting() {
        let eight = intervals(1.0, &[100.0; 8]);
        assert!((eight.mean(Some(10.0)).unwrap() - 100.0).abs() < 1e-12);
        assert!((eight.mean(Some(500.0)).unwrap() - 1000.0 / 6.0).abs() < 1e-9);
    }

    /// Worked means of RFC 5348 section 5.5.
    #[test]
    fn means_with_discounting() {
        let eight = intervals(0.25, &[100.0; 8]);
        for (open, mean, discount) in
            [(500.0, 233.333_333, 0.4), (1000.0, 500.0, 0.25), (250.0, 130.0, 0.8), (200.0, 116.666_667, 1.0)]
        {
            assert!((eight.discount(open) - discount).abs() < 1e-12);
            assert!((eight.mean(Some(open)).unwrap() - mean).abs() < 1e-6, "{open}");
        }
    }

    /// RFC 5348 section 5.4 with fewer than eight: the open interval first, then the closed ones.
    #[test]
    fn means_of_few_intervals() {
        for floor in [0.25, 1.0] {
            let two = intervals(floor, &[100.0, 200.0]);
            assert!((two.mean(Some(50.0)).unwrap() - 150.0).abs() < 1e-12);
            assert!((two.mean(Some(300.0)).unwrap() - 200.0).abs() < 1e-12);
        }
        assert_eq!(LossIntervals::new(0.25).mean(Some(7.0)), None);
        assert_eq!(intervals(1.0, &[40.0]).mean(Some(70.0)), Some(70.0));
        assert_eq!(intervals(1.0, &[40.0]).mean(None), Some(40.0));
    }

    /// RFC 5348 section 5.5 step 3: a discount stays with the intervals it met, and fades as they leave.
    #[test]
    fn discount_is_folded_in_when_an_interval_closes() {
        let mut history = intervals(0.25, &[100.0; 8]);
        history.close(500.0);
        assert!((history.intervals[1].discount - 0.4).abs() < 1e-12);
        assert_eq!(history.intervals[0], Interval { length: 500.0, discount: 1.0 });
        let (weights, tail) = (1.0 + 0.4 * (6.0 - 1.0), 0.4 * 5.0 * 100.0);
        assert!((history.mean(None).unwrap() - (500.0 + tail) / weights).abs() < 1e-9);
    }
}
