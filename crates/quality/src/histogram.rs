//! A histogram of spans of time in bounded memory, with a constant relative error as HdrHistogram.

use crate::statistics::Distribution;
use seaway_units::TimeDelta;

/// The number of samples that are kept exactly.
const EXACT: usize = 1024;
/// Significant bits of each further sample: the error is at most 1 part in 1024, and below 2 ms a microsecond.
const BITS: u32 = 11;
/// Buckets that are allocated together.
const PAGE: usize = 128;

/// Histogram of a span of time: their mean and maximum exactly, their percentiles as long as there are few of them
/// exactly to a microsecond and then to 0.05 %.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    exact: Vec<u32>,
    /// Counts by bucket; a page without counts is absent.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    count: u64,
    nanos: i128,
    max: u32,
}

impl Histogram {
    /// Adds a span; a negative one counts as zero.
    #[inline]
    pub fn add(&mut self, span: TimeDelta) {
        self.count += 1;
        self.nanos += i128::from(span.as_nanos());
        let micros = span.as_nanos().max(0) as u64 / 1_000;
        let micros = micros.min(u64::from(u32::MAX)) as u32;
        self.max = self.max.max(micros);
        match self.pages.get_mut(bucket_of(micros) / PAGE) {
            Some(Some(page)) => page[bucket_of(micros) % PAGE] += 1,
            _ => self.add_rare(micros),
        }
    }

    /// Adds one of the first samples, or the first of its page.
    fn add_rare(&mut self, micros: u32) {
        if !self.pages.is_empty() {
            return self.tally(micros);
        }
        self.exact.push(micros);
        if self.exact.len() == EXACT {
            self.pages.resize_with(bucket_of(u32::MAX) / PAGE + 1, || None);
            let exact = std::mem::take(&mut self.exact);
            exact.into_iter().for_each(|micros| self.tally(micros));
        }
    }

    fn tally(&mut self, micros: u32) {
        let place = bucket_of(micros);
        let page = self.pages[place / PAGE].get_or_insert_with(|| Box::new([0; PAGE]));
        page[place % PAGE] += 1;
    }

    /// Mean, percentiles and maximum in milliseconds; `None` without samples.
    pub fn distribution(&self) -> Option<Distribution> {
        if self.count == 0 {
            return None;
        }
        let [p50, p95, p99] = self.percentiles([50, 95, 99]);
        let (mean, max) = (self.nanos as f64 / 1e6 / self.count as f64, f64::from(self.max) / 1e3);
        Some(Distribution { mean, p50, p95, p99, max })
    }

    /// Percentiles in milliseconds by the nearest rank; `percents` ascend.
    fn percentiles<const N: usize>(&self, percents: [u64; N]) -> [f64; N] {
        let ranks = percents.map(|percent| (percent * self.count).div_ceil(100).max(1));
        if self.pages.is_empty() { self.exact_ranks(ranks) } else { self.tallied_ranks(ranks) }
    }

    /// The values of these ranks where all samples are kept; what lies below a rank is not sorted.
    fn exact_ranks<const N: usize>(&self, ranks: [u64; N]) -> [f64; N] {
        let mut values = self.exact.clone();
        let (mut rest, mut passed) = (&mut values[..], 1);
        ranks.map(|rank| {
            let left = std::mem::take(&mut rest);
            let place = (rank - passed) as usize;
            let value = *left.select_nth_unstable(place).1;
            (rest, passed) = (&mut left[place..], rank);
            f64::from(value) / 1e3
        })
    }

    fn tallied_ranks<const N: usize>(&self, ranks: [u64; N]) -> [f64; N] {
        let pages = self.pages.iter().enumerate().filter_map(|(index, page)| Some((index, page.as_ref()?)));
        let mut tallied = pages.flat_map(|(index, page)| {
            let counted = page.iter().enumerate().filter(|(_, count)| **count > 0);
            counted.map(move |(offset, count)| (index * PAGE + offset, u64::from(*count)))
        });
        let (mut passed, mut bucket) = (0, 0);
        ranks.map(|rank| {
            while passed < rank
                && let Some((next, count)) = tallied.next()
            {
                passed += count;
                bucket = next;
            }
            middle_of(bucket).min(self.max.into()) / 1e3
        })
    }
}

/// The bucket of a value: a floating-point number with [`BITS`] bits of mantissa.
const fn bucket_of(micros: u32) -> usize {
    // Small values need no shift.
    let length = u32::BITS - (micros | 1 << (BITS - 1)).leading_zeros();
    let shift = length - BITS;
    ((shift as usize) << (BITS - 1)) + (micros >> shift) as usize
}

/// The middle of the values of a bucket.
fn middle_of(place: usize) -> f64 {
    let shift = (place >> (BITS - 1)).saturating_sub(1);
    let mantissa = place - (shift << (BITS - 1));
    (mantissa as f64 + 0.5) * (1u64 << shift) as f64 - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_has_its_bucket() {
        for micros in
            (0..100_000).chain((17..32).flat_map(|bit| (1 << bit) - 3..=(1 << bit) + 3)).chain([u32::MAX])
        {
            let error = (middle_of(bucket_of(micros)) - f64::from(micros)).abs();
            assert!(error <= f64::from(micros) / 2048.0, "{micros}: {error}");
            assert!(bucket_of(micros) <= bucket_of(micros.saturating_add(1)));
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_values(
            few in prop::collection::vec(0..3_000_000u32, 1..50),
            times in prop::sample::select(vec![1, 40]),
        ) {
            let mut samples = Histogram::default();
            let mut millis = Vec::new();
            for micros in few.iter().flat_map(|micros| std::iter::repeat_n(*micros, times)) {
                samples.add(TimeDelta::from_micros(micros.into()));
                millis.push(f64::from(micros) / 1e3);
            }
            let expected = Distribution::of(&mut millis).unwrap();
            let found = samples.distribution().unwrap();
            let near = |a: f64, b: f64| (a - b).abs() <= 5e-4 * b + 1e-9;
            prop_assert!(near(found.p50, expected.p50) && near(found.p95, expected.p95) && near(found.p99, expected.p99));
            prop_assert_eq!(found.max, expected.max);
            prop_assert!((found.mean - expected.mean).abs() < 1e-6);
        }
    }
}
