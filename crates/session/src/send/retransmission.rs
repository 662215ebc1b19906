//! Media packets that may be sent again (RFC 4588), and requests for them.

use super::repair::{Request, Service};
use crate::config::RepairLimits;
use crate::message::RtpPacket;
use seaway_control::{PacketId, Subflow};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Requests that wait to be served at most.
const REQUESTS: usize = 4096;
/// A request is about a packet before its last repetition where that was less than this part of the round-trip time ago.
const UNDER_WAY: f64 = 0.8;

/// The retransmission buffer: a ring by [`PacketId`], parallel to the send history.
#[derive(Debug)]
pub(super) struct RetransmissionBuffer {
    /// `None`: nothing is kept, nothing is sent again.
    limits: Option<RepairLimits>,
    /// Id of the oldest entry.
    first: PacketId,
    /// `None` for a packet that is no media.
    entries: VecDeque<Option<Entry>>,
    /// In order of request.
    requests: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Entry {
    packet: RtpPacket,
    /// Since when its frame was waiting to leave.
    since: Timestamp,
    repeats: u8,
    /// When it was last sent again.
    repeated: Option<Timestamp>,
}

/// A packet that is to be sent again.
#[derive(Debug)]
struct Waiting {
    /// The subflow that it left by.
    subflow: Subflow,
    id: PacketId,
    /// It leaves behind this packet, or where nothing else waits.
    after: PacketId,
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

    /// A packet left, of which a copy is kept; `None` where it is no media.
    #[inline]
    pub(super) fn on_sent(&mut self, since: Timestamp, packet: Option<&RtpPacket>) {
        if self.is_enabled() {
            let entry =
                |packet: &RtpPacket| Entry { packet: packet.clone(), since, repeats: 0, repeated: None };
            self.entries.push_back(packet.map(entry));
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

    fn index(&self, id: PacketId) -> Option<usize> {
        usize::try_from(id.0.checked_sub(self.first.0)?).ok()
    }

    /// A packet that left at `sent` is requested: how it was sent until now. `None` where it is queued or under way
    /// already, was repeated often enough, is too old or forgotten.
    pub(super) fn on_request(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        rtt: Option<TimeDelta>,
        id: PacketId,
    ) -> Option<Request> {
        let limits = self.limits?;
        let entry = self.entries.get(self.index(id)?)?.as_ref()?;
        let is_worthwhile = entry.repeats < limits.repeats && now.since(sent) <= limits.age;
        let is_queued = self.requests.iter().any(|waiting| waiting.id == id);
        let is_under_way = entry
            .repeated
            .zip(rtt)
            .is_some_and(|(repeated, rtt)| now.since(repeated) < rtt.mul_f64(UNDER_WAY));
        let is_admitted = is_worthwhile && !is_queued && !is_under_way && self.requests.len() < REQUESTS;
        let is_last = entry.repeats + 1 >= limits.repeats;
        is_admitted.then_some(Request { since: entry.since, sent: 1 + entry.repeats, is_last })
    }

    /// Queues a packet that left by `subflow` as often as is wanted.
    pub(super) fn queue(&mut self, subflow: Subflow, id: PacketId, service: Service) {
        let next = self.first.0 + self.entries.len() as u64;
        for copy in 0..u64::from(service.copies) {
            self.requests.push_back(Waiting { subflow, id, after: PacketId(next + copy * service.spacing) });
        }
    }

    /// Requests that wait to be served.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.requests.len()
    }

    /// The request that `subflow` is to serve first, the oldest packet's, of so many subflows: those of a subflow that is
    /// gone go to another.
    #[inline]
    pub(super) fn next(&self, subflow: Subflow, subflows: u8) -> Option<PacketId> {
        if self.requests.is_empty() {
            return None;
        }
        let departed = PacketId(self.first.0 + self.entries.len() as u64);
        let is_due =
            |waiting: &&Waiting| waiting.after <= departed && waiting.subflow.0 % subflows == subflow.0;
        self.requests.iter().filter(is_due).map(|waiting| waiting.id).min()
    }

    /// The requests that are due, or the copies that leave later unless nothing else waits, whatever subflow their packets left by.
    pub(super) fn requested(&self, is_due: bool) -> impl Iterator<Item = PacketId> + '_ {
        let departed = PacketId(self.first.0 + self.entries.len() as u64);
        let requests = self.requests.iter().filter(move |waiting| (waiting.after <= departed) == is_due);
        requests.map(|waiting| waiting.id)
    }

    /// The first copy that `subflow` is to send where nothing else waits.
    #[inline]
    pub(super) fn next_copy(&self, subflow: Subflow, subflows: u8) -> Option<PacketId> {
        let own = self.requests.iter().find(|waiting| waiting.subflow.0 % subflows == subflow.0);
        own.map(|waiting| waiting.id)
    }

    /// Takes a request out of the queue; gives its packet, unless that is forgotten or its frame waits since before
    /// `useful_since`.
    pub(super) fn take(
        &mut self,
        now: Timestamp,
        useful_since: Timestamp,
        id: PacketId,
    ) -> Option<RtpPacket> {
        let place = self.requests.iter().position(|waiting| waiting.id == id)?;
        self.requests.remove(place);
        let index = self.index(id)?;
        let entry = self.entries.get_mut(index)?.as_mut().filter(|entry| entry.since >= useful_since)?;
        entry.repeats = entry.repeats.saturating_add(1);
        entry.repeated = Some(now);
        Some(entry.packet.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: Service = Service { copies: 1, spacing: 0 };

    fn buffer(repeats: u8) -> RetransmissionBuffer {
        let mut buffer =
            RetransmissionBuffer::new(Some(RepairLimits { repeats, age: TimeDelta::from_secs(1) }));
        buffer.on_sent(Timestamp::ZERO, None);
        buffer.on_sent(Timestamp::ZERO, Some(&RtpPacket::default()));
        buffer
    }

    #[test]
    fn a_packet_is_repeated_as_often_as_allowed() {
        let (mut buffer, sent, now) = (buffer(2), Timestamp::ZERO, Timestamp::ZERO + TimeDelta::from_secs(1));
        let late = now + TimeDelta::from_millis(1);
        assert!(buffer.on_request(late, sent, None, PacketId(1)).is_none(), "too old");
        assert!(buffer.on_request(now, sent, None, PacketId(0)).is_none(), "no media");
        for repeat in 0..3 {
            let request = buffer.on_request(now, sent, None, PacketId(1));
            let found = request.as_ref().map(|request| (request.sent, request.is_last));
            assert_eq!(found, (repeat < 2).then_some((repeat + 1, repeat == 1)));
            if request.is_some() {
                buffer.queue(Subflow(5), PacketId(1), ONCE);
                assert!(buffer.on_request(now, sent, None, PacketId(1)).is_none(), "it is queued");
            }
            assert_eq!((buffer.next(Subflow(0), 4), buffer.waiting()), (None, usize::from(repeat < 2)));
            let next = buffer.next(Subflow(1), 4);
            assert_eq!(next.and_then(|id| buffer.take(now, sent, id)).is_some(), repeat < 2);
        }
    }

    #[test]
    fn without_repair_nothing_is_kept() {
        let mut buffer = RetransmissionBuffer::new(None);
        buffer.on_sent(Timestamp::ZERO, Some(&RtpPacket::default()));
        assert!(!buffer.is_enabled() && buffer.entries.is_empty());
        assert!(buffer.on_request(Timestamp::ZERO, Timestamp::ZERO, None, PacketId(0)).is_none());
    }

    #[test]
    fn what_the_history_forgot_is_not_sent_again() {
        let mut buffer = buffer(3);
        for sequence_number in 2..5 {
            let packet = RtpPacket { sequence_number, ..RtpPacket::default() };
            buffer.on_sent(Timestamp::ZERO, Some(&packet));
        }
        for oldest in [2, 3, 1] {
            buffer.forget_before(PacketId(oldest));
        }
        let mut served = |id| {
            buffer.on_request(Timestamp::ZERO, Timestamp::ZERO, None, PacketId(id))?;
            buffer.queue(Subflow(0), PacketId(id), ONCE);
            buffer.take(Timestamp::ZERO, Timestamp::ZERO, PacketId(id)).map(|packet| packet.sequence_number)
        };
        assert_eq!([1, 2, 3, 4, 5].map(&mut served), [None, None, Some(3), Some(4), None]);
        buffer.forget_before(PacketId(100));
        assert_eq!(buffer.entries.len(), 0);
    }

    #[test]
    fn so_many_requests_wait() {
        let mut buffer = buffer(3);
        buffer.on_sent(Timestamp::ZERO, Some(&RtpPacket::default()));
        for _ in 1..REQUESTS {
            buffer.queue(Subflow(0), PacketId(1), ONCE);
        }
        let is_admitted = |buffer: &mut RetransmissionBuffer| {
            buffer.on_request(Timestamp::ZERO, Timestamp::ZERO, None, PacketId(2)).is_some()
        };
        assert!(is_admitted(&mut buffer));
        buffer.queue(Subflow(0), PacketId(1), ONCE);
        assert!(!is_admitted(&mut buffer));
    }

    #[test]
    fn a_packet_under_way_is_not_repeated() {
        let mut buffer = buffer(3);
        let (sent, rtt) = (Timestamp::ZERO, Some(TimeDelta::from_millis(50)));
        let mut serve = |millis: i64| {
            let now = Timestamp::ZERO + TimeDelta::from_millis(millis);
            let is_served = buffer.on_request(now, sent, rtt, PacketId(1)).is_some();
            if is_served {
                buffer.queue(Subflow(0), PacketId(1), ONCE);
                assert!(buffer.take(now, sent, PacketId(1)).is_some());
            }
            is_served
        };
        assert_eq!([60, 70, 99, 101].map(&mut serve), [true, false, false, true]);
    }

    #[test]
    fn copies_leave_apart_unless_nothing_else_waits() {
        let mut buffer = buffer(3);
        buffer.queue(Subflow(0), PacketId(1), Service { copies: 3, spacing: 3 });
        let due = |buffer: &RetransmissionBuffer| buffer.next(Subflow(0), 1);
        assert!(buffer.take(Timestamp::ZERO, Timestamp::ZERO, due(&buffer).expect("the first")).is_some());
        buffer.on_sent(Timestamp::ZERO, None);
        buffer.on_sent(Timestamp::ZERO, None);
        assert_eq!((due(&buffer), buffer.waiting()), (None, 2), "two packets left since");
        buffer.on_sent(Timestamp::ZERO, None);
        assert!(buffer.take(Timestamp::ZERO, Timestamp::ZERO, due(&buffer).expect("the second")).is_some());
        assert_eq!(due(&buffer), None);
        let third = buffer.next_copy(Subflow(0), 1).expect("nothing else waits");
        assert!(buffer.take(Timestamp::ZERO, Timestamp::ZERO, third).is_some());
        assert_eq!(buffer.waiting(), 0);
    }

    #[test]
    fn the_oldest_leaves_first_and_what_is_useless_not_at_all() {
        let (mut buffer, at) = (buffer(3), |millis| Timestamp::ZERO + TimeDelta::from_millis(millis));
        buffer.on_sent(at(40), Some(&RtpPacket::default()));
        for id in [2, 1] {
            buffer.queue(Subflow(0), PacketId(id), ONCE);
        }
        assert_eq!(buffer.next(Subflow(0), 1), Some(PacketId(1)));
        assert!(buffer.take(at(320), at(20), PacketId(1)).is_none(), "its frame cannot be shown any more");
        assert_eq!(buffer.next(Subflow(0), 1), Some(PacketId(2)));
        assert!(buffer.take(at(320), at(20), PacketId(2)).is_some());
    }

    /// What left by a subflow that is gone goes to another: by number 6 of four to number 2, now or where nothing else waits.
    #[test]
    fn requests_of_a_subflow_that_is_gone_are_served() {
        let mut buffer = buffer(3);
        buffer.queue(Subflow(6), PacketId(1), Service { copies: 3, spacing: 5 });
        for subflow in 0..4 {
            let own = (subflow == 2).then_some(PacketId(1));
            assert_eq!((buffer.next(Subflow(subflow), 4), buffer.next_copy(Subflow(subflow), 4)), (own, own));
        }
        // Lanes take them in any case: one is due, and two are copies for later.
        let ids = |is_due| buffer.requested(is_due).map(|id| id.0).collect::<Vec<_>>();
        assert_eq!((ids(true), ids(false)), (vec![1], vec![1, 1]));
    }
}
