//! The replay window of one source (RFC 3711 section 3.3.2).

/// Packets that a reordered one may be late by.
const SIZE: u64 = 1024;
const WORDS: usize = SIZE as usize / 64;

/// Which of the newest [`SIZE`] packet indices came. A packet that is not authentic leaves no trace.
#[derive(Debug, Default)]
pub(crate) struct ReplayWindow {
    newest: Option<u64>,
    /// Bit n: the index congruent to n came.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// The newest index.
    pub(crate) const fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Whether a packet with this index may still come.
    pub(crate) fn is_fresh(&self, index: u64) -> bool {
        self.newest.is_none_or(|newest| index > newest || newest - index < SIZE && !self.has(index))
    }

    /// The packet with this fresh index came.
    pub(crate) fn accept(&mut self, index: u64) {
        let ahead = self.newest.map_or(0, |newest| index.saturating_sub(newest));
        for skipped in 0..ahead.min(SIZE) {
            self.set(index - skipped, false);
        }
        self.newest = self.newest.max(Some(index));
        self.set(index, true);
    }

    fn set(&mut self, index: u64, came: bool) {
        let (word, bit) = ((index % SIZE / 64) as usize, index % 64);
        self.seen[word] = self.seen[word] & !(1 << bit) | u64::from(came) << bit;
    }

    fn has(&self, index: u64) -> bool {
        self.seen[(index % SIZE / 64) as usize] >> (index % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn take(window: &mut ReplayWindow, index: u64) -> bool {
        let is_fresh = window.is_fresh(index);
        if is_fresh {
            window.accept(index);
        }
        is_fresh
    }

    #[test]
    fn the_window_is_1024_numbers_long() {
        let mut window = ReplayWindow::default();
        assert!(take(&mut window, 65_530) && take(&mut window, 66_036));
        assert!(!take(&mut window, 65_530), "seen");
        assert!(take(&mut window, 65_529), "late by 507");
        assert!(take(&mut window, 65_013));
        assert!(!take(&mut window, 65_012), "late by 1024");
        assert!(take(&mut window, 1 << 40) && !take(&mut window, 66_037), "all before is old");
    }

    proptest! {
        #[test]
        fn no_number_is_taken_twice(steps in proptest::collection::vec(-2000i64..2000, 1..300)) {
            let (mut window, mut at, mut taken) = (ReplayWindow::default(), 100_000i64, BTreeSet::new());
            let mut newest = None::<i64>;
            for step in steps {
                let number = at + step;
                if take(&mut window, number as u64) {
                    prop_assert!(taken.insert(number), "{number}");
                    newest = newest.max(Some(number));
                } else {
                    let behind = newest.unwrap() - number;
                    prop_assert!(taken.contains(&number) || behind >= SIZE as i64, "{number}");
                }
                at = newest.unwrap();
            }
        }
    }
}
