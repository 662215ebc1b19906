//! The receiving end: order, losses, and delivery in time.

use crate::playout::PlayoutClock;
use crate::statistics::Counts;
use crate::{LossList, Sequence};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Packets that may wait: 24 MB at most.
pub(crate) const WINDOW: usize = 16_384;
/// From one report of a loss to the next, at least.
const REPORT_INTERVAL: TimeDelta = TimeDelta::from_millis(20);

/// A payload, and when it is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The sender's distance to the one before it, whatever the network did.
    pub at: Timestamp,
    /// The payload.
    pub payload: Vec<u8>,
}

#[derive(Debug)]
enum Slot {
    Missing { next_report: Timestamp },
    Present(Delivery),
}

/// Packets from the next one that is due to the last one that came.
#[derive(Debug)]
pub(crate) struct Reception {
    clock: PlayoutClock,
    first: Sequence,
    slots: VecDeque<Slot>,
    /// Slots at the front that are present.
    contiguous: usize,
    missing: usize,
    last_delivery: Timestamp,
    pub(crate) counts: Counts,
}

impl Reception {
    pub(crate) fn new(first: Sequence, clock: PlayoutClock) -> Self {
        Self {
            clock,
            first,
            slots: VecDeque::new(),
            contiguous: 0,
            missing: 0,
            last_delivery: Timestamp::ZERO,
            counts: Counts::default(),
        }
    }

    pub(crate) fn clock(&mut self) -> &mut PlayoutClock {
        &mut self.clock
    }

    /// The first packet that is missing, or the one behind all others.
    pub(crate) fn next(&self) -> Sequence {
        self.first + self.contiguous as u32
    }

    /// Whether a packet is missing before one that came.
    pub(crate) fn has_losses(&self) -> bool {
        self.missing > 0
    }

    /// Packets for which there is room.
    pub(crate) fn available(&self) -> usize {
        WINDOW - self.slots.len()
    }

    /// Whether a packet with this number would be kept.
    pub(crate) fn is_wanted(&self, sequence: Sequence) -> bool {
        let Ok(offset) = usize::try_from(sequence.since(self.first)) else { return false };
        match self.slots.get(offset) {
            Some(slot) => matches!(slot, Slot::Missing { .. }),
            None => self.slots.is_empty() || offset < WINDOW,
        }
    }

    /// Counts a packet that is not wanted.
    pub(crate) fn on_unwanted(&mut self, sequence: Sequence) {
        if sequence.since(self.first) >= WINDOW as i32 {
            self.counts.beyond += 1;
        } else {
            self.counts.late += 1;
        }
    }

    /// Keeps a packet. Returns the packets between it and those before it, which are lost.
    pub(crate) fn on_packet(
        &mut self,
        now: Timestamp,
        sequence: Sequence,
        timestamp: u32,
        is_retransmission: bool,
        payload: Vec<u8>,
    ) -> Option<(Sequence, Sequence)> {
        let mut offset = usize::try_from(sequence.since(self.first)).ok()?;
        if offset >= WINDOW {
            // Nothing waits: the sender has gone on without those before it.
            self.counts.dropped += offset as u64;
            (self.first, offset) = (sequence, 0);
        }
        let end = self.slots.len();
        let delivery = Delivery { at: self.clock.due(now, timestamp), payload };
        self.counts.packets += 1;
        self.counts.retransmitted += u64::from(is_retransmission);
        if let Some(slot) = self.slots.get_mut(offset) {
            *slot = Slot::Present(delivery);
            self.missing -= 1;
            self.extend();
            return None;
        }
        let next_report = now + REPORT_INTERVAL;
        self.slots.extend((end..offset).map(|_| Slot::Missing { next_report }));
        self.slots.push_back(Slot::Present(delivery));
        self.missing += offset - end;
        self.counts.lost += (offset - end) as u64;
        self.extend();
        (offset > end).then(|| (self.first + end as u32, self.first + (offset - 1) as u32))
    }

    fn extend(&mut self) {
        while matches!(self.slots.get(self.contiguous), Some(Slot::Present(_))) {
            self.contiguous += 1;
        }
    }

    /// The sender does not send these any more.
    pub(crate) fn on_drop_request(&mut self, first: Sequence, last: Sequence) {
        // What is missing is skipped when it is due; it is not reported any more.
        let begin = first.since(self.first).max(0) as usize;
        let end = (i64::from(last.since(self.first)) + 1).clamp(0, self.slots.len() as i64) as usize;
        for slot in self.slots.iter_mut().take(end).skip(begin) {
            if let Slot::Missing { next_report } = slot {
                *next_report = Timestamp::from_nanos(u64::MAX);
            }
        }
    }

    /// The packets whose loss is to be reported again, as the body of a loss report.
    pub(crate) fn poll_loss_report(&mut self, now: Timestamp, interval: TimeDelta) -> Option<Vec<u8>> {
        if self.missing == 0 {
            return None;
        }
        let again = now + interval.max(REPORT_INTERVAL);
        let mut ranges: Vec<(Sequence, Sequence)> = Vec::new();
        for (offset, slot) in self.slots.iter_mut().enumerate() {
            let Slot::Missing { next_report } = slot else { continue };
            if *next_report > now {
                continue;
            }
            let sequence = self.first + offset as u32;
            let is_full = ranges.len() == LossList::MAX_WORDS / 2;
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == sequence => *last = sequence,
                _ if is_full => break,
                _ => ranges.push((sequence, sequence)),
            }
            *next_report = again;
        }
        (!ranges.is_empty()).then(|| LossList::write(ranges))
    }

    /// When the next packet is due, with those missing before it.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Present(delivery) => Some(delivery.at),
            Slot::Missing { .. } => None,
        })
    }

    /// The next packet that is due. What is missing before it is dropped.
    pub(crate) fn poll_delivery(&mut self, now: Timestamp) -> Option<Delivery> {
        if self.next_due()? > now {
            return None;
        }
        loop {
            let slot = self.slots.pop_front()?;
            self.first = self.first + 1;
            self.contiguous = self.contiguous.saturating_sub(1);
            match slot {
                Slot::Missing { .. } => {
                    self.missing -= 1;
                    self.counts.dropped += 1;
                }
                Slot::Present(mut delivery) => {
                    self.extend();
                    delivery.at = delivery.at.max(self.last_delivery);
                    self.last_delivery = delivery.at;
                    return Some(delivery);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(ms)
    }

    fn reception(first: u32) -> Reception {
        Reception::new(Sequence::new(first), PlayoutClock::new(at(0), 0, TimeDelta::from_millis(100)))
    }

    /// Packet `n` behind `first` is sent at `n` ms and arrives at once.
    fn push(reception: &mut Reception, first: u32, n: u32) -> Option<(u32, u32)> {
        let sequence = Sequence::new(first) + n;
        if !reception.is_wanted(sequence) {
            reception.on_unwanted(sequence);
            return None;
        }
        let lost = reception.on_packet(at(n.into()), sequence, n * 1000, false, vec![n as u8]);
        lost.map(|(from, to)| (from.value(), to.value()))
    }

    fn delivered(reception: &mut Reception, now: Timestamp) -> Vec<u8> {
        std::iter::from_fn(|| reception.poll_delivery(now)).map(|delivery| delivery.payload[0]).collect()
    }

    #[test]
    fn packets_are_delivered_in_order_when_they_are_due() {
        let first = 0x7fff_fffe;
        let mut reception = reception(first);
        for n in [0, 1, 4] {
            let lost = push(&mut reception, first, n);
            assert_eq!(lost, (n == 4).then_some((0, 1)));
        }
        assert_eq!(reception.next(), Sequence::new(0));
        assert_eq!(push(&mut reception, first, 3), None);
        assert_eq!(push(&mut reception, first, 3), None);
        assert_eq!((reception.counts.lost, reception.counts.late), (2, 1));
        assert_eq!(delivered(&mut reception, at(99)), []);
        assert_eq!(reception.next_due(), Some(at(100)));
        assert_eq!(delivered(&mut reception, at(102)), [0, 1]);
        // The third one did not come: it is dropped when the fourth one is due.
        assert_eq!(delivered(&mut reception, at(103)), [3]);
        assert_eq!(reception.counts.dropped, 1);
        assert_eq!(push(&mut reception, first, 2), None);
        assert_eq!(delivered(&mut reception, at(200)), [4]);
        assert_eq!((reception.counts.late, reception.missing, reception.next()), (2, 0, Sequence::new(3)));
    }

    #[test]
    fn losses_are_reported_until_they_are_there_or_dropped() {
        let mut reception = reception(0);
        for n in [0, 3, 4, 6] {
            push(&mut reception, 0, n);
        }
        let report = |reception: &mut Reception, now: i64| -> Vec<(u32, u32)> {
            let report = reception.poll_loss_report(at(now), TimeDelta::ZERO).unwrap_or_default();
            LossList::of(&report).ranges().map(|(first, last)| (first.value(), last.value())).collect()
        };
        // The first report of each was the result of `on_packet`.
        assert_eq!(report(&mut reception, 10), []);
        assert_eq!(report(&mut reception, 26), [(1, 2), (5, 5)]);
        assert_eq!(report(&mut reception, 30), []);
        reception.on_drop_request(Sequence::new(1), Sequence::new(1));
        reception.on_drop_request(Sequence::new(0), Sequence::new(0x3fff_ffff));
        assert_eq!(report(&mut reception, 50), []);
        assert_eq!(delivered(&mut reception, at(200)), [0, 3, 4, 6]);
        assert_eq!((reception.counts.dropped, reception.missing, reception.contiguous), (3, 0, 0));
    }

    #[test]
    fn the_buffer_is_bounded() {
        let mut reception = reception(0);
        push(&mut reception, 0, 0);
        push(&mut reception, 0, WINDOW as u32 - 1);
        assert_eq!((reception.available(), reception.missing), (0, WINDOW - 2));
        assert_eq!(push(&mut reception, 0, WINDOW as u32), None);
        assert_eq!(reception.counts.beyond, 1);
        delivered(&mut reception, at(1_000_000));
        assert_eq!(reception.available(), WINDOW);
        // Nothing waits, so the stream goes on far behind.
        assert_eq!(push(&mut reception, 0, 5 * WINDOW as u32), None);
        assert_eq!(reception.counts.dropped, (5 * WINDOW - 2) as u64);
        assert_eq!(reception.next(), Sequence::new(5 * WINDOW as u32 + 1));
    }
}
