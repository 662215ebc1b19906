//! The number of connections: inverse increase on an idle queue, decrease on a full one (S001).

use crate::decision::{Gauge, Reason};
use crate::estimators::plausible_rtt;
use crate::feedback::Feedback;
use crate::options;
use crate::options::OptionTable;
use crate::signal::LocalSignal;
use seaway_units::Timestamp;

/// What can be set of [`ConnectionCount`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountConfig {
    /// How the number falls.
    pub decrease: Decrease,
    /// Numerator of the increase `α/n`.
    pub alpha: f64,
    /// Queueing delay that is tolerated, as a part of the least round-trip time (`γ`).
    pub gamma: f64,
    /// Reports ignored after a change, as a transient (`m_l`).
    pub ignored: u32,
    /// Reports averaged after those (`m_u - m_l`).
    pub averaged: u32,
    /// What the least round-trip time is the least of.
    pub rtt_min: RttMin,
    /// Most connections.
    pub max: f64,
}

/// How the number of connections falls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decrease {
    /// `n - β` (S001's IIAD).
    Additive(f64),
    /// `β n` (E-MULTFRC's IIMD).
    Multiplicative(f64),
}

/// What the least round-trip time is the least of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttMin {
    /// Single reports, ignored ones too.
    Sample,
    /// Averages.
    Average,
}

impl CountConfig {
    pub(crate) const OPTIONS: OptionTable<Self> = options! { |config: &mut CountConfig, value|
        "max" = "16", "1 to 64", "most connections": config.max = f64::from(value.within(1..=64_u8)?);
        "alpha" = "1", "0.01 to 10", "gain of the increase alpha/n":
            config.alpha = value.within(0.01..=10.0)?;
        "gamma" = "0.2, 0.4 for ctfrc", "0.01 to 10",
            "queueing delay that is tolerated, as a part of the least round-trip time":
            config.gamma = value.within(0.01..=10.0)?;
        "ignored" = "50", "0 to 10000", "reports of the round-trip time left out after each decision":
            config.ignored = value.within(0..=10_000)?;
        "averaged" = "50", "1 to 10000", "reports that each decision averages":
            config.averaged = value.within(1..=10_000)?;
        "rtt_min" = "sample", "sample or average",
            "the least round-trip time is that of single reports or of averages":
            config.rtt_min = value.choose(&[("sample", RttMin::Sample), ("average", RttMin::Average)])?;
    }
    .shared_as("Number of connections");

    /// S001's law, with the defaults for what it leaves open.
    pub const fn new(decrease: Decrease) -> Self {
        Self {
            decrease,
            alpha: 1.0,
            gamma: 0.2,
            ignored: 50,
            averaged: 50,
            rtt_min: RttMin::Sample,
            max: 16.0,
        }
    }
}

/// The real number of connections `n`, from 1 to the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConnectionCount {
    config: CountConfig,
    n: f64,
    reports: u32,
    sum: f64,
    rtt_min: f64,
}

/// What a decision looked at, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queueing {
    /// Mean round-trip time above the least.
    pub delay: f64,
    /// What of it is tolerated.
    pub tolerated: f64,
}

impl ConnectionCount {
    /// One connection, nothing measured.
    pub const fn new(config: CountConfig) -> Self {
        Self { config, n: 1.0, reports: 0, sum: 0.0, rtt_min: f64::INFINITY }
    }

    /// The present number.
    pub const fn get(&self) -> f64 {
        self.n
    }

    /// The least round-trip time in seconds, infinite before the first.
    pub const fn rtt_min(&self) -> f64 {
        self.rtt_min
    }

    /// The path changed: measures anew.
    pub const fn route_changed(&mut self) {
        (self.reports, self.sum, self.rtt_min) = (0, 0.0, f64::INFINITY);
    }

    /// A report of the round-trip time in seconds, about one each round-trip time. Answers where it decided.
    pub fn on_rtt(&mut self, rtt: f64) -> Option<Queueing> {
        if self.config.rtt_min == RttMin::Sample {
            self.rtt_min = self.rtt_min.min(rtt);
        }
        self.reports += 1;
        if self.reports <= self.config.ignored {
            return None;
        }
        self.sum += rtt;
        if self.reports < self.config.ignored + self.config.averaged {
            return None;
        }
        let average = self.sum / f64::from(self.config.averaged);
        (self.reports, self.sum) = (0, 0.0);
        self.rtt_min = self.rtt_min.min(average);
        let queueing =
            Queueing { delay: average - self.rtt_min, tolerated: self.config.gamma * self.rtt_min };
        let next = if queueing.delay <= queueing.tolerated {
            self.n + self.config.alpha / self.n
        } else {
            match self.config.decrease {
                Decrease::Additive(beta) => self.n - beta,
                Decrease::Multiplicative(beta) => beta * self.n,
            }
        };
        self.n = next.clamp(1.0, self.config.max);
        Some(queueing)
    }
}

/// [`ConnectionCount`] fed from feedback: one report each round-trip time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedReports {
    count: ConnectionCount,
    /// When a report of the round-trip time was counted last.
    counted_at: Option<Timestamp>,
}

/// What became of the number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decided {
    pub(crate) n: f64,
    pub(crate) grew: bool,
    queueing: Queueing,
}

impl Decided {
    pub(crate) const fn reason(&self, rule: &'static str) -> Reason {
        let signal = Gauge::new("queueing_delay", self.queueing.delay, "s");
        Reason::new(rule, signal, self.queueing.tolerated)
    }
}

impl CountedReports {
    pub(crate) const fn new(config: CountConfig) -> Self {
        Self { count: ConnectionCount::new(config), counted_at: None }
    }

    /// The present number.
    pub(crate) const fn n(&self) -> f64 {
        self.count.get()
    }

    /// Answers where this report made a decision.
    pub(crate) fn on_report(&mut self, now: Timestamp, feedback: &Feedback<'_>) -> Option<Decided> {
        let rtt = feedback.rtt.and_then(plausible_rtt)?;
        if self.counted_at.is_some_and(|at| now.since(at).as_secs_f64() < 0.5 * rtt) {
            return None;
        }
        self.counted_at = Some(now);
        let former = self.count.get();
        let queueing = self.count.on_rtt(rtt)?;
        let n = self.count.get();
        Some(Decided { n, grew: n > former, queueing })
    }

    pub(crate) fn on_signal(&mut self, signal: LocalSignal) {
        if signal == LocalSignal::RouteChanged {
            self.count.route_changed();
        }
    }

    pub(crate) fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("connections", self.count.get(), ""));
        if self.count.rtt_min().is_finite() {
            visit(Gauge::new("rtt_min", self.count.rtt_min(), "s"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(decrease: Decrease) -> ConnectionCount {
        ConnectionCount::new(CountConfig { ignored: 5, averaged: 10, ..CountConfig::new(decrease) })
    }

    fn decide(count: &mut ConnectionCount, rtt: f64) -> f64 {
        for _ in 0..14 {
            assert_eq!(count.on_rtt(rtt), None);
        }
        assert!(count.on_rtt(rtt).is_some());
        count.get()
    }

    /// S001 Algorithm 1: n + 1/n on an idle queue, n - 1 on a full one, at least 1.
    #[test]
    fn inverse_increase_additive_decrease() {
        let mut count = law(Decrease::Additive(1.0));
        assert_eq!(decide(&mut count, 0.168), 2.0);
        assert_eq!(decide(&mut count, 0.168), 2.5);
        assert!((decide(&mut count, 0.168) - 2.9).abs() < 1e-12);
        assert!((decide(&mut count, 0.168 * 1.199) - (2.9 + 1.0 / 2.9)).abs() < 1e-12, "just tolerated");
        let before = count.get();
        assert!((decide(&mut count, 0.168 * 1.201) - (before - 1.0)).abs() < 1e-12);
        for _ in 0..4 {
            decide(&mut count, 0.5);
        }
        assert_eq!(count.get(), 1.0);
        for _ in 0..400 {
            decide(&mut count, 0.1);
        }
        assert_eq!(count.get(), 16.0);
    }

    /// S001 takes the least round-trip time so far. Where a route is longer than what it tolerates beside that, the number stays one without
    /// any queue, until the session says that the path changed.
    #[test]
    fn a_longer_route_keeps_one_connection() {
        let mut count = law(Decrease::Additive(1.0));
        decide(&mut count, 0.06);
        for _ in 0..1000 {
            decide(&mut count, 0.16);
        }
        assert_eq!((count.get(), count.rtt_min()), (1.0, 0.06));
        count.route_changed();
        assert_eq!(decide(&mut count, 0.16), 2.0);
    }

    /// E-MULTFRC's decrease.
    #[test]
    fn multiplicative_decrease() {
        let mut count = law(Decrease::Multiplicative(0.75));
        for _ in 0..10 {
            decide(&mut count, 0.1);
        }
        let before = count.get();
        assert!((decide(&mut count, 0.2) - 0.75 * before).abs() < 1e-12);
    }

    /// With averages alone the queue that a flow fills from the start is taken for the path.
    #[test]
    fn least_of_samples_or_averages() {
        let run = |rtt_min| {
            let config = CountConfig {
                rtt_min,
                ignored: 5,
                averaged: 10,
                ..CountConfig::new(Decrease::Additive(1.0))
            };
            let mut count = ConnectionCount::new(config);
            count.on_rtt(0.1);
            for _ in 0..29 {
                count.on_rtt(0.2);
            }
            count.get()
        };
        assert_eq!(run(RttMin::Sample), 1.0);
        assert!(run(RttMin::Average) > 2.0);
    }
}
