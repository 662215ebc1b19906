//! A sliding minimum over any recent window, without a pass over all samples.

use std::collections::VecDeque;

/// A value at an instant, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample<T> {
    pub(super) at: f64,
    pub(super) value: f64,
    pub(super) of: T,
}

/// Of the samples in order of time only those are kept below which none lies later: a queue of rising values, whose first
/// within a span is the least of it.
#[derive(Debug, Clone)]
pub(super) struct LeastOfLate<T> {
    rising: VecDeque<Sample<T>>,
}

impl<T: Copy> LeastOfLate<T> {
    pub(super) const fn new() -> Self {
        Self { rising: VecDeque::new() }
    }

    pub(super) fn clear(&mut self) {
        self.rising.clear();
    }

    /// Takes a sample; mostly it is the newest.
    pub(super) fn insert(&mut self, sample: Sample<T>) {
        let later = self.rising.iter().rev().take_while(|other| other.at > sample.at).count();
        let place = self.rising.len() - later;
        let is_low = |other: &Sample<T>| other.value <= sample.value;
        let before = place.checked_sub(1).and_then(|before| self.rising.get(before));
        // What came at the same time is forgotten at the same time.
        if self.rising.get(place).is_some_and(is_low)
            || before.is_some_and(|before| before.at == sample.at && before.value < sample.value)
        {
            return;
        }
        let higher = self.rising.range(..place).rev().take_while(|other| other.value >= sample.value).count();
        if later == 0 {
            self.rising.truncate(place - higher);
            self.rising.push_back(sample);
        } else {
            self.rising.drain(place - higher..place);
            self.rising.insert(place - higher, sample);
        }
    }

    /// Forgets what is older than `at`.
    pub(super) fn forget_before(&mut self, at: f64) {
        while self.rising.front().is_some_and(|oldest| oldest.at < at) {
            self.rising.pop_front();
        }
    }

    /// The least of the last `span`, the newest of several.
    pub(super) fn least(&self, newest: f64, span: f64) -> Option<Sample<T>> {
        self.rising.get(self.rising.partition_point(|sample| newest - sample.at > span)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_least_of_a_walk_over_all() {
        let mut least = LeastOfLate::new();
        let mut all: Vec<Sample<u64>> = Vec::new();
        let mut random = 1_u32;
        for id in 0..500_u64 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Each eighth comes late, and values are often equal.
            let late = if id % 8 == 7 { 3.5 } else { 0.0 };
            let sample = Sample { at: id as f64 - late, value: f64::from(random >> 28), of: id };
            least.insert(sample);
            all.insert(all.partition_point(|other| other.at <= sample.at), sample);
            let newest = all.last().unwrap().at;
            least.forget_before(newest - 60.0);
            for span in [0.0, 1.0, 7.0, 60.0] {
                let of_span = all.iter().filter(|other| newest - other.at <= span);
                let expected = of_span.rev().min_by(|a, b| a.value.total_cmp(&b.value)).unwrap();
                assert_eq!(least.least(newest, span).unwrap(), *expected, "{id} {span}");
            }
        }
        least.clear();
        assert_eq!(least.least(0.0, 9.0), None);
    }
}
