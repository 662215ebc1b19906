//! The viewers that are connected, and the offers that wait.

use super::{AccessUnit, Broadcast, Error, Estimate, Numbered};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The viewers of a broadcast, and the offers that wait for their connection.
#[derive(Debug)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    /// Pictures published so far on each track.
    published: Vec<u64>,
    next: u64,
}

/// Names the session of a viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatId(pub u64);

#[derive(Debug)]
struct Seat {
    id: SeatId,
    /// Dropped with the seat; its viewer then leaves.
    pictures: mpsc::Sender<Numbered>,
    is_connected: bool,
    estimate: Option<Arc<Estimate>>,
}

impl Seats {
    pub(super) fn new(tracks: usize) -> Self {
        Self { seats: Vec::new(), published: vec![0; tracks], next: 0 }
    }

    /// Takes an offer that waits for its connection. Where too many wait, the oldest gives way.
    ///
    /// # Errors
    /// All seats are taken by viewers.
    pub(super) fn reserve(&mut self, pictures: mpsc::Sender<Numbered>) -> Result<SeatId, Error> {
        self.seats.retain(|seat| !seat.pictures.is_closed());
        let viewers = self.viewers();
        if viewers >= Broadcast::VIEWERS {
            return Err(Error::Full { limit: Broadcast::VIEWERS });
        }
        if self.seats.len() - viewers >= Broadcast::OFFERS
            && let Some(oldest) = self.seats.iter().position(|seat| !seat.is_connected)
        {
            self.seats.remove(oldest);
        }
        let id = SeatId(self.next);
        self.next += 1;
        self.seats.push(Seat { id, pictures, is_connected: false, estimate: None });
        Ok(id)
    }

    /// The connection stands. False where others have taken all the seats in the meantime.
    pub(super) fn connect(&mut self, id: SeatId) -> bool {
        let is_free = self.viewers() < Broadcast::VIEWERS;
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.id == id) else { return false };
        seat.is_connected |= is_free;
        seat.is_connected
    }

    pub(super) fn set_estimate(&mut self, id: SeatId, estimate: Option<Arc<Estimate>>) {
        if let Some(seat) = self.seats.iter_mut().find(|seat| seat.id == id) {
            seat.estimate = estimate;
        }
    }

    /// True where there was such a seat.
    pub(super) fn release(&mut self, id: SeatId) -> bool {
        let before = self.seats.len();
        self.seats.retain(|seat| seat.id != id);
        self.seats.len() < before
    }

    /// The number of viewers whose connection stands.
    pub(super) fn viewers(&self) -> usize {
        self.seats.iter().filter(|seat| seat.is_connected && !seat.pictures.is_closed()).count()
    }

    pub(super) fn estimates(&self) -> Vec<Arc<Estimate>> {
        let present = self.seats.iter().filter(|seat| !seat.pictures.is_closed());
        present.filter_map(|seat| seat.estimate.clone()).collect()
    }

    /// Queues a picture for every viewer.
    pub(super) fn publish(&mut self, track: usize, unit: &AccessUnit) {
        let Some(published) = self.published.get_mut(track) else { return };
        let picture = Numbered { track, number: *published, unit: unit.clone() };
        *published += 1;
        for seat in self.seats.iter().filter(|seat| seat.is_connected) {
            // A full queue drops the picture here; the viewer sees the gap in the numbers. A viewer that left is forgotten
            // with the next offer.
            let _ = seat.pictures.try_send(picture.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(seats: &mut Seats) -> (SeatId, mpsc::Receiver<Numbered>) {
        let (pictures, queue) = mpsc::channel(1);
        (seats.reserve(pictures).unwrap(), queue)
    }

    #[test]
    fn offers_alone_block_no_viewer() {
        let mut seats = Seats::new(1);
        let waiting: Vec<_> = (0..100).map(|_| offer(&mut seats)).collect();
        assert_eq!(seats.viewers(), 0);
        let (newest, _queue) = offer(&mut seats);
        assert!(seats.connect(newest));
        assert_eq!(seats.viewers(), 1);
        // The oldest gave way.
        assert!(!seats.connect(waiting[0].0) && seats.connect(waiting[99].0));
    }

    #[test]
    fn viewers_are_bounded_and_keep_their_seats() {
        let mut seats = Seats::new(1);
        let viewers: Vec<_> = (0..=Broadcast::VIEWERS).map(|_| offer(&mut seats)).collect();
        let connected = viewers.iter().filter(|(id, _)| seats.connect(*id)).count();
        assert_eq!(connected, Broadcast::VIEWERS);
        let (pictures, _queue) = mpsc::channel(1);
        assert!(matches!(seats.reserve(pictures.clone()), Err(Error::Full { .. })));
        drop(viewers);
        assert!(seats.reserve(pictures).is_ok(), "who left has left a seat");
    }
}
