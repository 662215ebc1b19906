//! Packets on their way. Each stays in its place until it arrives; what moves is its ticket.

/// The place of something on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u32);

/// What is on its way, in memory that is used again: the place that was left last is taken first.
#[derive(Debug, Clone)]
pub(crate) struct Flight<T> {
    places: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self { places: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Flight<T> {
    /// Sets out.
    #[inline]
    pub(crate) fn put(&mut self, item: T) -> Ticket {
        if let Some(place) = self.vacant.pop() {
            self.places[place as usize] = Some(item);
            return Ticket(place);
        }
        self.places.push(Some(item));
        Ticket(self.places.len() as u32 - 1)
    }

    /// What travels on this ticket; `None` where it has arrived.
    #[inline]
    pub(crate) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut T> {
        self.places.get_mut(ticket.0 as usize)?.as_mut()
    }

    /// Arrives.
    #[inline]
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<T> {
        let item = self.places.get_mut(ticket.0 as usize)?.take()?;
        self.vacant.push(ticket.0);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut flight = Flight::default();
        let (first, second) = (flight.put('a'), flight.put('b'));
        assert_eq!(flight.take(first), Some('a'));
        assert_eq!((flight.take(first), flight.get_mut(first)), (None, None));
        assert_eq!(flight.put('c'), first);
        assert_eq!((flight.take(second), flight.take(first)), (Some('b'), Some('c')));
        assert_eq!(flight.places.len(), 2);
    }
}
