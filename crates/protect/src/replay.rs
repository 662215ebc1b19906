//! The replay window of one source (RFC 3711 section 3.3.2).

use rtc_shared::replay_detector::ReplayDetector;

/// Packets that a reordered one may be late by.
const SIZE: u64 = 1024;
const WORDS: usize = SIZE as usize / 64;

/// Which of the newest [`SIZE`] numbers came. In contrast to the detectors of `rtc-shared`, a packet that is not authentic
/// leaves no trace, not even the first.
#[derive(Debug)]
pub(crate) struct ReplayWindow {
    /// Numbers count modulo this, a multiple of [`SIZE`].
    modulus: u64,
    newest: Option<u64>,
    /// Bit n: the number congruent to n came.
    seen: [u64; WORDS],
    checked: Option<u64>,
}

impl ReplayWindow {
    /// For RTP sequence numbers.
    pub(crate) fn of_rtp() -> Self {
        Self::new(1 << 16)
    }

    /// For SRTCP indices.
    pub(crate) fn of_rtcp() -> Self {
        Self::new(1 << 31)
    }

    fn new(modulus: u64) -> Self {
        Self { modulus, newest: None, seen: [0; WORDS], checked: None }
    }

    /// How far `number` is ahead of the newest; a distance of half the circle is ahead.
    fn ahead(&self, newest: u64, number: u64) -> i64 {
        let forward = (number + self.modulus - newest) % self.modulus;
        if forward <= self.modulus / 2 { forward as i64 } else { forward as i64 - self.modulus as i64 }
    }

    fn set(&mut self, number: u64, came: bool) {
        let (word, bit) = ((number % SIZE / 64) as usize, number % 64);
        self.seen[word] = self.seen[word] & !(1 << bit) | u64::from(came) << bit;
    }

    fn has(&self, number: u64) -> bool {
        self.seen[(number % SIZE / 64) as usize] >> (number % 64) & 1 == 1
    }
}

impl ReplayDetector for ReplayWindow {
    fn check(&mut self, number: u64) -> bool {
        let is_fresh = number < self.modulus
            && self.newest.is_none_or(|newest| match self.ahead(newest, number) {
                1.. => true,
                behind => behind.unsigned_abs() < SIZE && !self.has(number),
            });
        self.checked = is_fresh.then_some(number);
        is_fresh
    }

    fn accept(&mut self) {
        let Some(number) = self.checked.take() else { return };
        let ahead = self.newest.map_or(1, |newest| self.ahead(newest, number));
        if ahead > 0 {
            for skipped in 0..(ahead as u64).min(SIZE) {
                self.set(number + self.modulus - skipped, false);
            }
            self.newest = Some(number);
        }
        self.set(number, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn take(window: &mut ReplayWindow, number: u64) -> bool {
        let is_fresh = window.check(number);
        window.accept();
        is_fresh
    }

    #[test]
    fn a_forged_first_packet_leaves_no_trace() {
        let mut window = ReplayWindow::of_rtp();
        assert!(window.check(30_000), "fresh, but its tag turns out wrong");
        assert!(window.check(5));
        window.accept();
        assert!(window.check(30_000));
        assert!(take(&mut window, 6) && !take(&mut window, 5));
    }

    #[test]
    fn the_window_is_1024_numbers_long_and_wraps() {
        let mut window = ReplayWindow::of_rtp();
        assert!(take(&mut window, 65_530) && take(&mut window, 500));
        assert!(!take(&mut window, 65_530), "seen");
        assert!(take(&mut window, 65_529), "late by 507");
        assert!(take(&mut window, 65_013));
        assert!(!take(&mut window, 65_012), "late by 1024");
    }

    proptest! {
        #[test]
        fn no_number_is_taken_twice(steps in proptest::collection::vec(-2000i64..2000, 1..300)) {
            let (mut window, mut at, mut taken) = (ReplayWindow::of_rtp(), 100_000i64, BTreeSet::new());
            let mut newest = None::<i64>;
            for step in steps {
                let number = at + step;
                if take(&mut window, number as u64 % 65_536) {
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
