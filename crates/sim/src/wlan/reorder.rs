//! The receiver's reorder buffer of a block-ack agreement (`docs/models/wlan.md`, section "Receiver").

/// Sequence numbers count modulo this.
pub(crate) const SEQUENCES: u16 = 4096;
/// MPDUs that a block acknowledgement covers.
pub(crate) const WINDOW: u16 = 64;

/// How far `to` lies behind `from`.
pub(crate) const fn distance(from: u16, to: u16) -> u16 {
    (to + SEQUENCES - from) % SEQUENCES
}

/// Holds what came before its turn.
#[derive(Debug, Clone)]
pub(crate) struct Reorder<T> {
    /// The next number in order (WinR).
    next: u16,
    held: Vec<Option<T>>,
    count: usize,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self { next: 0, held: Vec::new(), count: 0 }
    }
}

impl<T> Reorder<T> {
    /// What is held.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// Takes number `sequence`, not taken before, and gives `out` what is in order now.
    pub(crate) fn take(&mut self, sequence: u16, item: T, mut out: impl FnMut(T)) {
        let ahead = distance(self.next, sequence);
        if ahead == 0 {
            self.next = (self.next + 1) % SEQUENCES;
            out(item);
            self.release(&mut out);
            return;
        }
        if ahead >= SEQUENCES / 2 {
            // Older than the window: given up before, or a duplicate.
            return;
        }
        if ahead >= WINDOW {
            self.advance((sequence + SEQUENCES + 1 - WINDOW) % SEQUENCES, &mut out);
        }
        if self.held.is_empty() {
            self.held.resize_with(usize::from(WINDOW), || None);
        }
        let place = &mut self.held[usize::from(sequence % WINDOW)];
        if place.is_none() {
            self.count += 1;
        }
        *place = Some(item);
        self.release(&mut out);
    }

    /// Nothing below `sequence` will come any more.
    pub(crate) fn skip_to(&mut self, sequence: u16, mut out: impl FnMut(T)) {
        if distance(self.next, sequence) < SEQUENCES / 2 {
            self.advance(sequence, &mut out);
            self.release(&mut out);
        }
    }

    /// Hands out everything below `sequence`.
    fn advance(&mut self, sequence: u16, out: &mut impl FnMut(T)) {
        while self.next != sequence {
            if self.count == 0 {
                self.next = sequence;
                return;
            }
            if let Some(item) = self.pop() {
                out(item);
            }
            self.next = (self.next + 1) % SEQUENCES;
        }
    }

    /// Hands out what follows without a gap.
    fn release(&mut self, out: &mut impl FnMut(T)) {
        while self.count > 0 {
            let Some(item) = self.pop() else { return };
            self.next = (self.next + 1) % SEQUENCES;
            out(item);
        }
    }

    fn pop(&mut self) -> Option<T> {
        let item = self.held[usize::from(self.next % WINDOW)].take()?;
        self.count -= 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn taken(reorder: &mut Reorder<u16>, sequence: u16) -> Vec<u16> {
        let mut out = Vec::new();
        reorder.take(sequence, sequence, |item| out.push(item));
        out
    }

    /// `docs/models/wlan.md`, section "Receiver", rules 2 and 3.
    #[test]
    fn holds_releases_and_moves_the_window() {
        let mut reorder = Reorder::default();
        assert_eq!(taken(&mut reorder, 0), [0]);
        assert!(taken(&mut reorder, 2).is_empty());
        assert!(taken(&mut reorder, 3).is_empty());
        assert_eq!(taken(&mut reorder, 1), [1, 2, 3]);
        assert!(taken(&mut reorder, 6).is_empty());
        // 4 and 5 fall out of a window that ends at 68; so does nothing else.
        assert_eq!(taken(&mut reorder, 69), [6]);
        let mut out = Vec::new();
        reorder.skip_to(70, |item| out.push(item));
        assert_eq!((out, reorder.len()), (vec![69], 0));
        assert!(taken(&mut reorder, 5).is_empty());
        assert_eq!(reorder.len(), 0);
    }

    proptest! {
        /// Nothing leaves after a later number, whatever comes in whatever order.
        #[test]
        fn order_is_strict(start in 0..SEQUENCES, steps in prop::collection::vec((0..90u16, any::<bool>()), 1..200)) {
            let mut reorder = Reorder { next: start, ..Reorder::default() };
            let mut last: Option<u16> = None;
            let mut seen = std::collections::BTreeSet::new();
            for (ahead, skip) in steps {
                let sequence = (reorder.next + ahead) % SEQUENCES;
                let mut out = Vec::new();
                if skip && ahead > 60 {
                    reorder.skip_to(sequence, |item| out.push(item));
                } else if seen.insert(sequence) {
                    reorder.take(sequence, sequence, |item| out.push(item));
                }
                for item in out {
                    if let Some(last) = last {
                        prop_assert!((1..SEQUENCES / 2).contains(&distance(last, item)), "{last} then {item}");
                    }
                    last = Some(item);
                }
                if seen.len() > 1000 { break; }
            }
        }
    }
}
