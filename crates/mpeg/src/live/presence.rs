//! When packets of each PID came last: a table that names what does not come changes nothing.

use seaway_units::{TimeDelta, Timestamp};

/// PIDs have 13 bits.
const PIDS: usize = 1 << 13;

/// The last packet of each PID.
#[derive(Debug)]
pub(super) struct Presence(Vec<Option<Timestamp>>);

impl Default for Presence {
    fn default() -> Presence {
        Presence(vec![None; PIDS])
    }
}

impl Presence {
    /// A packet of this PID came.
    pub(super) fn note(&mut self, now: Timestamp, pid: u16) {
        if let Some(last) = self.0.get_mut(usize::from(pid)) {
            *last = Some(now);
        }
    }

    /// True where one came within the last `span`.
    pub(super) fn is_within(&self, now: Timestamp, pid: u16, span: TimeDelta) -> bool {
        self.0.get(usize::from(pid)).copied().flatten().is_some_and(|last| now.since(last) <= span)
    }
}
