//! The wall clock.

use seaway_units::{TimeDelta, Timestamp};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time between two snapshots of a machine's state.
pub const SNAPSHOT_INTERVAL: TimeDelta = TimeDelta::from_millis(100);

/// When the snapshot after the one due at `due` is due; snapshots missed by `now` are left out.
pub fn next_snapshot(due: Timestamp, now: Timestamp) -> Timestamp {
    let next = due + SNAPSHOT_INTERVAL;
    if next > now { next } else { now + SNAPSHOT_INTERVAL }
}

/// A monotonic clock with an origin of its own. Copies agree.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

#[expect(clippy::disallowed_methods, reason = "here the wall clock enters")]
impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// The present instant.
    pub fn now(&self) -> Timestamp {
        let nanos = self.origin.elapsed().as_nanos();
        Timestamp::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// `at` for a library that has its time as [`Instant`].
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        self.origin + Duration::from_nanos(at.as_nanos())
    }

    /// The instant of a library on this clock; the origin where it is before.
    pub(crate) fn timestamp(&self, at: Instant) -> Timestamp {
        let nanos = at.saturating_duration_since(self.origin).as_nanos();
        Timestamp::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Sleeps until `due`; returns at once if that is past.
    pub fn sleep_until(&self, due: Timestamp) {
        let left = due.since(self.now());
        if left > TimeDelta::ZERO {
            std::thread::sleep(Duration::from_nanos(left.as_nanos() as u64));
        }
    }

    /// The instant of a kernel timestamp, which counts from the Unix epoch. That clock can be set at any time, so a stamp
    /// that is not within the last second is replaced by `now`.
    pub fn at_epoch(&self, now: Timestamp, since_epoch: Duration) -> Timestamp {
        let Ok(epoch_now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return now };
        match epoch_now.checked_sub(since_epoch) {
            Some(age) if age < Duration::from_secs(1) => now - TimeDelta::from_nanos(age.as_nanos() as i64),
            _ => now,
        }
    }
}
