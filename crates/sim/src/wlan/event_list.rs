//! The event list of a cell.

use crate::wlan::medium::{DeviceId, PpduId};
use crate::wlan::mode::Nanos;

/// Events of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A PPDU ends.
    End(PpduId),
    /// A subframe that is not the last ends.
    Subframe(PpduId, u16),
    /// A device responds.
    Reply(DeviceId),
    /// A device goes on with its exchange.
    Continue(DeviceId),
    /// A response is missed.
    Timeout(DeviceId),
    /// An unused reservation ends; it was made at that instant.
    Unreserve(DeviceId, Nanos),
    /// A beacon is due.
    Beacon,
    /// A station has to do something for its association.
    Association,
}

/// Events by time, the next one last; of events at one instant the first that was put in comes first. The list is always
/// short, so it is faster than a heap.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventList {
    events: Vec<(Nanos, Event)>,
}

impl EventList {
    #[inline]
    pub(crate) fn put(&mut self, at: Nanos, event: Event) {
        self.events.push((at, event));
        let mut place = self.events.len() - 1;
        while place > 0 && self.events[place - 1].0 <= at {
            self.events.swap(place - 1, place);
            place -= 1;
        }
    }

    #[inline]
    pub(crate) fn cancel(&mut self, event: Event) {
        self.events.retain(|&(_, known)| known != event);
    }

    /// The instant of the next event.
    #[inline]
    pub(crate) fn next(&self) -> Nanos {
        self.events.last().map_or(Nanos::MAX, |&(at, _)| at)
    }

    /// The next event.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Event> {
        self.events.pop().map(|(_, event)| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_they_were_put() {
        let mut events = EventList::default();
        for (at, device) in [(20, 0), (10, 1), (20, 2), (10, 3), (30, 4)] {
            events.put(at, Event::Reply(device));
        }
        events.cancel(Event::Reply(3));
        let order: Vec<(Nanos, Option<Event>)> = (0..4).map(|_| (events.next(), events.take())).collect();
        assert_eq!(
            order,
            [(10, 1), (20, 0), (20, 2), (30, 4)].map(|(at, device)| (at, Some(Event::Reply(device))))
        );
        assert_eq!((events.next(), events.take()), (Nanos::MAX, None));
    }
}
