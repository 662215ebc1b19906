//! Delay that varies from packet to packet.

use crate::error::{Error, above_zero, not_negative};
use crate::random::RandomStream;
use seaway_units::{TimeDelta, Timestamp};
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
    /// RFC 8868's form that never reorders: |clip(N(0, std²), ±3·std)| and `mean` are added to the delay; a packet that
    /// would overtake waits until its predecessor has been sent at the link's rate.
    Rfc8868 {
        /// Standard deviation, above zero.
        std: TimeDelta,
        /// Constant part, not negative.
        #[serde(default)]
        mean: TimeDelta,
    },
    /// Independent for each packet: clip(N(0, std²), ±3·std) and `mean` are added to the delay; packets overtake each
    /// other.
    Reordering {
        /// Standard deviation, above zero. Three of them fit in the delay and `mean`.
        std: TimeDelta,
        /// Constant part, not negative.
        #[serde(default)]
        mean: TimeDelta,
    },
}

impl JitterConfig {
    /// Whether the values hold together; `delay` is what the variation is added to.
    pub(crate) fn check(self, delay: TimeDelta) -> Result<Self, Error> {
        let (Self::Rfc8868 { std, mean } | Self::Reordering { std, mean }) = self;
        above_zero("jitter.std", std)?;
        not_negative("jitter.mean", mean)?;
        match self {
            Self::Reordering { .. } if std * 3 > delay + mean => Err(Error::config(
                "jitter.std",
                std,
                format!("at most a third of delay and mean, {}", delay + mean),
            )),
            _ => Ok(self),
        }
    }
}

/// The model with its randomness and its memory.
#[derive(Debug, Clone)]
pub(crate) struct Jitter {
    model: JitterConfig,
    random: RandomStream,
    /// Before this instant the next packet must not arrive.
    not_before: Timestamp,
}

impl Jitter {
    pub(crate) fn new(model: JitterConfig, random: RandomStream) -> Self {
        Self { model, random, not_before: Timestamp::ZERO }
    }

    /// The least that it adds to a delay.
    pub(crate) fn least(&self) -> TimeDelta {
        match self.model {
            JitterConfig::Rfc8868 { mean, .. } => mean,
            JitterConfig::Reordering { std, mean } => mean - std * 3,
        }
    }

    /// When a packet arrives that would arrive at `unvaried`; sending it took `serialisation`.
    pub(crate) fn arrival(&mut self, unvaried: Timestamp, serialisation: TimeDelta) -> Timestamp {
        match self.model {
            JitterConfig::Rfc8868 { std, mean } => {
                let z = std.mul_f64(self.clipped_normal().abs());
                let arrival = (unvaried + z + mean).max(self.not_before);
                self.not_before = arrival + serialisation;
                arrival
            }
            JitterConfig::Reordering { std, mean } => unvaried + std.mul_f64(self.clipped_normal()) + mean,
        }
    }

    /// clip(N(0, 1), ±3).
    fn clipped_normal(&mut self) -> f64 {
        self.random.normal(0.0, 1.0).clamp(-3.0, 3.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc8868_stays_in_bounds_and_in_order() {
        let model = JitterConfig::Rfc8868 { std: TimeDelta::from_millis(5), mean: TimeDelta::from_millis(2) };
        let mut jitter = Jitter::new(model, RandomStream::new(1, "jitter"));
        let serialisation = TimeDelta::from_micros(100);
        let mut last = Timestamp::ZERO;
        for n in 1..10_000_u64 {
            let unvaried = Timestamp::from_nanos(n * 1_000_000);
            let arrival = jitter.arrival(unvaried, serialisation);
            let added = arrival - unvaried;
            assert!(added >= TimeDelta::from_millis(2), "{added}");
            assert!(added <= TimeDelta::from_millis(17), "{added}");
            assert!(arrival >= last + serialisation || last == Timestamp::ZERO);
            last = arrival;
        }
    }

    #[test]
    fn sparse_packets_see_the_half_normal_mean() {
        let std = TimeDelta::from_millis(5);
        let model = JitterConfig::Rfc8868 { std, mean: TimeDelta::ZERO };
        let mut jitter = Jitter::new(model, RandomStream::new(1, "jitter"));
        let total: TimeDelta = (0..20_000_u64)
            .map(|n| {
                let unvaried = Timestamp::from_nanos(n * 1_000_000_000);
                jitter.arrival(unvaried, TimeDelta::ZERO) - unvaried
            })
            .sum();
        // E|N(0, σ²)| = σ·√(2/π) = 3.989 ms
        let mean = total.as_millis_f64() / 20_000.0;
        assert!((3.9..4.1).contains(&mean), "{mean}");
    }

    #[test]
    fn reordering_is_symmetric_and_bounded() {
        let std = TimeDelta::from_millis(5);
        let model = JitterConfig::Reordering { std, mean: TimeDelta::from_millis(1) };
        let mut jitter = Jitter::new(model, RandomStream::new(1, "jitter"));
        let unvaried = Timestamp::from_nanos(1_000_000_000);
        let added: Vec<f64> = (0..20_000)
            .map(|_| (jitter.arrival(unvaried, TimeDelta::ZERO) - unvaried).as_millis_f64())
            .collect();
        let mean = added.iter().sum::<f64>() / added.len() as f64;
        assert!((mean - 1.0).abs() < 0.1, "{mean}");
        assert!(added.iter().all(|added| (-14.0..=16.0).contains(added)));
    }
}
