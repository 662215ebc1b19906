//! The first rate: trains of three packets measure the capacity while the rate doubles.

use super::delay::Pair;
use super::loss::Losses;

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
    /// More than this share lost is a queue that overflows before its delay shows.
    pub(super) const LOSS: f64 = 0.3;

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

    /// Whether so much is lost that a queue overflows, and not by chance: of 23 packets a channel with 15 % of loss takes
    /// more than 30 % in one start of twenty.
    pub(super) fn overflows(losses: Losses) -> bool {
        losses.sent > 20.0 && losses.ratio() - losses.deviation() > Self::LOSS
    }
}

/// Losses that cut the start short. Where a test finds them to be the channel's, the start begins again, once: a test that
/// is wrong does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    None,
    Unexplained,
    Explained,
}

impl Cut {
    pub(super) fn on_cut(&mut self) {
        *self = if *self == Self::None { Self::Unexplained } else { Self::Explained };
    }

    /// The losses were a queue's, or others are in it.
    pub(super) fn explain(&mut self) {
        if *self == Self::Unexplained {
            *self = Self::Explained;
        }
    }

    /// The losses were the channel's. Gives whether the start begins again.
    pub(super) fn take_back(&mut self) -> bool {
        let begins_again = *self == Self::Unexplained;
        self.explain();
        begins_again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_end_the_start_where_they_are_more_than_chance() {
        let of_23 = |lost| Start::overflows(Losses { sent: 23.0, lost });
        assert!(!of_23(9.0) && of_23(10.0), "0.39 and 0.43, with an error of 0.10");
        assert!(!Start::overflows(Losses { sent: 20.0, lost: 20.0 }), "too few");
    }

    #[test]
    fn a_start_begins_again_once() {
        let mut cut = Cut::None;
        assert!(!cut.take_back());
        let mut cut_and_explained = Cut::None;
        cut_and_explained.on_cut();
        cut_and_explained.explain();
        assert!(!cut_and_explained.take_back());
        cut = Cut::None;
        cut.on_cut();
        assert!(cut.take_back());
        cut.on_cut();
        assert!(!cut.take_back());
    }
}
