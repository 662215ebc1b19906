//! Proportional-derivative control of the send queue (S002 section 3.4).

use super::{Demand, Direct, Share, TargetPolicy};
use crate::options;
use crate::options::OptionTable;
use crate::packet::StreamId;
use seaway_units::{Bitrate, DataSize, Probability, TimeDelta, Timestamp};

/// Steers the sources by what waits in the send queue, so that it stays at a set level: the rate follows the
/// network without knowing it. Several encoders share the outcome as under [`Direct`].
///
/// `λ' = clamp(λ - α0 (b - b_d) - α1 (b - b_before), λ_min, R)`, sampled once an interval; `b` is the mean of
/// the queue over the interval. (S002 prints the first sign as plus, against its own worked numbers.)
#[derive(Debug, Clone)]
pub struct Pd {
    config: PdConfig,
    /// It gets no backlog: this policy alone steers the queue.
    split: Direct,
    waiting: Vec<(StreamId, DataSize)>,
    target: Bitrate,
    reserved: Probability,
    /// What the sources may send, bit/s; `None` before the first demand.
    rate: Option<f64>,
    /// Mean of the queue over the last interval, bits.
    former: Option<f64>,
    sample_at: Option<Timestamp>,
    area: Area,
}

/// What can be set of [`Pd`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PdConfig {
    /// Proportional gain (`α0`) an interval.
    pub proportional: f64,
    /// Derivative gain (`α1`) an interval.
    pub derivative: f64,
    /// Sampling period (`T_s`); the loop is stable below 4 s / (α0 + 2 α1), 19.5 s with the defaults.
    pub interval: TimeDelta,
    /// The whole queue (`b_max`) in seconds of media at full rate.
    pub buffer: TimeDelta,
    /// The level to keep (`b_d`) as a part of it.
    pub level: f64,
    /// Least rate as a part of the full one: rate shaping cannot go to nothing.
    pub floor: f64,
}

impl PdConfig {
    pub(super) const OPTIONS: OptionTable<Self> = options! { |config: &mut PdConfig, value|
        "buffer" = "8 s", "a time from 100 ms to 60 s",
            "the whole send queue in time at full rate (b_max)":
            config.buffer = value.within(TimeDelta::from_millis(100)..=TimeDelta::from_secs(60))?;
        "level" = "0.25", "0 to 1", "the level to keep (b_d) as a part of the queue":
            config.level = value.within(0.0..=1.0)?;
        "proportional" = "0.005", "0 to 1", "proportional gain (alpha0) an interval":
            config.proportional = value.within(0.0..=1.0)?;
        "derivative" = "0.1", "0 to 1", "derivative gain (alpha1) an interval":
            config.derivative = value.within(0.0..=1.0)?;
        "interval" = "1 s", "a time from 1 s to 19 s", "sampling period; the loop is stable up to 19.5 s":
            config.interval = value.within(TimeDelta::from_secs(1)..=TimeDelta::from_secs(19))?;
        "floor" = "0.3", "0 to 1", "least rate as a part of the full one":
            config.floor = value.within(0.0..=1.0)?;
    };
}

impl Default for PdConfig {
    /// S002's; the floor is ours.
    fn default() -> Self {
        Self {
            proportional: 0.005,
            derivative: 0.1,
            interval: TimeDelta::from_secs(1),
            buffer: TimeDelta::from_secs(8),
            level: 0.25,
            floor: 0.3,
        }
    }
}

/// Integral of the queue over time, for its mean.
#[derive(Debug, Clone, Copy, Default)]
struct Area {
    bits: f64,
    bit_seconds: f64,
    since: Timestamp,
    from: Timestamp,
}

impl Area {
    fn set(&mut self, now: Timestamp, bits: f64) {
        self.bit_seconds += self.bits * now.since(self.since).as_secs_f64();
        self.since = now;
        self.bits = bits;
    }

    /// The mean since the last call.
    fn mean(&mut self, now: Timestamp) -> f64 {
        self.set(now, self.bits);
        let span = now.since(self.from).as_secs_f64();
        let mean = if span > 0.0 { self.bit_seconds / span } else { self.bits };
        (self.bit_seconds, self.from) = (0.0, now);
        mean
    }
}

impl Pd {
    /// Nothing demanded yet.
    pub fn new(config: PdConfig) -> Self {
        Self {
            config,
            split: Direct::new(),
            waiting: Vec::new(),
            target: Bitrate::ZERO,
            reserved: Probability::ZERO,
            rate: None,
            former: None,
            sample_at: None,
            area: Area::default(),
        }
    }

    /// The full rate of all encoders (`R`), bit/s.
    fn full_rate(&self) -> f64 {
        self.split.demands().map(|demand| demand.max.as_bps_f64()).sum()
    }

    fn clamp(&self, rate: f64) -> f64 {
        let (full, least) = self.split.demands().fold((0.0, 0.0), |(full, least), demand| {
            (full + demand.max.as_bps_f64(), least + demand.min.as_bps_f64())
        });
        rate.max((self.config.floor * full).max(least)).min(full)
    }

    fn sample(&mut self, now: Timestamp) {
        let capacity = self.full_rate() * self.config.buffer.as_secs_f64();
        let held = self.area.mean(now).min(capacity);
        let former = self.former.replace(held).unwrap_or(held);
        let PdConfig { proportional, derivative, level, .. } = self.config;
        let step = -proportional * (held - level * capacity) - derivative * (held - former);
        let rate = self.clamp(self.rate.unwrap_or_else(|| self.full_rate()) + step);
        self.rate = Some(rate);
        self.share_out(now);
    }

    fn share_out(&mut self, now: Timestamp) {
        if let Some(rate) = self.rate {
            self.split.on_target(now, Bitrate::from_bps_f64(rate), self.reserved);
        }
    }
}

impl TargetPolicy for Pd {
    fn on_target(&mut self, now: Timestamp, target: Bitrate, reserved: Probability) {
        (self.target, self.reserved) = (target, reserved);
        self.share_out(now);
    }

    fn on_demand(&mut self, now: Timestamp, stream: StreamId, demand: Demand) {
        match self.waiting.iter_mut().find(|(id, _)| *id == stream) {
            Some((_, waiting)) => *waiting = demand.backlog,
            None => self.waiting.push((stream, demand.backlog)),
        }
        self.split.on_demand(now, stream, Demand { backlog: DataSize::ZERO, ..demand });
        let backlog = self.waiting.iter().map(|(_, size)| *size).sum::<DataSize>().as_bits() as f64;
        if self.sample_at.is_none() {
            (self.area.since, self.area.from) = (now, now);
            self.sample_at = Some(now + self.config.interval);
        }
        self.area.set(now, backlog);
        if self.rate.is_none() {
            // Where the network is known already, that is a better beginning than the full rate.
            let known = self.target;
            let first = if known > Bitrate::ZERO { known.as_bps_f64() } else { self.full_rate() };
            self.rate = Some(self.clamp(first));
        }
        self.share_out(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.sample_at.is_some_and(|at| at <= now) {
            self.sample(now);
            self.sample_at = Some(now + self.config.interval);
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.sample_at
    }

    fn queue(&self) -> Option<TimeDelta> {
        Some(self.config.buffer)
    }

    fn share(&self, stream: StreamId) -> Share {
        self.split.share(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId(0);

    /// S002's plant: a source of at most `full` bit/s, a pump that takes `pump` bit/s.
    struct Loop {
        pd: Pd,
        full: f64,
        pump: f64,
        bits: f64,
        now: Timestamp,
    }

    impl Loop {
        fn new(full: f64, pump: f64, bits: f64) -> Self {
            let mut this = Self { pd: Pd::new(PdConfig::default()), full, pump, bits, now: Timestamp::ZERO };
            this.demand();
            this
        }

        fn demand(&mut self) {
            let backlog = DataSize::from_bytes((self.bits / 8.0).round() as u64);
            let max = Bitrate::from_bps_f64(self.full);
            let demand = Demand { backlog, ..Demand::new(max) };
            self.pd.on_demand(self.now, STREAM, demand);
        }

        fn rate(&self) -> f64 {
            self.pd.rate.unwrap()
        }

        /// One interval, at whose end `b_i` stands in for its mean.
        fn step(&mut self) -> f64 {
            self.bits = (self.bits + self.rate() - self.pump).clamp(0.0, 8.0 * self.full);
            self.demand();
            self.now = self.pd.poll_timeout().unwrap();
            self.pd.handle_timeout(self.now);
            self.rate()
        }
    }

    /// S002's worked numbers at R = 100 kbit/s: -3 kbit/s at a full buffer, -8 kbit/s for a tenth of it more.
    #[test]
    fn worked_steps() {
        let mut full = Loop::new(100e3, 100e3, 800e3);
        full.pd.former = Some(800e3);
        assert!((full.step() - 97e3).abs() < 1.0, "{}", full.rate());
        let mut rising = Loop::new(100e3, 20e3, 200e3);
        rising.pd.former = Some(200e3);
        // The queue goes from b_d to b_d + 80 kbit: 0.005 * 80 and 0.1 * 80 kbit/s. S002 counts the second alone.
        assert!((rising.step() - (100e3 - 400.0 - 8e3)).abs() < 1.0, "{}", rising.rate());
    }

    /// The simulated step: R = 250, pump 200 kbit/s, from three levels of the queue.
    #[test]
    fn step_response() {
        for (bits, least, least_at, after, most_bits, settled) in [
            (0.0, 196.9, 46, [225.0, 200.0, 198.0], 596.0, 24),
            (250.0, 194.1, 36, [218.0, 195.0, 198.0], 682.0, 50),
            (500.0, 189.4, 30, [210.0, 189.0, 198.0], 826.0, 54),
        ] {
            let mut plant = Loop::new(250e3, 200e3, bits * 1e3);
            plant.pd.former = Some(bits * 1e3);
            let mut rates = vec![250e3];
            let mut held: f64 = 0.0;
            for _ in 0..400 {
                rates.push(plant.step());
                held = held.max(plant.bits);
            }
            let (at, min) = rates
                .iter()
                .enumerate()
                .min_by(|a, b| a.1.total_cmp(b.1))
                .map(|(at, min)| (at, *min))
                .unwrap();
            assert!((min / 1e3 - least).abs() < 0.15 && at.abs_diff(least_at) <= 1, "min {min} at {at}");
            for (seconds, kbps) in [10, 30, 60].into_iter().zip(after) {
                assert!(
                    (rates[seconds] / 1e3 - kbps).abs() < 1.1,
                    "{bits}: {} at {seconds} s",
                    rates[seconds]
                );
            }
            assert!((held / 1e3 - most_bits).abs() < 2.0, "{bits}: held {held}");
            let out = rates.iter().rposition(|rate| (rate / 200e3 - 1.0).abs() > 0.02).unwrap();
            assert!((out + 1).abs_diff(settled) <= 1, "{bits}: settled after {out}");
        }
    }

    /// Poles 0.9475 ± 0.0474 j: a disturbance shrinks by 0.9487 an interval.
    #[test]
    fn poles() {
        let mut plant = Loop::new(10e6, 5e6, 20e6);
        (plant.pd.rate, plant.pd.former) = (Some(5e6), Some(20e6));
        plant.bits += 100e3;
        let amplitude = |plant: &Loop| {
            let (x, y) = (plant.bits - 20e6, plant.rate() - 5e6);
            // The energy of the loop's oscillation, constant but for the damping.
            (y * y + 0.105 * x * y + 0.005 * x * x).abs().sqrt()
        };
        for _ in 0..20 {
            plant.step();
        }
        let (mut before, mut factors) = (amplitude(&plant), Vec::new());
        for _ in 0..132 {
            plant.step();
            factors.push(amplitude(&plant) / before);
            before = amplitude(&plant);
        }
        // Over one period of about 126 intervals the factor's geometric mean is the poles' modulus.
        let mean = factors[..126].iter().map(|factor| libm::log(*factor)).sum::<f64>() / 126.0;
        assert!((libm::exp(mean) - 0.9487).abs() < 0.004, "{}", libm::exp(mean));
    }

    #[test]
    fn mean_of_the_queue_is_over_time() {
        let mut area = Area::default();
        let at = |millis| Timestamp::ZERO + TimeDelta::from_millis(millis);
        area.set(at(0), 100.0);
        area.set(at(900), 1000.0);
        assert!((area.mean(at(1000)) - 190.0).abs() < 1e-9);
        assert_eq!(area.mean(at(1000)), 1000.0);
    }

    #[test]
    fn early_timeout_changes_nothing_and_a_jump_samples_once() {
        let mut plant = Loop::new(250e3, 200e3, 500e3);
        plant.pd.handle_timeout(Timestamp::ZERO + TimeDelta::from_millis(999));
        assert_eq!(plant.pd.poll_timeout(), Some(Timestamp::ZERO + TimeDelta::from_secs(1)));
        plant.pd.handle_timeout(Timestamp::ZERO + TimeDelta::from_secs(500));
        assert_eq!(plant.pd.poll_timeout(), Some(Timestamp::ZERO + TimeDelta::from_secs(501)));
    }
}
