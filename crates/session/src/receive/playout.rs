//! The playout deadline: capture time, the least delay of the path, and a playout delay that follows lateness.

use crate::clock::ticks_to_span;
use crate::unwrap::nearest;
use seaway_units::{TimeDelta, Timestamp};

/// The least delay is that of the present window of this length and the one before.
const BASE_WINDOW: TimeDelta = TimeDelta::from_secs(10);
/// The packets of a frame may spread over at least so much.
const LEAST_WAIT: TimeDelta = TimeDelta::from_millis(200);
/// The playout delay suffices for this part of the frames; the others are displayed once they are whole.
const QUANTILE: f64 = 0.97;
/// Weight of a frame relative to the next one: half is forgotten after 69 frames.
const FORGET: f64 = 0.99;
/// Resolution of lateness.
const BIN: TimeDelta = TimeDelta::from_millis(4);
const BINS: usize = 2500;

/// A windowed maximum: over the present window and the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extreme {
    span: TimeDelta,
    begun: Timestamp,
    present: Option<i64>,
    before: Option<i64>,
}

impl Extreme {
    pub(super) fn new(span: TimeDelta) -> Self {
        Self { span, begun: Timestamp::ZERO, present: None, before: None }
    }

    /// The maximum with this value.
    pub(super) fn largest(&mut self, now: Timestamp, value: i64) -> i64 {
        let age = now.since(self.begun);
        if age >= self.span {
            self.before = if age < self.span * 2 { self.present } else { None };
            self.present = None;
            self.begun = now;
        }
        let present = self.present.map_or(value, |present| present.max(value));
        self.present = Some(present);
        self.before.map_or(present, |before| before.max(present))
    }
}

/// A histogram of the lateness of frames, with exponential forgetting.
#[derive(Debug)]
struct Lateness {
    bins: Vec<f64>,
    total: f64,
    /// Weight of the next frame: it grows, so that the others need not shrink.
    weight: f64,
    /// The bin of the quantile, and the weight of all below it.
    quantile: usize,
    below: f64,
}

impl Lateness {
    fn new() -> Self {
        Self { bins: vec![0.0; BINS], total: 0.0, weight: 1.0, quantile: 0, below: 0.0 }
    }

    fn add(&mut self, lateness: TimeDelta) {
        let bin = usize::try_from(lateness.as_nanos() / BIN.as_nanos()).unwrap_or(0).min(BINS - 1);
        self.bins[bin] += self.weight;
        self.total += self.weight;
        if bin < self.quantile {
            self.below += self.weight;
        }
        self.weight /= FORGET;
        if self.weight > 1e12 {
            self.bins.iter_mut().for_each(|bin| *bin /= self.weight);
            (self.total, self.below) = (self.total / self.weight, self.below / self.weight);
            self.weight = 1.0;
        }
        self.follow();
    }

    /// Moves the quantile, by a bin or two as a rule.
    fn follow(&mut self) {
        let enough = QUANTILE * self.total;
        while self.quantile > 0 && self.below >= enough {
            self.quantile -= 1;
            self.below -= self.bins[self.quantile];
        }
        while self.quantile + 1 < BINS && self.below + self.bins[self.quantile] < enough {
            self.below += self.bins[self.quantile];
            self.quantile += 1;
        }
    }

    /// At least [`QUANTILE`] of the frames were no later than this.
    fn quantile(&self) -> TimeDelta {
        BIN * (self.quantile as i64 + 1)
    }
}

/// When the frames of a stream are given out.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlayoutRule {
    /// The playout delay is at least this, ...
    pub(super) min: TimeDelta,
    /// ... and at most this.
    pub(super) max: TimeDelta,
    /// A whole frame waits for its instant. Otherwise the playout delay says only how long others are waited for.
    pub(super) waits: bool,
}

/// The playout clock of a stream.
#[derive(Debug)]
pub(super) struct PlayoutClock {
    /// Ticks of the media clock a second.
    rate: u32,
    rule: PlayoutRule,
    /// The longest wait for a packet or for its time.
    longest: TimeDelta,
    /// Highest media timestamp, unwrapped; the first counts from one turn above zero.
    highest: Option<u64>,
    transit: Extreme,
    lateness: Lateness,
    /// Least difference of arrival and media time, ns.
    base: i64,
    delay: TimeDelta,
    /// Later by so much for the sake of another stream.
    behind: TimeDelta,
}

impl PlayoutClock {
    /// The clock of a stream with so many ticks a second.
    pub(super) fn new(rate: u32, rule: PlayoutRule) -> Self {
        let (transit, lateness) = (Extreme::new(BASE_WINDOW), Lateness::new());
        let longest = rule.max.max(LEAST_WAIT);
        Self {
            rate,
            rule,
            longest,
            highest: None,
            transit,
            lateness,
            base: 0,
            delay: rule.min,
            behind: TimeDelta::ZERO,
        }
    }

    /// The playout delay is at most this from now on.
    pub(super) fn set_max(&mut self, max: TimeDelta) {
        self.rule.max = max;
        self.longest = max.max(LEAST_WAIT);
        self.delay = self.delay.min(max);
    }

    /// The present playout delay of whole frames.
    pub(super) fn delay(&self) -> TimeDelta {
        if self.rule.waits { self.delay } else { TimeDelta::ZERO }
    }

    /// When a whole frame is given out that came at `whole` and is presented at this media time.
    pub(super) fn release(&self, whole: Timestamp, media: TimeDelta) -> Timestamp {
        if self.rule.waits { self.due(media) } else { whole }
    }

    /// A packet came.
    pub(super) const fn has_begun(&self) -> bool {
        self.highest.is_some()
    }

    /// The longest that anything waits, for a packet or for its time: the largest playout delay, save where that
    /// is less than it takes a frame to arrive.
    pub(super) fn longest(&self) -> TimeDelta {
        self.longest
    }

    /// Media time of a timestamp.
    pub(super) fn media_time(&self, timestamp: u32) -> TimeDelta {
        let near = self.highest.unwrap_or((1 << 32) + u64::from(timestamp));
        ticks_to_span(nearest::<32>(near, timestamp) as i64, self.rate)
    }

    /// A packet of a frame arrived for the first time, not by retransmission.
    pub(super) fn on_arrival(&mut self, at: Timestamp, timestamp: u32) {
        let near = self.highest.unwrap_or((1 << 32) + u64::from(timestamp));
        let unwrapped = nearest::<32>(near, timestamp);
        self.highest = Some(near.max(unwrapped));
        let transit = at.as_nanos() as i64 - ticks_to_span(unwrapped as i64, self.rate).as_nanos();
        self.base = -self.transit.largest(at, -transit);
    }

    /// A frame is whole.
    pub(super) fn on_complete(&mut self, at: Timestamp, timestamp: u32) {
        self.lateness.add(at - self.earliest(self.media_time(timestamp)));
        self.delay = self.lateness.quantile().max(self.rule.min).min(self.rule.max);
    }

    /// When the frame of this media time could be displayed on a path without jitter.
    fn earliest(&self, media: TimeDelta) -> Timestamp {
        let nanos = self.base.saturating_add(media.as_nanos());
        Timestamp::from_nanos(nanos.max(0) as u64)
    }

    /// When the frame of this media time is due.
    pub(super) fn due(&self, media: TimeDelta) -> Timestamp {
        self.earliest(media) + self.delay + self.behind
    }

    /// Every frame is due later by `behind`, at most by the largest playout delay.
    pub(super) fn stay_behind(&mut self, behind: TimeDelta) {
        self.behind = behind.max(TimeDelta::ZERO).min(self.rule.max);
    }

    /// When the frame of this media time is due by its own stream.
    pub(super) fn own_due(&self, media: TimeDelta) -> Timestamp {
        self.earliest(media) + self.delay
    }

    /// When a frame that is not whole is given up at the latest; a repair has to be there within `repair` of the earliest
    /// instant too.
    pub(super) fn deadline(&self, timestamp: u32, repair: TimeDelta) -> Timestamp {
        self.earliest(self.media_time(timestamp)) + self.rule.max.min(repair).max(self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn clock() -> PlayoutClock {
        let [min, max] = [10, 200].map(TimeDelta::from_millis);
        PlayoutClock::new(90_000, PlayoutRule { min, max, waits: true })
    }

    #[test]
    fn follows_lateness_between_its_bounds() {
        let mut clock = clock();
        for index in 0..10u64 {
            let timestamp = (u32::MAX - 10_000).wrapping_add(index as u32 * 3600);
            clock.on_arrival(at(1000 + index * 40), timestamp);
            clock.on_complete(at(1000 + index * 40 + 31), timestamp);
            assert_eq!(clock.delay(), TimeDelta::from_millis(32));
        }
        let last = (u32::MAX - 10_000).wrapping_add(9 * 3600);
        assert!((clock.due(clock.media_time(last)) - at(1360 + 32)).abs() < TimeDelta::from_micros(20));
        let next = last.wrapping_add(3600);
        clock.on_arrival(at(1400), next);
        clock.on_complete(at(2400), next);
        assert_eq!(clock.delay(), TimeDelta::from_millis(200));
        let deadline = clock.deadline(next, TimeDelta::from_millis(50));
        assert!((deadline - at(1600)).abs() < TimeDelta::from_micros(20), "not before it is due");
    }

    #[test]
    fn a_whole_frame_need_not_wait() {
        let waits = clock();
        let rule = PlayoutRule { waits: false, ..waits.rule };
        let at_once = PlayoutClock::new(90_000, rule);
        let media = waits.media_time(0);
        assert_eq!((at_once.release(at(5), media), at_once.delay()), (at(5), TimeDelta::ZERO));
        assert_eq!(
            (waits.release(at(5), media), waits.delay()),
            (waits.due(media), TimeDelta::from_millis(10))
        );
        assert_eq!(at_once.due(media), waits.due(media), "when others are given up");
    }

    #[test]
    fn the_largest_of_this_window_and_the_one_before() {
        let mut extreme = Extreme::new(TimeDelta::from_secs(10));
        for (millis, value, largest) in [
            (0, 5, 5),
            (9_999, 3, 5),
            (10_000, 1, 5),
            (19_999, 2, 5),
            // The window from 10 s on had two at most; nothing came from 20 s to 40 s.
            (20_000, 1, 2),
            (40_000, 0, 0),
            (40_001, -1, 0),
        ] {
            assert_eq!(extreme.largest(at(millis), value), largest, "{millis}");
        }
    }

    /// Bins of 4 ms: what is 8 ms late is in the third. What is early, or later than all bins, counts in the first and in the last.
    #[test]
    fn lateness_beyond_the_bins_counts_in_those_at_the_ends() {
        for (late, quantile) in [(7, 8), (8, 12), (-50, 4), (60_000, 10_000)] {
            let mut lateness = Lateness::new();
            lateness.add(TimeDelta::from_millis(late));
            assert_eq!(lateness.quantile(), TimeDelta::from_millis(quantile), "{late}");
        }
    }

    #[test]
    fn another_latency_bounds_all_delays() {
        let mut clock = clock();
        assert!(!clock.has_begun());
        clock.on_arrival(at(1000), 90_000);
        clock.on_complete(at(1150), 90_000);
        let delays = |clock: &PlayoutClock| {
            let media = clock.media_time(90_000);
            [clock.delay(), clock.longest(), clock.due(media) - at(1000), clock.own_due(media) - at(1000)]
                .map(TimeDelta::as_millis)
        };
        assert_eq!(delays(&clock), [152, 200, 152, 152]);
        clock.stay_behind(TimeDelta::from_millis(30));
        assert_eq!(delays(&clock), [152, 200, 182, 152]);
        clock.stay_behind(TimeDelta::from_secs(3));
        assert_eq!(delays(&clock), [152, 200, 352, 152], "no more than the latency");
        clock.stay_behind(-TimeDelta::from_secs(3));
        clock.set_max(TimeDelta::from_millis(100));
        assert_eq!(delays(&clock), [100, 200, 100, 100]);
        clock.set_max(TimeDelta::from_millis(300));
        assert_eq!(delays(&clock), [100, 300, 100, 100]);
        for (repair, deadline) in [(50, 100), (250, 250), (400, 300)] {
            let deadline = at(1000) + TimeDelta::from_millis(deadline);
            assert_eq!(clock.deadline(90_000, TimeDelta::from_millis(repair)), deadline);
        }
        assert!(clock.has_begun());
    }

    proptest! {
        #[test]
        fn the_quantile_is_that_of_the_bins(spread in 1i64..400, seed in any::<u32>()) {
            let (mut lateness, mut random) = (Lateness::new(), seed);
            for index in 0..6000i64 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let late = i64::from(random >> 8) % spread + if index / 700 % 2 == 1 { 300 } else { 0 };
                lateness.add(TimeDelta::from_millis(late));
                let mut sum = 0.0;
                let enough = |bin: &f64| {
                    sum += bin;
                    sum >= QUANTILE * lateness.total
                };
                let bin = lateness.bins.iter().position(enough).unwrap();
                prop_assert_eq!(lateness.quantile(), BIN * (bin as i64 + 1));
            }
        }
    }

    #[test]
    fn a_few_late_frames_do_not_delay_all_the_others() {
        let mut clock = clock();
        for index in 0..2000u64 {
            let lateness = if index % 50 == 49 { 150 } else { 21 };
            clock.on_arrival(at(index * 40), index as u32 * 3600);
            clock.on_complete(at(index * 40 + lateness), index as u32 * 3600);
        }
        assert_eq!(clock.delay(), TimeDelta::from_millis(24), "one in fifty");
    }

    #[test]
    fn a_longer_path_is_learnt_and_a_calm_one_too() {
        let mut clock = clock();
        let mut frame = |millis: u64, delay: u64| {
            clock.on_arrival(at(millis + delay), millis as u32 * 90);
            clock.on_complete(at(millis + delay), millis as u32 * 90);
            clock.delay()
        };
        frame(0, 20);
        assert_eq!(frame(40, 120), TimeDelta::from_millis(104));
        let delays: Vec<_> = (2..3000).map(|index| frame(index * 40, 120)).collect();
        assert_eq!(delays.last(), Some(&TimeDelta::from_millis(10)), "the longer path is the base now");
    }

    #[test]
    fn a_forged_time_is_forgotten() {
        let after = |forged: Option<u32>| {
            let mut clock = clock();
            for index in 0..2000u64 {
                let (now, timestamp) = (at(index * 40), index as u32 * 3600);
                clock.on_arrival(now, timestamp);
                clock.on_complete(now, timestamp);
                if let Some(ahead) = forged.filter(|_| index == 100) {
                    clock.on_arrival(now, timestamp.wrapping_add(ahead));
                }
            }
            (clock.delay(), clock.due(clock.media_time(1999 * 3600)))
        };
        for ahead in [3600 * 90_000, -3600 * 90_000, i32::MAX, i32::MIN] {
            let (delay, due) = after(Some(ahead as u32));
            assert_eq!(delay, after(None).0, "{ahead}");
            assert!(due - at(1999 * 40) <= TimeDelta::from_millis(11), "{ahead}: {due}");
        }
    }
}
