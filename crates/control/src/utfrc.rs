//! UTFRC: TFRC's rate times what the medium needs just now (A. Sterca, "UTFRC: utility-driven TCP-friendly rate
//! control for multimedia streams", 2009; a comparator in S004).
//!
//! Only the idea stands in the sources at hand: `X = U · X_TFRC`, `U` above 1 where the medium needs more than it
//! does on average, below 1 where it needs less, and 1 in the long run. The law of `U` is our interpretation.

use crate::decision::{Gauge, LogsDecisions, Reason};
use crate::estimators::Ewma;
use crate::feedback::Feedback;
use crate::info::{ControllerInfo, pair};
use crate::options;
use crate::options::OptionTable;
use crate::signal::LocalSignal;
use crate::tfrc::{Config, Extended, Extension, Tfrc, TfrcReceiver, Weight};
use seaway_units::{DataSize, TimeDelta, Timestamp};

/// The sending half of UTFRC; the receiving half is TFRC's.
pub type Utfrc = Extended<Utility>;

/// How the medium's need scales the rate.
#[derive(Debug, Clone)]
pub struct Utility {
    /// How far `U` may go from 1: from `1/most` to `most`.
    most: f64,
    /// What may be taken in advance or left unused, seconds at the equation's rate.
    credit: f64,
    /// `U`.
    utility: f64,
    /// `Σ (U - 1) X dt`, bytes.
    account: f64,
    /// Bytes a second that the medium takes on average.
    mean: Ewma,
    second: Option<(Timestamp, DataSize)>,
}

/// The medium's need is its rate over this time, and its mean forgets one in so many of them.
const NEED: TimeDelta = TimeDelta::from_secs(1);
const MEAN_OVER: f64 = 60.0;

impl Utility {
    const OPTIONS: OptionTable<Self> = options! { |utility: &mut Utility, value|
        "most" = "2", "1 to 10", "how many times the equation's rate at most, and the inverse at least":
            utility.most = value.within(1.0..=10.0)?;
        "advance" = "5 s", "0 s to 60 s",
            "how much of the equation's rate may be used in advance, or be left for later":
            utility.credit = value.within(TimeDelta::ZERO..=TimeDelta::from_secs(60))?.as_secs_f64();
    };
}

impl Default for Utility {
    /// `U` between 1/2 and 2, and 5 s of the equation's rate in advance.
    fn default() -> Self {
        let mean = Ewma::new(1.0 - 1.0 / MEAN_OVER);
        Self { most: 2.0, credit: 5.0, utility: 1.0, account: 0.0, mean, second: None }
    }
}

impl Utfrc {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[Config::OPTIONS.group, Utility::OPTIONS.group],
        verified: false,
        ..ControllerInfo::new(
            "utfrc",
            "Sterca 2009 by its idea, as S004 cites it; the utility is our interpretation",
            |options, flow| {
                let config = Config::from_options(options, flow)?;
                let utility = options.read(&Utility::OPTIONS, Utility::default())?;
                Ok(pair(Self::new(config, utility), TfrcReceiver::new(config, 1)))
            },
        )
    };

    /// One connection with this utility.
    pub fn new(config: Config, utility: Utility) -> Self {
        Self::over(config, 1, utility)
    }
}

impl Utility {
    /// The medium took `need` bytes a second over the last `elapsed` seconds; the equation gives `plain`.
    fn decide(&mut self, need: f64, elapsed: f64, plain: f64) {
        let mean = self.mean.update(need);
        let wanted = if mean > 0.0 { (need / mean).clamp(1.0 / self.most, self.most) } else { 1.0 };
        if !plain.is_finite() {
            // Slow start does not look at the equation: nothing is taken, nothing is owed.
            (self.utility, self.account) = (wanted, 0.0);
            return;
        }
        let bound = self.credit * plain;
        self.account = (self.account + (self.utility - 1.0) * plain * elapsed).clamp(-bound, bound);
        let spent = (wanted > 1.0 && self.account >= bound) || (wanted < 1.0 && self.account <= -bound);
        self.utility = if spent { 1.0 } else { wanted };
    }
}

impl Extension for Utility {
    fn on_feedback(&mut self, _connections: &mut Tfrc, _now: Timestamp, _feedback: &Feedback<'_>) {}

    fn on_signal(&mut self, connections: &mut Tfrc, now: Timestamp, signal: LocalSignal) {
        let size = match signal {
            LocalSignal::Frame { size, .. } => size,
            LocalSignal::Paused(_) => {
                self.second = None;
                return;
            }
            _ => return,
        };
        let (begun, bytes) = *self.second.get_or_insert((now, DataSize::ZERO));
        let elapsed = now.since(begun);
        if elapsed < NEED {
            self.second = Some((begun, bytes + size));
            return;
        }
        self.second = Some((now, size));
        let elapsed = elapsed.as_secs_f64();
        let need = bytes.as_bytes_f64() / elapsed;
        let former = self.utility;
        self.decide(need, elapsed, connections.equation_rate() / former);
        let (utility, mean) = (self.utility, self.mean.get().unwrap_or(need));
        connections.decide(now, |connections| {
            connections.set_weight(Weight::Share(utility));
            let rule = if utility > former { "higher media rate" } else { "lower media rate" };
            Some(Reason::new(rule, Gauge::new("media_rate", need * 8.0, "bit/s"), mean * 8.0))
        });
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("utility", self.utility, ""));
        visit(Gauge::new("advance", self.account, "B"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/models/loss-discrimination.md`, section "UTFRC": `U` is need over mean from 1/2 to 2.
    #[test]
    fn utility_follows_the_medium() {
        for (need, utility) in [(100e3, 1.0), (150e3, 1.5), (400e3, 2.0), (70e3, 0.7), (1e3, 0.5)] {
            let mut law = Utility { mean: Ewma::new(1.0), ..Utility::default() };
            law.mean.update(100e3);
            law.decide(need, 1.0, 50e3);
            assert!((law.utility - utility).abs() < 1e-12, "{need}: {}", law.utility);
        }
    }

    /// Five seconds of the equation's rate may be taken in advance: at twice the rate they last five seconds; at
    /// half the rate it takes ten to be owed as much.
    #[test]
    fn the_account_is_bounded() {
        for (need, seconds) in [(200e3, 5), (50e3, 10)] {
            let mut law = Utility { mean: Ewma::new(1.0), ..Utility::default() };
            law.mean.update(100e3);
            let deviating = (0..30).filter(|_| {
                law.decide(need, 1.0, 50e3);
                law.utility != 1.0
            });
            assert_eq!(deviating.count(), seconds, "{need}");
            assert_eq!(law.account.abs(), 250e3);
        }
    }

    /// On average it takes what TFRC takes.
    #[test]
    fn one_in_the_long_run() {
        let mut law = Utility::default();
        let (mut sum, rounds) = (0.0, 3000);
        for second in 0..rounds {
            law.decide(if second % 6 < 2 { 200e3 } else { 50e3 }, 1.0, 50e3);
            sum += law.utility;
        }
        assert!((sum / f64::from(rounds) - 1.0).abs() < 0.01, "{}", sum / f64::from(rounds));
    }
}
