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

/// Events by time, the next one last; of equal ones the first that was put in comes first. There are never many: a list
/// is faster than a heap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agenda {
    events: Vec<(Nanos, Event)>,
}

impl Agenda {
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

    /// When the next event is.
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
        let mut agenda = Agenda::default();
        for (at, device) in [(20, 0), (10, 1), (20, 2), (10, 3), (30, 4)] {
            agenda.put(at, Event::Reply(device));
        }
        agenda.cancel(Event::Reply(3));
        let order: Vec<(Nanos, Option<Event>)> = (0..4).map(|_| (agenda.next(), agenda.take())).collect();
        assert_eq!(
            order,
            [(10, 1), (20, 0), (20, 2), (30, 4)].map(|(at, device)| (at, Some(Event::Reply(device))))
        );
        assert_eq!((agenda.next(), agenda.take()), (Nanos::MAX, None));
    }
}
