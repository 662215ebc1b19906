//! The viewers that are connected, and the offers that wait.

use super::{AccessUnit, Broadcast, Error, Estimate, Numbered};
use bytes::Bytes;
use seaway_units::TimeDelta;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The viewers of a broadcast, and the offers that wait for their connection.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// Pictures published so far on each track.
    published: Vec<u64>,
    /// Packets of sound published so far.
    sound: u64,
    next: u64,
}

/// What is queued for a viewer.
#[derive(Debug, Clone)]
pub(super) enum Queued {
    Picture(Numbered),
    Sound(SoundPacket),
}

/// An Opus packet and its number.
#[derive(Debug, Clone)]
pub(super) struct SoundPacket {
    pub(super) number: u64,
    /// When its sound is due, since the beginning of the track.
    pub(super) at: TimeDelta,
    pub(super) data: Bytes,
}

/// Names the session of a viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotId(pub u64);

#[derive(Debug)]
struct Slot {
    id: SlotId,
    /// Dropped with the slot; its viewer then leaves.
    queue: mpsc::Sender<Queued>,
    is_connected: bool,
    estimate: Option<Arc<Estimate>>,
}

impl Slots {
    pub(super) fn new(tracks: usize) -> Self {
        Self { slots: Vec::new(), published: vec![0; tracks], sound: 0, next: 0 }
    }

    /// Takes an offer that waits for its connection. Where too many wait, the oldest gives way.
    ///
    /// # Errors
    /// All slots are taken by viewers.
    pub(super) fn reserve(&mut self, queue: mpsc::Sender<Queued>) -> Result<SlotId, Error> {
        self.slots.retain(|slot| !slot.queue.is_closed());
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
        self.slots.push(Slot { id, queue, is_connected: false, estimate: None });
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
        self.slots.iter().filter(|slot| slot.is_connected && !slot.queue.is_closed()).count()
    }

    pub(super) fn estimates(&self) -> Vec<Arc<Estimate>> {
        let present = self.slots.iter().filter(|slot| !slot.queue.is_closed());
        present.filter_map(|slot| slot.estimate.clone()).collect()
    }

    /// Queues a picture for every viewer.
    pub(super) fn publish(&mut self, track: usize, unit: &AccessUnit) {
        let Some(published) = self.published.get_mut(track) else { return };
        let picture = Numbered { track, number: *published, unit: unit.clone() };
        *published += 1;
        self.queue(&Queued::Picture(picture));
    }

    /// Queues sound for every viewer.
    pub(super) fn publish_sound(&mut self, at: TimeDelta, data: Bytes) {
        let sound = SoundPacket { number: self.sound, at, data };
        self.sound += 1;
        self.queue(&Queued::Sound(sound));
    }

    fn queue(&self, queued: &Queued) {
        for slot in self.slots.iter().filter(|slot| slot.is_connected) {
            // A full queue drops it here; the viewer sees the gap in the numbers. A viewer that left is forgotten with the next
            // offer.
            let _ = slot.queue.try_send(queued.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(slots: &mut Slots) -> (SlotId, mpsc::Receiver<Queued>) {
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
