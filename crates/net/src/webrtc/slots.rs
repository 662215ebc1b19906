//! The viewers that are connected, and the offers that wait.

use super::{AccessUnit, Broadcast, Error, Estimate, Numbered};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The viewers of a broadcast, and the offers that wait for their connection.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// Pictures published so far on each track.
    published: Vec<u64>,
    next: u64,
}

/// Names the session of a viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotId(pub u64);

#[derive(Debug)]
struct Slot {
    id: SlotId,
    /// Dropped with the slot; its viewer then leaves.
    pictures: mpsc::Sender<Numbered>,
    is_connected: bool,
    estimate: Option<Arc<Estimate>>,
}

impl Slots {
    pub(super) fn new(tracks: usize) -> Self {
        Self { slots: Vec::new(), published: vec![0; tracks], next: 0 }
    }

    /// Takes an offer that waits for its connection. Where too many wait, the oldest gives way.
    ///
    /// # Errors
    /// All slots are taken by viewers.
    pub(super) fn reserve(&mut self, pictures: mpsc::Sender<Numbered>) -> Result<SlotId, Error> {
        self.slots.retain(|slot| !slot.pictures.is_closed());
        let viewers = self.viewers();
        if viewers >= Broadcast::VIEWERS {
            return Err(Error::Full { limit: Broadcast::VIEWERS });
        }
        if self.slots.len() - viewers >= Broadcast::OFFERS
            && let Some(oldest) = self.slots.iter().position(|slot| !slot.is_connected)
        {
            self.slots.remove(oldest);
        }
        let id = SlotId(self.next);
        self.next += 1;
        self.slots.push(Slot { id, pictures, is_connected: false, estimate: None });
        Ok(id)
    }

    /// The connection stands. False where others have taken all the slots in the meantime.
    pub(super) fn connect(&mut self, id: SlotId) -> bool {
        let is_free = self.viewers() < Broadcast::VIEWERS;
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.id == id) else { return false };
        slot.is_connected |= is_free;
        slot.is_connected
    }

    pub(super) fn set_estimate(&mut self, id: SlotId, estimate: Option<Arc<Estimate>>) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.id == id) {
            slot.estimate = estimate;
        }
    }

    /// True where there was such a slot.
    pub(super) fn release(&mut self, id: SlotId) -> bool {
        let before = self.slots.len();
        self.slots.retain(|slot| slot.id != id);
        self.slots.len() < before
    }

    /// The number of viewers whose connection stands.
    pub(super) fn viewers(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_connected && !slot.pictures.is_closed()).count()
    }

    pub(super) fn estimates(&self) -> Vec<Arc<Estimate>> {
        let present = self.slots.iter().filter(|slot| !slot.pictures.is_closed());
        present.filter_map(|slot| slot.estimate.clone()).collect()
    }

    /// Queues a picture for every viewer.
    pub(super) fn publish(&mut self, track: usize, unit: &AccessUnit) {
        let Some(published) = self.published.get_mut(track) else { return };
        let picture = Numbered { track, number: *published, unit: unit.clone() };
        *published += 1;
        for slot in self.slots.iter().filter(|slot| slot.is_connected) {
            // A full queue drops the picture here; the viewer sees the gap in the numbers. A viewer that left is forgotten
            // with the next offer.
            let _ = slot.pictures.try_send(picture.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(slots: &mut Slots) -> (SlotId, mpsc::Receiver<Numbered>) {
        let (pictures, queue) = mpsc::channel(1);
        (slots.reserve(pictures).unwrap(), queue)
    }

    #[test]
    fn offers_alone_block_no_viewer() {
        let mut slots = Slots::new(1);
        let waiting: Vec<_> = (0..100).map(|_| offer(&mut slots)).collect();
        assert_eq!(slots.viewers(), 0);
        let (newest, _queue) = offer(&mut slots);
        assert!(slots.connect(newest));
        assert_eq!(slots.viewers(), 1);
        // The oldest gave way.
        assert!(!slots.connect(waiting[0].0) && slots.connect(waiting[99].0));
    }

    #[test]
    fn viewers_are_bounded_and_keep_their_seats() {
        let mut slots = Slots::new(1);
        let viewers: Vec<_> = (0..=Broadcast::VIEWERS).map(|_| offer(&mut slots)).collect();
        let connected = viewers.iter().filter(|(id, _)| slots.connect(*id)).count();
        assert_eq!(connected, Broadcast::VIEWERS);
        let (pictures, _queue) = mpsc::channel(1);
        assert!(matches!(slots.reserve(pictures.clone()), Err(Error::Full { .. })));
        drop(viewers);
        assert!(slots.reserve(pictures).is_ok(), "who left has freed a slot");
    }
}
