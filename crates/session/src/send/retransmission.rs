//! Media packets that may be sent again (RFC 4588), and requests for them.

use crate::config::RepairLimits;
use crate::message::RtpPacket;
use seaway_control::{PacketId, Subflow};
use seaway_units::TimeDelta;
use std::collections::VecDeque;

/// Requests that wait to be served at most.
const REQUESTS: usize = 4096;

/// The retransmission buffer: a ring by [`PacketId`], parallel to the send history.
#[derive(Debug)]
pub(super) struct RetransmissionBuffer {
    /// `None`: nothing is kept, nothing is sent again.
    limits: Option<RepairLimits>,
    /// Id of the oldest entry.
    first: PacketId,
    /// `None` for a packet that is no media.
    entries: VecDeque<Option<Entry>>,
    /// In order of request, with the subflow that each packet left by.
    requests: VecDeque<(Subflow, PacketId)>,
}

#[derive(Debug)]
struct Entry {
    packet: RtpPacket,
    repeats: u8,
}

impl RetransmissionBuffer {
    pub(super) fn new(limits: Option<RepairLimits>) -> Self {
        Self { limits, first: PacketId(0), entries: VecDeque::new(), requests: VecDeque::new() }
    }

    /// True where media packets are to be kept.
    #[inline]
    pub(super) fn is_enabled(&self) -> bool {
        self.limits.is_some()
    }

    /// A packet left; `None` where it is no media.
    #[inline]
    pub(super) fn on_sent(&mut self, packet: Option<RtpPacket>) {
        if self.is_enabled() {
            self.entries.push_back(packet.map(|packet| Entry { packet, repeats: 0 }));
        }
    }

    /// The send history forgot the packets before `oldest`.
    #[inline]
    pub(super) fn forget_before(&mut self, oldest: PacketId) {
        if self.first < oldest {
            let count = usize::try_from(oldest.0 - self.first.0).unwrap_or(usize::MAX);
            self.entries.drain(..count.min(self.entries.len()));
            self.first = oldest;
        }
    }

    fn entry(&mut self, id: PacketId) -> Option<&mut Entry> {
        let index = usize::try_from(id.0.checked_sub(self.first.0)?).ok()?;
        self.entries.get_mut(index)?.as_mut()
    }

    /// A packet that left then is requested. It is queued, unless it is queued already, was repeated often enough or is
    /// too old.
    pub(super) fn on_request(&mut self, age: TimeDelta, subflow: Subflow, id: PacketId) {
        let Some(limits) = self.limits else { return };
        let Some(entry) = self.entry(id) else { return };
        let is_worthwhile = entry.repeats < limits.repeats && age <= limits.age;
        let is_queued = self.requests.iter().any(|(_, queued)| *queued == id);
        if is_worthwhile && !is_queued && self.requests.len() < REQUESTS {
            self.requests.push_back((subflow, id));
        }
    }

    /// Requests that wait to be served.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.requests.len()
    }

    /// The first request that `subflow` is to serve, of so many subflows: those of a subflow that is gone go to another.
    #[inline]
    pub(super) fn next(&self, subflow: Subflow, subflows: u8) -> Option<PacketId> {
        if self.requests.is_empty() {
            return None;
        }
        self.requests.iter().find(|(of, _)| of.0 % subflows == subflow.0).map(|(_, id)| *id)
    }

    /// Takes a request out of the queue; gives its packet, unless that is forgotten.
    pub(super) fn take(&mut self, id: PacketId) -> Option<RtpPacket> {
        self.requests.retain(|(_, queued)| *queued != id);
        let entry = self.entry(id)?;
        entry.repeats += 1;
        Some(entry.packet.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_repeated_as_often_as_allowed() {
        let limits = RepairLimits { repeats: 2, age: TimeDelta::from_secs(1) };
        let mut buffer = RetransmissionBuffer::new(Some(limits));
        buffer.on_sent(None);
        buffer.on_sent(Some(RtpPacket::default()));
        buffer.on_request(limits.age + TimeDelta::from_millis(1), Subflow(0), PacketId(1));
        buffer.on_request(limits.age, Subflow(0), PacketId(0));
        assert_eq!(buffer.waiting(), 0, "too old, and no media");
        for repeat in 0..3 {
            buffer.on_request(limits.age, Subflow(5), PacketId(1));
            assert_eq!((buffer.next(Subflow(0), 4), buffer.waiting()), (None, usize::from(repeat < 2)));
            let next = buffer.next(Subflow(1), 4);
            assert_eq!(next.and_then(|id| buffer.take(id)).is_some(), repeat < 2);
        }
    }
}
