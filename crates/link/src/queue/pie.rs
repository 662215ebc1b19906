//! Proportional integral controller enhanced (RFC 8033).

use super::clock::{Ticks, update_period};
use super::fifo::{Fifo, Waiting};
use super::limit::queue_config;
use super::{Accounting, Limit, Nominal, Transmitter};
use crate::error::{Error, above_zero, fraction, not_negative};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use serde::Deserialize;

queue_config! {
    /// PIE. 1000 packets wait at most where no limit is given.
    PieConfig {
        /// Reference delay, QDELAY_REF.
        target: TimeDelta = TimeDelta::from_millis(15),
        /// Time between two updates, T_UPDATE.
        update: TimeDelta = TimeDelta::from_millis(15),
        /// Bursts up to this are left alone, MAX_BURST.
        max_burst: TimeDelta = TimeDelta::from_millis(150),
        /// How the queueing delay is estimated.
        measure: PieMeasure = PieMeasure::Timestamp,
        /// Mark instead of dropping.
        mark: bool = false,
        /// From this drop probability on, ECN-capable packets are dropped too.
        mark_below: f64 = 0.1,
        /// From a drop probability of 0.1 on, no update adds more than 0.02.
        cap: bool = false,
    }
}

/// How PIE estimates the queueing delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PieMeasure {
    /// The wait of the packet that left last.
    #[default]
    Timestamp,
    /// Octets waiting over a measured departure rate.
    Rate,
}

impl PieConfig {
    const LIMIT: Limit = Limit::PacketsWaiting(1000);

    fn check(&self) -> Result<(), Error> {
        above_zero("queue.target", self.target)?;
        update_period("queue.update", self.update)?;
        not_negative("queue.max_burst", self.max_burst)?;
        fraction("queue.mark_below", self.mark_below).map(drop)
    }
}

/// Per second; `ALPHA` acts on the deviation from the target, `BETA` on the trend.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
const MEAN_PACKET: u64 = 1000;
/// DQ_THRESHOLD: a departure rate is measured over this much.
const MEASURED_OVER: DataSize = DataSize::from_bytes(1 << 14);
/// DQ_THRESHOLD/2¹⁶.
const RATE_WEIGHT: f64 = 0.25;

#[derive(Debug, Clone)]
pub(super) struct Pie<P> {
    pub(super) fifo: Fifo<P>,
    config: PieConfig,
    limit: Limit,
    probability: f64,
    /// Delay at this update and at the one before.
    current: TimeDelta,
    old: TimeDelta,
    burst: TimeDelta,
    ticks: Ticks,
    last_wait: TimeDelta,
    departures: DepartureRate,
}

/// The time that [`MEASURED_OVER`] takes to leave, averaged.
#[derive(Debug, Clone, Default)]
struct DepartureRate {
    cycle: Option<(Timestamp, DataSize)>,
    average: Option<TimeDelta>,
}

impl DepartureRate {
    fn on_departure(&mut self, now: Timestamp, size: DataSize, left: DataSize) {
        if let Some((since, gone)) = &mut self.cycle {
            *gone += size;
            if *gone >= MEASURED_OVER {
                let took = now.since(*since);
                self.average = Some(match self.average {
                    None => took,
                    Some(average) => took.mul_f64(RATE_WEIGHT) + average.mul_f64(1.0 - RATE_WEIGHT),
                });
                self.cycle = None;
            }
        }
        if self.cycle.is_none() && left >= MEASURED_OVER {
            self.cycle = Some((now, DataSize::ZERO));
        }
    }

    fn delay(&self, waiting: DataSize) -> TimeDelta {
        let cycles = waiting.as_bytes_f64() / MEASURED_OVER.as_bytes_f64();
        self.average.unwrap_or_default().mul_f64(cycles)
    }
}

impl<P> Pie<P> {
    pub(super) fn new(config: &PieConfig, nominal: Nominal) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            fifo: Fifo::new(),
            config: *config,
            limit: config.limit(nominal)?.unwrap_or(PieConfig::LIMIT),
            probability: 0.0,
            current: TimeDelta::ZERO,
            old: TimeDelta::ZERO,
            burst: config.max_burst,
            ticks: Ticks::new(config.update),
            last_wait: TimeDelta::ZERO,
            departures: DepartureRate::default(),
        })
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        mut packet: Packet<P>,
        transmitter: Transmitter,
        accounting: &mut Accounting<P>,
    ) {
        self.catch_up(now);
        if !self.limit.admits(&self.fifo, packet.size, transmitter) {
            return accounting.drop(now, DropCause::Tail, packet);
        }
        if !self.is_spared() && accounting.random.chance(self.probability) {
            let may_mark = self.config.mark && self.probability < self.config.mark_below;
            if !may_mark || !packet.ecn.is_capable() {
                return accounting.drop(now, DropCause::Early, packet);
            }
            accounting.mark(&mut packet);
        }
        self.fifo.push(now, packet);
    }

    pub(super) fn dequeue(&mut self, now: Timestamp, _ledger: &mut Accounting<P>) -> Option<Waiting<P>> {
        self.catch_up(now);
        let head = self.fifo.pop()?;
        self.last_wait = now.since(head.arrived);
        if self.config.measure == PieMeasure::Rate {
            self.departures.on_departure(now, head.packet.size, self.fifo.size());
        }
        Some(head)
    }

    /// RFC 8033 section 4.1 and 4.4: bursts and short queues are left alone.
    fn is_spared(&mut self) -> bool {
        let half = self.config.target / 2;
        if self.probability == 0.0 && self.delay() < half && self.old < half {
            self.burst = self.config.max_burst;
        }
        self.burst > TimeDelta::ZERO
            || (self.old < half && self.probability < 0.2)
            || self.fifo.size().as_bytes() <= 2 * MEAN_PACKET
    }

    fn delay(&self) -> TimeDelta {
        match self.config.measure {
            PieMeasure::Timestamp => self.last_wait,
            PieMeasure::Rate => self.departures.delay(self.fifo.size()),
        }
    }

    fn catch_up(&mut self, now: Timestamp) {
        while self.ticks.poll(now).is_some() {
            if self.fifo.is_empty() {
                self.last_wait = TimeDelta::ZERO;
            }
            let before = (self.probability, self.current, self.old, self.burst);
            self.update(self.delay());
            // Nothing waits and nothing moves any more.
            if self.fifo.is_empty() && before == (self.probability, self.current, self.old, self.burst) {
                self.ticks.skip(now);
            }
        }
    }

    /// RFC 8033 section 4.2.
    fn update(&mut self, current: TimeDelta) {
        self.current = current;
        let deviation = (current - self.config.target).as_secs_f64();
        let trend = (current - self.old).as_secs_f64();
        let mut change = (ALPHA * deviation + BETA * trend) / scale(self.probability);
        if self.config.cap && self.probability >= 0.1 {
            change = change.min(0.02);
        }
        self.probability += change;
        if current == TimeDelta::ZERO && self.old == TimeDelta::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old = current;
        self.burst = (self.burst - self.config.update).max(TimeDelta::ZERO);
    }
}

/// Small probabilities move in small steps.
fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 1e-6 => 2048.0,
        p if p < 1e-5 => 512.0,
        p if p < 1e-4 => 128.0,
        p if p < 1e-3 => 32.0,
        p if p < 1e-2 => 8.0,
        p if p < 1e-1 => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use seaway_units::{Bitrate, Ecn};

    const WIDE: Transmitter = Transmitter { in_service: None, rate: Bitrate::from_mbps(1) };

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    fn pie(config: PieConfig) -> Pie<u64> {
        Pie::new(&config, Nominal { rate: WIDE.rate, delay: TimeDelta::ZERO }).unwrap()
    }

    #[test]
    fn worked_updates() {
        for (before, after) in [(0.0, 7.02e-6), (0.05, 0.057_187_5), (0.2, 0.214_375)] {
            let mut queue = pie(PieConfig::default());
            queue.probability = before;
            queue.old = TimeDelta::from_millis(20);
            queue.update(TimeDelta::from_millis(30));
            assert!((queue.probability - after).abs() < 1e-8, "{before}: {}", queue.probability);
        }
    }

    /// Decay alone: 0.1·0.98¹⁰⁰ = 0.0133.
    #[test]
    fn an_idle_queue_forgets() {
        let mut queue = pie(PieConfig::default());
        queue.probability = 0.1;
        for _ in 0..100 {
            let pulled = queue.probability;
            queue.update(TimeDelta::ZERO);
            // What the deviation took away is given back, to leave the decay.
            queue.probability = pulled * 0.98;
        }
        assert!((queue.probability - 0.0133).abs() < 5e-5, "{}", queue.probability);
    }

    #[test]
    fn updates_made_late_equal_updates_made_in_time() {
        let packet = Packet::new(DataSize::from_bytes(1500), Ecn::NotEct, 0);
        let run = |looks: &[i64]| {
            let mut queue = pie(PieConfig::default());
            let mut accounting = Accounting::new(RandomStream::new(1, "pie"));
            (0..5).for_each(|_| queue.enqueue(at(0), packet, WIDE, &mut accounting));
            queue.dequeue(at(40), &mut accounting);
            looks.iter().for_each(|&look| queue.catch_up(at(look)));
            (queue.probability, queue.burst, queue.old)
        };
        assert_eq!(run(&[400]), run(&[50, 77, 300, 399, 400]));
    }

    #[test]
    fn a_burst_passes_and_a_standing_queue_does_not() {
        let mut queue = pie(PieConfig::default());
        let mut accounting = Accounting::new(RandomStream::new(1, "pie"));
        let mut first_drop = None;
        // 2 ms a packet in, 4 ms a packet out.
        for n in 0..2000_i64 {
            let packet = Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, n as u64);
            queue.enqueue(at(2 * n), packet, WIDE, &mut accounting);
            if n % 2 == 0 {
                queue.dequeue(at(2 * n), &mut accounting);
            }
            if accounting.counts.early > 0 {
                first_drop.get_or_insert(2 * n);
            }
        }
        assert!(first_drop.is_some_and(|millis| millis > 150), "{first_drop:?}");
        assert_eq!(accounting.counts.tail, 0);
    }

    #[test]
    fn marks_below_a_tenth_and_drops_above() {
        for (probability, marks, drops) in [(0.09, true, false), (0.11, false, true)] {
            let mut queue = pie(PieConfig { mark: true, ..PieConfig::default() });
            let mut accounting = Accounting::new(RandomStream::new(1, "pie"));
            queue.probability = probability;
            queue.burst = TimeDelta::ZERO;
            queue.old = TimeDelta::from_millis(30);
            for n in 0..500 {
                let packet = Packet::new(DataSize::from_bytes(1000), Ecn::Ect0, n);
                queue.enqueue(at(0), packet, WIDE, &mut accounting);
            }
            assert_eq!((accounting.counts.marks > 0, accounting.counts.early > 0), (marks, drops));
        }
    }

    #[test]
    fn departure_rate_is_measured_over_16_kib() {
        let mut queue = pie(PieConfig { measure: PieMeasure::Rate, ..PieConfig::default() });
        let mut accounting = Accounting::new(RandomStream::new(1, "pie"));
        for n in 0..100 {
            queue.fifo.push(at(0), Packet::new(DataSize::from_bytes(1024), Ecn::NotEct, n));
        }
        // 1024 B every 8 ms: 16 of them after the first, 128 ms a cycle.
        for n in 0..40 {
            queue.dequeue(at(8 * n), &mut accounting);
        }
        assert_eq!(queue.departures.average, Some(TimeDelta::from_millis(128)));
        // 60 KiB wait: 60·8 ms
        assert_eq!(queue.delay(), TimeDelta::from_millis(480));
    }

    /// RFC 8033 section 4.1 and 5.1: a burst, a delay of less than half the target at a probability below 0.2, or two packets of 1000 octets at most.
    #[test]
    fn bursts_and_short_queues_are_spared() {
        let micros = TimeDelta::from_micros;
        for (probability, old, burst, octets, spared) in [
            (0.3, 30_000, 0, 2001, false),
            (0.3, 30_000, 1, 2001, true),
            (0.3, 30_000, 0, 2000, true),
            (0.19, 7_499, 0, 2001, true),
            (0.2, 7_499, 0, 2001, false),
            (0.19, 7_500, 0, 2001, false),
        ] {
            let mut queue = pie(PieConfig::default());
            (queue.probability, queue.old, queue.burst) = (probability, micros(old), micros(burst));
            queue.fifo.push(at(0), Packet::new(DataSize::from_bytes(octets), Ecn::NotEct, 0));
            assert_eq!(queue.is_spared(), spared, "{probability} {old} {burst} {octets}");
        }
    }

    /// Section 4.4: a burst is allowed anew where nothing is dropped and the delay was below half the target twice.
    #[test]
    fn a_burst_is_allowed_anew_behind_a_calm() {
        let micros = TimeDelta::from_micros;
        for (probability, current, old, anew) in [
            (0.0, 7_499, 7_499, true),
            (1e-9, 7_499, 7_499, false),
            (0.0, 7_500, 7_499, false),
            (0.0, 7_499, 7_500, false),
        ] {
            let mut queue = pie(PieConfig::default());
            (queue.probability, queue.last_wait, queue.old, queue.burst) =
                (probability, micros(current), micros(old), TimeDelta::ZERO);
            queue.is_spared();
            assert_eq!(queue.burst, if anew { TimeDelta::from_millis(150) } else { TimeDelta::ZERO });
        }
    }

    /// Section 4.2: the steps by which small probabilities move.
    #[test]
    fn small_probabilities_move_in_small_steps() {
        let bounds = [
            (1e-6, 2048.0, 512.0),
            (1e-5, 512.0, 128.0),
            (1e-4, 128.0, 32.0),
            (1e-3, 32.0, 8.0),
            (1e-2, 8.0, 2.0),
            (1e-1, 2.0, 1.0),
        ];
        for (bound, below, from) in bounds {
            assert_eq!((scale(bound * 0.999), scale(bound)), (below, from), "{bound}");
        }
    }

    /// From 5 to 95 ms: (0.125·0.08 + 1.25·0.09)/scale = 0.1225/scale, of which section 5.5 leaves 0.02 from 0.1 on.
    #[test]
    fn no_step_is_longer_than_the_cap() {
        for (cap, before, after) in [(true, 0.1, 0.12), (false, 0.1, 0.2225), (true, 0.0999, 0.161_15)] {
            let mut queue = pie(PieConfig { cap, ..PieConfig::default() });
            (queue.probability, queue.old) = (before, TimeDelta::from_millis(5));
            queue.update(TimeDelta::from_millis(95));
            assert!((queue.probability - after).abs() < 1e-9, "{cap} {before}: {}", queue.probability);
            assert_eq!(
                (queue.current, queue.old, queue.burst),
                (TimeDelta::from_millis(95), TimeDelta::from_millis(95), TimeDelta::from_millis(135))
            );
        }
    }

    /// At no delay 0.5 loses 0.125·0.015 = 0.001 875, and where there was none before it is multiplied by 0.98 too.
    #[test]
    fn without_delay_the_probability_decays() {
        for (old, current, after) in
            [(0, 0, (0.5 - 0.001_875) * 0.98), (15, 15, 0.5), (15, 0, 0.5 - 0.001_875 - 1.25 * 0.015)]
        {
            let mut queue = pie(PieConfig::default());
            (queue.probability, queue.old, queue.burst) =
                (0.5, TimeDelta::from_millis(old), TimeDelta::from_millis(3));
            queue.update(TimeDelta::from_millis(current));
            assert!((queue.probability - after).abs() < 1e-12, "{old} {current}: {}", queue.probability);
            assert_eq!(queue.burst, TimeDelta::ZERO);
        }
    }

    /// The wait of an empty queue is none, also by updates that are made late.
    #[test]
    fn an_empty_queue_has_no_delay() {
        let mut queue = pie(PieConfig::default());
        let mut accounting = Accounting::new(RandomStream::new(1, "pie"));
        let packet = Packet::new(DataSize::from_bytes(1500), Ecn::NotEct, 0);
        (0..2).for_each(|_| queue.enqueue(at(0), packet, WIDE, &mut accounting));
        for (now, wait) in [(10, 10), (14, 14)] {
            assert_eq!(queue.dequeue(at(now), &mut accounting).map(|head| head.arrived), Some(at(0)));
            assert_eq!(queue.last_wait, TimeDelta::from_millis(wait));
        }
        assert!(queue.dequeue(at(15), &mut accounting).is_none());
        assert_eq!(
            (queue.last_wait, queue.current, queue.departures.cycle),
            (TimeDelta::ZERO, TimeDelta::ZERO, None)
        );
    }

    /// What cannot be marked is dropped, and all is from a tenth on.
    #[test]
    fn marks_what_it_may() {
        for (mark, ecn, probability, marked) in [
            (true, Ecn::Ect0, 0.099, true),
            (true, Ecn::NotEct, 0.099, false),
            (false, Ecn::Ect0, 0.099, false),
            (true, Ecn::Ect0, 0.1, false),
        ] {
            let mut queue = pie(PieConfig { mark, ..PieConfig::default() });
            let mut accounting = Accounting::new(RandomStream::new(1, "pie"));
            (queue.probability, queue.burst, queue.old) =
                (probability, TimeDelta::ZERO, TimeDelta::from_millis(30));
            for number in 0..200 {
                queue.enqueue(
                    at(0),
                    Packet::new(DataSize::from_bytes(1000), ecn, number),
                    WIDE,
                    &mut accounting,
                );
            }
            assert_eq!(
                (accounting.counts.marks > 0, accounting.counts.early > 0),
                (marked, !marked),
                "{mark} {ecn} {probability}"
            );
        }
    }

    /// A cycle begins where 16 KiB are left, and its time counts a quarter.
    #[test]
    fn a_departure_rate_is_averaged() {
        let kib = |count: u64| DataSize::from_bytes(count * 1024);
        let mut rate = DepartureRate::default();
        rate.on_departure(at(0), kib(1), DataSize::from_bytes(16_383));
        assert_eq!(rate.cycle, None);
        rate.on_departure(at(10), kib(1), kib(16));
        assert_eq!(rate.cycle, Some((at(10), DataSize::ZERO)), "what leaves now was not measured");
        rate.on_departure(at(60), kib(15), kib(20));
        assert_eq!((rate.cycle, rate.average), (Some((at(10), kib(15))), None));
        rate.on_departure(at(110), kib(1), kib(20));
        assert_eq!(
            (rate.cycle, rate.average),
            (Some((at(110), DataSize::ZERO)), Some(TimeDelta::from_millis(100)))
        );
        rate.on_departure(at(310), kib(16), kib(1));
        assert_eq!(
            (rate.cycle, rate.average),
            (None, Some(TimeDelta::from_millis(125))),
            "75 and a quarter of 200"
        );
        assert_eq!(rate.delay(kib(32)), TimeDelta::from_millis(250));
    }

    /// Ten updates in one look are those of ten looks.
    #[test]
    fn an_empty_queue_forgets_step_by_step() {
        let run = |looks: &[i64]| {
            let mut queue = pie(PieConfig::default());
            queue.probability = 0.1;
            looks.iter().for_each(|&look| queue.catch_up(at(look)));
            (queue.probability, queue.burst)
        };
        let looks: Vec<i64> = (1..=10).map(|count| count * 15).collect();
        assert_eq!(run(&[150]), run(&looks));
        assert_eq!(run(&[150]).1, TimeDelta::ZERO);
        assert!((0.07..0.09).contains(&run(&[150]).0), "{:?}", run(&[150]));
    }
}
