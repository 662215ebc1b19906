//! What left, when, and what became of it: the one place that calls a packet lost.

use super::sequence_log::SequenceLog;
use crate::message::RtpPacket;
use crate::send::pacer::Pacer;
use crate::source_id::SourceId;
use crate::unwrap::nearest;
use seaway_control::{Fate, Lane, PacketId, PacketReport, SentPacket};
use seaway_units::{DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use seaway_wire::MicrosClock;
use std::collections::VecDeque;

/// How long a packet waits to be called lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossTimes {
    /// After a later packet of its lane was reported.
    pub(crate) reorder: TimeDelta,
    /// After it left, where nothing later was reported.
    pub(crate) silence: TimeDelta,
}

/// Later packets of a lane that must have arrived before one is called lost at once (RFC 5348 section 5.1).
const LATER: usize = 3;
/// Departures that are remembered at most.
const CAPACITY: usize = 1 << 15;
/// Departures are remembered this long, so that late and repeated reports are known for what they are.
const MEMORY: TimeDelta = TimeDelta::from_secs(4);

/// The departures of a flow: a ring by [`PacketId`], and for each lane and source which number was whose.
#[derive(Debug)]
pub(crate) struct History {
    /// Arrivals are reported packet by packet: what is not reported is lost.
    watches: bool,
    /// Id of the oldest record.
    first: u64,
    records: VecDeque<Record>,
    /// What would be sent again of each; `None` where nothing ever is.
    stored: Option<VecDeque<Option<Stored>>>,
    lanes: Vec<LaneLog>,
    sources: Vec<Option<Box<SequenceLog>>>,
    /// What is outstanding.
    flight: DataSize,
}

#[derive(Debug)]
struct Record {
    packet: SentPacket,
    sent: Timestamp,
    state: State,
    written: Written,
}

/// What stood on a packet for the receiving half, should that run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Written {
    pub(crate) tag: Option<u16>,
    pub(crate) ends_frame: bool,
}

/// A media packet that may be asked for again.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) packet: RtpPacket,
    pub(crate) repeats: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Outstanding,
    Received,
    Lost,
}

/// One connection of the flow.
#[derive(Debug)]
pub(crate) struct LaneLog {
    log: SequenceLog,
    /// Everything below is resolved.
    cursor: u64,
    /// When the departure there left, where there is one.
    cursor_sent: Option<Timestamp>,
    /// The highest numbers that were reported received, descending.
    received: [Option<u64>; LATER],
    /// When the highest of them was reported.
    reported_at: Timestamp,
    /// Nothing will be told of what left before this one.
    settled: PacketId,
    pub(crate) pacer: Pacer,
}

/// What a report that a packet arrived amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// News.
    News,
    /// It was known already.
    Known,
    /// It was never sent, or long ago.
    Unmatched,
}

impl LaneLog {
    fn new() -> Self {
        let log = SequenceLog::starting_at(0);
        let reported_at = Timestamp::ZERO;
        let (settled, pacer) = (PacketId(0), Pacer::default());
        Self { log, cursor: 0, cursor_sent: None, received: [None; LATER], reported_at, settled, pacer }
    }

    /// The next of the lane left.
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
            self.received[rank..].rotate_right(1);
            self.received[rank] = Some(sequence);
        }
        if rank == Some(0) {
            self.reported_at = now;
        }
    }
}

impl History {
    /// Nothing left yet. `watches`: arrivals will be reported packet by packet; `stores`: packets may be asked for
    /// again.
    pub(crate) fn new(watches: bool, stores: bool) -> Self {
        Self {
            watches,
            first: 0,
            records: VecDeque::new(),
            stored: stores.then(VecDeque::new),
            lanes: Vec::new(),
            sources: Vec::new(),
            flight: DataSize::ZERO,
        }
    }

    /// The id of the next departure.
    pub(crate) fn next_id(&self) -> PacketId {
        PacketId(self.first + self.records.len() as u64)
    }

    /// Wire octets that left and were not reported yet.
    pub(crate) fn flight(&self) -> DataSize {
        self.flight
    }

    /// State of a lane, made where it is new.
    #[inline]
    pub(crate) fn lane(&mut self, lane: Lane) -> &mut LaneLog {
        let index = usize::from(lane.0);
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, LaneLog::new);
        }
        &mut self.lanes[index]
    }

    /// The pacer of a lane.
    #[inline]
    pub(crate) fn pacer(&self, lane: Lane) -> Pacer {
        self.lanes.get(usize::from(lane.0)).map_or_else(Pacer::default, |lane| lane.pacer)
    }

    /// The number the next departure of `lane` will have.
    #[inline]
    pub(crate) fn next_in_lane(&self, lane: Lane) -> u64 {
        self.lanes.get(usize::from(lane.0)).map_or(0, |lane| lane.log.next())
    }

    /// The RTP number the next departure of `source` will have, before it is cut to 16 bits.
    #[inline]
    pub(crate) fn next_in_source(&mut self, source: SourceId, initial: u16) -> u64 {
        self.source(source, initial).next()
    }

    #[inline]
    fn source(&mut self, source: SourceId, initial: u16) -> &mut SequenceLog {
        let index = source.index();
        if self.sources.len() <= index {
            self.sources.resize_with(index + 1, || None);
        }
        let first = || Box::new(SequenceLog::starting_at(initial.into()));
        self.sources[index].get_or_insert_with(first)
    }

    /// A packet left as the next of its lane and source. Where the memory is full, the oldest departure is
    /// forgotten, and taken for lost where nothing was known of it.
    #[inline]
    pub(crate) fn push(
        &mut self,
        now: Timestamp,
        packet: &SentPacket,
        source: SourceId,
        written: Written,
        stored: Option<Stored>,
    ) -> Option<PacketReport> {
        debug_assert_eq!(packet.id, self.next_id());
        let forgotten = if self.records.len() == CAPACITY { self.forget_oldest() } else { None };
        self.lane(packet.lane).push(now, packet.id);
        self.source(source, 0).push(packet.id);
        self.flight += packet.size;
        self.records.push_back(Record { packet: *packet, sent: now, state: State::Outstanding, written });
        if let Some(all) = &mut self.stored {
            all.push_back(stored);
        }
        forgotten
    }

    fn forget_oldest(&mut self) -> Option<PacketReport> {
        let record = self.pop()?;
        self.forget_numbers();
        (record.state == State::Outstanding && self.watches).then(|| record.report(Fate::Lost))
    }

    #[inline]
    fn pop(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?;
        self.first += 1;
        if let Some(stored) = &mut self.stored {
            stored.pop_front();
        }
        if record.state == State::Outstanding {
            self.flight -= record.packet.size;
        }
        Some(record)
    }

    /// Nothing more will be told of what left by `lane` before `id`: what left before the last such packet of every
    /// lane is forgotten, unless it may be asked for again.
    pub(crate) fn settle_before(&mut self, lane: Lane, id: PacketId) {
        let settled = &mut self.lane(lane).settled;
        *settled = (*settled).max(id);
        let oldest = self.lanes.iter().map(|lane| lane.settled).min().unwrap_or_default();
        if self.stored.is_none() {
            while self.first < oldest.0 && self.pop().is_some() {}
            self.forget_numbers();
        }
    }

    /// Forgets what is resolved and old.
    pub(crate) fn forget(&mut self, now: Timestamp) {
        let mut stale = 0;
        for record in &self.records {
            let is_open = record.state == State::Outstanding;
            if is_open && self.watches || now.since(record.sent) <= MEMORY {
                break;
            }
            if is_open {
                self.flight -= record.packet.size;
            }
            stale += 1;
        }
        self.records.drain(..stale);
        if let Some(stored) = &mut self.stored {
            stored.drain(..stale);
        }
        self.first += stale as u64;
        self.forget_numbers();
    }

    fn forget_numbers(&mut self) {
        let oldest = PacketId(self.first);
        for lane in &mut self.lanes {
            lane.log.forget_before(oldest);
            if lane.cursor < lane.log.first() {
                lane.cursor = lane.log.first();
                lane.note_cursor(self.first, &self.records);
            }
        }
        for source in self.sources.iter_mut().flatten() {
            source.forget_before(oldest);
        }
    }

    fn get(&self, id: PacketId) -> Option<&Record> {
        self.records.get(usize::try_from(id.0.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, id: PacketId) -> Option<&mut Record> {
        self.records.get_mut(usize::try_from(id.0.checked_sub(self.first)?).ok()?)
    }

    /// Numbers from an RTP number on, up to `count`, whose departures followed one another: the first of these and how
    /// many. None where the first is not known.
    pub(crate) fn find_run(
        &self,
        source: SourceId,
        sequence: u16,
        count: usize,
    ) -> Option<(PacketId, usize)> {
        let log = self.sources.get(source.index())?.as_ref()?;
        let number = nearest::<16>(log.next(), sequence.into());
        let (first, after) = log.run_from(number, number + count as u64)?;
        Some((first, (after - number) as usize))
    }

    /// True where it is known already that a packet arrived.
    #[inline]
    pub(crate) fn is_received(&self, id: PacketId) -> bool {
        self.get(id).is_some_and(|record| record.state == State::Received)
    }

    /// The departure with this RTP number.
    pub(crate) fn find_rtp(&self, source: SourceId, sequence: u16) -> Option<PacketId> {
        let log = self.sources.get(source.index())?.as_ref()?;
        log.get(nearest::<16>(log.next(), sequence.into()))
    }

    /// The departure with this transport-wide number.
    pub(crate) fn find_transport(&self, sequence: u16) -> Option<PacketId> {
        let id = PacketId(nearest::<16>(self.next_id().0, sequence.into()));
        self.get(id).map(|_| id)
    }

    /// The departure of `lane` that carried this send time.
    pub(crate) fn find_echo(&self, lane: Lane, echo: MicrosClock) -> Option<PacketId> {
        let log = &self.lanes.get(usize::from(lane.0))?.log;
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

    /// When a packet left.
    pub(crate) fn sent_at(&self, id: PacketId) -> Option<Timestamp> {
        self.get(id).map(|record| record.sent)
    }

    /// What stood on a packet.
    pub(crate) fn written_on(&self, id: PacketId) -> Written {
        self.get(id).map(|record| record.written).unwrap_or_default()
    }

    /// The connection a packet left by.
    pub(crate) fn lane_of(&self, id: PacketId) -> Option<Lane> {
        self.get(id).map(|record| record.packet.lane)
    }

    /// What of a departure could be sent again.
    pub(crate) fn stored(&mut self, id: PacketId) -> Option<(Lane, Timestamp, &mut Stored)> {
        let record = self.get(id)?;
        let (lane, sent) = (record.packet.lane, record.sent);
        let index = usize::try_from(id.0.checked_sub(self.first)?).ok()?;
        Some((lane, sent, self.stored.as_mut()?.get_mut(index)?.as_mut()?))
    }

    /// The peer says that a packet arrived: news go to `reports`.
    #[inline]
    pub(crate) fn on_received(
        &mut self,
        now: Timestamp,
        id: PacketId,
        at: Option<RemoteTimestamp>,
        ecn: Ecn,
        reports: &mut Vec<PacketReport>,
    ) -> Outcome {
        let Some(record) = self.get_mut(id) else { return Outcome::Unmatched };
        let fate = match record.state {
            State::Received => return Outcome::Known,
            State::Outstanding => Fate::Received { at, ecn },
            State::Lost => Fate::Late { at },
        };
        let was_outstanding = record.state == State::Outstanding;
        record.state = State::Received;
        reports.push(record.report(fate));
        let SentPacket { lane, sequence, size, .. } = record.packet;
        if was_outstanding {
            self.flight -= size;
        }
        self.lane(lane).on_received(now, sequence);
        Outcome::News
    }

    /// Appends the packets that must be taken for lost by now, each once.
    pub(crate) fn detect_losses(
        &mut self,
        now: Timestamp,
        times: LossTimes,
        reports: &mut Vec<PacketReport>,
    ) {
        if !self.watches {
            return;
        }
        for lane in &mut self.lanes {
            let [newest, .., certain] = lane.received;
            let reorder_over = lane.reported_at + times.reorder <= now;
            let mut all_resolved = true;
            for (number, id) in lane.log.since(lane.cursor) {
                let index = id.0.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
                let Some(record) = index.and_then(|index| self.records.get_mut(index)) else { continue };
                if record.state == State::Outstanding {
                    let overtaken = newest.is_some_and(|newest| number < newest);
                    let lost = certain.is_some_and(|certain| number < certain)
                        || overtaken && reorder_over
                        || record.sent + times.silence <= now;
                    if lost {
                        record.state = State::Lost;
                        self.flight -= record.packet.size;
                        reports.push(record.report(Fate::Lost));
                    } else if overtaken {
                        all_resolved = false;
                    } else {
                        // Whatever follows is younger.
                        break;
                    }
                }
                if all_resolved {
                    lane.cursor = number + 1;
                }
            }
            lane.note_cursor(self.first, &self.records);
        }
    }

    /// When [`Self::detect_losses`] may find one where nothing is reported until then.
    pub(crate) fn next_loss(&self, times: LossTimes) -> Option<Timestamp> {
        if !self.watches {
            return None;
        }
        let of_lane = |lane: &LaneLog| {
            let silence = lane.cursor_sent? + times.silence;
            let overtaken = lane.received[0].is_some_and(|newest| lane.cursor < newest);
            Some(if overtaken { silence.min(lane.reported_at + times.reorder) } else { silence })
        };
        self.lanes.iter().filter_map(of_lane).min()
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
    const SOURCE: SourceId = SourceId { stream: StreamId(0), lane: Lane(0), repair: false };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn send(history: &mut History, now: Timestamp, lane: u8) -> PacketId {
        let packet = SentPacket {
            id: history.next_id(),
            lane: Lane(lane),
            sequence: history.next_in_lane(Lane(lane)),
            size: DataSize::from_bytes(1000),
            content: Content::Media(StreamId(0)),
            probe: None,
            backlog: DataSize::ZERO,
        };
        let source = SourceId { lane: Lane(lane), ..SOURCE };
        history.next_in_source(source, 65_530);
        history.push(now, &packet, source, Written::default(), None);
        packet.id
    }

    fn lost(history: &mut History, now: Timestamp) -> Vec<u64> {
        let mut reports = Vec::new();
        history.detect_losses(now, TIMES, &mut reports);
        reports.iter().map(|report| report.packet.id.0).collect()
    }

    fn received(history: &mut History, now: Timestamp, id: PacketId) -> (Outcome, Option<PacketReport>) {
        let mut reports = Vec::new();
        (history.on_received(now, id, None, Ecn::NotEct, &mut reports), reports.pop())
    }

    #[test]
    fn three_later_packets_or_a_time() {
        let mut history = History::new(true, true);
        for millis in 0..10 {
            send(&mut history, at(millis), 0);
        }
        for id in [2, 4] {
            received(&mut history, at(20), PacketId(id));
        }
        assert!(lost(&mut history, at(20)).is_empty());
        received(&mut history, at(21), PacketId(5));
        assert_eq!(lost(&mut history, at(21)), [0, 1]);
        assert_eq!(history.next_loss(TIMES), Some(at(71)));
        assert!(lost(&mut history, at(70)).is_empty());
        assert_eq!(lost(&mut history, at(71)), [3], "overtaken for 50 ms");
        assert_eq!(history.next_loss(TIMES), Some(at(1006)), "nothing later than 6 was reported");
        assert_eq!(lost(&mut history, at(1009)), [6, 7, 8, 9]);
        assert_eq!(history.next_loss(TIMES), None);
        let late = received(&mut history, at(1010), PacketId(3));
        assert!(matches!(late, (Outcome::News, Some(PacketReport { fate: Fate::Late { .. }, .. }))));
        assert!(history.is_received(PacketId(3)) && !history.is_received(PacketId(6)));
        assert_eq!(received(&mut history, at(1011), PacketId(3)), (Outcome::Known, None));
        assert_eq!(received(&mut history, at(1011), PacketId(10)), (Outcome::Unmatched, None));
    }

    #[test]
    fn lanes_do_not_overtake_one_another() {
        let mut history = History::new(true, true);
        send(&mut history, at(0), 0);
        for millis in 1..6 {
            let id = send(&mut history, at(millis), 1);
            received(&mut history, at(10), id);
        }
        assert!(lost(&mut history, at(500)).is_empty());
    }

    #[test]
    fn departures_are_found_by_every_number() {
        let mut history = History::new(true, true);
        let ids: Vec<_> = (0..20).map(|millis| send(&mut history, at(millis * 3), 0)).collect();
        assert_eq!(history.find_rtp(SOURCE, 65_530), Some(ids[0]));
        assert_eq!(history.find_rtp(SOURCE, 3), Some(ids[9]));
        assert_eq!(history.find_rtp(SOURCE, 14), None, "not sent yet");
        assert_eq!(history.find_run(SOURCE, 65_533, 7), Some((ids[3], 7)));
        assert_eq!(history.find_run(SOURCE, 10, 7), Some((ids[16], 4)), "three are not sent yet");
        assert_eq!(history.find_run(SOURCE, 65_529, 7), None);
        assert_eq!(history.find_rtp(SOURCE, 65_529), None, "before the first");
        assert_eq!(history.find_transport(7), Some(ids[7]));
        assert_eq!(history.find_transport(20), None);
        assert_eq!(history.find_echo(Lane(0), MicrosClock::from_timestamp(at(27))), Some(ids[9]));
        assert_eq!(history.find_echo(Lane(0), MicrosClock::from_timestamp(at(28))), None);
        assert_eq!(history.find_echo(Lane(5), MicrosClock::from_timestamp(at(27))), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut history = History::new(true, true);
        for _ in 0..CAPACITY {
            send(&mut history, at(0), 0);
        }
        let overflow = {
            let id = history.next_id();
            let packet = SentPacket { id, sequence: id.0, ..history.records[0].packet };
            history.push(at(1), &packet, SOURCE, Written::default(), None)
        };
        assert_eq!(overflow.map(|report| (report.packet.id.0, report.fate)), Some((0, Fate::Lost)));
        lost(&mut history, at(2000));
        history.forget(at(6000));
        assert_eq!(history.records.len(), 0);
        assert_eq!(history.find_rtp(SOURCE, 65_530), None);
        assert_eq!(history.next_id(), PacketId(CAPACITY as u64 + 1));
    }

    proptest! {
        /// Whatever comes back, each packet is received or lost once, and late only after it was lost.
        #[test]
        fn every_packet_has_one_fate(
            steps in prop::collection::vec((0u8..4, 0u64..60, 0u64..40), 1..200),
        ) {
            let mut history = History::new(true, true);
            let mut fates = std::collections::BTreeMap::new();
            let mut now = at(0);
            let mut reports = Vec::new();
            for (step, id, wait) in steps {
                now += TimeDelta::from_millis(wait as i64);
                match step {
                    0 | 1 => { send(&mut history, now, step); }
                    2 => { history.on_received(now, PacketId(id), None, Ecn::NotEct, &mut reports); }
                    _ => history.detect_losses(now, TIMES, &mut reports),
                }
                for lane in &history.lanes {
                    let sent = lane.log.get(lane.cursor).and_then(|id| history.sent_at(id));
                    prop_assert_eq!(lane.cursor_sent, sent);
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
            history.detect_losses(now + TIMES.silence, TIMES, &mut rest);
            for report in rest {
                prop_assert_eq!(fates.insert(report.packet.id, report.fate), None);
            }
            prop_assert_eq!(fates.len() as u64, history.next_id().0);
            prop_assert_eq!(history.next_loss(TIMES), None);
        }
    }
}
