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
}
