//! Sets of segment numbers as ranges: what a receiver holds, and what a sender knows of it.

use std::collections::VecDeque;
use std::ops::Range;

/// A set of numbers, kept as disjoint ranges in order that do not touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    ranges: VecDeque<Range<u64>>,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Adds `new`; false where all of it was there already.
    pub(super) fn insert(&mut self, new: Range<u64>) -> bool {
        if new.is_empty() {
            return false;
        }
        // The first range that touches `new` or lies behind it.
        let first = self.ranges.partition_point(|range| range.end < new.start);
        let touching = self.ranges.iter().skip(first).take_while(|range| range.start <= new.end).count();
        if touching == 0 {
            self.ranges.insert(first, new);
            return true;
        }
        let last_end = self.ranges[first + touching - 1].end;
        let range = &mut self.ranges[first];
        if touching == 1 && range.start <= new.start && range.end >= new.end {
            return false;
        }
        range.start = range.start.min(new.start);
        range.end = last_end.max(new.end);
        self.ranges.drain(first + 1..first + touching);
        true
    }

    /// Takes out everything below `bound`.
    pub(super) fn remove_below(&mut self, bound: u64) {
        while self.ranges.front().is_some_and(|range| range.end <= bound) {
            self.ranges.pop_front();
        }
        if let Some(range) = self.ranges.front_mut() {
            range.start = range.start.max(bound);
        }
    }

    /// The range that holds `number`.
    pub(super) fn containing(&self, number: u64) -> Option<Range<u64>> {
        let first = self.ranges.partition_point(|range| range.end <= number);
        self.ranges.get(first).filter(|range| range.start <= number).cloned()
    }

    /// The lowest number at or above `from` that is not in the set.
    pub(super) fn first_gap(&self, from: u64) -> u64 {
        self.containing(from).map_or(from, |range| range.end)
    }

    /// The highest number below `bound` that is not in the set; `None` where there is none.
    pub(super) fn last_gap_below(&self, bound: u64) -> Option<u64> {
        let last = bound.checked_sub(1)?;
        match self.containing(last) {
            None => Some(last),
            Some(range) => range.start.checked_sub(1),
        }
    }

    /// One above the highest number.
    pub(super) fn end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.end)
    }

    /// The `n`-th highest number, counted from one.
    pub(super) fn nth_highest(&self, n: u64) -> Option<u64> {
        let mut left = n;
        for range in self.ranges.iter().rev() {
            let length = range.end - range.start;
            if left <= length {
                return Some(range.end - left);
            }
            left -= length;
        }
        None
    }

    /// How many numbers of `within` are not in the set.
    pub(super) fn missing(&self, within: Range<u64>) -> u64 {
        if within.is_empty() {
            return 0;
        }
        let first = self.ranges.partition_point(|range| range.end <= within.start);
        let inside = self.ranges.iter().skip(first).take_while(|range| range.start < within.end);
        let held: u64 = inside.map(|range| range.end.min(within.end) - range.start.max(within.start)).sum();
        within.end - within.start - held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set(
            inserts in prop::collection::vec((0u64..60, 0u64..8), 1..40), bound in 0u64..60, from in 0u64..70, n in 1u64..5
        ) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (start, length) in inserts {
                let fresh = (start..start + length).filter(|&number| set.insert(number)).count();
                prop_assert_eq!(ranges.insert(start..start + length), fresh > 0);
            }
            ranges.remove_below(bound);
            set.retain(|&number| number >= bound);
            prop_assert_eq!(ranges.first_gap(from), (from..).find(|number| !set.contains(number)).unwrap());
            prop_assert_eq!(ranges.last_gap_below(from), (0..from).rev().find(|number| !set.contains(number)));
            prop_assert_eq!(ranges.end(), set.last().map(|last| last + 1));
            prop_assert_eq!(ranges.nth_highest(n), set.iter().rev().nth(n as usize - 1).copied());
            prop_assert_eq!(ranges.missing(from..from + 9), (from..from + 9).filter(|n| !set.contains(n)).count() as u64);
            prop_assert!(ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).all(|(a, b)| a.end < b.start));
        }
    }
}
