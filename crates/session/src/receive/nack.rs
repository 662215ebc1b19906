//! The NACK list: which missing packets are requested, and when (S002 section 5; RFC 4585 for the request).

use crate::config::RepairRequests;
use crate::reordering::ReorderingWindow;
use crate::source_id::SourceId;
use seaway_units::{TimeDelta, Timestamp};

/// Gaps that are remembered at most, in packets.
const CAPACITY: usize = 2048;
/// How far above a gap a number is by which the gap is a loss.
const LATER: u64 = 3;
/// An answer that has less than this beside a round trip is in doubt: it waits for the sender's pacer, and in queues.
pub(super) const DOUBT: TimeDelta = TimeDelta::from_millis(10);
/// Answers follow each other by no more.
const LONGEST_GAP: TimeDelta = TimeDelta::from_millis(5);

/// The packets that are missing and may still come.
#[derive(Debug)]
pub(super) struct NackList {
    requests: RepairRequests,
    /// A gap is a loss once a number so far above it arrived.
    later: u64,
    /// A gap is no loss before, whatever came since.
    reordering: ReorderingWindow,
    /// By source and number.
    packets: Vec<MissingPacket>,
    /// When a packet was last given up.
    abandoned_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy)]
struct MissingPacket {
    source: SourceId,
    sequence: u64,
    /// When the gap showed.
    since: Timestamp,
    /// When it is taken for lost, or may be requested again.
    next: Timestamp,
    requests: u8,
    /// When a repair must be there.
    deadline: Timestamp,
    /// The same where it belongs to the picture that was under way.
    earliest_deadline: Timestamp,
    /// When the answer to the last request should be there.
    answer: Option<Timestamp>,
    /// When the last request is made once more, since it may be lost itself.
    echo: Option<Timestamp>,
}

/// What [`NackList::poll`] wants of a missing packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A retransmission.
    Packet(SourceId, u64),
    /// A key frame at once: the first request leaves so late that its answer is in doubt, or it would not be there in time. So much time
    /// is left for a repair without a round trip.
    KeyFrame(SourceId, TimeDelta),
}

/// A missing packet that was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    source: SourceId,
    sequence: u64,
    /// It had been requested.
    pub(super) requested: bool,
    /// When the answer to its last request should have been there.
    answer: Option<Timestamp>,
}

impl NackList {
    pub(super) fn new(requests: RepairRequests) -> Self {
        let reordering = ReorderingWindow::default();
        Self { requests, later: LATER, reordering, packets: Vec::new(), abandoned_at: None }
    }

    /// A list that requests nothing and only distinguishes reordering from loss.
    pub(super) fn without_requests() -> Self {
        Self::new(RepairRequests { repeats: 0, deadline: TimeDelta::ZERO, ..RepairRequests::default() })
    }

    /// As [`without_requests`](Self::without_requests), of packets that may be so late by themselves, whatever came since.
    pub(super) fn of_reordering(reorder: TimeDelta) -> Self {
        let requests = RepairRequests { repeats: 0, deadline: reorder, reorder, ..RepairRequests::default() };
        Self { later: u64::MAX, ..Self::new(requests) }
    }

    /// Packets that are missing.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Nothing is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The time a repair may take after the earliest instant its frame could be shown.
    pub(super) fn deadline(&self) -> TimeDelta {
        self.requests.deadline
    }

    /// Repairs may take so long from now on, where any are requested.
    pub(super) fn set_deadline(&mut self, deadline: TimeDelta) {
        if self.requests.repeats > 0 {
            self.requests.deadline = deadline;
        }
    }

    /// A number was passed over, between the picture that was under way and the one of the packet that showed it: a repair must be
    /// there by the first deadline or by the second. False where the list is full.
    pub(super) fn on_gap(
        &mut self,
        now: Timestamp,
        source: SourceId,
        sequence: u64,
        (earliest_deadline, deadline): (Timestamp, Timestamp),
    ) -> bool {
        if self.packets.len() == CAPACITY {
            return false;
        }
        let next = now + self.reorder();
        let (since, requests) = (now, 0);
        let missing = MissingPacket {
            source,
            sequence,
            since,
            next,
            requests,
            deadline,
            earliest_deadline,
            answer: None,
            echo: None,
        };
        let place = self.packets.partition_point(|other| (other.source, other.sequence) < (source, sequence));
        self.packets.insert(place, missing);
        true
    }

    /// How missing packets are requested.
    pub(super) fn requests(&self) -> &RepairRequests {
        &self.requests
    }

    /// For so long a gap is no loss where nothing came since.
    pub(super) fn reorder(&self) -> TimeDelta {
        self.requests.reorder.max(self.window())
    }

    /// For so long a gap is reordering, whatever came since. Time for a repair is left.
    fn window(&self) -> TimeDelta {
        self.reordering.width(self.requests.deadline / 4)
    }

    /// A source got as far as `highest`: what is three behind is taken for lost.
    pub(super) fn on_arrival(&mut self, now: Timestamp, source: SourceId, highest: u64) {
        let window = self.window();
        for missing in &mut self.packets {
            if missing.source == source
                && missing.requests == 0
                && missing.sequence.saturating_add(self.later) <= highest
            {
                missing.next = missing.next.min(now.max(missing.since + window));
            }
        }
    }

    /// A packet was repaired.
    pub(super) fn on_found(&mut self, source: SourceId, sequence: u64) -> Option<Found> {
        let found = self.take(source, sequence)?;
        if found.requests > 0 {
            self.reordering.on_loss();
        }
        Some(Found { source, sequence, requested: found.requests > 0, answer: found.answer })
    }

    /// The sender answered a request. The answers to one round come one after the other: those behind this one are not overdue
    /// yet, where another request would still be answered in time.
    pub(super) fn on_answer(&mut self, now: Timestamp, rtt: TimeDelta, found: Found) {
        let expected = now + self.requests.reorder;
        let is_behind = |other: &&mut MissingPacket| {
            other.source == found.source && other.sequence > found.sequence && other.answer == found.answer
        };
        for other in self.packets.iter_mut().filter(is_behind) {
            if other.next < expected && other.deadline - expected > rtt {
                (other.next, other.answer) = (expected, Some(expected));
            }
        }
    }

    /// A packet came after all by itself. True where it was on the list.
    pub(super) fn on_overtaken(&mut self, now: Timestamp, source: SourceId, sequence: u64) -> bool {
        let Some(missing) = self.take(source, sequence) else { return false };
        if missing.requests > 0 {
            self.reordering.on_overtaken(now - missing.since);
        }
        true
    }

    fn take(&mut self, source: SourceId, sequence: u64) -> Option<MissingPacket> {
        let key = (source, sequence);
        let index =
            self.packets.binary_search_by_key(&key, |missing| (missing.source, missing.sequence)).ok()?;
        Some(self.packets.remove(index))
    }

    /// Gives what to request now. A packet is requested only if it can be there in time, and dropped from the list
    /// once it cannot. Each request is made twice, unless the next round comes as soon: a sender does not send a packet
    /// again that it sent within the round-trip time.
    pub(super) fn poll(
        &mut self,
        now: Timestamp,
        rtt: Option<TimeDelta>,
        gap: TimeDelta,
        mut request: impl FnMut(Wanted),
    ) {
        let requests = self.requests;
        let before = self.packets.len();
        let doubt = DOUBT + gap.min(LONGEST_GAP) * (before as i64);
        self.packets.retain_mut(|missing| {
            if missing.next > now {
                if missing.echo.take_if(|echo| *echo <= now).is_some() {
                    request(Wanted::Packet(missing.source, missing.sequence));
                }
                return missing.deadline > now;
            }
            let Some(rtt) = rtt else { return missing.deadline > now };
            let in_time = missing.deadline - now > rtt;
            let left = missing.earliest_deadline - now;
            if missing.requests == 0 && requests.repeats > 0 && left < rtt + doubt {
                request(Wanted::KeyFrame(missing.source, left));
            }
            if !in_time || missing.requests >= requests.repeats {
                return missing.answer.is_some_and(|answer| answer > now);
            }
            let answer = now + requests.round(rtt, missing.requests);
            missing.requests += 1;
            missing.answer = Some(answer);
            missing.next = answer;
            missing.echo = (rtt >= requests.reorder * 2).then_some(now + requests.reorder);
            request(Wanted::Packet(missing.source, missing.sequence));
            true
        });
        if self.packets.len() < before {
            self.abandoned_at = Some(now);
        }
    }

    /// When [`Self::poll`] has something to do; without a round-trip time nothing is requested.
    pub(super) fn poll_timeout(&self, rtt: Option<TimeDelta>) -> Option<Timestamp> {
        let next = |missing: &MissingPacket| match rtt {
            Some(_) => missing.echo.unwrap_or(missing.next).min(missing.next).min(missing.deadline),
            None => missing.deadline,
        };
        self.packets.iter().map(next).min()
    }

    /// When a packet was last given up.
    pub(super) fn abandoned_at(&self) -> Option<Timestamp> {
        self.abandoned_at
    }

    /// Until when a missing packet may still come: it was requested, or is to be.
    pub(super) fn awaited_until(&self) -> Option<Timestamp> {
        self.packets.iter().map(|missing| missing.answer.unwrap_or(missing.next).min(missing.deadline)).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{StreamId, Subflow};

    const SOURCE: SourceId = SourceId { stream: StreamId(0), subflow: Subflow(0), repair: false };
    const RTT: Option<TimeDelta> = Some(TimeDelta::from_millis(50));

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn both(millis: u64) -> (Timestamp, Timestamp) {
        (at(millis), at(millis))
    }

    fn missing() -> NackList {
        let defaults = RepairRequests::default();
        NackList::new(RepairRequests { repeats: 2, margin: 0.2, ..defaults })
    }

    fn requested(missing: &mut NackList, now: u64, rtt: Option<TimeDelta>) -> Vec<u64> {
        let mut requested = Vec::new();
        missing.poll(at(now), rtt, TimeDelta::ZERO, |wanted| match wanted {
            Wanted::Packet(_, sequence) => requested.push(sequence),
            Wanted::KeyFrame(..) => {}
        });
        requested
    }

    #[test]
    fn reordering_is_tolerated_first() {
        let mut missing = missing();
        missing.on_gap(at(0), SOURCE, 5, both(500));
        missing.on_gap(at(0), SOURCE, 6, both(500));
        assert!(requested(&mut missing, 9, RTT).is_empty());
        missing.on_arrival(at(9), SOURCE, 8);
        assert_eq!(requested(&mut missing, 9, RTT), [5], "three later ones came");
        assert_eq!(requested(&mut missing, 10, RTT), [6], "10 ms passed");
        assert!(missing.on_found(SOURCE, 5).is_some_and(|found| found.requested));
        assert_eq!(missing.on_found(SOURCE, 5), None);
    }

    #[test]
    fn a_request_for_what_was_only_overtaken_is_made_later_next_time() {
        let mut missing = missing();
        missing.on_gap(at(0), SOURCE, 5, both(500));
        missing.on_arrival(at(3), SOURCE, 8);
        assert_eq!(requested(&mut missing, 3, RTT), [5]);
        assert!(missing.on_overtaken(at(32), SOURCE, 5) && !missing.on_overtaken(at(32), SOURCE, 5));
        missing.on_gap(at(32), SOURCE, 15, both(532));
        missing.on_arrival(at(36), SOURCE, 18);
        assert!(requested(&mut missing, 71, RTT).is_empty());
        assert_eq!(requested(&mut missing, 72, RTT), [15], "after 32 ms and a quarter more");
        // A retransmission is no reordering: the window is narrower by a 64th.
        assert!(missing.on_found(SOURCE, 15).is_some());
        missing.on_gap(at(100), SOURCE, 20, both(600));
        missing.on_arrival(at(103), SOURCE, 23);
        assert!(requested(&mut missing, 139, RTT).is_empty());
        assert_eq!(requested(&mut missing, 140, RTT), [20]);
    }

    #[test]
    fn requests_only_if_the_repair_can_be_there_in_time() {
        let mut missing = missing();
        missing.on_gap(at(0), SOURCE, 1, both(100));
        assert!(requested(&mut missing, 39, None).is_empty(), "no round-trip time, no request");
        assert_eq!(requested(&mut missing, 49, RTT), [1], "51 ms left, 50 needed");
        assert_eq!(missing.awaited_until(), Some(at(100)));
        missing.on_gap(at(0), SOURCE, 2, both(100));
        assert!(requested(&mut missing, 50, RTT).is_empty(), "50 ms left");
        assert_eq!(missing.on_found(SOURCE, 2), None, "given up");
    }

    /// Round trip 50 ms: with less than 60 ms left for the picture that was under way a key frame is wanted.
    #[test]
    fn a_repair_in_doubt_wants_a_key_frame() {
        let mut missing = missing();
        missing.on_gap(at(0), SOURCE, 5, (at(65), at(110)));
        missing.on_gap(at(0), SOURCE, 6, both(110));
        let mut wanted = Vec::new();
        missing.poll(at(10), RTT, TimeDelta::ZERO, |want| wanted.push(want));
        let packets = [5, 6].map(|sequence| Wanted::Packet(SOURCE, sequence));
        assert_eq!(wanted, [Wanted::KeyFrame(SOURCE, TimeDelta::from_millis(55)), packets[0], packets[1]]);
        wanted.clear();
        missing.poll(at(20), RTT, TimeDelta::ZERO, |want| wanted.push(want));
        assert_eq!(wanted, packets, "the requests once more");
        let mut silent = NackList::without_requests();
        silent.on_gap(at(0), SOURCE, 5, both(20));
        silent.poll(at(10), RTT, TimeDelta::ZERO, |want| panic!("{want:?} of what requests nothing"));
    }

    /// Twenty answers 2 ms apart take 40 ms more than one: 90 ms are enough for a round trip of 50 ms, not for those.
    #[test]
    fn many_answers_take_longer_than_one() {
        let wants_key = |gap, count| {
            let mut missing = missing();
            (0..count).for_each(|sequence| assert!(missing.on_gap(at(0), SOURCE, sequence, both(100))));
            let mut wants_key = false;
            missing.poll(at(10), RTT, TimeDelta::from_millis(gap), |wanted| {
                wants_key |= matches!(wanted, Wanted::KeyFrame(..));
            });
            wants_key
        };
        assert!(wants_key(2, 20) && !wants_key(2, 15) && !wants_key(0, 20));
        assert!(!wants_key(1_000, 6) && wants_key(1_000, 7), "a gap counts as 5 ms at most");
    }

    /// Three packets are requested at 10 ms, the answers are due 70 ms later, and come each 8 ms from 72 ms on.
    #[test]
    fn what_is_on_its_way_is_not_requested_again() {
        let rtt = TimeDelta::from_millis(50);
        let asked = |deadline| {
            let mut missing = missing();
            (5..8).for_each(|sequence| assert!(missing.on_gap(at(0), SOURCE, sequence, both(deadline))));
            assert_eq!(requested(&mut missing, 10, RTT), [5, 6, 7]);
            assert_eq!(requested(&mut missing, 20, RTT), [5, 6, 7], "the requests once more");
            let found = missing.on_found(SOURCE, 5).unwrap();
            missing.on_answer(at(72), rtt, found);
            missing
        };
        let mut in_time = asked(500);
        assert!(requested(&mut in_time, 81, RTT).is_empty(), "the next is due at 82 ms");
        let found = in_time.on_found(SOURCE, 6).unwrap();
        in_time.on_answer(at(80), rtt, found);
        assert!(requested(&mut in_time, 89, RTT).is_empty());
        assert_eq!(requested(&mut in_time, 90, RTT), [7], "nothing came for 10 ms");
        let mut late = asked(132);
        assert_eq!(requested(&mut late, 80, RTT), [6, 7], "after 82 ms no answer would be there in time");
    }

    /// Where nothing is requested there is no time for repairs, however long that would be.
    #[test]
    fn only_what_requests_has_a_deadline() {
        let (long, late) = (TimeDelta::from_secs(2), TimeDelta::from_millis(30));
        let deadline = |mut missing: NackList| {
            let before = missing.deadline();
            missing.set_deadline(long);
            (before, missing.deadline())
        };
        assert_eq!(deadline(missing()), (RepairRequests::default().deadline, long));
        assert_eq!(deadline(NackList::without_requests()), (TimeDelta::ZERO, TimeDelta::ZERO));
        assert_eq!(deadline(NackList::of_reordering(late)), (late, late));
        assert_eq!((missing().requests().repeats, missing().requests().margin), (2, 0.2));
    }

    #[test]
    fn what_is_missing_is_counted() {
        let mut missing = missing();
        assert_eq!((missing.is_empty(), missing.len()), (true, 0));
        (5..8).for_each(|sequence| assert!(missing.on_gap(at(0), SOURCE, sequence, both(100))));
        assert_eq!((missing.is_empty(), missing.len()), (false, 3));
        assert!(missing.on_found(SOURCE, 6).is_some_and(|found| !found.requested));
        assert_eq!((missing.len(), missing.abandoned_at()), (2, None));
        requested(&mut missing, 10, RTT);
        assert_eq!((missing.len(), missing.abandoned_at()), (2, None));
        requested(&mut missing, 100, RTT);
        assert_eq!((missing.len(), missing.abandoned_at()), (0, Some(at(100))));
        requested(&mut missing, 110, RTT);
        assert_eq!(missing.abandoned_at(), Some(at(100)), "nothing was left to give up");
    }

    /// The window is a quarter of the time for repairs at most. It grows by what was requested too soon, and falls by what was requested
    /// and lost.
    #[test]
    fn only_requests_change_the_window() {
        let millis = TimeDelta::from_millis;
        let mut missing = missing();
        let mut gap = |is_requested: bool, sequence| {
            missing.on_gap(at(0), SOURCE, sequence, both(9000));
            if is_requested {
                missing.on_arrival(at(0), SOURCE, sequence + 3);
                assert_eq!(requested(&mut missing, 200, RTT), [sequence]);
            }
            std::mem::replace(&mut missing, self::missing())
        };
        let mut overtaken = gap(false, 5);
        assert!(overtaken.on_overtaken(at(48), SOURCE, 5));
        assert_eq!(overtaken.reorder(), millis(10));
        let mut overtaken = gap(true, 5);
        assert!(overtaken.on_overtaken(at(48), SOURCE, 5));
        assert_eq!(overtaken.reorder(), millis(60));
        overtaken.set_deadline(millis(200));
        assert_eq!(overtaken.reorder(), millis(50));
        overtaken.set_deadline(millis(500));
        // Neither a gap that was not requested nor a repair of one says anything.
        overtaken.on_gap(at(300), SOURCE, 9, both(9000));
        assert!(overtaken.on_found(SOURCE, 9).is_some());
        assert_eq!(overtaken.reorder(), millis(60));
        overtaken.on_gap(at(300), SOURCE, 9, both(9000));
        assert_eq!(requested(&mut overtaken, 400, RTT), [9]);
        assert!(overtaken.on_found(SOURCE, 9).is_some());
        assert!(overtaken.reorder() < millis(60));
    }

    /// Requested at 10 ms, answered at 72 ms: packets before that one and of other sources are requested again at 80 ms.
    #[test]
    fn an_answer_says_nothing_of_other_rounds() {
        const OTHER: SourceId = SourceId { stream: StreamId(1), ..SOURCE };
        let mut missing = missing();
        (5..8).for_each(|sequence| assert!(missing.on_gap(at(0), SOURCE, sequence, both(500))));
        assert!(missing.on_gap(at(0), OTHER, 9, both(500)));
        assert_eq!(requested(&mut missing, 10, RTT), [5, 6, 7, 9]);
        assert_eq!(requested(&mut missing, 20, RTT), [5, 6, 7, 9], "the requests once more");
        // One that is requested later, whose answer is due at 100 ms.
        assert!(missing.on_gap(at(20), SOURCE, 10, both(500)));
        assert_eq!(requested(&mut missing, 30, RTT), [10]);
        assert_eq!(requested(&mut missing, 40, RTT), [10]);
        let found = missing.on_found(SOURCE, 6).unwrap();
        missing.on_answer(at(75), TimeDelta::from_millis(50), found);
        assert_eq!(requested(&mut missing, 80, RTT), [5, 9]);
        assert_eq!(requested(&mut missing, 85, RTT), [7]);
        let due = missing.packets.iter().find(|missing| missing.sequence == 10).map(|missing| missing.next);
        assert_eq!(due, Some(at(100)));
    }

    /// A request whose answer comes within 20 ms is not made once more; what was requested so often as may be is not waited for longer.
    #[test]
    fn short_ways_need_no_second_request() {
        let (rtt, mut missing) = (Some(TimeDelta::from_millis(15)), missing());
        assert!(missing.on_gap(at(0), SOURCE, 5, both(500)));
        assert_eq!(requested(&mut missing, 10, rtt), [5]);
        assert_eq!(missing.poll_timeout(rtt), Some(at(38)));
        assert_eq!(requested(&mut missing, 38, rtt), [5]);
        assert!(requested(&mut missing, 67, rtt).is_empty() && missing.is_empty());
    }

    #[test]
    fn repeats_are_bounded() {
        let mut missing = missing();
        missing.on_gap(at(0), SOURCE, 1, both(1000));
        assert_eq!(requested(&mut missing, 10, RTT), [1]);
        assert_eq!(missing.poll_timeout(RTT), Some(at(20)));
        assert_eq!(requested(&mut missing, 20, RTT), [1], "the first request may be lost");
        assert_eq!(missing.poll_timeout(RTT), Some(at(80)));
        assert!(requested(&mut missing, 79, RTT).is_empty());
        assert_eq!(requested(&mut missing, 80, RTT), [1]);
        assert_eq!(missing.awaited_until(), Some(at(150)));
        assert!(requested(&mut missing, 150, RTT).is_empty());
        assert_eq!(missing.awaited_until(), None, "no answer came");
        for sequence in 0..CAPACITY as u64 {
            assert!(missing.on_gap(at(0), SOURCE, sequence, both(1000)));
        }
        assert!(!missing.on_gap(at(0), SOURCE, 99_999, both(1000)));
    }
}
