//! Loss that has nothing to do with congestion.

use crate::random::RandomStream;
use seaway_units::{Probability, TimeDelta, Timestamp};
use std::sync::Arc;

/// Which packets the channel loses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LossModel {
    /// Each packet with this probability, independent of all others.
    Independent(Probability),
    /// Every n-th packet; n is at least 1.
    Periodic(u64),
    /// A two-state Markov chain; the chain moves first, then the packet's luck is drawn in the new state.
    GilbertElliott(GilbertElliott, Clock),
    /// Each packet with the probability of the moment.
    Recorded(RecordedLoss),
}

/// Loss ratios over time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedLoss {
    /// Nanoseconds and the ratio from then on; the first at 0.
    steps: Arc<[(u64, Probability)]>,
    /// Nanoseconds after which they begin again.
    period: Option<u64>,
}

impl RecordedLoss {
    /// `steps` is not empty, begins at 0 and is ordered; `end` lies behind the last.
    pub(crate) fn new(steps: &[(TimeDelta, Probability)], end: TimeDelta, repeats: bool) -> Self {
        let nanos = |span: TimeDelta| span.as_nanos().max(0) as u64;
        let steps = steps.iter().map(|&(at, ratio)| (nanos(at), ratio)).collect();
        Self { steps, period: repeats.then_some(nanos(end).max(1)) }
    }

    fn at(&self, now: Timestamp) -> Probability {
        let nanos = self.period.map_or(now.as_nanos(), |period| now.as_nanos() % period);
        let passed = self.steps.partition_point(|&(at, _)| at <= nanos);
        passed.checked_sub(1).map_or(Probability::ZERO, |last| self.steps[last].1)
    }
}

/// What moves the chain of a Gilbert-Elliott model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Every packet is one step.
    Packet,
    /// Every millisecond is one step, whether packets come or not: fading.
    Millisecond,
}

/// A channel that is good or bad.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GilbertElliott {
    /// Probability of good → bad at a step, p.
    pub(crate) to_bad: Probability,
    /// Probability of bad → good at a step, r.
    pub(crate) to_good: Probability,
    /// Loss probability in the good state, 1 − k.
    pub(crate) good_loss: Probability,
    /// Loss probability in the bad state, 1 − h.
    pub(crate) bad_loss: Probability,
}

impl GilbertElliott {
    /// The simple Gilbert model, all lost in the bad state and none in the good one, with this `mean` loss and
    /// a mean burst of `burst` steps: r = 1/β, p = r·L/(1 − L). `None` where no such chain exists: `burst`
    /// below 1, or p above 1.
    pub(crate) fn from_mean_and_burst(mean: Probability, burst: f64) -> Option<Self> {
        let to_good = Probability::new(1.0 / burst)?;
        let to_bad = match mean {
            Probability::ZERO => Probability::ZERO,
            mean => Probability::new(to_good.get() * mean.get() / mean.complement().get())?,
        };
        Some(Self { to_bad, to_good, good_loss: Probability::ZERO, bad_loss: Probability::ONE })
    }

    /// The long-run loss ratio, (r·ℓ_G + p·ℓ_B)/(p + r). That of the good state, where the chain starts, if it never
    /// moves.
    #[cfg(test)]
    fn mean_loss(&self) -> Probability {
        let bad = self.stationary_bad();
        Probability::clamped((1.0 - bad) * self.good_loss.get() + bad * self.bad_loss.get())
    }

    fn stationary_bad(&self) -> f64 {
        let (p, r) = (self.to_bad.get(), self.to_good.get());
        if p + r > 0.0 { p / (p + r) } else { 0.0 }
    }

    /// Probability of being bad `steps` steps after a step that ended good or bad.
    fn bad_after(&self, steps: u64, was_bad: bool) -> f64 {
        if steps == 0 {
            return f64::from(u8::from(was_bad));
        }
        let (p, r) = (self.to_bad.get(), self.to_good.get());
        if steps == 1 {
            return if was_bad { 1.0 - r } else { p };
        }
        let memory = libm::pow(1.0 - p - r, steps as f64);
        let bad = self.stationary_bad();
        bad + memory * (f64::from(u8::from(was_bad)) - bad)
    }
}

/// The model with its randomness and its memory.
#[derive(Debug, Clone)]
pub(crate) struct Loss {
    model: LossModel,
    random: RandomStream,
    /// Packets since the last periodic loss.
    count: u64,
    is_bad: bool,
    /// Milliseconds of the clock up to which the chain has moved.
    moved_to: u64,
}

impl Loss {
    pub(crate) fn new(model: LossModel, random: RandomStream) -> Self {
        Self { model, random, count: 0, is_bad: false, moved_to: 0 }
    }

    /// Whether the packet that passes at `now` is lost.
    pub(crate) fn takes(&mut self, now: Timestamp) -> bool {
        let millis = now.as_nanos() / 1_000_000;
        match &self.model {
            LossModel::Independent(p) => self.random.chance(p.get()),
            LossModel::Periodic(every) => {
                self.count = (self.count + 1) % *every;
                self.count == 0
            }
            LossModel::GilbertElliott(chain, clock) => {
                let steps = match clock {
                    Clock::Packet => 1,
                    Clock::Millisecond => std::mem::replace(&mut self.moved_to, millis).abs_diff(millis),
                };
                self.is_bad = self.random.chance(chain.bad_after(steps, self.is_bad));
                let loss = if self.is_bad { chain.bad_loss } else { chain.good_loss };
                self.random.chance(loss.get())
            }
            LossModel::Recorded(recording) => self.random.chance(recording.at(now).get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    /// Fate of packets one millisecond apart.
    fn fates(model: LossModel, packets: u64) -> Vec<bool> {
        let mut loss = Loss::new(model, RandomStream::new(1, "loss"));
        (0..packets).map(|n| loss.takes(Timestamp::from_nanos(n * 1_000_000))).collect()
    }

    fn ratio_and_mean_burst(fates: &[bool]) -> (f64, f64) {
        let lost = fates.iter().filter(|&&lost| lost).count() as f64;
        let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        (lost / fates.len() as f64, lost / bursts)
    }

    #[test]
    fn evaluation_part_4_worked_example() {
        // L = 5 %, β = 4: r = 0.25, p = 0.01316
        let chain = GilbertElliott::from_mean_and_burst(probability(0.05), 4.0).unwrap();
        assert_eq!(chain.to_good.get(), 0.25);
        assert!((chain.to_bad.get() - 0.01316).abs() < 1e-5);
        assert!((chain.mean_loss().get() - 0.05).abs() < 1e-12);
        assert_eq!(GilbertElliott::from_mean_and_burst(probability(0.05), 0.5), None);
        assert_eq!(GilbertElliott::from_mean_and_burst(probability(0.9), 1.0), None);
        assert_eq!(GilbertElliott::from_mean_and_burst(Probability::ONE, 4.0), None);
    }

    #[test]
    fn gilbert_elliott_realises_mean_and_burst_on_both_clocks() {
        let chain = GilbertElliott::from_mean_and_burst(probability(0.05), 4.0).unwrap();
        for clock in [Clock::Packet, Clock::Millisecond] {
            let (ratio, burst) =
                ratio_and_mean_burst(&fates(LossModel::GilbertElliott(chain, clock), 500_000));
            assert!((ratio - 0.05).abs() < 0.0025, "{clock:?}: {ratio}");
            assert!((burst - 4.0).abs() < 0.15, "{clock:?}: {burst}");
        }
    }

    #[test]
    fn fading_does_not_depend_on_how_many_packets_pass() {
        let chain = GilbertElliott::from_mean_and_burst(probability(0.2), 10.0).unwrap();
        let mut loss =
            Loss::new(LossModel::GilbertElliott(chain, Clock::Millisecond), RandomStream::new(1, "fading"));
        let lost = (0..200_000_u64).filter(|n| loss.takes(Timestamp::from_nanos(n * 7_000_000))).count();
        assert!((lost as f64 / 200_000.0 - 0.2).abs() < 0.006, "{lost}");
        // All packets of one millisecond share the state, here: the fate.
        let now = Timestamp::from_nanos(7_000_000 * 200_000);
        let first = loss.takes(now);
        assert!((0..50).all(|_| loss.takes(now) == first));
    }

    #[test]
    fn losses_in_both_states() {
        let chain = GilbertElliott {
            to_bad: probability(0.1),
            to_good: probability(0.3),
            good_loss: probability(0.02),
            bad_loss: probability(0.5),
        };
        // (0.3·0.02 + 0.1·0.5)/0.4 = 0.14
        assert!((chain.mean_loss().get() - 0.14).abs() < 1e-12);
        let (ratio, _) =
            ratio_and_mean_burst(&fates(LossModel::GilbertElliott(chain, Clock::Packet), 200_000));
        assert!((ratio - 0.14).abs() < 0.005, "{ratio}");
    }

    #[test]
    fn steps_of_the_chain_compose() {
        let chain = GilbertElliott::from_mean_and_burst(probability(0.05), 4.0).unwrap();
        let one = chain.bad_after(1, false);
        let two = one * chain.bad_after(1, true) + (1.0 - one) * chain.bad_after(1, false);
        assert!((chain.bad_after(2, false) - two).abs() < 1e-12);
        assert!((chain.bad_after(1000, true) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn independent_gaps_are_geometric() {
        let fates = fates(LossModel::Independent(probability(0.01)), 500_000);
        let (ratio, burst) = ratio_and_mean_burst(&fates);
        assert!((ratio - 0.01).abs() < 0.0005, "{ratio}");
        assert!((burst - 1.0 / 0.99).abs() < 0.01, "{burst}");
    }

    #[test]
    fn periodic_takes_every_nth() {
        let fates = fates(LossModel::Periodic(3), 9);
        assert_eq!(fates, [false, false, true, false, false, true, false, false, true]);
    }
}
