//! The text form of what a channel does to packets: jitter and loss.

use super::{above_zero, not_negative};
use crate::error::Error;
use crate::jitter::JitterModel;
use crate::loss::{Clock, GilbertElliott, LossModel, RecordedLoss};
use crate::plan::LossPlace;
use seaway_units::{Probability, TimeDelta};
use serde::Deserialize;

/// Variation of the delay: `{ kind = "rfc8868", std = "5 ms" }`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    deny_unknown_fields,
    expecting = "jitter such as { kind = \"rfc8868\", std = \"5 ms\" }"
)]
pub enum JitterConfig {
    /// RFC 8868's form that never reorders: |N(0, std²)|, clipped at 3·std, and `mean` are added to the delay; a
    /// packet that would overtake waits until its predecessor has been sent at the link's rate.
    Rfc8868 {
        /// Standard deviation, above zero.
        std: TimeDelta,
        /// Constant part, not negative.
        #[serde(default)]
        mean: TimeDelta,
    },
    /// Every packet by itself: N(0, std²), clipped at ±3·std, and `mean` are added to the delay; packets overtake
    /// each other.
    Reordering {
        /// Standard deviation, above zero. Three of them fit in the delay and `mean`.
        std: TimeDelta,
        /// Constant part, not negative.
        #[serde(default)]
        mean: TimeDelta,
    },
}

/// Loss on the channel: `{ kind = "gilbert-elliott", mean = 0.02, burst = 4 }`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "loss such as { kind = \"independent\", rate = 0.01 }"
)]
pub enum LossConfig {
    /// Every packet with probability `rate`.
    Independent {
        /// 0 to 1.
        rate: f64,
        /// Where packets are lost.
        #[serde(default)]
        at: LossPlace,
    },
    /// Every n-th packet.
    Periodic {
        /// n, at least 1.
        every: u64,
        /// Where packets are lost.
        #[serde(default)]
        at: LossPlace,
    },
    /// Every packet with a probability that a recording gives: a table of seconds and loss ratio, or a JSON pattern.
    Trace {
        /// Where it is, as [`LinkConfig::plan_with`](crate::LinkConfig::plan_with)'s reader understands it.
        file: String,
        /// `uplink` or `downlink` of a JSON file.
        series: Option<String>,
        /// Begins again when it ends; otherwise the last ratio holds.
        #[serde(rename = "loop", default = "super::yes")]
        repeats: bool,
        /// Where packets are lost.
        #[serde(default)]
        at: LossPlace,
    },
    /// Either `mean` and `burst`, or `p` and `r` with the losses in the two states.
    GilbertElliott {
        /// Mean loss, 0 to 1.
        mean: Option<f64>,
        /// Mean steps that a bad period lasts, at least 1.
        burst: Option<f64>,
        /// Probability of good → bad at a step.
        p: Option<f64>,
        /// Probability of bad → good at a step.
        r: Option<f64>,
        /// Loss in the good state; 0 where absent.
        good: Option<f64>,
        /// Loss in the bad state; 1 where absent.
        bad: Option<f64>,
        /// What a step is.
        #[serde(default)]
        per: Per,
        /// Where packets are lost.
        #[serde(default)]
        at: LossPlace,
    },
}

/// What a step of a Gilbert-Elliott chain is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// A packet.
    #[default]
    Packet,
    /// A millisecond.
    Ms,
}

impl JitterConfig {
    /// `delay` is what the variation is laid over.
    pub(super) fn model(self, delay: TimeDelta) -> Result<JitterModel, Error> {
        let (Self::Rfc8868 { std, mean } | Self::Reordering { std, mean }) = self;
        let (std, mean) = (above_zero("jitter.std", std)?, not_negative("jitter.mean", mean)?);
        match self {
            Self::Rfc8868 { .. } => Ok(JitterModel::Rfc8868 { std, mean }),
            Self::Reordering { .. } if std * 3 > delay + mean => Err(Error::config(
                "jitter.std",
                std,
                format!("at most a third of delay and mean, {}", delay + mean),
            )),
            Self::Reordering { .. } => Ok(JitterModel::Reordering { std, mean }),
        }
    }
}

impl LossConfig {
    /// `recording` is what the file of a [`LossConfig::Trace`] holds.
    pub(super) fn model(&self, recording: Option<RecordedLoss>) -> Result<(LossModel, LossPlace), Error> {
        Ok(match *self {
            Self::Independent { rate, at } => (LossModel::Independent(probability("loss.rate", rate)?), at),
            Self::Periodic { every: 0, .. } => return Err(Error::config("loss.every", 0, "at least 1")),
            Self::Periodic { every, at } => (LossModel::Periodic(every), at),
            Self::Trace { at, .. } => {
                let recording =
                    recording.ok_or_else(|| Error::config("loss.file", "nothing", "a recording"))?;
                (LossModel::Recorded(recording), at)
            }
            Self::GilbertElliott { mean, burst, p, r, good, bad, per, at } => {
                let clock = match per {
                    Per::Packet => Clock::Packet,
                    Per::Ms => Clock::Millisecond,
                };
                let chain = match (mean, burst, p, r) {
                    (Some(mean), Some(burst), None, None) if good.is_none() && bad.is_none() => {
                        chain_by_burst(mean, burst)?
                    }
                    (None, None, Some(p), Some(r)) => GilbertElliott {
                        to_bad: probability("loss.p", p)?,
                        to_good: probability("loss.r", r)?,
                        good_loss: probability("loss.good", good.unwrap_or(0.0))?,
                        bad_loss: probability("loss.bad", bad.unwrap_or(1.0))?,
                    },
                    _ => {
                        let expected = "mean and burst alone, or p and r with good and bad";
                        return Err(Error::config("loss", "another combination of keys", expected));
                    }
                };
                (LossModel::GilbertElliott(chain, clock), at)
            }
        })
    }
}

fn chain_by_burst(mean: f64, burst: f64) -> Result<GilbertElliott, Error> {
    let mean = probability("loss.mean", mean)?;
    GilbertElliott::from_mean_and_burst(mean, burst)
        .ok_or_else(|| Error::config("loss.burst", burst, "at least 1 and at least mean/(1 - mean)"))
}

fn probability(field: &str, value: f64) -> Result<Probability, Error> {
    Probability::new(value).ok_or_else(|| Error::config(field, value, "a number from 0 to 1"))
}
