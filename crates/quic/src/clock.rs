//! A transport's instants as ours.

use seaway_units::{TimeDelta, Timestamp};
use std::time::{Duration, Instant};

/// Counts from the making of the controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) const fn new(origin: Instant) -> Self {
        Self(origin)
    }

    /// An instant before the origin is the origin.
    pub(crate) fn at(self, instant: Instant) -> Timestamp {
        Timestamp::ZERO + span(instant.saturating_duration_since(self.0))
    }
}

/// A transport's span as ours.
pub(crate) fn span(duration: Duration) -> TimeDelta {
    TimeDelta::from_nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
