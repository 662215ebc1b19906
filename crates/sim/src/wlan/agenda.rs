//! What is certain to happen: a handful of events, in order.

use crate::wlan::medium::{DeviceId, PpduId};
use crate::wlan::mode::Nanos;

/// What happens by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A PPDU ends.
    End(PpduId),
    /// A subframe that is not the last ends.
    Subframe(PpduId, u16),
    /// A device answers.
    Reply(DeviceId),
    /// A device goes on with its exchange.
    Continue(DeviceId),
    /// A response is missed.
    Timeout(DeviceId),
    /// A reservation that nobody used ends; it was made at that instant.
    Unreserve(DeviceId, Nanos),
    /// A beacon is due.
    Beacon,
}

/// Events by time; of equal ones the first that was put in. There are never many: a list is faster than a heap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agenda {
    events: Vec<(Nanos, u64, Event)>,
    put: u64,
}

impl Agenda {
    pub(crate) fn put(&mut self, at: Nanos, event: Event) {
        self.put += 1;
        self.events.push((at, self.put, event));
    }

    pub(crate) fn cancel(&mut self, event: Event) {
        self.events.retain(|&(.., known)| known != event);
    }

    fn first(&self) -> Option<usize> {
        let all = self.events.iter().enumerate();
        all.min_by_key(|(_, (at, order, _))| (*at, *order)).map(|(index, _)| index)
    }

    /// When the next event is.
    pub(crate) fn next(&self) -> Nanos {
        self.events.iter().map(|&(at, ..)| at).min().unwrap_or(Nanos::MAX)
    }

    /// The next event.
    pub(crate) fn take(&mut self) -> Option<Event> {
        let (.., event) = self.events.swap_remove(self.first()?);
        Some(event)
    }
}
