//! From arrivals to losses, from losses to loss events (RFC 5348 sections 5.1 to 5.5).

use crate::estimators::LossIntervals;
use crate::tfrc::equation::LEAST_LOSS;
use seaway_units::Timestamp;
use std::collections::VecDeque;

/// Finds the packets that were lost and groups them into loss events. Memory is bounded: it keeps runs of
/// losses, and only so many that a packet which comes late can still take its loss back.
#[derive(Debug, Clone)]
pub(crate) struct LossEvents {
    /// Short intervals count as RFC 4828 section 3 wants (TFRC-SP).
    small_packets: bool,
    /// The arrival with the highest number.
    highest: Option<(u64, f64)>,
    /// Holes that wait for three later packets, lowest numbers first.
    holes: VecDeque<Hole>,
    /// Losses that may be taken back, lowest numbers first.
    recent: VecDeque<Losses>,
    /// Before the first of `recent`, and after the last.
    settled: History,
    present: History,
    /// The synthetic interval before the first loss event.
    first_interval: f64,
}

/// What an arrival changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Change {
    /// It revealed a new loss event.
    pub(crate) event: bool,
    /// It came late, and a loss event is none after all.
    pub(crate) undone: bool,
}

/// Numbers that did not arrive, below one that did.
#[derive(Debug, Clone, Copy)]
struct Hole {
    losses: Losses,
    /// How many packets with higher numbers arrived.
    later: u32,
}

/// Consecutive lost packets, their nominal times on a line.
#[derive(Debug, Clone, Copy)]
struct Losses {
    first: u64,
    count: u64,
    /// Nominal time of the first, and between two, seconds.
    at: f64,
    step: f64,
    /// Round-trip time when they were found out, infinite while it is not known.
    rtt: f64,
    /// It arrived, with a congestion mark: no late arrival takes that back.
    marked: bool,
}

/// The loss intervals as they stand behind some losses.
#[derive(Debug, Clone, Copy)]
struct History {
    intervals: LossIntervals,
    /// Packets lost in each of them.
    losses: LossIntervals,
    event: Option<Event>,
    events: u64,
}

/// The present loss event.
#[derive(Debug, Clone, Copy)]
struct Event {
    first: u64,
    at: f64,
    losses: u64,
}

/// Later packets that make a hole a loss (`NDUPACK`).
const LATER_PACKETS: u32 = 3;
/// Where the first packet of a connection has a number no higher than this, what is missing below was lost; above,
/// we came late.
const HIGHEST_FIRST: u64 = 64;
/// No connection comes so far: a higher number is forged, and ignored.
const HIGHEST_SEQUENCE: u64 = 1 << 62;
/// More loss events than this inside one hole change nothing: the average holds eight intervals.
const MOST_EVENTS_A_HOLE: u64 = 16;

impl LossEvents {
    const MOST_HOLES: usize = 8;
    const MOST_RECENT: usize = 16;

    /// Nothing arrived. `discount_floor` as in [`LossIntervals::new`].
    pub(crate) fn new(discount_floor: f64, small_packets: bool) -> Self {
        let (holes, recent) =
            (VecDeque::with_capacity(Self::MOST_HOLES + 2), VecDeque::with_capacity(Self::MOST_RECENT + 2));
        Self::with_buffers(discount_floor, small_packets, holes, recent)
    }

    fn with_buffers(
        discount_floor: f64,
        small_packets: bool,
        holes: VecDeque<Hole>,
        recent: VecDeque<Losses>,
    ) -> Self {
        let history = History {
            intervals: LossIntervals::new(discount_floor),
            losses: LossIntervals::new(1.0),
            event: None,
            events: 0,
        };
        Self {
            small_packets,
            highest: None,
            holes,
            recent,
            settled: history,
            present: history,
            first_interval: 1.0,
        }
    }

    /// Forgets everything and begins anew in the same memory.
    pub(crate) fn clear(&mut self, discount_floor: f64) {
        let (mut holes, mut recent) = (std::mem::take(&mut self.holes), std::mem::take(&mut self.recent));
        holes.clear();
        recent.clear();
        *self = Self::with_buffers(discount_floor, self.small_packets, holes, recent);
    }

    /// Whether `sequence` is above all that arrived.
    pub(crate) fn is_newest(&self, sequence: u64) -> bool {
        self.highest.is_none_or(|(highest, _)| sequence > highest)
    }

    /// Packet `sequence` arrived, `marked` by congestion or not. `rtt` is infinite while unknown;
    /// `first_interval` gives the interval that is assumed before the first loss event.
    pub(crate) fn on_arrival(
        &mut self,
        now: Timestamp,
        sequence: u64,
        marked: bool,
        rtt: f64,
        first_interval: impl FnOnce() -> f64,
    ) -> Change {
        if sequence > HIGHEST_SEQUENCE {
            return Change::default();
        }
        let events = self.present.events;
        let virgin = self.present.event.is_none();
        let now = now.as_secs_f64();
        if self.is_newest(sequence) {
            self.on_newest(now, sequence);
        } else if !marked && self.take_back(sequence) {
            return Change { undone: self.present.events < events, event: false };
        } else if !self.fill_hole(sequence, rtt, marked) {
            return Change::default();
        }
        if virgin && (marked || self.holes.front().is_some_and(Hole::is_lost)) {
            self.first_interval = first_interval();
        }
        if marked {
            // A hole before a marked packet begins the event (RFC 5348 section 5.2).
            self.judge_holes(rtt, |hole| hole.losses.first < sequence);
            self.lose(Losses { first: sequence, count: 1, at: now, step: 0.0, rtt, marked: true });
        }
        self.judge_holes(rtt, Hole::is_lost);
        Change { event: self.present.events > events, undone: false }
    }

    /// Loss event rate (`p`), 0 before the first loss.
    pub(crate) fn rate(&self, now: Timestamp, rtt: Option<f64>) -> f64 {
        let (Some(event), Some((highest, _))) = (self.present.event, self.highest) else { return 0.0 };
        let open = highest.saturating_sub(event.first) as f64 + 1.0;
        // RFC 4828 section 3: an open interval no older than two round-trip times does not count.
        let young = self.small_packets && rtt.is_some_and(|rtt| now.as_secs_f64() - event.at <= 2.0 * rtt);
        let mean = self.present.intervals.mean((!young).then_some(open));
        mean.map_or(0.0, |mean| (1.0 / mean).clamp(LEAST_LOSS, 1.0))
    }

    /// Packets lost in a loss event, averaged as the intervals are; 1 before there were two.
    pub(crate) fn losses_per_event(&self) -> f64 {
        self.present.losses.mean(None).unwrap_or(1.0)
    }

    /// The first packet is `sequence`: nothing below it was lost.
    pub(crate) fn begin_at(&mut self, now: Timestamp, sequence: u64) {
        self.highest = sequence.checked_sub(1).map(|before| (before, now.as_secs_f64()));
    }

    /// What is missing below `sequence`, which comes now, was lost on the channel: it counts as received.
    pub(crate) fn excuse_before(&mut self, now: Timestamp, sequence: u64) {
        if self.is_newest(sequence) && sequence <= HIGHEST_SEQUENCE {
            self.begin_at(now, sequence);
        }
    }

    /// A packet outside this sequence was marked: it counts as a mark on the newest packet within.
    pub(crate) fn on_mark(
        &mut self,
        now: Timestamp,
        rtt: f64,
        first_interval: impl FnOnce() -> f64,
    ) -> Change {
        let Some((highest, _)) = self.highest else { return Change::default() };
        let events = self.present.events;
        if self.present.event.is_none() {
            self.first_interval = first_interval();
        }
        self.judge_holes(rtt, |_| true);
        self.lose(Losses { first: highest, count: 1, at: now.as_secs_f64(), step: 0.0, rtt, marked: true });
        Change { event: self.present.events > events, undone: false }
    }

    fn on_newest(&mut self, now: f64, sequence: u64) {
        for hole in &mut self.holes {
            hole.later += 1;
        }
        let (below, before) = match self.highest {
            Some((highest, at)) => (highest + 1, at),
            None if sequence <= HIGHEST_FIRST => (0, now),
            None => (sequence, now),
        };
        self.highest = Some((sequence, now));
        if sequence > below {
            let count = sequence - below;
            // RFC 5348 section 5.2: interpolated between the arrivals on either side.
            let step = (now - before).max(0.0) / (count as f64 + 1.0);
            let losses =
                Losses { first: below, count, at: before + step, step, rtt: f64::INFINITY, marked: false };
            self.holes.push_back(Hole { losses, later: 1 });
        }
    }

    /// Takes a late packet out of the hole it fills. A marked one stays a loss, and what is missing before it
    /// with it. False where there is no such hole.
    fn fill_hole(&mut self, sequence: u64, rtt: f64, marked: bool) -> bool {
        let Some(index) = self.holes.iter().position(|hole| hole.losses.contains(sequence)) else {
            return false;
        };
        let Some(hole) = self.holes.remove(index) else { return false };
        let (below, above) = hole.losses.without(sequence);
        if let Some(losses) = above {
            self.holes.insert(index, Hole { losses, ..hole });
        }
        if let Some(losses) = below {
            self.holes.insert(index, Hole { losses, ..hole });
        }
        if !marked {
            self.judge_holes(rtt, Hole::is_lost);
        }
        true
    }

    /// Turns the leading holes that are `lost` into losses; the oldest too, where there are too many.
    fn judge_holes(&mut self, rtt: f64, lost: impl Fn(&Hole) -> bool) {
        while self.holes.front().is_some_and(&lost) || self.holes.len() > Self::MOST_HOLES {
            let Some(hole) = self.holes.pop_front() else { return };
            self.lose(Losses { rtt, ..hole.losses });
        }
    }

    fn lose(&mut self, losses: Losses) {
        self.present.apply(&losses, self.first_interval, self.small_packets);
        self.recent.push_back(losses);
        self.settle();
    }

    /// Makes room among the recent losses: the oldest can no longer be taken back.
    fn settle(&mut self) {
        while self.recent.len() > Self::MOST_RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            self.settled.apply(&oldest, self.first_interval, self.small_packets);
        }
    }

    /// Takes back the loss of a packet that came late. False where it was not among the recent losses.
    fn take_back(&mut self, sequence: u64) -> bool {
        let Some(index) = self.recent.iter().position(|losses| losses.contains(sequence)) else {
            return false;
        };
        let Some(losses) = self.recent.remove(index) else { return false };
        let (below, above) = losses.without(sequence);
        for part in above.into_iter().chain(below) {
            self.recent.insert(index, part);
        }
        self.settle();
        self.present = self.settled;
        for losses in &self.recent {
            self.present.apply(losses, self.first_interval, self.small_packets);
        }
        true
    }
}

impl Default for LossEvents {
    /// Without memory of its own, to stand in for another for a moment.
    fn default() -> Self {
        Self::with_buffers(1.0, false, VecDeque::new(), VecDeque::new())
    }
}

impl Hole {
    fn is_lost(&self) -> bool {
        self.later >= LATER_PACKETS
    }
}

impl Losses {
    fn contains(&self, sequence: u64) -> bool {
        !self.marked && sequence >= self.first && sequence - self.first < self.count
    }

    /// What is left below and above `sequence`, which it contains.
    fn without(&self, sequence: u64) -> (Option<Self>, Option<Self>) {
        let below = sequence - self.first;
        let above = self.count - below - 1;
        let skipped = (below + 1) as f64 * self.step;
        (
            (below > 0).then_some(Self { count: below, ..*self }),
            (above > 0).then_some(Self { first: sequence + 1, count: above, at: self.at + skipped, ..*self }),
        )
    }

    fn time_of(&self, index: u64) -> f64 {
        self.at + index as f64 * self.step
    }

    /// The first packet from `index` on whose nominal time is after `limit`; `count` where there is none.
    fn first_after(&self, limit: f64, index: u64) -> u64 {
        if self.time_of(index) > limit {
            return index;
        }
        if self.step <= 0.0 || limit.is_infinite() {
            return self.count;
        }
        let steps = ((limit - self.at) / self.step).floor();
        (steps as u64).saturating_add(1).clamp(index, self.count)
    }
}

impl History {
    /// Groups `losses` into events: one begins when its nominal time is more than a round-trip time after that
    /// of the present event's first loss (RFC 5348 section 5.2).
    fn apply(&mut self, losses: &Losses, first_interval: f64, small_packets: bool) {
        let mut index = 0;
        let mut skipped = false;
        while index < losses.count {
            if let Some(event) = &mut self.event {
                let mut next = losses.first_after(event.at + losses.rtt, index);
                if !skipped && next < losses.count && losses.step > 0.0 {
                    // An outage: of its many events only the last ones stay in the average.
                    let stride = (losses.rtt / losses.step).floor() as u64 + 1;
                    let events = (losses.count - next) / stride;
                    next += events.saturating_sub(MOST_EVENTS_A_HOLE) * stride;
                    skipped = true;
                }
                event.losses = event.losses.saturating_add(next - index);
                index = next;
            }
            if index < losses.count {
                self.begin(
                    losses.first + index,
                    losses.time_of(index),
                    losses.rtt,
                    first_interval,
                    small_packets,
                );
                index += 1;
            }
        }
    }

    /// An event begins with packet `first` at `at`.
    fn begin(&mut self, first: u64, at: f64, rtt: f64, first_interval: f64, small_packets: bool) {
        let length = self.event.map_or(first_interval, |event| {
            let packets = first.saturating_sub(event.first).max(1) as f64;
            // RFC 4828 section 3: a short interval of N packets with K losses counts as N / K.
            let short = small_packets && at - event.at <= 2.0 * rtt;
            if short { packets / event.losses as f64 } else { packets }
        });
        if let Some(event) = self.event {
            self.losses.close(event.losses as f64);
        }
        self.intervals.close(length);
        self.event = Some(Event { first, at, losses: 1 });
        self.events += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    /// Feeds packets that leave every millisecond; those in `lost` never come.
    fn run(events: &mut LossEvents, numbers: std::ops::Range<u64>, lost: &[u64]) -> u64 {
        let mut found = 0;
        for sequence in numbers.filter(|sequence| !lost.contains(sequence)) {
            found += u64::from(arrive(events, sequence, sequence as i64, false).event);
        }
        found
    }

    fn arrive(events: &mut LossEvents, sequence: u64, millis: i64, marked: bool) -> Change {
        let now = Timestamp::ZERO + TimeDelta::from_millis(millis);
        events.on_arrival(now, sequence, marked, 0.1, || 50.0)
    }

    fn interval(events: &LossEvents) -> f64 {
        1.0 / events.rate(Timestamp::ZERO, Some(0.1))
    }

    fn new() -> LossEvents {
        LossEvents::new(1.0, false)
    }

    /// RFC 5348 section 5.1: three later packets, not two.
    #[test]
    fn three_later_packets_make_a_loss() {
        let mut events = new();
        run(&mut events, 0..13, &[10]);
        assert_eq!(events.present.events, 0);
        assert!(arrive(&mut events, 13, 13, false).event);
        // I_0 = 13 - 10 + 1 = 4 is less than the synthetic 50.
        assert_eq!(interval(&events), 50.0);
    }

    /// RFC 5348 section 5.2: losses within a round-trip time are one event, at its very end still.
    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut events = new();
        assert_eq!(run(&mut events, 0..300, &[10, 11, 60, 110]), 1);
        assert_eq!(run(&mut events, 300..600, &[400, 450, 501]), 2);
        let lengths = [101.0, 390.0, 50.0];
        let open = (599.0 - 501.0) + 1.0;
        assert_eq!(
            interval(&events),
            ((open + 101.0 + 390.0) / 3.0_f64).max(lengths.iter().sum::<f64>() / 3.0)
        );
    }

    /// RFC 5348 section 5.1: a packet that comes late after all takes its loss back.
    #[test]
    fn late_arrival_takes_a_loss_event_back() {
        let mut events = new();
        run(&mut events, 0..300, &[10, 200]);
        let with_both = interval(&events);
        run(&mut events, 300..302, &[]);
        assert_eq!(arrive(&mut events, 200, 302, false), Change { undone: true, event: false });
        assert_eq!(events.present.events, 1);
        assert!(interval(&events) > with_both);
        assert_eq!(arrive(&mut events, 200, 303, false), Change::default(), "a duplicate changes nothing");
        assert_eq!(arrive(&mut events, 10, 304, false), Change { undone: true, event: false });
        assert_eq!(events.rate(Timestamp::ZERO, None), 0.0);
    }

    /// RFC 5348 section 5.2: the first of an event taken back, the event begins at the next loss.
    #[test]
    fn event_shrinks_from_its_front() {
        let mut events = new();
        run(&mut events, 0..300, &[10, 11, 12]);
        assert_eq!(arrive(&mut events, 11, 300, false), Change::default());
        assert_eq!(arrive(&mut events, 10, 301, false), Change::default());
        assert_eq!(events.present.event.unwrap().first, 12);
    }

    /// RFC 5348 sections 5.1, 5.2: a mark counts at once, and an unjudged hole before it begins the event.
    #[test]
    fn congestion_marks() {
        let mut events = new();
        run(&mut events, 0..20, &[19]);
        assert!(arrive(&mut events, 20, 20, true).event);
        assert_eq!(events.present.event.unwrap().first, 19);
        let mut first = new();
        assert!(arrive(&mut first, 0, 0, true).event, "the very first packet");
        assert!(!arrive(&mut first, 0, 1, true).event, "a duplicate");
    }

    /// Neither a forged number nor a packet that comes again makes what is missing a loss.
    #[test]
    fn copies_and_forged_numbers_are_no_later_packets() {
        let mut events = new();
        run(&mut events, 0..3, &[1]);
        for sequence in [2, 2, 2, 0, u64::MAX, HIGHEST_SEQUENCE + 1] {
            assert_eq!(arrive(&mut events, sequence, 3, false), Change::default(), "{sequence}");
        }
        assert_eq!(arrive(&mut events, 1, 4, false), Change::default());
        assert_eq!(run(&mut events, 3..50, &[]), 0);
    }

    /// A packet that is late and marked: the mark counts, whether its loss was known or not.
    #[test]
    fn a_late_mark_counts() {
        let mut events = new();
        run(&mut events, 0..3, &[1]);
        assert!(arrive(&mut events, 1, 3, true).event);
        let mut events = new();
        run(&mut events, 0..20, &[10]);
        assert_eq!(arrive(&mut events, 10, 20, true), Change::default());
        assert_eq!(events.present.events, 1, "not taken back");
    }

    /// The interval before the first event is computed once.
    #[test]
    fn the_first_interval_is_computed_once() {
        let mut events = new();
        run(&mut events, 0..20, &[10]);
        for sequence in 20..900 {
            let now = Timestamp::ZERO + TimeDelta::from_millis(sequence as i64);
            if sequence != 500 {
                events.on_arrival(now, sequence, sequence == 700, 0.1, || unreachable!());
            }
        }
        assert_eq!(events.present.events, 3);
    }

    #[test]
    fn cleared_it_begins_anew() {
        let mut events = new();
        run(&mut events, 0..300, &[10, 200, 298]);
        events.clear(1.0);
        assert_eq!(events.rate(Timestamp::ZERO, Some(0.1)), 0.0);
        assert_eq!(run(&mut events, 0..20, &[]), 0);
    }

    #[test]
    fn very_first_packets_lost() {
        let mut events = new();
        run(&mut events, 0..6, &[0, 1]);
        assert_eq!(events.present.events, 1);
        let mut late_comer = new();
        run(&mut late_comer, 5000..5010, &[]);
        assert_eq!(late_comer.present.events, 0);
    }

    /// A long outage closes intervals of a round-trip time each, whatever its length.
    #[test]
    fn outage_is_cheap_and_counts() {
        let mut events = new();
        run(&mut events, 0..1000, &[]);
        for (index, sequence) in (1_000_000..1_000_010).enumerate() {
            arrive(&mut events, sequence, 1_000_000 + index as i64, false);
        }
        assert!(events.present.events > 8 && events.present.events < 32, "{}", events.present.events);
        assert!((interval(&events) - 101.0).abs() < 1.5, "{}", interval(&events));
        for sequence in [1 << 62, u64::MAX] {
            arrive(&mut events, sequence, 2_000_000, false);
        }
        assert!(interval(&events).is_finite());
    }

    /// RFC 4828 section 3: eight short intervals of 20 packets with 4 losses each: p = 0.2.
    #[test]
    fn short_intervals_of_tfrc_sp() {
        let mut events = LossEvents::new(1.0, true);
        // 150 ms, that is 1.5 round-trip times, apart: 20 packets, of which 4 are lost, every 7.5 ms.
        for sequence in 0..20 * 10 {
            if sequence % 20 >= 4 {
                let now = Timestamp::ZERO + TimeDelta::from_micros(sequence as i64 * 7500);
                events.on_arrival(now, sequence, false, 0.1, || 5.0);
            }
        }
        let now = Timestamp::ZERO + TimeDelta::from_micros(200 * 7500);
        assert!((events.rate(now, Some(0.1)) - 0.2).abs() < 1e-12);
    }
}
