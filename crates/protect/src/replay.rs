//! The replay window of one source (RFC 3711 section 3.3.2).

/// Which of the newest 64 `WORDS` packet indices came or left. A packet that is not authentic leaves no trace.
#[derive(Debug)]
pub(crate) struct ReplayWindow<const WORDS: usize> {
    newest: Option<u64>,
    /// Bit n: the index congruent to n came.
    seen: [u64; WORDS],
}

impl<const WORDS: usize> Default for ReplayWindow<WORDS> {
    fn default() -> Self {
        Self { newest: None, seen: [0; WORDS] }
    }
}

impl<const WORDS: usize> ReplayWindow<WORDS> {
    /// Packets that a reordered one may be late by.
    const SIZE: u64 = 64 * WORDS as u64;

    /// The newest index.
    pub(crate) const fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Whether a packet with this index may still come.
    pub(crate) fn is_fresh(&self, index: u64) -> bool {
        self.newest.is_none_or(|newest| index > newest || newest - index < Self::SIZE && !self.has(index))
    }

    /// The packet with this fresh index came.
    pub(crate) fn accept(&mut self, index: u64) {
        let ahead = self.newest.map_or(0, |newest| index.saturating_sub(newest));
        for skipped in 0..ahead.min(Self::SIZE) {
            self.set(index - skipped, false);
        }
        self.newest = self.newest.max(Some(index));
        self.set(index, true);
    }

    fn set(&mut self, index: u64, came: bool) {
        let (word, bit) = ((index % Self::SIZE / 64) as usize, index % 64);
        self.seen[word] = self.seen[word] & !(1 << bit) | u64::from(came) << bit;
    }

    fn has(&self, index: u64) -> bool {
        self.seen[(index % Self::SIZE / 64) as usize] >> (index % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type Window = ReplayWindow<16>;
    const SIZE: i64 = 1024;

    fn take<const WORDS: usize>(window: &mut ReplayWindow<WORDS>, index: u64) -> bool {
        let is_fresh = window.is_fresh(index);
        if is_fresh {
            window.accept(index);
        }
        is_fresh
    }

    #[test]
    fn the_window_is_1024_numbers_long() {
        let mut window = Window::default();
        assert!(take(&mut window, 65_530) && take(&mut window, 66_036));
        assert!(!take(&mut window, 65_530), "seen");
        assert!(take(&mut window, 65_529), "late by 507");
        assert!(take(&mut window, 65_013));
        assert!(!take(&mut window, 65_012), "late by 1024");
        assert!(take(&mut window, 1 << 40) && !take(&mut window, 66_037), "all before is old");
    }

    #[test]
    fn a_small_window_is_64_numbers_long() {
        let mut window = ReplayWindow::<1>::default();
        assert!(take(&mut window, 100) && take(&mut window, 37) && take(&mut window, 99));
        assert!(!take(&mut window, 36), "late by 64");
        assert!(![37, 99, 100].into_iter().any(|index| take(&mut window, index)), "seen");
        assert!(take(&mut window, 164) && !take(&mut window, 100) && take(&mut window, 101));
    }

    proptest! {
        #[test]
        fn no_number_is_taken_twice(steps in proptest::collection::vec(-2000i64..2000, 1..300)) {
            let (mut window, mut at, mut taken) = (Window::default(), 100_000i64, BTreeSet::new());
            let mut newest = None::<i64>;
            for step in steps {
                let number = at + step;
                if take(&mut window, number as u64) {
                    prop_assert!(taken.insert(number), "{number}");
                    newest = newest.max(Some(number));
                } else {
                    let behind = newest.unwrap() - number;
                    prop_assert!(taken.contains(&number) || behind >= SIZE, "{number}");
                }
                at = newest.unwrap();
            }
        }
    }
}
