//! Random early detection as ns-2.35 runs it: estimator, gentle and wait rules, byte mode, adaptive max_p
//! (Floyd and Jacobson 1993; RFC 2309 gives the outline and no values).

use super::fifo::{Fifo, Waiting};
use super::limit::queue_config;
use super::{Accounting, Limit, Nominal, Transmitter};
use crate::error::{Error, fraction, some_octets};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use serde::Deserialize;

queue_config! {
    /// RED. What is absent comes from the preset. 250 packets wait at most where no limit is given.
    RedConfig {
        /// Where the values come from that are not given.
        preset: RedPreset = RedPreset::Ns2C,
        /// Average length from which on packets are dropped, in packets (of the mean size in byte mode).
        min: Option<f64> = None,
        /// Average length at which the drop probability reaches `max_p`.
        max: Option<f64> = None,
        /// Drop probability at `max`.
        max_p: f64 = 0.1,
        /// Weight of an arrival in the average, w_q.
        weight: Option<f64> = None,
        /// From `max` to twice `max` the probability rises to 1 and does not jump there.
        gentle: Option<bool> = None,
        /// At least 1/p packets pass between two early drops.
        wait: Option<bool> = None,
        /// Length and drop probability count octets in units of `mean_packet`.
        byte_mode: bool = false,
        /// The packet size that stands for all.
        mean_packet: DataSize = DataSize::from_bytes(1000),
        /// `max_p` follows the load.
        adaptive: bool = false,
        /// Mark instead of dropping.
        mark: bool = false,
        /// From this drop probability on, ECN-capable packets are dropped too.
        mark_below: f64 = 0.1,
    }
}

/// Sets of values for RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedPreset {
    /// As comparisons with ns-2 set it: 25, 125, weight 0.002, gentle, wait.
    #[default]
    Ns2C,
    /// As ns-2 sets itself from rate and delay of the link; gentle, wait.
    Auto,
    /// As RFC 2309 outlines it: weight 0.002, neither gentle nor wait; thresholds must be given.
    Rfc2309,
}

impl RedConfig {
    const LIMIT: Limit = Limit::PacketsWaiting(250);

    fn parameters(&self, nominal: Nominal) -> Result<Parameters, Error> {
        let mean_size = some_octets("queue.mean_packet", self.mean_packet)?;
        let packets_per_second = nominal.rate.as_bps_f64() / (8.0 * mean_size.as_bytes_f64());
        let is_ns2 = self.preset != RedPreset::Rfc2309;
        let (min, max, weight) = self.thresholds(packets_per_second, nominal.delay)?;
        let parameters = Parameters {
            min,
            max,
            max_p: fraction("queue.max_p", self.max_p)?,
            weight: fraction("queue.weight", weight)?,
            gentle: self.gentle.unwrap_or(is_ns2),
            wait: self.wait.unwrap_or(is_ns2),
            byte_mode: self.byte_mode,
            mean_size,
            packets_per_second,
            mark: self.mark,
            mark_below: fraction("queue.mark_below", self.mark_below)?,
            adapt_down_to: self.adaptive.then(|| (80_000.0 / nominal.rate.as_bps_f64()).min(0.01)),
        };
        if !(parameters.min > 0.0 && parameters.max > parameters.min && parameters.max.is_finite()) {
            let found = format!("min {min}, max {max}");
            return Err(Error::config("queue", found, "min above 0 and max above min"));
        }
        Ok(parameters)
    }

    /// min, max and w_q, given or of the preset.
    fn thresholds(&self, packets_per_second: f64, delay: TimeDelta) -> Result<(f64, f64, f64), Error> {
        let (min, max, weight) = match self.preset {
            RedPreset::Ns2C => (Some(25.0), Some(125.0), 0.002),
            RedPreset::Auto => {
                let min = self.min.unwrap_or((0.0025 * packets_per_second).max(5.0));
                let rtt = (3.0 * (delay.as_secs_f64() + 1.0 / packets_per_second)).max(0.1);
                (Some(min), Some(3.0 * min), 1.0 - libm::exp(-1.0 / (10.0 * rtt * packets_per_second)))
            }
            RedPreset::Rfc2309 => (None, None, 0.002),
        };
        let given = |field: &str, value: Option<f64>, preset: Option<f64>| {
            value
                .or(preset)
                .ok_or_else(|| Error::config(field, "nothing", "a number of packets; RFC 2309 has none"))
        };
        let min = given("queue.min", self.min, min)?;
        Ok((min, given("queue.max", self.max, max)?, self.weight.unwrap_or(weight)))
    }
}

/// A [`RedConfig`] with its preset resolved for a link.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Parameters {
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    gentle: bool,
    wait: bool,
    byte_mode: bool,
    mean_size: DataSize,
    /// Capacity in packets of the mean size per second, C_p.
    packets_per_second: f64,
    mark: bool,
    mark_below: f64,
    /// Lower bound of max_p under adaptation; `None` where max_p does not adapt.
    adapt_down_to: Option<f64>,
}

const ADAPT_EVERY: TimeDelta = TimeDelta::from_millis(500);

impl Parameters {
    /// The probability for an average length, p_b.
    fn base_probability(&self, average: f64) -> f64 {
        if average < self.min {
            0.0
        } else if average < self.max {
            self.max_p * (average - self.min) / (self.max - self.min)
        } else if self.gentle && average < 2.0 * self.max {
            (1.0 - self.max_p) * average / self.max + 2.0 * self.max_p - 1.0
        } else {
            1.0
        }
    }

    /// The probability after `count` packets since the last early drop, p_a: spreads drops evenly.
    fn spread(&self, p: f64, count: f64) -> f64 {
        // ns-2 counts whole packets in byte mode too.
        let expected = (count + 1e-9).floor() * p;
        match self.wait {
            true if expected < 1.0 => 0.0,
            true if expected < 2.0 => p / (2.0 - expected),
            false if expected < 1.0 => p / (1.0 - expected),
            _ => 1.0,
        }
    }

    /// `size` in packets, as this queue counts.
    fn weigh(&self, size: DataSize) -> f64 {
        if self.byte_mode { size.as_bytes_f64() / self.mean_size.as_bytes_f64() } else { 1.0 }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Red<P> {
    pub(super) fifo: Fifo<P>,
    parameters: Parameters,
    limit: Limit,
    average: f64,
    /// Since when the transmitter found nothing to send.
    idle_since: Option<Timestamp>,
    /// Packets since the last early drop.
    count: f64,
    /// The last arrival found the average above `min` and more than one packet waiting.
    above: bool,
    adapted_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Accept,
    Mark,
    Drop,
}

impl<P> Red<P> {
    pub(super) fn new(config: &RedConfig, nominal: Nominal) -> Result<Self, Error> {
        let limit = config.limit(nominal)?.unwrap_or(RedConfig::LIMIT);
        Ok(Self::with(config.parameters(nominal)?, limit))
    }

    fn with(parameters: Parameters, limit: Limit) -> Self {
        Self {
            fifo: Fifo::new(),
            parameters,
            limit,
            average: 0.0,
            idle_since: Some(Timestamp::ZERO),
            count: 0.0,
            above: false,
            adapted_at: Timestamp::ZERO,
        }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        mut packet: Packet<P>,
        transmitter: Transmitter,
        accounting: &mut Accounting<P>,
    ) {
        self.update_average(now);
        self.adapt(now);
        self.count += self.parameters.weigh(packet.size);
        let verdict = self.early_verdict(&packet, accounting);
        if !self.limit.admits(&self.fifo, packet.size, transmitter) {
            self.count = 0.0;
            return accounting.drop(now, DropCause::Tail, packet);
        }
        match verdict {
            Verdict::Drop => return accounting.drop(now, DropCause::Early, packet),
            Verdict::Mark => accounting.mark(&mut packet),
            Verdict::Accept => {}
        }
        self.fifo.push(now, packet);
    }

    pub(super) fn dequeue(&mut self, now: Timestamp, _ledger: &mut Accounting<P>) -> Option<Waiting<P>> {
        if self.fifo.is_empty() {
            self.idle_since.get_or_insert(now);
        }
        self.fifo.pop()
    }

    /// Waiting packets before this one, as this queue counts.
    fn waiting(&self) -> f64 {
        if self.parameters.byte_mode {
            self.parameters.weigh(self.fifo.size())
        } else {
            self.fifo.len() as f64
        }
    }

    fn update_average(&mut self, now: Timestamp) {
        let keep = 1.0 - self.parameters.weight;
        if let Some(since) = self.idle_since.take() {
            let missed = (self.parameters.packets_per_second * now.since(since).as_secs_f64()).floor();
            self.average *= libm::pow(keep, missed);
        }
        self.average = keep * self.average + self.parameters.weight * self.waiting();
    }

    fn early_verdict(&mut self, packet: &Packet<P>, accounting: &mut Accounting<P>) -> Verdict {
        let parameters = &self.parameters;
        // ns-2 tests whether more than one packet waits, in byte mode more than one octet.
        let is_short = self.fifo.len() <= usize::from(!parameters.byte_mode);
        if self.average < parameters.min || is_short {
            self.above = false;
            return Verdict::Accept;
        }
        let weight = parameters.weigh(packet.size);
        if !std::mem::replace(&mut self.above, true) {
            self.count = weight;
            return Verdict::Accept;
        }
        let base = parameters.base_probability(self.average);
        let spread = parameters.spread(base, self.count);
        // Certainty is the same for every size.
        let p = if spread < 1.0 { spread * weight } else { spread };
        if !accounting.random.chance(p) {
            return Verdict::Accept;
        }
        self.count = 0.0;
        if parameters.mark && packet.ecn.is_capable() && base < parameters.mark_below {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    /// Adaptive RED: keeps the average in the middle fifth between the thresholds by moving max_p.
    fn adapt(&mut self, now: Timestamp) {
        let Some(bottom) = self.parameters.adapt_down_to else { return };
        if now - self.adapted_at < ADAPT_EVERY {
            return;
        }
        self.adapted_at = now;
        let Parameters { min, max, max_p, .. } = self.parameters;
        let margin = 0.4 * (max - min);
        if self.average < min + margin && max_p > bottom {
            self.parameters.max_p = max_p * 0.9;
        } else if self.average > max - margin && max_p < 0.5 {
            self.parameters.max_p = max_p + (max_p / 4.0).min(0.01);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use seaway_units::{Bitrate, Ecn};

    const WIDE: Transmitter = Transmitter { in_service: None, rate: Bitrate::from_mbps(1) };

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    fn nominal(mbps: u64) -> Nominal {
        Nominal { rate: Bitrate::from_mbps(mbps), delay: TimeDelta::ZERO }
    }

    fn ns2_c() -> Parameters {
        RedConfig::default().parameters(nominal(15)).unwrap()
    }

    fn accounting() -> Accounting<u64> {
        Accounting::new(RandomStream::new(1, "red"))
    }

    #[test]
    fn probability_over_the_average() {
        let parameters = ns2_c();
        for (average, p) in [
            (24.9, 0.0),
            (50.0, 0.025),
            (75.0, 0.05),
            (125.0, 0.1),
            (150.0, 0.28),
            (200.0, 0.64),
            (250.0, 1.0),
        ] {
            close(parameters.base_probability(average), p);
        }
        close(Parameters { gentle: false, ..parameters }.base_probability(125.0), 1.0);
    }

    #[test]
    fn spread_with_and_without_wait() {
        let wait = ns2_c();
        for (count, p) in
            [(49.0, 0.0), (50.0, 0.02), (60.0, 0.025), (75.0, 0.04), (99.0, 1.0), (100.0, 1.0), (150.0, 1.0)]
        {
            close(wait.spread(0.02, count), p);
        }
        let no_wait = Parameters { wait: false, ..wait };
        for (count, p) in [(0.0, 0.02), (10.0, 0.025), (25.0, 0.04), (49.0, 1.0), (50.0, 1.0), (80.0, 1.0)] {
            close(no_wait.spread(0.02, count), p);
        }
    }

    /// At constant p_b the gaps are uniform over 1…49, mean 25.0, and 50…99, mean 74.5.
    #[test]
    fn realised_drop_rate_at_a_frozen_average() {
        for (wait, least, most, mean) in [(false, 1, 49, 25.0), (true, 50, 99, 74.5)] {
            // p_b = 0.02 at average 45; the weight of zero freezes it there.
            let mut queue =
                Red::with(Parameters { wait, weight: 0.0, ..ns2_c() }, Limit::PacketsWaiting(1000));
            queue.average = 45.0;
            queue.above = true;
            let mut accounting = accounting();
            let packet = |n| Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, n);
            (0..3).for_each(|n| queue.fifo.push(Timestamp::ZERO, packet(n)));
            queue.idle_since = None;
            let (mut gaps, mut gap) = (Vec::new(), 0);
            while gaps.len() < 4000 {
                queue.enqueue(Timestamp::ZERO, packet(9), WIDE, &mut accounting);
                gap += 1;
                if accounting.dropped.pop_front().is_some() {
                    gaps.push(gap);
                    gap = 0;
                } else {
                    queue.fifo.pop();
                }
            }
            let found = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
            assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&least), Some(&most)));
            assert!((found - mean).abs() < 1.0, "wait {wait}: {found}");
        }
    }

    #[test]
    fn average_after_a_hundred_arrivals_at_constant_length() {
        let mut queue = Red::with(ns2_c(), Limit::PacketsWaiting(1000));
        queue.idle_since = None;
        (0..20_u64).for_each(|n| {
            queue.fifo.push(Timestamp::ZERO, Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, n));
        });
        (0..100).for_each(|_| queue.update_average(Timestamp::ZERO));
        assert!((queue.average / 20.0 - 0.1814).abs() < 5e-5, "{}", queue.average / 20.0);
    }

    #[test]
    fn idle_time_counts_as_small_packets_that_could_have_been_sent() {
        let mut queue: Red<u64> = Red::with(ns2_c(), Limit::PacketsWaiting(1000));
        queue.average = 100.0;
        queue.idle_since = Some(Timestamp::ZERO);
        let mean_packet_time = 1.0 / queue.parameters.packets_per_second;
        queue.update_average(Timestamp::ZERO + TimeDelta::from_secs_f64(99.5 * mean_packet_time));
        close(queue.average, 100.0 * libm::pow(0.998, 100.0));
    }

    /// 1000 B packets: C_p is 125, 1875 and 5000 per second.
    #[test]
    fn auto_sets_itself_from_the_link() {
        let auto = RedConfig { preset: RedPreset::Auto, ..RedConfig::default() };
        for (mbps, weight, min) in [(1, 0.007_97, 5.0), (15, 0.000_533, 5.0), (40, 0.000_2, 12.5)] {
            let parameters = auto.parameters(nominal(mbps)).unwrap();
            assert!((parameters.weight / weight - 1.0).abs() < 1e-3, "{mbps}: {}", parameters.weight);
            close(parameters.min, min);
            close(parameters.max, 3.0 * min);
        }
    }

    #[test]
    fn marks_capable_packets_below_the_limit_of_marking() {
        for (average, mark_below, marks, drops) in [(75.0, 0.1, true, false), (200.0, 0.1, false, true)] {
            let parameters = Parameters { mark: true, mark_below, weight: 0.0, wait: false, ..ns2_c() };
            let mut queue = Red::with(parameters, Limit::PacketsWaiting(1000));
            let mut accounting = accounting();
            queue.average = average;
            queue.idle_since = None;
            for n in 0..500 {
                let packet = Packet::new(DataSize::from_bytes(1000), Ecn::Ect0, n);
                queue.enqueue(Timestamp::ZERO, packet, WIDE, &mut accounting);
            }
            assert_eq!(
                (accounting.counts.marks > 0, accounting.counts.early > 0),
                (marks, drops),
                "at {average}"
            );
        }
    }

    /// ns-2 2.35, byte mode: `qlen > 1` is in octets, `count_bytes / mean_pktsize` is a division of integers, and a
    /// certain drop does not become less certain for a small packet.
    #[test]
    fn byte_mode_drops_before_one_that_waits_and_counts_whole_packets() {
        let parameters = Parameters { byte_mode: true, weight: 0.0, wait: false, ..ns2_c() };
        assert_eq!(parameters.spread(0.02, 2.92), parameters.spread(0.02, 2.0));
        let mut queue = Red::with(parameters, Limit::PacketsWaiting(1000));
        (queue.average, queue.above, queue.idle_since) = (300.0, true, None);
        let mut accounting = accounting();
        let packet = |n| Packet::new(DataSize::from_bytes(500), Ecn::NotEct, n);
        queue.enqueue(Timestamp::ZERO, packet(0), WIDE, &mut accounting);
        assert_eq!((accounting.counts.early, queue.fifo.len()), (0, 1));
        queue.above = true;
        for n in 1..40 {
            queue.enqueue(Timestamp::ZERO, packet(n), WIDE, &mut accounting);
        }
        assert_eq!((accounting.counts.early, queue.fifo.len()), (39, 1));
    }

    #[test]
    fn full_overrides_early() {
        let mut queue = Red::with(Parameters { weight: 0.0, ..ns2_c() }, Limit::PacketsWaiting(5));
        queue.average = 250.0;
        queue.above = true;
        queue.idle_since = None;
        let mut accounting = accounting();
        let packet = |n| Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, n);
        (0..5).for_each(|n| queue.fifo.push(Timestamp::ZERO, packet(n)));
        queue.enqueue(Timestamp::ZERO, packet(5), WIDE, &mut accounting);
        assert_eq!((accounting.counts.tail, accounting.counts.early), (1, 0));
    }

    #[test]
    fn adaptation_moves_max_p_into_the_target_zone() {
        let parameters = Parameters { adapt_down_to: Some(0.01), ..ns2_c() };
        let mut queue: Red<u64> = Red::with(parameters, Limit::PacketsWaiting(1000));
        let at = |millis| Timestamp::ZERO + TimeDelta::from_millis(millis);
        queue.average = 30.0;
        queue.adapt(at(499));
        close(queue.parameters.max_p, 0.1);
        queue.adapt(at(500));
        close(queue.parameters.max_p, 0.09);
        queue.average = 75.0;
        queue.adapt(at(1000));
        close(queue.parameters.max_p, 0.09);
        queue.average = 100.0;
        queue.adapt(at(1500));
        close(queue.parameters.max_p, 0.1);
    }

    /// ns-2's own values by a delay of 50 ms: 125 packets a second, 3·(0.05 + 0.008) = 0.174 s, w = 1 - exp(-1/217.5).
    #[test]
    fn auto_takes_the_delay_of_the_link() {
        let auto = RedConfig { preset: RedPreset::Auto, ..RedConfig::default() };
        let nominal = Nominal { rate: Bitrate::from_mbps(1), delay: TimeDelta::from_millis(50) };
        let weight = auto.parameters(nominal).unwrap().weight;
        assert!((weight - 0.004_587_15).abs() < 1e-8, "{weight}");
    }

    /// Adaptive RED has a hundredth, or less above 8 Mbit/s: 80 000/rate.
    #[test]
    fn the_least_max_p_follows_the_rate() {
        let adaptive = RedConfig { adaptive: true, ..RedConfig::default() };
        for (mbps, least) in [(1, 0.01), (8, 0.01), (16, 0.005)] {
            close(adaptive.parameters(nominal(mbps)).unwrap().adapt_down_to.unwrap(), least);
        }
        let rfc =
            RedConfig { preset: RedPreset::Rfc2309, min: Some(5.0), max: Some(15.0), ..RedConfig::default() };
        let rfc = rfc.parameters(nominal(1)).unwrap();
        assert_eq!((rfc.gentle, rfc.wait, rfc.weight, rfc.adapt_down_to), (false, false, 0.002, None));
        assert!(ns2_c().gentle && ns2_c().wait);
    }

    /// What the second of two packets meets that arrive at an average of 80 and a certain probability, where the first opened the count.
    #[test]
    fn marks_where_the_packet_and_the_probability_allow_it() {
        for (mark, ecn, mark_below, marked) in [
            (true, Ecn::Ect0, 0.0551, true),
            (true, Ecn::Ect0, 0.055, false),
            (true, Ecn::NotEct, 0.0551, false),
            (false, Ecn::Ect0, 0.0551, false),
        ] {
            let parameters = Parameters { mark, mark_below, weight: 0.0, wait: false, ..ns2_c() };
            let mut queue = Red::with(parameters, Limit::PacketsWaiting(1000));
            (queue.average, queue.above, queue.idle_since, queue.count) = (80.0, true, None, 1000.0);
            let mut accounting = accounting();
            let packet = |n| Packet::new(DataSize::from_bytes(1000), ecn, n);
            (0..2).for_each(|n| queue.fifo.push(Timestamp::ZERO, packet(n)));
            queue.enqueue(Timestamp::ZERO, packet(2), WIDE, &mut accounting);
            let seen = (accounting.counts.marks, accounting.counts.early, queue.count);
            assert_eq!(seen, (u64::from(marked), u64::from(!marked), 0.0), "{mark} {ecn} {mark_below}");
        }
    }

    /// Below `min`, or with one packet at most, nothing is dropped and the count begins anew: the next above is let through.
    #[test]
    fn the_first_above_the_threshold_opens_the_count() {
        for (average, waiting, above, opens) in
            [(25.0, 2, false, true), (24.9, 2, false, false), (25.0, 1, false, false), (24.9, 2, true, false)]
        {
            let mut queue = Red::with(Parameters { weight: 0.0, ..ns2_c() }, Limit::PacketsWaiting(1000));
            (queue.average, queue.above, queue.idle_since, queue.count) = (average, above, None, 7.0);
            let mut accounting = accounting();
            let packet = |n| Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, n);
            (0..waiting).for_each(|n| queue.fifo.push(Timestamp::ZERO, packet(n)));
            queue.enqueue(Timestamp::ZERO, packet(9), WIDE, &mut accounting);
            let count = if opens { 1.0 } else { 8.0 };
            assert_eq!(
                (queue.above, queue.count, queue.fifo.len() as u64),
                (opens, count, waiting + 1),
                "{average} {waiting}"
            );
        }
    }

    /// In byte mode a small packet is dropped less often, and what waits counts in mean packets.
    #[test]
    fn byte_mode_weighs() {
        let parameters = Parameters { byte_mode: true, weight: 0.5, wait: false, ..ns2_c() };
        assert_eq!(
            (parameters.weigh(DataSize::from_bytes(250)), ns2_c().weigh(DataSize::from_bytes(250))),
            (0.25, 1.0)
        );
        let mut queue: Red<u64> = Red::with(parameters, Limit::PacketsWaiting(1000));
        queue.idle_since = None;
        queue.fifo.push(Timestamp::ZERO, Packet::new(DataSize::from_bytes(500), Ecn::NotEct, 0));
        queue.update_average(Timestamp::ZERO);
        close(queue.average, 0.25);
        // p_b = 0.05 at 75; a quarter of it for 250 octets.
        let drops = |octets: u64| {
            let mut queue = Red::with(Parameters { weight: 0.0, ..parameters }, Limit::PacketsWaiting(1000));
            (queue.average, queue.idle_since) = (75.0, None);
            let mut accounting = accounting();
            (0..2).for_each(|n| {
                queue.fifo.push(Timestamp::ZERO, Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, n));
            });
            for _ in 0..8000 {
                (queue.above, queue.count) = (true, 0.0);
                let packet = Packet::new(DataSize::from_bytes(octets), Ecn::NotEct, 9);
                if queue.early_verdict(&packet, &mut accounting) == Verdict::Drop {
                    accounting.counts.early += 1;
                }
            }
            accounting.counts.early as f64 / 8000.0
        };
        assert!(
            (drops(1000) - 0.05).abs() < 0.01 && (drops(250) - 0.0125).abs() < 0.005,
            "{} {}",
            drops(1000),
            drops(250)
        );
    }

    /// A queue that is empty when the transmitter asks is idle from the first time on.
    #[test]
    fn idle_time_begins_with_the_first_empty_look() {
        let mut queue: Red<u64> = Red::with(ns2_c(), Limit::PacketsWaiting(1000));
        let at = |millis| Timestamp::ZERO + TimeDelta::from_millis(millis);
        let mut accounting = accounting();
        queue.enqueue(at(0), Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, 0), WIDE, &mut accounting);
        assert!(queue.dequeue(at(1), &mut accounting).is_some() && queue.idle_since.is_none());
        assert!(
            queue.dequeue(at(2), &mut accounting).is_none()
                && queue.dequeue(at(5), &mut accounting).is_none()
        );
        assert_eq!(queue.idle_since, Some(at(2)));
    }

    /// Floyd, Gummadi and Shenker 2001: 0.4 of the way from either threshold; up by a quarter or a hundredth, to a half.
    #[test]
    fn adaptation_has_bounds() {
        for (average, before, after) in [
            (64.9, 0.1, 0.09),
            (65.0, 0.1, 0.1),
            (30.0, 0.01, 0.01),
            (85.0, 0.1, 0.1),
            (85.1, 0.1, 0.11),
            (100.0, 0.02, 0.025),
            (100.0, 0.49, 0.5),
            (100.0, 0.5, 0.5),
        ] {
            let parameters = Parameters { adapt_down_to: Some(0.01), max_p: before, ..ns2_c() };
            let mut queue: Red<u64> = Red::with(parameters, Limit::PacketsWaiting(1000));
            queue.average = average;
            queue.adapt(Timestamp::ZERO + ADAPT_EVERY);
            close(queue.parameters.max_p, after);
        }
    }
}
