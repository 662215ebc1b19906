//! Rate adaptation: which mode the next data frame uses (`docs/models/wlan.md`, section "Rate adaptation").

use crate::wlan::medium::ModeId;
use crate::wlan::minstrel::Minstrel;
use crate::wlan::mode::Nanos;

/// The choice of one device for one peer.
#[derive(Debug)]
pub(crate) enum RateAdaptation {
    /// Always the same.
    Fixed(ModeId),
    /// By trial, among the modes from the first of data on.
    Trial(ModeId, Box<Minstrel>),
}

impl RateAdaptation {
    /// For the next data.
    pub(crate) fn choose(&mut self) -> ModeId {
        match self {
            Self::Fixed(mode) => *mode,
            Self::Trial(first, minstrel) => *first + minstrel.choose() as ModeId,
        }
    }

    /// Without a trial.
    pub(crate) fn current(&self) -> ModeId {
        match self {
            Self::Fixed(mode) => *mode,
            Self::Trial(first, minstrel) => *first + minstrel.current() as ModeId,
        }
    }

    /// `good` frames of a PPDU were acknowledged and `bad` were not.
    pub(crate) fn report(&mut self, now: Nanos, good: usize, bad: usize) {
        if let Self::Trial(_, minstrel) = self {
            minstrel.report(now, good as u32, bad as u32);
        }
    }
}
