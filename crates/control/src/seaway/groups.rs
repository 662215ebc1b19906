//! Packets that leave back to back on purpose, to detect foreign packets between them.

/// The pattern in which packets leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pattern {
    /// Each by itself.
    Single,
    /// In threes, while the capacity is unknown.
    Train,
    /// Each eighth with its next one, where packets are so slow that no two leave within 6 ms otherwise.
    SparsePairs,
    /// One, two or three at random, at most so many.
    Random(u32),
}

/// Counts packets into groups. The pause behind a group keeps the mean rate.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    size: u32,
    left: u32,
    /// The size of the group before.
    last: u32,
    count: u64,
    /// Xorshift: the pattern must not beat with others', and be the same in each run.
    random: u64,
}

impl Groups {
    pub(super) const fn new() -> Self {
        Self { size: 1, left: 1, last: 1, count: 0, random: 0x9E37_79B9_7F4A_7C15 }
    }

    /// The next packet belongs to the group of the one before.
    pub(super) const fn is_inside(&self) -> bool {
        self.left < self.size
    }

    /// Paces of the group before, of which one pause must be made.
    pub(super) fn last(&self) -> f64 {
        f64::from(self.last.max(1))
    }

    pub(super) fn on_sent(&mut self, pattern: Pattern) {
        if pattern == Pattern::Single {
            (self.size, self.left, self.last) = (1, 1, 1);
            return;
        }
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return;
        }
        self.last = self.size;
        self.size = match pattern {
            Pattern::Train => 3,
            Pattern::Random(most) => 1 + (self.next_random() >> 33) as u32 % most,
            _ if self.count.is_multiple_of(8) => 2,
            _ => 1,
        };
        self.count += 1;
        self.left = self.size;
    }

    const fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
