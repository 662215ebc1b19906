//! The first rate: trains of three packets measure the capacity while the rate doubles.

use super::delay::Pair;

/// Ends the start at the capacity, not at a queue.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// Arrival gaps inside trains, in all.
    gaps: f64,
    count: f64,
}

impl Start {
    /// Gaps until the capacity of the trains slows the start down, and until it ends it.
    const FIRST: f64 = 6.0;
    const ENOUGH: f64 = 12.0;

    pub(super) const fn new() -> Self {
        Self { gaps: 0.0, count: 0.0 }
    }

    pub(super) fn on_pair(&mut self, pair: &Pair) {
        if pair.is_back_to_back() {
            self.gaps += pair.spacing;
            self.count += 1.0;
        }
    }

    fn capacity(&self, packet: f64) -> f64 {
        packet * 8.0 * self.count / self.gaps.max(1e-6)
    }

    /// The factor of the rate in one loop delay.
    pub(super) fn growth(&self, rate: f64, packet: f64) -> f64 {
        if self.count >= Self::FIRST && rate > 0.5 * self.capacity(packet) { 1.4 } else { 2.0 }
    }

    pub(super) fn has_reached(&self, rate: f64, packet: f64) -> bool {
        self.count >= Self::ENOUGH && rate > 0.9 * self.capacity(packet)
    }
}
