//! When packets are to leave: by the clock of the stream, before a stated delay has passed.

use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Periods of 27 MHz after which a clock reference wraps.
const WRAP: u64 = 300 << 33;
/// Nanoseconds in 27 periods.
const NANOS: i64 = 1000;
/// A longer interval between two references is a jump of the clock; 100 ms are allowed (ISO/IEC 13818-1, 2.7.2).
const LONGEST_INTERVAL: u64 = 27_000 * 300;
/// The part of a deviation that a reference corrects.
const GAIN: f64 = 1.0 / 128.0;
/// The most that the relation of the clocks changes, as a share of the time; a system clock is within 30 ppm.
const STEEPEST: f64 = 1e-3;
/// As much while packets come early behind a delivery that was late as a whole, and at the start.
const CATCH_UP: f64 = 0.02;
/// What comes earlier or later by less than this is jitter: 150 ms.
const JITTER: f64 = 150e6;
/// Where all comes late, or all earlier than jitter and the lead, for so long, it is none: 1 s.
const LASTING: i64 = 1_000_000_000;
/// A packet that comes earlier by this is early, and not an effect of jitter: 20 ms.
const EARLY: f64 = 20e6;
/// The share of packets that may come earlier than the lead covers.
const UNCOVERED: f64 = 0.005;
/// What as many packets as mostly come between two references add to the wanted lead, where all come earlier: 2 ms.
const LEAD_STEP: f64 = 2e6;
/// Intervals between references over which the number of their packets is averaged.
const AVERAGED: f64 = 64.0;
/// The lead at the start, as a share of the delay: no more than the longest.
const FIRST_LEAD: f64 = 0.1875;
/// The most that the lead shrinks, as a share of the time: what a decoder's clock may differ (13818-1, 2.4.2.1).
const GIVEN_BACK: f64 = 30e-6;
/// The start: 20 s, in which the first packet is found to have been early or late.
const START: i64 = 20_000_000_000;

/// Gives each packet of a transport stream its departure. Packets with a clock reference leave by the source's clock, which is
/// recovered from their arrivals; those between two are spread evenly, as at a constant rate (13818-1, 2.4.2.2).
///
/// After a silence, or where the source's clock jumps, the relation of the two clocks is taken anew, so that the packets keep their
/// distances: what comes late leaves late by as much, and nothing leaves in a burst. Where the source had not paused, and only its
/// packets came late, those behind them come early; then the delay returns to the stated one. What comes early, as a source's burst
/// at its start does, is a jump only where it lasts.
///
/// The delay counts from the arrival of what comes early: a source that sends in bursts is ahead of its clock in each of them. So all
/// leave by a lead before the delay has passed, which covers all but [`UNCOVERED`] of the packets. At the start, where jitter is not
/// known, it is [`FIRST_LEAD`] of the delay at most. What comes earlier than the lead covers leaves when the delay has passed, ahead of its clock.
#[derive(Debug)]
pub(super) struct PlayoutClock {
    delay: TimeDelta,
    /// What comes later by more is of a source that has paused or jumped, and no jitter: at once beyond [`JITTER`].
    resync: TimeDelta,
    /// The lead is as much at most.
    longest_lead: TimeDelta,
    /// The lead in nanoseconds: as jitter wants it, and as it is.
    leads: [f64; 2],
    /// Packets between two references, in the mean.
    between: f64,
    /// Arrivals of the packets behind the last reference, that one first.
    untimed: VecDeque<Timestamp>,
    /// Departures that are known, in order.
    departures: VecDeque<Timestamp>,
    last: Option<Reference>,
    /// The departure of the first of `untimed` by the clock, or of the last packet before it.
    newest: Timestamp,
    /// The last departure.
    left: Timestamp,
    /// Times at which the relation of the clocks was taken anew.
    pub(super) resyncs: u64,
    /// Packets that leave ahead of the source's clock, because the delay has passed.
    pub(super) ahead: u64,
}

/// The last clock reference.
#[derive(Debug, Clone, Copy)]
struct Reference {
    value: u64,
    at: Timestamp,
    /// Nanoseconds of the source's clock, without its jumps.
    time: i64,
    /// What is added to them for an arrival on our clock.
    offset: f64,
    /// The part of the offset that late packets added at once, and early ones may take back.
    added: f64,
    /// What packets may stay beyond the delay, since the last ones were held up: as much again at most.
    longer: f64,
    /// For so many nanoseconds all references were late; negative: early.
    apart: i64,
}

impl PlayoutClock {
    pub(super) fn new(delay: TimeDelta, resync: TimeDelta, longest_lead: TimeDelta) -> PlayoutClock {
        let first_lead = (FIRST_LEAD * delay.as_nanos() as f64).min(longest_lead.as_nanos() as f64);
        PlayoutClock {
            delay,
            resync,
            longest_lead,
            leads: [first_lead; 2],
            between: 1.0,
            untimed: VecDeque::new(),
            departures: VecDeque::new(),
            last: None,
            newest: Timestamp::ZERO,
            left: Timestamp::ZERO,
            resyncs: 0,
            ahead: 0,
        }
    }

    /// From the arrival of a packet that is neither early nor late to its departure.
    pub(super) fn shortest_delay(&self) -> TimeDelta {
        self.delay - TimeDelta::from_nanos(self.leads[1] as i64)
    }

    /// A packet has come, maybe with a reference and the mark of a jump.
    pub(super) fn push(&mut self, at: Timestamp, reference: Option<(u64, bool)>) {
        if let Some((value, jumps)) = reference {
            self.on_reference(at, value, jumps);
        }
        self.untimed.push_back(at);
    }

    /// Gives packets that came before `at` a departure by their arrival: no reference has come in time.
    pub(super) fn release(&mut self, at: Timestamp) {
        while let Some(arrival) = self.untimed.pop_front_if(|arrival| *arrival <= at) {
            self.newest = self.newest.max(arrival + self.shortest_delay());
            self.depart(self.newest, arrival + self.longest_stay());
        }
    }

    /// How long a packet stays at most: the delay, to which it returns behind packets that were held up.
    fn longest_stay(&self) -> TimeDelta {
        let longer = self.last.map_or(0.0, |last| last.longer);
        self.delay + TimeDelta::from_nanos(longer as i64)
    }

    /// A packet leaves by the clock, and at the latest at an instant.
    fn depart(&mut self, by_clock: Timestamp, latest: Timestamp) {
        self.ahead += u64::from(by_clock > latest);
        self.left = self.left.max(by_clock.min(latest));
        self.departures.push_back(self.left);
    }

    /// The departure of the next packet, in the order of [`PlayoutClock::push`].
    pub(super) fn pull(&mut self) -> Option<Timestamp> {
        self.departures.pop_front()
    }

    fn on_reference(&mut self, at: Timestamp, value: u64, jumps: bool) {
        let arrival = at.as_nanos() as f64;
        // How much time has passed where the lead follows jitter.
        let mut steady = None;
        let next = match self.last {
            None => Reference { value, at, time: 0, offset: arrival, added: 0.0, longer: 0.0, apart: 0 },
            Some(last) => {
                let periods = (value + WRAP - last.value % WRAP) % WRAP;
                let is_jump = jumps || !(1..=LONGEST_INTERVAL).contains(&periods);
                let passed = if is_jump { at.since(last.at).as_nanos() } else { periods as i64 * NANOS / 27 };
                let time = last.time.saturating_add(passed);
                let deviation = arrival - time as f64 - last.offset;
                let catches_up = (-last.added - EARLY..-EARLY).contains(&deviation);
                let apart = self.apart(deviation, last.apart, passed);
                let resyncs = (deviation > self.jitter() || apart.abs() > LASTING) && !catches_up;
                self.resyncs += u64::from(resyncs);
                let most = if catches_up { CATCH_UP } else { steepest(time) } * passed as f64;
                if !resyncs && !catches_up {
                    steady = Some(passed as f64);
                }
                let step = if resyncs { deviation } else { (GAIN * deviation).clamp(-most, most) };
                let added = if resyncs || catches_up { (last.added + step).max(0.0) } else { last.added };
                let longer =
                    if resyncs { last.longer + step } else { last.longer - CATCH_UP * passed as f64 };
                let apart = if resyncs { 0 } else { apart };
                Reference {
                    value,
                    at,
                    time,
                    offset: last.offset + step,
                    added,
                    longer: longer.clamp(0.0, self.delay.as_nanos() as f64),
                    apart,
                }
            }
        };
        let expected_arrival = next.time as f64 + next.offset;
        let departure = expected_arrival + self.shortest_delay().as_nanos() as f64;
        let departure = Timestamp::from_nanos(departure.max(0.0) as u64).max(self.newest);
        if self.last.is_none() {
            self.release(at);
        }
        let early = self.spread(departure);
        if let Some(passed) = steady {
            self.lead(early, passed, steepest(next.time));
        }
        self.untimed.clear();
        (self.last, self.newest) = (Some(next), departure);
    }

    /// What comes later by more nanoseconds is of a source that has paused.
    fn jitter(&self) -> f64 {
        (self.resync.as_nanos() as f64).max(JITTER)
    }

    /// For how long all references are late or early, behind one that comes so many nanoseconds late and `passed` behind the last.
    fn apart(&self, deviation: f64, apart: i64, passed: i64) -> i64 {
        if deviation > self.resync.as_nanos() as f64 {
            apart.max(0) + passed
        } else if -deviation > self.jitter().max(self.longest_lead.as_nanos() as f64) {
            apart.min(0) - passed
        } else {
            0
        }
    }

    /// Gives the packets before a reference departures up to its own; returns how many come earlier than the wanted lead covers.
    fn spread(&mut self, departure: Timestamp) -> usize {
        let [wanted, lead] = self.leads;
        let covered = self.delay + TimeDelta::from_nanos((wanted - lead) as i64);
        let (from, count, stay) = (self.newest, self.untimed.len() as i128, self.longest_stay());
        let span = departure.since(from).as_nanos() as i128;
        let mut early = 0;
        for index in 0..self.untimed.len() {
            let by_clock = from + TimeDelta::from_nanos((span * index as i128 / count) as i64);
            let arrival = self.untimed[index];
            early += usize::from(by_clock.since(arrival) > covered);
            self.depart(by_clock, arrival + stay);
        }
        early
    }

    /// Follows the lead that jitter wants, by how many of the untimed packets came earlier than it covers: within `passed` nanoseconds
    /// it grows by the share `steepest` of them at most.
    fn lead(&mut self, early: usize, passed: f64, steepest: f64) {
        let [wanted, lead] = self.leads;
        let packets = self.untimed.len() as f64;
        self.between += (packets - self.between) / AVERAGED;
        let step = LEAD_STEP * (early as f64 - UNCOVERED * packets) / self.between.max(1.0);
        let wanted = (wanted + step).clamp(0.0, self.longest_lead.as_nanos() as f64);
        self.leads = [wanted, lead + (wanted - lead).clamp(-GIVEN_BACK * passed, steepest * passed)];
    }
}

/// The most that the relation of the clocks changes after so many nanoseconds, as a share of the time.
fn steepest(time: i64) -> f64 {
    if time < START { CATCH_UP } else { STEEPEST }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: TimeDelta = TimeDelta::from_millis(500);

    fn at(millis: f64) -> Timestamp {
        Timestamp::from_nanos((millis * 1e6) as u64)
    }

    /// All leave at first by so many milliseconds before the delay has passed.
    const LEAD: f64 = 93.75;

    /// The relation is taken anew where packets come 100 ms late.
    fn clock() -> PlayoutClock {
        PlayoutClock::new(DELAY, TimeDelta::from_millis(100), TimeDelta::from_millis(200))
    }

    /// Departures in milliseconds less the delay.
    fn departures(clock: &mut PlayoutClock) -> Vec<f64> {
        std::iter::from_fn(|| clock.pull()).map(|due| due.as_secs_f64() * 1e3 - 500.0).collect()
    }

    #[test]
    fn packets_between_two_references_are_spread_evenly() {
        let mut clock = clock();
        // Four packets in 40 ms; the network delivers them in a burst.
        for (millis, reference) in [(100.0, Some(0)), (100.0, None), (100.0, None), (100.0, None)] {
            clock.push(at(millis), reference.map(|value| (value, false)));
        }
        clock.push(at(140.0), Some((27_000 * 40, false)));
        let seen = departures(&mut clock);
        let seen: Vec<f64> = seen.iter().map(|due| (due + LEAD).round()).collect();
        assert_eq!(seen, [100.0, 110.0, 120.0, 130.0]);
    }

    #[test]
    fn jitter_is_smoothed_and_drift_followed() {
        let mut clock = clock();
        let (mut last, mut worst) = (0.0, 0.0f64);
        // An hour; the source's clock is 50 ppm slow, and packets come up to 8 ms late.
        for index in 0..90_000u64 {
            let millis = 40.0 * index as f64 * (1.0 + 50e-6);
            let jitter = (index * 7 % 5) as f64 * 2.0;
            clock.push(at(1000.0 + millis + jitter), Some((27_000 * 40 * index, false)));
            for due in departures(&mut clock) {
                if index > 600 {
                    worst = worst.max((due - last - 40.0).abs());
                }
                last = due;
            }
        }
        // The earliest ones leave when the delay has passed: 4 ms before the mean.
        let expected = 1000.0 + 40.0 * 89_998.0 * (1.0 + 50e-6);
        assert!((last - expected).abs() < 2.5 && worst < 0.1, "{last} of {expected}, {worst}");
        assert_eq!(clock.resyncs, 0);
    }

    #[test]
    fn the_delay_holds_for_a_source_that_sends_in_bursts() {
        let mut clock = PlayoutClock::new(DELAY, TimeDelta::from_millis(400), TimeDelta::from_millis(400));
        let (mut arrivals, mut delays, mut ahead) = (VecDeque::new(), Vec::new(), 0);
        for index in 0..150_000u64 {
            // Ten references at a time, as the last of them is due.
            let arrival = 1000.0 + 40.0 * (index / 10 * 10) as f64;
            arrivals.push_back(arrival);
            clock.push(at(arrival), Some((27_000 * 40 * index, false)));
            for due in departures(&mut clock) {
                delays.push(due - arrivals.pop_front().unwrap());
            }
            ahead = if index == 1000 { clock.ahead } else { ahead };
        }
        let ahead = clock.ahead - ahead;
        assert!(ahead * 100 <= 149_000, "{ahead} packets ahead of the source's clock");
        assert!(delays.iter().all(|&delay| delay <= 0.0));
        // As long as the burst, and no longer, once what the start had more is given back.
        let shortest = delays.iter().skip(120_000).copied().fold(f64::MAX, f64::min);
        assert!(shortest > -370.0, "{shortest}");
    }

    #[test]
    fn what_comes_early_between_two_references_is_covered_too() {
        let mut clock = clock();
        for index in 0..6000u64 {
            // Each reference is in time, and the packets up to the next one come with it.
            let arrival = at(1000.0 + 100.0 * index as f64);
            clock.push(arrival, Some((27_000 * 100 * index, false)));
            (0..9).for_each(|_| clock.push(arrival, None));
        }
        assert!(clock.ahead * 100 <= 60_000, "{} packets ahead of the source's clock", clock.ahead);
    }

    #[test]
    fn what_comes_earlier_than_the_lead_covers_leaves_after_the_delay() {
        // 100 ms of packets at a time, where the lead covers 20.
        let [resync, longest_lead] = [100, 20].map(TimeDelta::from_millis);
        let mut clock = PlayoutClock::new(DELAY, resync, longest_lead);
        let (mut arrivals, mut latest) = (VecDeque::new(), f64::MIN);
        for index in 0..6000u64 {
            let arrival = 1000.0 + 20.0 * (index / 5 * 5) as f64;
            arrivals.push_back(arrival);
            clock.push(at(arrival), Some((27_000 * 20 * index, false)));
            for due in departures(&mut clock) {
                latest = latest.max(due - arrivals.pop_front().unwrap());
            }
        }
        assert!(latest < 1e-3 && clock.ahead > 600, "{latest} ms beyond the delay, {}", clock.ahead);
        assert_eq!(clock.resyncs, 0);
    }

    #[test]
    fn nothing_leaves_in_a_burst_after_a_silence_or_a_jump() {
        let mut clock = clock();
        clock.push(at(0.0), Some((0, false)));
        clock.push(at(40.0), Some((27_000 * 40, false)));
        // The source stops for two seconds; then its clock begins anew.
        clock.push(at(2080.0), Some((27_000 * 80, false)));
        clock.push(at(2120.0), Some((27_000 * 120, false)));
        clock.push(at(2160.0), Some((5, true)));
        clock.push(at(2200.0), Some((27_000 * 40 + 5, false)));
        let seen: Vec<f64> = departures(&mut clock).iter().map(|due| (due + LEAD).round()).collect();
        assert_eq!((seen, clock.resyncs), (vec![0.0, 40.0, 2080.0, 2120.0, 2160.0], 1));
    }

    #[test]
    fn the_delay_returns_behind_a_delivery_that_was_late() {
        let mut clock = clock();
        let (mut due, mut last) = (0.0, 0.0);
        for index in 0..1000u64 {
            let millis = 40.0 * index as f64;
            // Five references are held up for 200 ms; the source goes on meanwhile.
            let held_up = if (10..15).contains(&index) { 200.0 } else { 0.0 };
            clock.push(at(millis + held_up), Some((27_000 * 40 * index, false)));
            for departure in departures(&mut clock) {
                assert!(index < 2 || departure - last > 39.0, "no burst: {last}, then {departure}");
                last = departure;
                due = departure + LEAD - 40.0 * (index as f64 - 1.0);
            }
            assert!(index != 14 || due > 190.0, "{due}");
        }
        assert!(due < EARLY / 1e6, "{due} ms above the stated delay");
        assert_eq!(clock.resyncs, 1);
    }

    #[test]
    fn a_short_pause_of_the_source_is_found() {
        let mut clock = clock();
        let mut last = 0.0;
        for index in 0..200u64 {
            // All is 140 ms late from the hundredth on: less than may be jitter.
            let late = if index < 100 { 0.0 } else { 140.0 };
            clock.push(at(40.0 * index as f64 + late), Some((27_000 * 40 * index, false)));
            last = departures(&mut clock).last().copied().unwrap_or(last);
            assert_eq!(clock.resyncs, u64::from(index > 124));
        }
        assert!((last + LEAD - 40.0 * 198.0 - 140.0).abs() < 5.0, "{last}");
    }

    #[test]
    fn a_burst_at_the_start_is_no_jump_of_the_clock() {
        let [delay, resync, longest_lead] = [120, 30, 0].map(TimeDelta::from_millis);
        let mut clock = PlayoutClock::new(delay, resync, longest_lead);
        let (mut arrivals, mut latest) = (VecDeque::new(), f64::MIN);
        for index in 0..400u64 {
            // The source sends 200 ms more than is due at once, and its clock is up to 40 ms late from 0.8 s on.
            let sent_at = 20.0 * index as f64;
            let arrival = 1000.0
                + if index < 40 { (sent_at - 200.0).max(0.0) } else { sent_at + (index % 3) as f64 * 20.0 };
            arrivals.push_back(arrival);
            clock.push(at(arrival), Some((27_000 * 20 * index, false)));
            for due in departures(&mut clock) {
                latest = latest.max(due + 380.0 - arrivals.pop_front().unwrap());
            }
        }
        assert!(clock.resyncs == 0 && latest < 1e-3, "{} jumps, {latest} ms beyond the delay", clock.resyncs);
    }

    #[test]
    fn what_stays_early_is_a_jump_of_the_clock() {
        let mut clock = clock();
        for index in 0..200u64 {
            // The source leaves out 240 ms behind its hundredth reference: less than may lie between two.
            let value = 40 * index + if index < 100 { 0 } else { 240 };
            clock.push(at(40.0 * index as f64), Some((27_000 * value, false)));
            assert_eq!(clock.resyncs, u64::from(index > 118), "{index}");
        }
        // They leave by a lead before the delay has passed again, which has grown meanwhile.
        let lead = 40.0 * 198.0 - departures(&mut clock).pop().unwrap();
        assert!((LEAD..200.0).contains(&lead), "{lead}");
    }

    #[test]
    fn without_references_packets_leave_by_their_arrivals() {
        let mut clock = clock();
        [10.0, 20.0, 30.0].into_iter().for_each(|millis| clock.push(at(millis), None));
        clock.release(at(20.0));
        assert_eq!(departures(&mut clock), [10.0 - LEAD, 20.0 - LEAD]);
    }
}
