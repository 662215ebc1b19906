//! Estimates the random loss of the path, and the bandwidth that explains the remaining loss (libwebrtc's loss based
//! bandwidth estimation, version 2).

use seaway_units::{TimeDelta, Timestamp};

/// Constants that moved between versions of libwebrtc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossBasedConfig {
    /// Observations kept, 20 at most.
    pub observations: usize,
    /// Fewer observations do not lead to an estimate.
    pub least_observations: u64,
    /// Balance of rate against loss, in the bound for high loss and in that of the inherent loss, bit/s.
    pub balance: f64,
    /// Mean loss at which a higher rate is no longer preferred.
    pub preference_threshold: f64,
    /// The estimate grows to so many times the acknowledged rate near the rate held,
    pub ramp_up_held: f64,
    /// and to so many elsewhere.
    pub ramp_up: f64,
    /// Each time loss limits anew the rate is held so many times longer; 0 for no holding.
    pub hold_factor: f64,
    /// Count octets, not packets.
    pub octets: bool,
    /// Loss that a path may have of its own (`InherentLossUpperBoundOffset`, and `InstantUpperBoundLossOffset` with it):
    /// more on average bounds the rate at `balance` over the excess, whatever the model says.
    pub tolerated_loss: f64,
}

impl LossBasedConfig {
    /// As of January 2026, the default.
    pub const JANUARY_2026: Self = Self {
        observations: 15,
        least_observations: 1,
        balance: 100e3,
        preference_threshold: 0.2,
        ramp_up_held: 1.2,
        ramp_up: 1.5,
        hold_factor: 2.0,
        octets: true,
        tolerated_loss: 0.05,
    };
    /// As of about 2024.
    pub const YEAR_2024: Self = Self {
        observations: 20,
        least_observations: 3,
        balance: 75e3,
        preference_threshold: 0.15,
        ramp_up_held: 1e6,
        ramp_up: 1e6,
        hold_factor: 0.0,
        octets: false,
        tolerated_loss: 0.05,
    };
}

/// What limits the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossState {
    /// The delay-based estimate.
    DelayBased,
    /// Loss, and the estimate grows.
    Increasing,
    /// Loss.
    Decreasing,
}

/// What it goes by beside losses. bit/s.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input {
    pub(super) acked: Option<f64>,
    pub(super) delay_based: f64,
    /// Never above; what was proven, in an application-limited region.
    pub(super) most: f64,
}

/// The estimator.
#[derive(Debug, Clone)]
pub(super) struct LossBased {
    config: LossBasedConfig,
    /// Newest first.
    observations: [Observation; Self::MOST],
    len: usize,
    seen: u64,
    partial: Observation,
    first_sent: Option<Timestamp>,
    last_sent: Option<Timestamp>,
    current: Candidate,
    state: LossState,
    result: f64,
    hold: Hold,
    /// `W`, the bound while it recovers, and since when.
    window: f64,
    recovering_since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Observation {
    all: f64,
    lost: f64,
    octets: f64,
    /// Sending rate, bit/s.
    rate: f64,
}

/// A bandwidth, bit/s, and the loss a path of it has of its own.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    bandwidth: f64,
    loss: f64,
}

#[derive(Debug, Clone, Copy)]
struct Hold {
    span: TimeDelta,
    until: Option<Timestamp>,
    rate: f64,
}

impl Hold {
    const NONE: Self = Self { span: TimeDelta::from_millis(300), until: None, rate: f64::INFINITY };
    const LONGEST: TimeDelta = TimeDelta::from_secs(60);
}

const OBSERVATION: TimeDelta = TimeDelta::from_millis(250);
const RECOVERY: TimeDelta = TimeDelta::from_millis(300);
const AGEING: f64 = 0.9;
const FIRST_LOSS: f64 = 0.01;
const LEAST_LOSS: f64 = 1e-3;
const LEAST_PROBABILITY: f64 = 1e-6;
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
const NEWTON_STEP: f64 = 0.75;
/// Preference for bandwidth, linear and by logarithm of kbit/s.
const LINEAR_BIAS: f64 = 0.0002;
const LOGARITHMIC_BIAS: f64 = 0.02;
const BIAS_SMOOTHING: f64 = 0.002;
/// Of the rate held: below, the estimate grows by the smaller factor.
const NEAR_HELD: f64 = 1.3;
const WINDOW_FACTOR: f64 = 1.3;
const LEAST_RATE: f64 = 5000.0;

impl LossBased {
    const MOST: usize = 20;

    pub(super) fn new(config: LossBasedConfig, start: f64) -> Self {
        Self {
            config,
            observations: [Observation::default(); Self::MOST],
            len: 0,
            seen: 0,
            partial: Observation::default(),
            first_sent: None,
            last_sent: None,
            current: Candidate { bandwidth: start, loss: FIRST_LOSS },
            state: LossState::DelayBased,
            result: start,
            hold: Hold::NONE,
            window: f64::INFINITY,
            recovering_since: None,
        }
    }

    /// A packet of `octets` was reported.
    pub(super) fn count(&mut self, sent: Timestamp, octets: f64, lost: bool) {
        let weight = if self.config.octets { octets } else { 1.0 };
        self.partial.all += weight;
        self.partial.octets += octets;
        if lost {
            self.partial.lost += weight;
        }
        self.first_sent.get_or_insert(sent);
        self.last_sent = self.last_sent.max(Some(sent));
    }

    /// All packets of a report were counted. The estimate, bit/s.
    pub(super) fn update(&mut self, now: Timestamp, input: &Input) -> f64 {
        if let (Some(first), Some(last)) = (self.first_sent, self.last_sent) {
            let span = last.since(first);
            if span > OBSERVATION {
                let observed = std::mem::take(&mut self.partial);
                self.first_sent = Some(last);
                let rate = observed.octets * 8.0 / span.as_secs_f64();
                self.observe(now, Observation { rate, ..observed }, input);
            }
        }
        self.estimate(input)
    }

    /// Between observations the delay-based estimate goes on.
    fn estimate(&self, input: &Input) -> f64 {
        match self.state {
            LossState::DelayBased => input.delay_based,
            LossState::Increasing | LossState::Decreasing => self.result.min(input.delay_based),
        }
    }

    /// The delay-based estimate is the bandwidth, whatever was lost.
    pub(super) const fn trust(&mut self, delay_based: f64) {
        self.current.bandwidth = delay_based;
        self.result = delay_based;
        self.state = LossState::DelayBased;
    }

    pub(super) const fn state(&self) -> LossState {
        self.state
    }

    /// The path's own loss as estimated.
    pub(super) const fn inherent_loss(&self) -> f64 {
        self.current.loss
    }

    /// An application-limited region began or ended: what was observed belongs to the other.
    pub(super) const fn forget_observations(&mut self) {
        self.len = 0;
    }

    fn observe(&mut self, now: Timestamp, observation: Observation, input: &Input) {
        let kept = self.config.observations.min(Self::MOST);
        self.observations.copy_within(..kept - 1, 1);
        self.observations[0] = observation;
        self.len = (self.len + 1).min(kept);
        self.seen += 1;
        if self.seen >= self.config.least_observations {
            self.conclude(now, input);
        }
    }

    /// The weighted observations, newest first.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let weights = std::iter::successors(Some(1.0), |weight| Some(weight * AGEING));
        weights.zip(&self.observations[..self.len])
    }

    /// Weighted share of what was lost.
    pub(super) fn mean_loss(&self) -> f64 {
        let (lost, all) = self.weighted().fold((0.0, 0.0), |(lost, all), (weight, seen)| {
            (lost + weight * seen.lost, all + weight * seen.all)
        });
        if all > 0.0 { lost / all } else { 0.0 }
    }

    /// Steps 1 to 8 of the estimator, once an observation.
    fn conclude(&mut self, now: Timestamp, input: &Input) {
        let mean_loss = self.mean_loss();
        // 1: bounds.
        let tolerated = self.config.tolerated_loss;
        let instant =
            if mean_loss > tolerated { self.config.balance / (mean_loss - tolerated) } else { f64::INFINITY };
        let limited = self.state != LossState::DelayBased;
        let window = if limited { self.window } else { f64::INFINITY };
        let upper = input.most.min(instant).min(input.delay_based).min(window);
        // 2, 3: the candidate that explains the losses best.
        let mut winner = self.best(mean_loss, upper, input);
        // 4: no growth while more is lost than the path itself explains.
        if mean_loss > winner.loss && winner.bandwidth > self.current.bandwidth {
            winner.bandwidth = self.current.bandwidth;
        }
        // 5
        if limited {
            self.moderate(now, &mut winner, input.acked);
        }
        winner.bandwidth = winner.bandwidth.max(LEAST_RATE);
        self.current = winner;
        // 6
        let bounded = winner.bandwidth.min(instant).min(input.delay_based).max(LEAST_RATE);
        let holds = self.hold.until.is_some_and(|until| now < until);
        if self.state == LossState::Decreasing && holds && bounded < input.delay_based {
            self.result = bounded.min(self.hold.rate);
            return;
        }
        self.transition(now, bounded, input.delay_based);
        // 8
        let recovering = self.recovering_since.is_some_and(|at| now.since(at) < RECOVERY);
        if self.state != LossState::DelayBased && !recovering {
            self.window = (WINDOW_FACTOR * winner.bandwidth).max(LEAST_RATE);
            self.recovering_since = Some(now);
        }
        self.result = bounded;
    }

    /// 5: while it recovers it stays below the window, and it grows with what is acknowledged.
    fn moderate(&self, now: Timestamp, winner: &mut Candidate, acked: Option<f64>) {
        if self.recovering_since.is_some_and(|at| now.since(at) < RECOVERY) {
            winner.bandwidth = winner.bandwidth.min(self.window);
        }
        let current = self.current.bandwidth;
        let grows = winner.bandwidth > current
            || (winner.bandwidth == current && self.state == LossState::Increasing);
        if let Some(acked) = acked.filter(|_| grows) {
            let near = acked < NEAR_HELD * self.hold.rate;
            let factor = if near { self.config.ramp_up_held } else { self.config.ramp_up };
            winner.bandwidth = current.max(winner.bandwidth.min(factor * acked));
            if self.state == LossState::Decreasing {
                winner.bandwidth = winner.bandwidth.max(current + 1.0);
            }
        }
    }

    /// 7
    fn transition(&mut self, now: Timestamp, bounded: f64, delay_based: f64) {
        let limited = self.state != LossState::DelayBased;
        let grown = bounded > self.result || (bounded == self.result && self.state == LossState::Increasing);
        if bounded >= delay_based {
            self.state = LossState::DelayBased;
            self.hold = Hold::NONE;
        } else if limited && grown {
            self.state = LossState::Increasing;
        } else {
            if self.state != LossState::Decreasing && self.config.hold_factor > 0.0 {
                let span = self.hold.span;
                let longer = span.mul_f64(self.config.hold_factor).min(Hold::LONGEST);
                self.hold = Hold { span: longer, until: Some(now + span), rate: bounded };
            }
            self.state = LossState::Decreasing;
        }
    }

    fn best(&self, mean_loss: f64, upper: f64, input: &Input) -> Candidate {
        let current = self.current.bandwidth;
        let scaled = CANDIDATES.iter().map(|factor| factor * current);
        let more = input.acked.into_iter().chain(Some(input.delay_based).filter(|rate| *rate > current));
        let most = current.max(upper);
        let mut best: Option<(f64, Candidate)> = None;
        for bandwidth in scaled.chain(more).map(|bandwidth| bandwidth.min(most).max(LEAST_RATE)) {
            let candidate = self.refined(bandwidth);
            let value = self.objective(&candidate, mean_loss);
            if best.is_none_or(|(other, _)| value > other) {
                best = Some((value, candidate));
            }
        }
        best.map_or(self.current, |(_, candidate)| candidate)
    }

    /// One damped Newton step towards the inherent loss that explains the observations.
    fn refined(&self, bandwidth: f64) -> Candidate {
        let most = (self.config.tolerated_loss + self.config.balance / bandwidth).clamp(LEAST_LOSS, 1.0);
        let candidate = Candidate { bandwidth, loss: self.current.loss.clamp(LEAST_LOSS, most) };
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, seen) in self.weighted() {
            let p = candidate.probability(seen.rate);
            let received = seen.all - seen.lost;
            first += weight * (seen.lost / p - received / (1.0 - p));
            second -= weight * (seen.lost / (p * p) + received / ((1.0 - p) * (1.0 - p)));
        }
        let second = if second < 0.0 { second } else { -1e-6 };
        let loss = (candidate.loss - NEWTON_STEP * first / second).clamp(LEAST_LOSS, most);
        Candidate { bandwidth, loss }
    }

    /// Log-likelihood of the observations, and a preference for bandwidth while little is lost.
    fn objective(&self, candidate: &Candidate, mean_loss: f64) -> f64 {
        let excess = self.config.preference_threshold - mean_loss;
        let preference = excess / (BIAS_SMOOTHING + excess.abs());
        let kbps = candidate.bandwidth / 1e3;
        let bias = preference * (LINEAR_BIAS * kbps + LOGARITHMIC_BIAS * libm::log(1.0 + kbps));
        self.weighted()
            .map(|(weight, seen)| {
                let p = candidate.probability(seen.rate);
                let received = seen.all - seen.lost;
                weight * (seen.lost * libm::log(p) + received * libm::log(1.0 - p) + bias * seen.all)
            })
            .sum()
    }
}

impl Candidate {
    /// Of loss, at a sending rate.
    fn probability(&self, rate: f64) -> f64 {
        let queue = if rate > self.bandwidth { (rate - self.bandwidth) / rate } else { 0.0 };
        (self.loss + (1.0 - self.loss) * queue).clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(250) * step
    }

    fn step(estimator: &mut LossBased, index: i64, rate: f64, loss: f64, acked: f64) -> f64 {
        let octets = rate / 32.0;
        let seen = Observation { all: octets, lost: loss * octets, octets, rate };
        let input = Input { acked: Some(acked), delay_based: 2e6, most: f64::INFINITY };
        estimator.observe(at(index), seen, &input);
        estimator.estimate(&input)
    }

    /// 1 Mbit/s into 0.8 Mbit/s with 1 % of its own: the bound for high loss is the result, the bandwidth goes to
    /// what is acknowledged and a step below, and stays.
    #[test]
    fn noise_free_overload() {
        let mut estimator = LossBased::new(LossBasedConfig::JANUARY_2026, 1e6);
        let first = step(&mut estimator, 0, 1e6, 0.208, 792e3);
        assert!((first - 632.9e3).abs() < 50.0, "{first}");
        assert!((estimator.current.bandwidth - 792e3).abs() < 1.0, "{:?}", estimator.current);
        for index in 1..100 {
            let result = step(&mut estimator, index, 1e6, 0.208, 792e3);
            assert!((result - 632.9e3).abs() < 50.0, "{result}");
            assert!((estimator.current.bandwidth - 752.4e3).abs() < 1.0, "{index}: {:?}", estimator.current);
        }
    }

    /// Packets of 1000 B lost independently: how many of `count`.
    fn losses(random: &mut u64, count: u32, loss: f64) -> u32 {
        (0..count)
            .filter(|_| {
                // Knuth's MMIX generator.
                *random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((*random >> 11) as f64 / (1_u64 << 53) as f64) < loss
            })
            .count() as u32
    }

    /// Sending at the estimate with loss that has nothing to do with the rate: back to the delay-based estimate.
    #[test]
    fn random_loss_is_not_obeyed() {
        for config in [LossBasedConfig::JANUARY_2026, LossBasedConfig::YEAR_2024] {
            for loss in [0.01, 0.03, 0.05] {
                let mut estimator = LossBased::new(config, 1e6);
                let (mut rate, mut random, mut at_delay_based) = (1e6, 1, 0);
                for index in 0..200 {
                    let count = (rate / 32e3) as u32;
                    let lost = f64::from(losses(&mut random, count, loss)) / f64::from(count);
                    rate = step(&mut estimator, index, rate, lost, rate * (1.0 - lost));
                    at_delay_based += u32::from(rate == 2e6);
                }
                assert!(at_delay_based > 100, "loss {loss}: {at_delay_based} of 200 at the delay-based rate");
                assert!((estimator.inherent_loss() - loss).abs() < 0.03);
            }
        }
    }

    #[test]
    fn total_loss_ends_at_a_floor() {
        for config in [LossBasedConfig::JANUARY_2026, LossBasedConfig::YEAR_2024] {
            let mut estimator = LossBased::new(config, 1e6);
            for index in 0..400 {
                step(&mut estimator, index, 1e6, 1.0, 40e3);
            }
            assert!(estimator.result.is_finite() && estimator.current.bandwidth >= LEAST_RATE);
            assert!(estimator.result < 120e3, "100 kbit/s over 0.95: {}", estimator.result);
        }
    }

    /// An observation needs more than 250 ms of departures.
    #[test]
    fn observations_span_departures() {
        let mut estimator = LossBased::new(LossBasedConfig::JANUARY_2026, 1e6);
        let input = Input { acked: Some(1e6), delay_based: 2e6, most: 1e9 };
        for ms in 0..=250 {
            estimator.count(Timestamp::ZERO + TimeDelta::from_millis(ms), 125.0, false);
            estimator.update(at(1), &input);
        }
        assert_eq!(estimator.len, 0);
        estimator.count(Timestamp::ZERO + TimeDelta::from_millis(251), 125.0, true);
        estimator.update(at(2), &input);
        assert_eq!(estimator.len, 1);
        assert!((estimator.observations[0].rate / 1e6 - 1.0).abs() < 0.01);
        assert_eq!(estimator.observations[0].lost, 125.0);
    }
}
