//! The packets that were sent and what became of each. Loss is detected here and nowhere else.

use super::sequence_log::SequenceLog;
use super::steady_clock::ArrivalClock;
use crate::reordering::ReorderingWindow;
use crate::unwrap::nearest;
use seaway_control::{Fate, PacketId, PacketReport, SentPacket, Subflow};
use seaway_units::{DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use seaway_wire::MicrosClock;
use std::collections::VecDeque;

/// When a packet is declared lost for its age.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossTimes {
    /// This long after a later packet of its subflow was reported; no reordering window is more than twice as wide.
    pub(super) reorder: TimeDelta,
    /// This long after it left, where no later packet was reported.
    pub(super) silence: TimeDelta,
}

impl LossTimes {
    /// With a report each `interval` so far, and each `agreed` by the options of the controller.
    pub(super) fn new(interval: TimeDelta, agreed: TimeDelta, rtt: Option<TimeDelta>) -> Self {
        let (reorder, silence) = match rtt {
            Some(rtt) => (rtt.max(interval * 2), (rtt * 4 + interval * 2).max(rtt * 2 + agreed)),
            None => (TimeDelta::from_millis(200), TimeDelta::from_secs(3)),
        };
        let bounded = |span: TimeDelta, low, high| {
            span.max(TimeDelta::from_millis(low)).min(TimeDelta::from_millis(high))
        };
        Self { reorder: bounded(reorder, 20, 500), silence: bounded(silence, 1000, 4000) }
    }
}

/// Later packets of a subflow that must have arrived before one is declared lost: `docs/models/feedback-formats.md`, section "What
/// counts as lost", rule 1.
const LATER: usize = 3;
/// Packets that are remembered at most.
const CAPACITY: usize = 1 << 15;
/// Packets are remembered this long after their fate is known, to recognise late and repeated reports.
const MEMORY: TimeDelta = TimeDelta::from_secs(4);

/// The packets of a flow: a ring by [`PacketId`], and for each subflow which sequence number was whose.
#[derive(Debug)]
pub(crate) struct SendHistory {
    /// Arrivals are reported packet by packet: what is not reported is lost.
    detects_loss: bool,
    /// Id of the oldest record.
    first: u64,
    records: VecDeque<Record>,
    subflows: Vec<SubflowLog>,
    /// What is outstanding.
    flight: DataSize,
    clock: ArrivalClock,
    /// The last packet whose arrival was out of step with those before it.
    out_of_step: Option<PacketId>,
}

#[derive(Debug)]
struct Record {
    packet: SentPacket,
    sent: Timestamp,
    state: State,
    fields: HeaderFields,
}

/// Header fields of a packet that the receiving half reads, should it run at the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderFields {
    /// The controller's own number.
    pub tag: Option<u16>,
    /// The packet is the last of its frame.
    pub ends_frame: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Outstanding,
    Received,
    Lost,
}

/// One connection of the flow.
#[derive(Debug)]
struct SubflowLog {
    log: SequenceLog,
    /// Every packet below is resolved.
    cursor: u64,
    /// When the packet at the cursor left, if there is one.
    cursor_sent: Option<Timestamp>,
    /// The highest numbers that were reported received, descending.
    received: [Option<u64>; LATER],
    /// When the highest of them was reported.
    reported_at: Timestamp,
    reordering: ReorderingWindow,
    /// No report will follow about packets before this one.
    resolved: PacketId,
}

/// How the report of an arrival matches what is known of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// The arrival was not known.
    New,
    /// It was reported before.
    Duplicate,
    /// The packet was never sent, or long ago.
    Unknown,
}

impl SubflowLog {
    fn new() -> Self {
        let log = SequenceLog::starting_at(0);
        let reported_at = Timestamp::ZERO;
        let (reordering, resolved) = (ReorderingWindow::default(), PacketId(0));
        let received = [None; LATER];
        Self { log, cursor: 0, cursor_sent: None, received, reported_at, reordering, resolved }
    }

    /// For so long a packet that later ones overtook may still come.
    fn window(&self, times: LossTimes) -> TimeDelta {
        self.reordering.width(times.reorder * 2)
    }

    /// The next of the subflow left.
    fn push(&mut self, now: Timestamp, id: PacketId) {
        if self.cursor == self.log.next() {
            self.cursor_sent = Some(now);
        }
        self.log.push(id);
    }

    /// The cursor moved among these records, of which the oldest has the id `first`.
    fn note_cursor(&mut self, first: u64, records: &VecDeque<Record>) {
        let index = self.log.get(self.cursor).and_then(|id| usize::try_from(id.0.checked_sub(first)?).ok());
        self.cursor_sent = index.and_then(|index| records.get(index)).map(|record| record.sent);
    }

    fn on_received(&mut self, now: Timestamp, sequence: u64) {
        let rank = self.received.iter().position(|other| other.is_none_or(|other| other < sequence));
        if let Some(rank) = rank {
            self.received.copy_within(rank..LATER - 1, rank + 1);
            self.received[rank] = Some(sequence);
        }
        if rank == Some(0) {
            self.reported_at = now;
        }
    }
}

impl SendHistory {
    /// Nothing left yet. `detects_loss`: arrivals will be reported packet by packet.
    pub(super) fn new(detects_loss: bool) -> Self {
        Self {
            detects_loss,
            first: 0,
            records: VecDeque::new(),
            subflows: Vec::new(),
            flight: DataSize::ZERO,
            clock: ArrivalClock::default(),
            out_of_step: None,
        }
    }

    /// Packets are declared lost here.
    #[inline]
    pub(super) const fn detects_loss(&self) -> bool {
        self.detects_loss
    }

    /// The id of the next packet.
    #[inline]
    pub(super) fn next_id(&self) -> PacketId {
        PacketId(self.first + self.records.len() as u64)
    }

    /// The id of the oldest packet that is remembered.
    #[inline]
    pub(crate) fn oldest(&self) -> PacketId {
        PacketId(self.first)
    }

    /// Octets of IP datagrams that left and were not reported yet.
    pub(crate) fn flight(&self) -> DataSize {
        self.flight
    }

    #[inline]
    fn subflow(&mut self, subflow: Subflow) -> &mut SubflowLog {
        let index = usize::from(subflow.0);
        if self.subflows.len() <= index {
            self.subflows.resize_with(index + 1, SubflowLog::new);
        }
        &mut self.subflows[index]
    }

    /// The sequence number of the subflow's next packet.
    #[inline]
    pub(super) fn next_sequence(&self, subflow: Subflow) -> u64 {
        self.subflows.get(usize::from(subflow.0)).map_or(0, |subflow| subflow.log.next())
    }

    /// A packet left as the next of its subflow. Where the memory is full, the oldest is forgotten, and declared lost
    /// where nothing was known of it.
    #[inline]
    pub(super) fn push(
        &mut self,
        now: Timestamp,
        packet: &SentPacket,
        fields: HeaderFields,
    ) -> Option<PacketReport> {
        debug_assert_eq!(packet.id, self.next_id());
        let forgotten = if self.records.len() == CAPACITY { self.forget_oldest() } else { None };
        self.subflow(packet.subflow).push(now, packet.id);
        self.flight += packet.size;
        self.records.push_back(Record { packet: *packet, sent: now, state: State::Outstanding, fields });
        forgotten
    }

    fn forget_oldest(&mut self) -> Option<PacketReport> {
        let record = self.pop()?;
        self.forget_numbers();
        (record.state == State::Outstanding && self.detects_loss).then(|| record.report(Fate::Lost))
    }

    #[inline]
    fn pop(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?;
        self.first += 1;
        if record.state == State::Outstanding {
            self.flight -= record.packet.size;
        }
        Some(record)
    }

    /// No report will follow about packets of `subflow` before `id`. Forgets what is resolved so on every subflow.
    pub(crate) fn resolve_before(&mut self, subflow: Subflow, id: PacketId) {
        let resolved = &mut self.subflow(subflow).resolved;
        *resolved = (*resolved).max(id);
        let oldest = self.subflows.iter().map(|subflow| subflow.resolved).min().unwrap_or_default();
        while self.first < oldest.0 && self.pop().is_some() {}
        self.forget_numbers();
    }

    /// Forgets what is resolved and old.
    pub(super) fn forget(&mut self, now: Timestamp) {
        let mut stale = 0;
        for record in &self.records {
            let is_open = record.state == State::Outstanding;
            if is_open && self.detects_loss || now.since(record.sent) <= MEMORY {
                break;
            }
            if is_open {
                self.flight -= record.packet.size;
            }
            stale += 1;
        }
        self.records.drain(..stale);
        self.first += stale as u64;
        self.forget_numbers();
    }

    fn forget_numbers(&mut self) {
        let oldest = PacketId(self.first);
        for subflow in &mut self.subflows {
            subflow.log.forget_before(oldest);
            if subflow.cursor < subflow.log.first() {
                subflow.cursor = subflow.log.first();
                subflow.note_cursor(self.first, &self.records);
            }
        }
    }

    fn get(&self, id: PacketId) -> Option<&Record> {
        self.records.get(usize::try_from(id.0.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, id: PacketId) -> Option<&mut Record> {
        self.records.get_mut(usize::try_from(id.0.checked_sub(self.first)?).ok()?)
    }

    /// True where it is known already that a packet arrived.
    #[inline]
    pub(crate) fn is_received(&self, id: PacketId) -> bool {
        self.get(id).is_some_and(|record| record.state == State::Received)
    }

    /// The packet with this sequence number of its subflow.
    pub(super) fn find(&self, subflow: Subflow, sequence: u64) -> Option<PacketId> {
        self.subflows.get(usize::from(subflow.0))?.log.get(sequence)
    }

    /// The packet with this transport-wide number.
    pub(crate) fn find_transport(&self, sequence: u16) -> Option<PacketId> {
        let id = PacketId(nearest::<16>(self.next_id().0, sequence.into()));
        self.get(id).map(|_| id)
    }

    /// The packet of `subflow` that carried this send time.
    pub(super) fn find_echo(&self, subflow: Subflow, echo: MicrosClock) -> Option<PacketId> {
        let log = &self.subflows.get(usize::from(subflow.0))?.log;
        let sent = |number| log.get(number).and_then(|id| self.get(id)).map(|record| record.sent);
        // Departures are in order of time: halve the range.
        let (mut low, mut high) = (log.first(), log.next());
        while low < high {
            let middle = low + (high - low) / 2;
            let difference = MicrosClock::from_timestamp(sent(middle)?).since(echo);
            match difference.as_nanos() {
                0 => return log.get(middle),
                ..0 => low = middle + 1,
                1.. => high = middle,
            }
        }
        None
    }

    /// Whether the reported arrival of a packet was out of step: the peer's clock was set, or what it took for this packet
    /// was another's.
    pub(super) fn is_out_of_step(&self, id: PacketId) -> bool {
        self.out_of_step == Some(id)
    }

    /// When a packet left.
    pub(super) fn sent_at(&self, id: PacketId) -> Option<Timestamp> {
        self.get(id).map(|record| record.sent)
    }

    /// The header fields of a packet.
    pub(super) fn fields_of(&self, id: PacketId) -> HeaderFields {
        self.get(id).map(|record| record.fields).unwrap_or_default()
    }

    /// When a packet left, and what it was.
    pub(super) fn sent(&self, id: PacketId) -> Option<(Timestamp, SentPacket)> {
        self.get(id).map(|record| (record.sent, record.packet))
    }

    /// The peer reports that a packet arrived. What is new goes to `reports`.
    #[inline]
    pub(super) fn on_received(
        &mut self,
        now: Timestamp,
        id: PacketId,
        at: Option<RemoteTimestamp>,
        ecn: Ecn,
        reports: &mut Vec<PacketReport>,
    ) -> Match {
        let index = id.0.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let Some(record) = index.and_then(|index| self.records.get_mut(index)) else { return Match::Unknown };
        if record.state == State::Received {
            return Match::Duplicate;
        }
        let at = at.map(|at| {
            let (at, is_step) = self.clock.read(now, record.sent, at);
            if is_step {
                self.out_of_step = Some(id);
            }
            at
        });
        let was_outstanding = record.state == State::Outstanding;
        let fate = if was_outstanding { Fate::Received { at, ecn } } else { Fate::Late { at } };
        record.state = State::Received;
        reports.push(record.report(fate));
        let (SentPacket { subflow, sequence, size, .. }, sent) = (record.packet, record.sent);
        if was_outstanding {
            self.flight -= size;
        } else {
            self.on_late(now, subflow, sequence, sent);
        }
        self.subflow(subflow).on_received(now, sequence);
        Match::New
    }

    /// A packet of `subflow` that left at `sent` was declared lost, and came: neither what had arrived until the last report nor the time
    /// since then showed a loss.
    fn on_late(&mut self, now: Timestamp, subflow: Subflow, sequence: u64, sent: Timestamp) {
        let index = usize::from(subflow.0);
        let Some(log) = self.subflows.get(index) else { return };
        let behind = self.certain(log).map_or(TimeDelta::ZERO, |(_, certain)| certain - sent);
        let overtaken = log.received[0].is_some_and(|newest| sequence < newest);
        let waited = if overtaken { now - log.reported_at } else { TimeDelta::ZERO };
        self.subflows[index].reordering.on_overtaken(behind.max(waited));
    }

    /// The newest packet of a subflow that enough later ones overtook, and when it left.
    fn certain(&self, subflow: &SubflowLog) -> Option<(u64, Timestamp)> {
        let [.., certain] = subflow.received;
        let certain = certain?;
        Some((certain, self.sent_at(subflow.log.get(certain)?)?))
    }

    /// The peer itself declared a packet lost.
    pub(super) fn on_lost(&mut self, id: PacketId, reports: &mut Vec<PacketReport>) {
        let Some(record) = self.get_mut(id).filter(|record| record.state == State::Outstanding) else {
            return;
        };
        record.state = State::Lost;
        reports.push(record.report(Fate::Lost));
        let size = record.packet.size;
        self.flight -= size;
    }

    /// Appends the packets that are to be declared lost by now, each once.
    pub(super) fn detect_losses(
        &mut self,
        now: Timestamp,
        times_of: impl Fn(usize) -> LossTimes,
        reports: &mut Vec<PacketReport>,
    ) {
        // A loss narrows the reordering window, by which others may be due.
        loop {
            let before = reports.len();
            self.detect_once(now, &times_of, reports);
            if reports.len() == before {
                return;
            }
        }
    }

    fn detect_once(
        &mut self,
        now: Timestamp,
        times_of: impl Fn(usize) -> LossTimes,
        reports: &mut Vec<PacketReport>,
    ) {
        if !self.detects_loss {
            return;
        }
        for index in 0..self.subflows.len() {
            let times = times_of(index);
            let certain = self.certain(&self.subflows[index]);
            let subflow = &mut self.subflows[index];
            let [newest, ..] = subflow.received;
            let window = subflow.window(times);
            let is_certain = |number: u64, sent: Timestamp| {
                certain.is_some_and(|(certain, at)| number < certain && sent + window <= at)
            };
            let reorder_over = subflow.reported_at + times.reorder.max(window) <= now;
            let mut all_resolved = true;
            for (number, id) in subflow.log.since(subflow.cursor) {
                let index = id.0.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
                let Some(record) = index.and_then(|index| self.records.get_mut(index)) else { continue };
                if record.state == State::Outstanding {
                    let overtaken = newest.is_some_and(|newest| number < newest);
                    let lost = is_certain(number, record.sent)
                        || overtaken && reorder_over
                        || record.sent + times.silence <= now;
                    if lost {
                        record.state = State::Lost;
                        self.flight -= record.packet.size;
                        subflow.reordering.on_loss();
                        reports.push(record.report(Fate::Lost));
                    } else if overtaken {
                        all_resolved = false;
                    } else {
                        // All that follow are younger.
                        break;
                    }
                }
                if all_resolved {
                    subflow.cursor = number + 1;
                }
            }
            subflow.note_cursor(self.first, &self.records);
        }
    }

    /// When the first packet of a subflow left that the next report should name: the one behind the newest that was reported.
    pub(crate) fn next_reported(&self, subflow: Subflow) -> Option<Timestamp> {
        let subflow = self.subflows.get(usize::from(subflow.0))?;
        let next = subflow.received[0].map_or(0, |newest| newest + 1).max(subflow.cursor);
        self.sent_at(subflow.log.get(next)?)
    }

    /// The packets of a subflow that are outstanding, the oldest first.
    pub(crate) fn outstanding(&self, subflow: Subflow) -> impl Iterator<Item = (PacketId, Timestamp)> + '_ {
        let is_open =
            move |record: &&Record| record.packet.subflow == subflow && record.state == State::Outstanding;
        self.records.iter().filter(is_open).map(|record| (record.packet.id, record.sent))
    }

    /// When [`Self::detect_losses`] will declare one lost if nothing is reported until then.
    pub(super) fn next_loss(&self, times_of: impl Fn(usize) -> LossTimes) -> Option<Timestamp> {
        if !self.detects_loss {
            return None;
        }
        let of_subflow = |(index, subflow): (usize, &SubflowLog)| {
            let times = times_of(index);
            let silence = subflow.cursor_sent? + times.silence;
            let overtaken = subflow.received[0].is_some_and(|newest| subflow.cursor < newest);
            Some(if overtaken {
                silence.min(subflow.reported_at + times.reorder.max(subflow.window(times)))
            } else {
                silence
            })
        };
        self.subflows.iter().enumerate().filter_map(of_subflow).min()
    }
}

impl Record {
    fn report(&self, fate: Fate) -> PacketReport {
        PacketReport { packet: self.packet, sent: self.sent, fate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use seaway_control::{Content, StreamId};

    const TIMES: LossTimes =
        LossTimes { reorder: TimeDelta::from_millis(50), silence: TimeDelta::from_secs(1) };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn send(history: &mut SendHistory, now: Timestamp, subflow: u8) -> PacketId {
        let packet = SentPacket {
            id: history.next_id(),
            subflow: Subflow(subflow),
            sequence: history.next_sequence(Subflow(subflow)),
            size: DataSize::from_bytes(1000),
            content: Content::Media(StreamId(0)),
            probe: None,
            backlog: DataSize::ZERO,
        };
        history.push(now, &packet, HeaderFields::default());
        packet.id
    }

    fn lost(history: &mut SendHistory, now: Timestamp) -> Vec<u64> {
        let mut reports = Vec::new();
        history.detect_losses(now, |_| TIMES, &mut reports);
        reports.iter().map(|report| report.packet.id.0).collect()
    }

    fn received(history: &mut SendHistory, now: Timestamp, id: PacketId) -> (Match, Option<PacketReport>) {
        let mut reports = Vec::new();
        (history.on_received(now, id, None, Ecn::NotEct, &mut reports), reports.pop())
    }

    #[test]
    fn three_later_packets_or_a_time() {
        let mut history = SendHistory::new(true);
        for millis in 0..10 {
            send(&mut history, at(millis), 0);
        }
        for id in [2, 4] {
            received(&mut history, at(20), PacketId(id));
        }
        assert!(lost(&mut history, at(20)).is_empty());
        received(&mut history, at(21), PacketId(5));
        assert_eq!(lost(&mut history, at(21)), [0, 1]);
        assert_eq!(history.next_loss(|_| TIMES), Some(at(71)));
        assert!(lost(&mut history, at(70)).is_empty());
        assert_eq!(lost(&mut history, at(71)), [3], "overtaken for 50 ms");
        assert_eq!(history.next_loss(|_| TIMES), Some(at(1006)), "nothing later than 6 was reported");
        assert_eq!(lost(&mut history, at(1009)), [6, 7, 8, 9]);
        assert_eq!(history.next_loss(|_| TIMES), None);
        let late = received(&mut history, at(1010), PacketId(3));
        assert!(matches!(late, (Match::New, Some(PacketReport { fate: Fate::Late { .. }, .. }))));
        assert!(history.is_received(PacketId(3)) && !history.is_received(PacketId(6)));
        assert_eq!(received(&mut history, at(1011), PacketId(3)), (Match::Duplicate, None));
        assert_eq!(received(&mut history, at(1011), PacketId(10)), (Match::Unknown, None));
    }

    /// These arrive; gives what is lost then.
    fn arrive(history: &mut SendHistory, now: Timestamp, ids: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        for id in ids {
            received(history, now, PacketId(id));
        }
        lost(history, now)
    }

    /// A packet that was overtaken and came is no loss, nor is the next one that is overtaken as far.
    #[test]
    fn what_overtakes_is_waited_for() {
        let mut history = SendHistory::new(true);
        for millis in 0..50 {
            send(&mut history, at(millis), 0);
        }
        let mut arrive = |now, ids| arrive(&mut history, at(now), ids);
        assert_eq!(arrive(50, 1..=20), [0]);
        // The eighteenth of these is the third newest: 18 ms were needed, 22.5 are waited for.
        assert!(arrive(60, 0..=0).is_empty());
        assert!(arrive(70, 22..=45).is_empty(), "21 is overtaken by 22 ms");
        assert_eq!(arrive(71, 46..=46), [21], "by 23 ms");
    }

    /// However late a packet came, the next is waited for twice as long as one without reports behind it, and no longer.
    #[test]
    fn the_window_is_bounded() {
        let mut history = SendHistory::new(true);
        for millis in 0..400 {
            send(&mut history, at(millis), 0);
        }
        let mut arrive = |now, ids| arrive(&mut history, at(now), ids);
        assert_eq!(arrive(400, 1..=200), [0]);
        assert!(arrive(401, 0..=0).is_empty(), "198 ms were needed");
        assert!(arrive(402, 202..=302).is_empty(), "201 is overtaken by 99 ms");
        assert_eq!(arrive(403, 303..=303), [201], "by 100 ms");
    }

    #[test]
    fn subflows_do_not_overtake_one_another() {
        let mut history = SendHistory::new(true);
        send(&mut history, at(0), 0);
        for millis in 1..6 {
            let id = send(&mut history, at(millis), 1);
            received(&mut history, at(10), id);
        }
        assert!(lost(&mut history, at(500)).is_empty());
    }

    #[test]
    fn packets_are_found_by_every_number() {
        let mut history = SendHistory::new(true);
        let ids: Vec<_> = (0..20).map(|millis| send(&mut history, at(millis * 3), 0)).collect();
        assert_eq!(history.find(Subflow(0), 9), Some(ids[9]));
        assert_eq!(history.find(Subflow(0), 20), None, "not sent yet");
        assert_eq!(history.find_transport(7), Some(ids[7]));
        assert_eq!(history.find_transport(20), None);
        assert_eq!(history.find_echo(Subflow(0), MicrosClock::from_timestamp(at(27))), Some(ids[9]));
        assert_eq!(history.find_echo(Subflow(0), MicrosClock::from_timestamp(at(28))), None);
        assert_eq!(history.find_echo(Subflow(5), MicrosClock::from_timestamp(at(27))), None);
    }

    /// Also where others were forgotten.
    #[test]
    fn each_echo_is_found() {
        let mut history = SendHistory::new(true);
        let ids: Vec<_> = (0..20).map(|millis| send(&mut history, at(millis * 3), 0)).collect();
        let find = |history: &SendHistory, index: u64| {
            history.find_echo(Subflow(0), MicrosClock::from_timestamp(at(index * 3)))
        };
        (0..20).for_each(|index| assert_eq!(find(&history, index), Some(ids[index as usize])));
        history.resolve_before(Subflow(0), ids[6]);
        (0..6).for_each(|index| assert_eq!(find(&history, index), None));
        (6..20).for_each(|index| assert_eq!(find(&history, index), Some(ids[index as usize])));
    }

    /// What is in flight left, and was neither reported nor declared lost nor forgotten.
    #[test]
    fn what_is_in_flight_is_counted() {
        let mut history = SendHistory::new(true);
        (0..6).for_each(|millis| assert_eq!(send(&mut history, at(millis), 0), PacketId(millis)));
        let mut flights = vec![history.flight()];
        for _ in 0..2 {
            received(&mut history, at(10), PacketId(1));
            flights.push(history.flight());
        }
        let mut reports = Vec::new();
        for _ in 0..2 {
            history.on_lost(PacketId(2), &mut reports);
            flights.push(history.flight());
        }
        assert_eq!(reports.len(), 1);
        received(&mut history, at(11), PacketId(2));
        flights.push(history.flight());
        // Packet 0 is forgotten as it is.
        history.resolve_before(Subflow(0), PacketId(3));
        flights.push(history.flight());
        assert_eq!(lost(&mut history, at(1004)), [3, 4]);
        flights.push(history.flight());
        assert_eq!(flights, [6, 5, 5, 4, 4, 4, 3, 1].map(|packets| DataSize::from_bytes(packets * 1000)));
    }

    #[test]
    fn what_is_resolved_on_every_subflow_is_forgotten() {
        let mut history = SendHistory::new(true);
        for millis in 0..10 {
            send(&mut history, at(millis), millis as u8 % 2);
        }
        history.resolve_before(Subflow(0), PacketId(6));
        assert_eq!(history.oldest(), PacketId(0));
        history.resolve_before(Subflow(1), PacketId(3));
        assert_eq!((history.oldest(), history.sent_at(PacketId(2))), (PacketId(3), None));
        history.resolve_before(Subflow(1), PacketId(2));
        assert_eq!(history.oldest(), PacketId(3));
        assert_eq!(history.next_loss(|_| TIMES), Some(at(1003)));
    }

    #[test]
    fn what_no_report_names_is_forgotten_after_a_time() {
        let mut history = SendHistory::new(false);
        assert!(!history.detects_loss() && SendHistory::new(true).detects_loss());
        send(&mut history, at(0), 0);
        send(&mut history, at(1), 0);
        history.forget(at(0) + MEMORY);
        assert_eq!((history.oldest(), history.flight()), (PacketId(0), DataSize::from_bytes(2000)));
        history.forget(at(1) + MEMORY);
        assert_eq!((history.oldest(), history.flight()), (PacketId(1), DataSize::from_bytes(1000)));
    }

    /// What was received, and what no report names, nothing is declared lost because it is forgotten.
    #[test]
    fn only_what_may_be_lost_is_declared_lost() {
        for (detects_loss, is_received, is_lost) in
            [(true, false, true), (true, true, false), (false, false, false)]
        {
            let mut history = SendHistory::new(detects_loss);
            send(&mut history, at(0), 0);
            if is_received {
                received(&mut history, at(0), PacketId(0));
            }
            assert_eq!(history.forget_oldest().is_some(), is_lost);
            assert_eq!((history.flight(), history.oldest()), (DataSize::ZERO, PacketId(1)));
        }
    }

    #[test]
    fn the_next_report_names_what_is_behind_the_newest() {
        let mut history = SendHistory::new(true);
        (0..4).for_each(|millis| _ = send(&mut history, at(millis), 0));
        assert_eq!(history.next_reported(Subflow(0)), Some(at(0)));
        received(&mut history, at(10), PacketId(1));
        assert_eq!(history.next_reported(Subflow(0)), Some(at(2)));
        received(&mut history, at(10), PacketId(3));
        assert_eq!((history.next_reported(Subflow(0)), history.next_reported(Subflow(1))), (None, None));
    }

    #[test]
    fn what_is_outstanding_is_known_by_subflow() {
        let mut history = SendHistory::new(true);
        (0..6).for_each(|millis| _ = send(&mut history, at(millis), millis as u8 % 2));
        received(&mut history, at(10), PacketId(2));
        history.on_lost(PacketId(3), &mut Vec::new());
        let outstanding = |subflow| history.outstanding(Subflow(subflow)).collect::<Vec<_>>();
        assert_eq!(outstanding(0), [(PacketId(0), at(0)), (PacketId(4), at(4))]);
        assert_eq!(outstanding(1), [(PacketId(1), at(1)), (PacketId(5), at(5))]);
    }

    #[test]
    fn header_fields_are_kept() {
        let mut history = SendHistory::new(true);
        let id = send(&mut history, at(0), 0);
        let packet = SentPacket { id: history.next_id(), sequence: 1, ..history.records[0].packet };
        let fields = HeaderFields { tag: Some(7), ends_frame: true };
        history.push(at(1), &packet, fields);
        assert_eq!((history.fields_of(id), history.fields_of(packet.id)), (HeaderFields::default(), fields));
    }

    /// A packet whose arrival is hours from that of the one before says that the peer's clock was set.
    #[test]
    fn a_step_of_the_clock_is_known_by_its_packet() {
        let mut history = SendHistory::new(true);
        let ids: Vec<_> = (0..3).map(|millis| send(&mut history, at(millis), 0)).collect();
        for (id, seconds) in ids.iter().zip([100, 100, 50_000]) {
            let arrival = Some(RemoteTimestamp::from_nanos(seconds * 1_000_000_000));
            history.on_received(at(20), *id, arrival, Ecn::NotEct, &mut Vec::new());
        }
        assert_eq!(
            ids.iter().map(|id| history.is_out_of_step(*id)).collect::<Vec<_>>(),
            [false, false, true]
        );
    }

    /// A packet came 90 ms after one that overtook it: the next one is waited for, though many others overtake it.
    #[test]
    fn what_came_late_by_itself_is_waited_for() {
        let mut history = SendHistory::new(true);
        (0..2).for_each(|millis| assert_eq!(send(&mut history, at(millis), 0), PacketId(millis)));
        assert!(arrive(&mut history, at(10), 1..=1).is_empty());
        assert_eq!(lost(&mut history, at(80)), [0]);
        assert!(arrive(&mut history, at(100), 0..=0).is_empty());
        (200..220).for_each(|millis| _ = send(&mut history, at(millis), 0));
        assert!(arrive(&mut history, at(220), 3..=21).is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut history = SendHistory::new(true);
        for _ in 0..CAPACITY {
            send(&mut history, at(0), 0);
        }
        let overflow = {
            let id = history.next_id();
            let packet = SentPacket { id, sequence: id.0, ..history.records[0].packet };
            history.push(at(1), &packet, HeaderFields::default())
        };
        assert_eq!(overflow.map(|report| (report.packet.id.0, report.fate)), Some((0, Fate::Lost)));
        lost(&mut history, at(2000));
        history.forget(at(6000));
        assert_eq!(history.records.len(), 0);
        assert_eq!(history.find(Subflow(0), 0), None);
        assert_eq!(history.next_id(), PacketId(CAPACITY as u64 + 1));
    }

    proptest! {
        /// Whatever comes back, each packet is received or lost once, and late only after it was lost.
        #[test]
        fn every_packet_has_one_fate(
            steps in prop::collection::vec((0u8..4, 0u64..60, 0u64..40), 1..200),
        ) {
            let mut history = SendHistory::new(true);
            let mut fates = std::collections::BTreeMap::new();
            let mut now = at(0);
            let mut reports = Vec::new();
            for (step, id, wait) in steps {
                now += TimeDelta::from_millis(wait as i64);
                match step {
                    0 | 1 => { send(&mut history, now, step); }
                    2 => { history.on_received(now, PacketId(id), None, Ecn::NotEct, &mut reports); }
                    _ => {
                        history.detect_losses(now, |_| TIMES, &mut reports);
                        prop_assert!(history.next_loss(|_| TIMES).is_none_or(|due| due > now));
                    }
                }
                for subflow in &history.subflows {
                    let sent = subflow.log.get(subflow.cursor).and_then(|id| history.sent_at(id));
                    prop_assert_eq!(subflow.cursor_sent, sent);
                }
                for report in reports.drain(..) {
                    let before = fates.insert(report.packet.id, report.fate);
                    match report.fate {
                        Fate::Late { .. } => prop_assert_eq!(before, Some(Fate::Lost)),
                        _ => prop_assert_eq!(before, None),
                    }
                }
            }
            let mut rest = Vec::new();
            history.detect_losses(now + TIMES.silence, |_| TIMES, &mut rest);
            for report in rest {
                prop_assert_eq!(fates.insert(report.packet.id, report.fate), None);
            }
            prop_assert_eq!(fates.len() as u64, history.next_id().0);
            prop_assert_eq!(history.next_loss(|_| TIMES), None);
        }
    }
}
