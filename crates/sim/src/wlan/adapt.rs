//! Which mode the next data frame takes (sheet `wlan`, 5).

use crate::wlan::medium::ModeId;

/// The choice of one device for one peer.
#[derive(Debug)]
pub(crate) enum Adaptation {
    /// Always the same.
    Fixed(ModeId),
}

impl Adaptation {
    pub(crate) fn choose(&mut self) -> ModeId {
        match self {
            Self::Fixed(mode) => *mode,
        }
    }
}
