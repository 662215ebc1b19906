//! Distinguishes another route from a queue. What packets wait beyond the queue that we make ourselves is none of ours. If it comes at
//! once and then stays the same to the millisecond, whatever we send, it is no queue at all: the path has become longer. If it stays but
//! changes from packet to packet, others keep the queue.

use super::delay::Pair;
use super::minimum::{LeastOfLate, Sample};

/// Compares waits with those of our own queue, by the capacity of when they last agreed.
#[derive(Debug, Clone)]
pub(super) struct RouteTest {
    /// The highest of late by which waits agreed, bit/s: when the first packets of another route come, the capacity seems to fall.
    capacity: f64,
    /// Capacities of late, less than zero: the least is the highest.
    agreed: LeastOfLate<()>,
    /// What was sent when waits agreed, bit/s, smoothed.
    rate: f64,
    /// The target queue then, s.
    target: f64,
    newest: Option<Arrived>,
    /// When the newest packet left behind which the application had paused, s.
    idle: f64,
    /// Packets of the present report.
    report: Arrivals,
    /// Since waits are longer than those of our own queue.
    longer: Option<Longer>,
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    sent: f64,
    /// Octets that left before it, modulo 2^32.
    before: u32,
    /// How long it waited behind our own packets at a server of the reference capacity.
    own: f64,
}

/// Packets that arrived one after the other.
#[derive(Debug, Clone, Copy)]
struct Arrivals {
    count: u32,
    /// The least that one waited beyond our own queue.
    least: f64,
    /// Those that found no queue of ours, and what they waited in all.
    first: u32,
    waited: f64,
    /// What left from the packet before them to the last of them, lost ones included, in how long.
    octets: f64,
    passed: f64,
}

/// What is known of longer waits while they do not change.
#[derive(Debug, Clone, Copy)]
struct Longer {
    since: f64,
    /// What they were longer by in the first report that has packets of one route only. A queue grows for longer than one report.
    step: Option<f64>,
    /// The shortest and the longest of the least waits of blocks, and how many have ended. The first does not count: it has packets of
    /// both routes.
    range: (f64, f64),
    blocks: u32,
    /// Packets of these blocks that found no queue of ours, and what they waited for more than the least of their blocks, s in all.
    first: u32,
    unrest: f64,
    /// The present block, its least end, and the block before it.
    block: Arrivals,
    block_ends: f64,
    last: Arrivals,
    /// The rate of before, bit/s, and what has been sent less since than at this rate, bits.
    rate: f64,
    relief: f64,
    served: Served,
    probe: Option<Probe>,
}

/// The delay stayed while next to nothing was sent. So does the queue of others who keep a constant window, as BBR does on a short path;
/// but that grows once more is sent.
#[derive(Debug, Clone, Copy)]
struct Probe {
    began: f64,
    /// What has been sent more since than at the rate of the last block before, bits.
    extra: f64,
    rate: f64,
}

/// Packets that left back to back behind another.
#[derive(Debug, Clone, Copy, Default)]
struct Served {
    count: u32,
    /// Those that came as soon after the other as at the reference capacity.
    in_time: u32,
    bits: f64,
    /// From arrival to arrival, s in all.
    spacing: f64,
}

/// What is seen as of a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) t: f64,
    pub(super) capacity: f64,
    pub(super) loop_delay: f64,
    pub(super) jitter: f64,
    pub(super) target_queue: f64,
    /// The largest packet, bytes.
    pub(super) packet: f64,
}

/// What makes waits longer. The capacity, bit/s, is that of before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// Another route, longer by so much, s.
    Route { longer: f64, capacity: f64 },
    /// A queue that others keep.
    Others { capacity: f64 },
}

impl RouteTest {
    /// The least step that is looked into: less is drift, and the target queue allows for it.
    const LEAST_STEP: f64 = 0.003;
    /// Flows that share a queue keep it at their target, whatever one of them sends. A longer path matters where it is above it by so much.
    const ABOVE_TARGET: f64 = 0.0003;
    /// An application that paused within so long, s, has an empty queue in its pauses: any delay of these matters.
    const IDLE: f64 = 0.5;
    /// The target is so many times that of the reference capacity at most: the first packets of another route let it grow far more.
    const TARGETS: f64 = 1.5;
    /// In so many jitters a queue does not change either.
    const JITTERS: f64 = 2.0;
    /// A capacity stays the reference for so long, s, and the rate is smoothed over so long.
    const REFERENCE: f64 = 1.0;
    const SMOOTHING: f64 = 0.2;
    /// A block: the least of so long, s, and so many packets is compared with that of others.
    const BLOCK: f64 = 0.080;
    const BLOCK_PACKETS: u32 = 8;
    /// A route is known to be another after so long, s, and so many loop delays.
    const LEAST_SPAN: f64 = 0.3;
    const LOOPS: f64 = 2.0;
    /// It does not change by more, s, a quarter of a packet's service aside, or than this share of what a queue of ours would
    /// have changed by; nor by more than a quarter of itself.
    const STILL: f64 = 0.001;
    const PACKETS: f64 = 0.25;
    const FOLLOWS: f64 = 0.1;
    const SHARE: f64 = 0.25;
    /// A queue of ours would have changed by so much, s, and so many times what is no change.
    const RELIEF: f64 = 0.1;
    const RELIEF_OF_STILL: f64 = 4.0;
    /// From this share of it on packets leave in groups.
    const SUSPICION: f64 = 0.25;
    /// So many packets show at which rate they are served. Where less than a third of them is served at this share of the capacity,
    /// this fell; jitter delays some.
    const FEWEST_SERVED: u32 = 6;
    const SERVED: f64 = 0.75;
    const IN_TIME: u32 = 3;
    /// A probe sends at this share of the capacity where less was sent, and ends after so long, s, where the application gives less.
    const PROBE: f64 = 0.5;
    const LONGEST_PROBE: f64 = 1.0;
    /// What many gaps are wrong by in all, s: reports have arrivals by the millisecond (RFC 8888).
    const GRAIN: f64 = 0.002;

    pub(super) const fn new() -> Self {
        Self {
            capacity: 0.0,
            agreed: LeastOfLate::new(),
            rate: 0.0,
            target: 0.0,
            newest: None,
            idle: f64::NEG_INFINITY,
            report: Arrivals::NONE,
            longer: None,
        }
    }

    /// The path is another, or a queue has formed: waits count from now on.
    pub(super) fn reset(&mut self) {
        self.agreed.clear();
        (self.capacity, self.newest, self.report, self.longer) = (0.0, None, Arrivals::NONE, None);
    }

    /// A packet arrived behind all before it. It left at `sent`, behind so many octets, and waited for `wait` above the base delay.
    /// It is `alone` where the application had paused before it.
    pub(super) fn on_arrival(&mut self, sent: f64, before: u32, alone: bool, wait: f64) {
        if alone {
            self.idle = sent;
        }
        if self.capacity <= 0.0 {
            return;
        }
        let (mut own, mut octets, mut passed) = (wait, 0.0, 0.0);
        if let Some(newest) = self.newest {
            octets = f64::from(before.wrapping_sub(newest.before));
            passed = sent - newest.sent;
            own = (newest.own + octets * 8.0 / self.capacity - passed).max(0.0);
        }
        self.newest = Some(Arrived { sent, before, own });
        let first = u32::from(own <= 0.0);
        let waited = f64::from(first) * wait;
        self.report.add(&Arrivals { count: 1, least: wait - own, first, waited, octets, passed });
    }

    /// Packets leave in groups: how fast these are served shows whether the capacity fell, and whether it is shared.
    pub(super) fn is_suspicious(&self) -> bool {
        let enough = Self::SUSPICION * Self::RELIEF * self.capacity;
        self.longer.is_some_and(|longer| longer.blocks > 0 && longer.relief.abs() > enough)
    }

    /// So much is sent at least while a probe runs, bit/s.
    pub(super) fn probe_rate(&self) -> Option<f64> {
        self.longer.as_ref().and_then(|longer| longer.probe).map(|_| Self::PROBE * self.capacity)
    }

    /// Of two packets that arrived one after the other the later one has this size, bytes.
    pub(super) fn on_pair(&mut self, pair: &Pair, size: f64) {
        if let Some(longer) = &mut self.longer
            && pair.grouped
            && pair.is_back_to_back()
        {
            let bits = size * 8.0;
            let is_in_time = pair.spacing * Self::SERVED * self.capacity <= bits;
            let served = &mut longer.served;
            served.count += 1;
            served.in_time += u32::from(is_in_time);
            served.bits += bits;
            served.spacing += pair.spacing;
        }
    }

    /// What is found once longer waits have turned out to be none of ours.
    pub(super) fn update(&mut self, seen: &Seen) -> Option<Found> {
        let report = std::mem::replace(&mut self.report, Arrivals::NONE);
        if self.capacity <= 0.0 {
            (self.capacity, self.target) = (seen.capacity, seen.target_queue);
        }
        if report.count == 0 {
            return None;
        }
        let jitter = Self::JITTERS * seen.jitter;
        let target = seen.target_queue.min(Self::TARGETS * self.target) + Self::ABOVE_TARGET;
        let target = if seen.t - self.idle < Self::IDLE { 0.0 } else { target };
        if report.least <= target.max(Self::LEAST_STEP + jitter) {
            self.longer = None;
            self.agree(seen, &report);
            return None;
        }
        let Some(longer) = &mut self.longer else {
            self.longer = Some(Longer::new(seen.t, self.rate, report));
            return None;
        };
        let still = Self::STILL + jitter + Self::PACKETS * seen.packet * 8.0 / self.capacity;
        let step = *longer.step.get_or_insert(report.least);
        longer.update(seen.t, &report);
        if longer.is_another_than(step, still) || longer.has_fallen(self.capacity) {
            self.reset();
        } else if let Some(probe) = longer.probe {
            return longer.conclude(probe, seen, still, self.capacity);
        } else if longer.moved(still, self.capacity) {
            let rate = longer.last.rate();
            let Longer { step, served, .. } = *longer;
            *longer = Longer { step, served, ..Longer::new(seen.t, rate, Arrivals::NONE) };
        } else if longer.is_confirmed(seen, still, self.capacity) {
            let capacity = self.capacity;
            if longer.is_restless(still) {
                return Some(Found::Others { capacity });
            }
            if longer.relief < 0.0 || longer.last.rate() > 0.8 * Self::PROBE * capacity {
                return Some(Found::Route { longer: longer.range.0, capacity });
            }
            longer.probe = Some(Probe { began: seen.t, extra: 0.0, rate: longer.last.rate() });
        }
        None
    }

    /// The model of our own queue is corrected by what was measured.
    fn agree(&mut self, seen: &Seen, report: &Arrivals) {
        self.agreed.insert(Sample { at: seen.t, value: -seen.capacity, of: () });
        self.agreed.forget_before(seen.t - Self::REFERENCE);
        let highest = self.agreed.least(seen.t, Self::REFERENCE);
        self.capacity = highest.map_or(seen.capacity, |highest| -highest.value);
        self.target = seen.target_queue;
        self.rate += (report.rate() - self.rate) * report.passed / (report.passed + Self::SMOOTHING);
        if let Some(newest) = &mut self.newest {
            newest.own = (newest.own + report.least).max(0.0);
        }
    }
}

impl Arrivals {
    const NONE: Self =
        Self { count: 0, least: f64::INFINITY, first: 0, waited: 0.0, octets: 0.0, passed: 0.0 };

    fn add(&mut self, later: &Self) {
        self.count += later.count;
        self.least = self.least.min(later.least);
        self.first += later.first;
        self.waited += later.waited;
        self.octets += later.octets;
        self.passed += later.passed;
    }

    /// At which they were sent, bit/s.
    fn rate(&self) -> f64 {
        self.octets * 8.0 / self.passed.max(1e-6)
    }
}

impl Longer {
    fn new(since: f64, rate: f64, block: Arrivals) -> Self {
        let block_ends = since + RouteTest::BLOCK;
        let range = (f64::INFINITY, f64::NEG_INFINITY);
        Self {
            since,
            step: None,
            range,
            blocks: 0,
            first: 0,
            unrest: 0.0,
            block,
            block_ends,
            last: block,
            rate,
            relief: 0.0,
            served: Served::default(),
            probe: None,
        }
    }

    fn update(&mut self, t: f64, report: &Arrivals) {
        self.relief += self.rate * report.passed - report.octets * 8.0;
        if let Some(probe) = &mut self.probe {
            probe.extra += report.octets * 8.0 - probe.rate * report.passed;
        }
        self.block.add(report);
        if t < self.block_ends || self.block.count < RouteTest::BLOCK_PACKETS {
            return;
        }
        self.last = std::mem::replace(&mut self.block, Arrivals::NONE);
        if self.blocks > 0 && self.probe.is_none() {
            self.range = (self.range.0.min(self.last.least), self.range.1.max(self.last.least));
            self.first += self.last.first;
            self.unrest += self.last.waited - f64::from(self.last.first) * self.last.least;
        }
        self.blocks += 1;
        self.block_ends = t + RouteTest::BLOCK;
    }

    /// At which our packets are served one by one, bit/s, once it is known: less than they show, by the grain of the peer's clock.
    fn service(&self) -> Option<f64> {
        let Served { count, bits, spacing, .. } = self.served;
        (count >= RouteTest::FEWEST_SERVED).then(|| bits / (spacing + RouteTest::GRAIN).max(1e-6))
    }

    /// How many times the capacity that is. Of several flows in a queue one changes it by a part of what it sends less, and the others
    /// take the rest.
    fn shared(&self, capacity: f64) -> Option<f64> {
        self.service().map(|service| (service / capacity).max(1.0))
    }

    /// Jitter delays some packets, and the grain of the clock others: both must agree that it is not they.
    fn has_fallen(&self, capacity: f64) -> bool {
        let Served { count, in_time, bits, spacing } = self.served;
        count >= RouteTest::FEWEST_SERVED
            && in_time * RouteTest::IN_TIME < count
            && bits < RouteTest::SERVED * capacity * (spacing - RouteTest::GRAIN)
    }

    fn is_another_than(&self, step: f64, still: f64) -> bool {
        let near = (2.0 * still).max(RouteTest::SHARE * step);
        self.blocks > 1 && (self.range.0 - step).abs() > near
    }

    fn moved(&self, still: f64, capacity: f64) -> bool {
        let still = still.max(RouteTest::FOLLOWS * self.relief.abs() / capacity);
        self.range.1 - self.range.0 > still.min(RouteTest::SHARE * self.range.0)
    }

    /// Others are served between our packets: what waits changes from packet to packet, however long it is in the mean.
    fn is_restless(&self, still: f64) -> bool {
        self.unrest > f64::from(self.first) * still
    }

    /// What a probe shows: the delay grew with what is sent, or stayed as long as a queue would not.
    fn conclude(&self, probe: Probe, seen: &Seen, still: f64, capacity: f64) -> Option<Found> {
        let still = still.min(RouteTest::SHARE * self.range.0);
        let passed = seen.t - probe.began;
        let is_long = passed > seen.loop_delay + 2.0 * RouteTest::BLOCK;
        let is_enough = probe.extra > RouteTest::RELIEF_OF_STILL * still * capacity;
        if self.last.least > self.range.1 + still {
            Some(Found::Others { capacity })
        } else if is_long && is_enough || passed > RouteTest::LONGEST_PROBE {
            Some(Found::Route { longer: self.range.0, capacity })
        } else {
            None
        }
    }

    fn is_confirmed(&self, seen: &Seen, still: f64, capacity: f64) -> bool {
        let span = (RouteTest::LOOPS * seen.loop_delay).max(RouteTest::LEAST_SPAN);
        let still = still.min(RouteTest::SHARE * self.range.0);
        let relief = (RouteTest::RELIEF_OF_STILL * still).max(RouteTest::RELIEF);
        self.blocks > 2
            && seen.t - self.since > span
            && self
                .shared(capacity)
                .is_some_and(|shared| self.relief.abs() > relief * capacity * shared * shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens at 1 s to a flow of 3 Mbit/s on a server of as much.
    #[derive(Debug, Clone, Copy)]
    struct Event {
        /// The path becomes longer, s.
        longer: f64,
        /// So much of others comes at once, s of service.
        burst: f64,
        /// The server's rate from then on, bit/s.
        serves: f64,
        /// Ours from 1.1 s on, bit/s.
        sends: f64,
        /// Packets of others come between ours, s of service.
        between: f64,
        /// From 1.1 s on another keeps so much in the queue, s of service: that lasts longer the more of the service is ours.
        window: f64,
    }

    const NOTHING: Event =
        Event { longer: 0.0, burst: 0.0, serves: 3e6, sends: 3e6, between: 0.0, window: 0.0 };
    const SIZE: f64 = 1250.0;

    /// What is found within 3 s of reports each 20 ms.
    fn found(event: Event) -> Option<Found> {
        let mut test = RouteTest::new();
        let (mut sent, mut queue, mut reported) = (0.0_f64, 0.008_f64, 0.0);
        let mut has_happened = false;
        for id in 0..750_u32 {
            let (serves, longer) = if sent < 1.0 { (3e6, 0.0) } else { (event.serves, event.longer) };
            let rate = if sent < 1.1 { 3e6 } else { event.sends.max(test.probe_rate().unwrap_or(0.0)) };
            if sent >= 1.0 && !has_happened {
                (queue, has_happened) = (queue + event.burst, true);
            }
            let between = if sent < 1.0 { 0.0 } else { f64::from(id % 3) * event.between };
            let window = if sent < 1.1 { 0.0 } else { event.window / (1.0 - rate / serves).max(0.1) };
            test.on_arrival(sent, id * 1250, false, queue + longer + between + window);
            let spacing = SIZE * 8.0 / serves;
            test.on_pair(&Pair { gap: 0.0, spacing, step: 0.0, wait: queue, grouped: true }, SIZE);
            if sent - reported >= 0.02 {
                let seen = Seen {
                    t: sent,
                    capacity: 3e6,
                    loop_delay: 0.05,
                    jitter: 0.0,
                    target_queue: 0.004,
                    packet: SIZE,
                };
                reported = sent;
                if let Some(found) = test.update(&seen) {
                    return Some(found);
                }
            }
            let gap = SIZE * 8.0 / rate;
            queue = (queue + SIZE * 8.0 / serves - gap).max(0.0);
            sent += gap;
        }
        None
    }

    #[test]
    fn a_delay_that_stays_whatever_is_sent_is_the_paths_own() {
        for longer in [0.008, 0.014, 0.1] {
            let found = found(Event { longer, sends: 1.5e6, ..NOTHING });
            let Some(Found::Route { longer: by, capacity }) = found else { panic!("{longer}: {found:?}") };
            assert!((by - longer).abs() < 0.001 && capacity == 3e6, "{longer}: {found:?}");
        }
        // Where we send as before nothing is known, and less than the target queue is no matter.
        assert_eq!(found(Event { longer: 0.014, ..NOTHING }), None);
        assert_eq!(found(Event { longer: 0.0035, sends: 1.5e6, ..NOTHING }), None);
    }

    /// A queue of 60 ms in which each of our packets waits for none, one or two of others.
    #[test]
    fn a_queue_that_stays_whatever_is_sent_is_kept_by_others() {
        let event = Event { longer: 0.060, sends: 1.5e6, between: 0.004, ..NOTHING };
        assert_eq!(found(event), Some(Found::Others { capacity: 3e6 }));
    }

    /// 40 ms of BBR's packets stand whatever little we send. They stand for 80 once the probe takes half of the service; a longer path
    /// does not.
    #[test]
    fn a_window_of_others_lasts_longer_once_more_is_sent() {
        let little = Event { sends: 0.2e6, ..NOTHING };
        let others = found(Event { window: 0.040, ..little });
        assert_eq!(others, Some(Found::Others { capacity: 3e6 }));
        let route = found(Event { longer: 0.040, ..little });
        assert!(matches!(route, Some(Found::Route { .. })), "{route:?}");
    }

    #[test]
    fn a_queue_is_no_path() {
        assert_eq!(found(NOTHING), None);
        // It drains at half of the service, or at a tenth of it.
        for sends in [1.5e6, 2.7e6] {
            assert_eq!(found(Event { burst: 0.1, sends, ..NOTHING }), None);
        }
        // It grows while a slower server gets as much, and stands once it gets no more than it serves.
        assert_eq!(found(Event { serves: 1.5e6, sends: 1.5e6, ..NOTHING }), None);
        assert_eq!(found(Event { serves: 1.5e6, sends: 1.2e6, ..NOTHING }), None);
    }

    #[test]
    fn counts_that_jump_are_harmless() {
        let mut test = RouteTest::new();
        let seen =
            Seen { t: 1.0, capacity: 1e6, loop_delay: 0.05, jitter: 0.0, target_queue: 0.008, packet: SIZE };
        assert_eq!(test.update(&seen), None);
        for (before, sent) in [(7, 1.0), (u32::MAX, 1.01), (8, 1.02), (9, 0.0)] {
            test.on_arrival(sent, before, true, 0.5);
        }
        assert_eq!(test.update(&Seen { t: 1.02, ..seen }), None);
    }
}
