//! The arrivals of one source: duplicates, gaps, and what reports say of them.

use crate::clock::{ticks, ticks_to_span};
use crate::unwrap::SequenceUnwrapper;
use seaway_units::{Ecn, TimeDelta, Timestamp};
use seaway_wire::rtcp::ReportBlock;
use seaway_wire::rtcp::ccfb::{ArrivalOffset, Metric};
use std::collections::VecDeque;
use std::ops::Range;

/// A jump ahead by more than this is accepted when the next packet confirms it (RFC 3550 appendix A.1).
const MAX_DROPOUT: u64 = 3000;
/// Numbers that are remembered behind the highest.
const MEMORY: u64 = 4096;
/// Numbers that are remembered while they are not reported twice: what a report block holds (RFC 8888 section 3.1).
const UNREPORTED_MEMORY: u64 = 16_384;
/// Numbers that all sources of a session remember together; with 16 sources or fewer it is no limit.
const SESSION_MEMORY: u64 = 1 << 18;
/// Each report repeats at least so many packets, and all of the report before it.
const OVERLAP: u64 = 16;

/// Older arrivals are not repeated.
const REPEAT: TimeDelta = TimeDelta::from_secs(1);

/// The arrivals of one source.
#[derive(Debug)]
pub(super) struct ArrivalLog {
    sequence: SequenceUnwrapper<16>,
    /// Number of the first slot.
    base: u64,
    slots: VecDeque<Option<Slot>>,
    /// The number that would confirm a jump.
    suspect: Option<u16>,
    /// Numbers that are remembered at most.
    memory: u64,
    /// What the last two reports went up to.
    reported: [u64; 2],
    /// The lowest number that arrived out of order since the last report.
    reach_back: Option<u64>,
    /// Reports that still have to include the last arrival: two, as a report may be lost.
    unreported: u8,
    reception: Reception,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    at: Timestamp,
    ecn: Ecn,
}

/// For receiver reports (RFC 3550 section 6.4.1 and appendix A.3).
#[derive(Debug, Clone, Copy, Default)]
struct Reception {
    first: u64,
    received: u64,
    expected_before: u64,
    received_before: u64,
    /// Of the last arrival: its time in ticks less its timestamp.
    transit: Option<i64>,
    /// In ticks.
    jitter: f64,
    /// Ticks of the media clock a second.
    rate: u32,
}

/// What an arrival is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Insertion {
    /// New, with these numbers missing before it since the highest so far.
    New { sequence: u64, missing: Range<u64> },
    /// It came before.
    Duplicate,
    /// Too far from what came so far.
    Outside,
}

impl ArrivalLog {
    /// Begins with the first packet of a source whose media clock has `rate` ticks a second.
    pub(super) fn new(first: u16, rate: u32) -> Self {
        let sequence = SequenceUnwrapper::new(first.into());
        let base = sequence.highest();
        Self {
            sequence,
            base,
            slots: VecDeque::new(),
            suspect: None,
            memory: UNREPORTED_MEMORY,
            reported: [base; 2],
            reach_back: None,
            unreported: 0,
            reception: Reception { first: base, rate, ..Reception::default() },
        }
    }

    /// The session has so many sources, which share its memory.
    pub(super) fn share_memory(&mut self, sources: usize) {
        self.memory = (SESSION_MEMORY / sources as u64).min(UNREPORTED_MEMORY);
        self.trim();
        self.slots.shrink_to(self.memory as usize);
    }

    /// The number, unwrapped.
    pub(super) fn unwrap(&self, number: u16) -> u64 {
        self.sequence.peek(number.into())
    }

    /// Number after the highest that arrived.
    pub(super) fn end(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// A packet arrived.
    #[inline]
    pub(super) fn insert(&mut self, number: u16, at: Timestamp, ecn: Ecn) -> Insertion {
        let sequence = self.unwrap(number);
        if sequence == self.end() {
            // The next in order.
            return self.append(sequence, at, ecn);
        }
        self.insert_elsewhere(sequence, number, at, ecn)
    }

    fn insert_elsewhere(&mut self, mut sequence: u64, number: u16, at: Timestamp, ecn: Ecn) -> Insertion {
        let overtaken_first = self.base == self.reception.first && sequence + 64 >= self.base;
        if sequence < self.base && overtaken_first {
            return self.insert_before_base(sequence, at, ecn);
        }
        let end = self.end();
        let outside = sequence < self.base || sequence >= end + MAX_DROPOUT.min(self.memory);
        if outside && !self.slots.is_empty() {
            if self.suspect != Some(number) {
                self.suspect = Some(number.wrapping_add(1));
                return Insertion::Outside;
            }
            // Begin anew, behind all earlier numbers.
            sequence += if sequence < self.base { 1 << 16 } else { 0 };
            self.restart(sequence);
        }
        let end = self.end();
        self.suspect = None;
        if sequence < end && sequence >= self.base && !self.slots.is_empty() {
            return self.fill(sequence, at, ecn);
        }
        let missing = self.end()..sequence;
        self.slots.resize((sequence - self.base) as usize, None);
        self.append(sequence, at, ecn);
        Insertion::New { sequence, missing }
    }

    #[inline]
    fn append(&mut self, sequence: u64, at: Timestamp, ecn: Ecn) -> Insertion {
        self.suspect = None;
        self.slots.push_back(Some(Slot { at, ecn }));
        self.sequence.reach(sequence);
        self.arrived();
        self.trim();
        Insertion::New { sequence, missing: sequence..sequence }
    }

    fn restart(&mut self, sequence: u64) {
        self.slots.clear();
        self.base = sequence;
        self.sequence = SequenceUnwrapper::at(sequence);
        self.reported = [sequence; 2];
        self.reach_back = None;
    }

    /// Only the very first packets can be overtaken by the first that arrived.
    fn insert_before_base(&mut self, sequence: u64, at: Timestamp, ecn: Ecn) -> Insertion {
        for _ in sequence..self.base {
            self.slots.push_front(None);
        }
        self.base = sequence;
        self.reception.first = sequence;
        self.fill(sequence, at, ecn)
    }

    fn fill(&mut self, sequence: u64, at: Timestamp, ecn: Ecn) -> Insertion {
        let slot = &mut self.slots[(sequence - self.base) as usize];
        if let Some(known) = slot {
            // A mark on any copy counts (RFC 8888 section 3.1).
            if ecn == Ecn::Ce {
                known.ecn = Ecn::Ce;
            }
            return Insertion::Duplicate;
        }
        *slot = Some(Slot { at, ecn });
        self.reach_back = Some(self.reach_back.map_or(sequence, |reach| reach.min(sequence)));
        self.arrived();
        Insertion::New { sequence, missing: sequence..sequence }
    }

    fn arrived(&mut self) {
        self.unreported = 2;
        self.reception.received += 1;
    }

    #[inline]
    fn trim(&mut self) {
        let end = self.end();
        let usual = end.saturating_sub(MEMORY);
        let keep = usual.min(self.reported[1]).max(end.saturating_sub(self.memory));
        while self.base < keep {
            self.slots.pop_front();
            self.base += 1;
        }
    }

    /// The jitter goes on with an arrival of this media timestamp (RFC 3550 appendix A.8).
    pub(super) fn on_timestamp(&mut self, at: Timestamp, timestamp: u32) {
        let transit = ticks(at, self.reception.rate) as i64 - i64::from(timestamp);
        if let Some(before) = self.reception.transit.replace(transit) {
            // Modulo the turn of the timestamp.
            let difference = f64::from(((transit - before) as i32).unsigned_abs());
            self.reception.jitter += (difference - self.reception.jitter) / 16.0;
        }
    }

    /// Interarrival jitter as time.
    pub(super) fn jitter(&self) -> TimeDelta {
        ticks_to_span(self.reception.jitter.round() as i64, self.reception.rate)
    }

    /// True where an arrival was not yet in two reports.
    pub(super) fn has_unreported(&self) -> bool {
        self.unreported > 0
    }

    /// The numbers of the next report. Old arrivals are not repeated, as the sender has forgotten the packets.
    pub(super) fn range_to_report(&self, now: Timestamp) -> Range<u64> {
        let end = self.end();
        let begin = self.reported[1].min(end.saturating_sub(OVERLAP));
        let begin = self.reach_back.map_or(begin, |reach| reach.min(begin));
        let mut begin = begin.max(self.base);
        let is_old = |slot: &Option<Slot>| slot.is_none_or(|slot| now.since(slot.at) > REPEAT);
        while begin < self.reported[0].min(end) && is_old(&self.slots[(begin - self.base) as usize]) {
            begin += 1;
        }
        begin..end
    }

    /// All arrivals were reported.
    pub(super) fn on_reported(&mut self) {
        self.reported = [self.end(), self.reported[0]];
        self.reach_back = None;
        self.unreported = self.unreported.saturating_sub(1);
    }

    /// The metric blocks of these numbers.
    pub(super) fn metrics(
        &self,
        range: Range<u64>,
        now: Timestamp,
    ) -> impl ExactSizeIterator<Item = Metric> + '_ {
        let start = (range.start - self.base) as usize;
        let len = (range.end - range.start) as usize;
        self.slots.range(start..start + len).map(move |slot| match slot {
            None => Metric::Missing,
            Some(slot) => {
                Metric::Received { ecn: slot.ecn, arrival: ArrivalOffset::from_span(now - slot.at) }
            }
        })
    }

    /// The block of a receiver report, which ends an interval.
    pub(super) fn report_block(&mut self, ssrc: u32) -> ReportBlock {
        let reception = &mut self.reception;
        let highest = self.sequence.highest();
        let expected = highest + 1 - reception.first;
        let in_interval = expected.saturating_sub(reception.expected_before) as u32;
        let received = reception.received.saturating_sub(reception.received_before) as u32;
        reception.expected_before = expected;
        reception.received_before = reception.received;
        let lost = expected as i64 - reception.received as i64;
        ReportBlock {
            ssrc,
            fraction_lost: ReportBlock::fraction_of(in_interval, received),
            cumulative_lost: lost.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            // The unwrapped numbers began one turn up.
            highest_sequence: (highest - (1 << 16)) as u32,
            jitter: reception.jitter as u32,
            ..ReportBlock::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn log_of(numbers: &[u16]) -> (ArrivalLog, Vec<Insertion>) {
        let mut log = ArrivalLog::new(numbers[0], 90_000);
        let insertions = numbers.iter().map(|number| log.insert(*number, at(0), Ecn::NotEct)).collect();
        (log, insertions)
    }

    fn insert(log: &mut ArrivalLog, number: u16, millis: u64) {
        log.insert(number, at(millis), Ecn::NotEct);
    }

    #[test]
    fn gaps_duplicates_and_late_ones() {
        let base = 1 << 16;
        let (log, insertions) = log_of(&[65_534, 65_535, 2, 65_535, 1, 65_533]);
        let new = |sequence, missing| Insertion::New { sequence: base + sequence, missing };
        let none = |sequence| base + sequence..base + sequence;
        assert_eq!(insertions[2], new(65_538, base + 65_536..base + 65_538));
        assert_eq!(insertions[3], Insertion::Duplicate);
        assert_eq!(insertions[4], new(65_537, none(65_537)));
        assert_eq!(insertions[5], new(65_533, none(65_533)), "the very first was overtaken");
        assert_eq!(log.range_to_report(at(0)), base + 65_533..base + 65_539);
    }

    #[test]
    fn a_jump_is_accepted_when_it_is_confirmed() {
        let (mut log, insertions) = log_of(&[10, 20_000, 11, 20_000, 20_001]);
        assert_eq!(insertions[1], Insertion::Outside);
        assert!(matches!(insertions[2], Insertion::New { .. }));
        assert_eq!(insertions[3], Insertion::Outside);
        assert!(matches!(&insertions[4], Insertion::New { missing, .. } if missing.is_empty()));
        assert_eq!(log.insert(11, at(1), Ecn::NotEct), Insertion::Outside, "forgotten");
        assert_eq!(log.metrics(log.range_to_report(at(0)), at(2)).len(), 1);
    }

    /// A late packet and a report of the old numbers say nothing of the new ones.
    #[test]
    fn a_jump_leaves_nothing_of_the_old_numbers() {
        for (first, far) in [(10, 20_000), (20_000, 10)] {
            let (mut log, _) = log_of(&[first, first + 1, first + 4]);
            log.on_reported();
            log.insert(first + 3, at(1), Ecn::NotEct);
            log.insert(far, at(1), Ecn::NotEct);
            let Insertion::New { sequence, missing } = log.insert(far + 1, at(1), Ecn::NotEct) else {
                panic!("{far} was confirmed")
            };
            assert!(missing.is_empty() && sequence as u16 == far + 1);
            let range = log.range_to_report(at(1));
            assert_eq!(range, sequence..sequence + 1, "{far}");
            assert_eq!(log.metrics(range, at(1)).len(), 1);
            assert_eq!(log.insert(first + 2, at(2), Ecn::NotEct), Insertion::Outside, "{far}");
        }
    }

    #[test]
    fn reports_overlap_with_the_one_before() {
        let (mut log, _) = log_of(&[0]);
        for number in 1..100 {
            log.insert(number, at(0), Ecn::NotEct);
        }
        let base = 1 << 16;
        assert_eq!(log.range_to_report(at(0)), base..base + 100);
        log.on_reported();
        assert!(log.has_unreported(), "to be reported once more");
        log.insert(100, at(0), Ecn::Ect1);
        assert_eq!(log.range_to_report(at(0)), base..base + 101, "twice, so that one report may be lost");
        log.on_reported();
        assert!(log.has_unreported());
        log.insert(101, at(5), Ecn::Ce);
        assert_eq!(log.range_to_report(at(0)), base + 86..base + 102);
        let last = log.metrics(log.range_to_report(at(0)), at(1005)).last().unwrap();
        let arrival = ArrivalOffset::from_span(TimeDelta::from_secs(1));
        assert_eq!(last, Metric::Received { ecn: Ecn::Ce, arrival });
        assert_eq!(log.range_to_report(at(1002)), base + 101..base + 102, "the others are old");
        log.on_reported();
        log.on_reported();
        assert!(!log.has_unreported());
    }

    /// Numbers that moved, either way, continue above all that came before: no number is used twice.
    #[test]
    fn numbers_that_moved_are_above_all_earlier_ones() {
        for far in [0, 500, 30_000, 60_000] {
            let mut log = ArrivalLog::new(10_000, 90_000);
            let mut highest = 0;
            let mut insert = |number| match log.insert(number, at(0), Ecn::NotEct) {
                Insertion::New { sequence, .. } => {
                    assert!(sequence > highest && sequence as u16 == number, "{number} is {sequence}");
                    highest = sequence;
                }
                outside => assert_eq!((outside, number), (Insertion::Outside, far)),
            };
            (10_000..15_000).for_each(&mut insert);
            (far..far + 5).for_each(&mut insert);
        }
    }

    #[test]
    fn sources_share_a_memory() {
        let mut log = ArrivalLog::new(0, 90_000);
        (0..2000).for_each(|number| insert(&mut log, number, 0));
        log.share_memory(512);
        assert_eq!(log.slots.len(), 512);
        (2000..4000).for_each(|number| insert(&mut log, number, 0));
        assert_eq!(log.slots.len(), 512);
        assert_eq!(
            log.insert(4000 - 512, at(0), Ecn::NotEct),
            Insertion::Duplicate,
            "the oldest that is known"
        );
        assert_eq!(log.insert(4000 - 513, at(0), Ecn::NotEct), Insertion::Outside);
        log.share_memory(1);
        assert_eq!(log.memory, UNREPORTED_MEMORY);
    }

    /// RFC 8888 section 3.1.
    #[test]
    fn a_mark_on_any_copy_counts() {
        for copies in [[Ecn::Ect1, Ecn::Ce], [Ecn::Ce, Ecn::Ect1]] {
            let mut log = ArrivalLog::new(0, 90_000);
            for ecn in copies {
                log.insert(0, at(0), ecn);
            }
            let metric = log.metrics(log.range_to_report(at(0)), at(0)).next();
            assert!(matches!(metric, Some(Metric::Received { ecn: Ecn::Ce, .. })), "{metric:?}");
        }
    }

    /// What is reported again is what is not older than a second, packet by packet.
    #[test]
    fn old_arrivals_are_not_reported_again() {
        let mut log = ArrivalLog::new(0, 90_000);
        (0..100).for_each(|number| insert(&mut log, number, if number < 40 { 0 } else { 900 }));
        log.on_reported();
        log.insert(100, at(1500), Ecn::NotEct);
        let range = log.range_to_report(at(1500));
        assert_eq!((range.start as u16, range.end as u16), (40, 101));
    }

    /// 1 Gbit/s of 1200 octets reported every 50 ms.
    #[test]
    fn what_no_report_repeated_is_kept() {
        let mut log = ArrivalLog::new(0, 90_000);
        for number in 1..6000 {
            log.insert(number, at(0), Ecn::NotEct);
        }
        assert_eq!(log.metrics(log.range_to_report(at(0)), at(0)).len(), 6000);
        log.on_reported();
        log.on_reported();
        log.insert(6000, at(0), Ecn::NotEct);
        assert_eq!(log.slots.len() as u64, MEMORY);
    }

    #[test]
    fn receiver_reports_count_by_rfc_3550() {
        let (mut log, _) = log_of(&[100, 101, 103, 103, 107]);
        let block = log.report_block(7);
        assert_eq!((block.cumulative_lost, block.fraction_lost, block.highest_sequence), (4, 128, 107));
        log.insert(108, at(0), Ecn::NotEct);
        assert_eq!(log.report_block(7).fraction_lost, 0);
        for index in 0..200 {
            log.on_timestamp(at(index * 40 + (index % 2) * 10), index as u32 * 3600);
        }
        let jitter = log.jitter().as_millis_f64();
        assert!((jitter - 10.0).abs() < 0.1, "alternates by 10 ms: {jitter}");
        let block = log.report_block(7);
        assert_eq!((block.ssrc, block.jitter), (7, 899), "ticks of 90 kHz");
        (200..500).for_each(|index| log.on_timestamp(at(index * 40 + 1000), index as u32 * 3600));
        assert_eq!(log.jitter().as_millis_f64().round(), 0.0, "always as late");
    }

    proptest! {
        #[test]
        fn any_numbers_stay_inside_the_memory(numbers in prop::collection::vec(any::<u16>(), 1..300)) {
            let mut log = ArrivalLog::new(numbers[0], 90_000);
            for number in numbers {
                log.insert(number, at(0), Ecn::NotEct);
                prop_assert!(log.slots.len() as u64 <= UNREPORTED_MEMORY + MAX_DROPOUT);
                let range = log.range_to_report(at(0));
                prop_assert!(log.metrics(range.clone(), at(0)).len() as u64 == range.end - range.start);
            }
        }
    }
}
