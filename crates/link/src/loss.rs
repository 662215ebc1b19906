//! Loss models that are independent of congestion.

use crate::error::{Error, fraction};
use crate::random::RandomStream;
use seaway_units::{Probability, TimeDelta, Timestamp};
use serde::Deserialize;
use std::sync::Arc;

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
        #[serde(rename = "loop", default = "yes")]
        repeats: bool,
        /// Where packets are lost.
        #[serde(default)]
        at: LossPlace,
    },
    /// Every packet with a probability that changes at given instants.
    Steps {
        /// Instants and the probability from then on, the first at 0 s, each later than the one before.
        steps: Vec<(TimeDelta, f64)>,
        /// After this they begin again; without it the last holds. Later than the last.
        period: Option<TimeDelta>,
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
    /// Every packet is one step.
    #[default]
    Packet,
    /// Every millisecond is one step, whether packets come or not: fading.
    Ms,
}

/// Where the channel loses packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossPlace {
    /// Behind the server: what is lost has used the link.
    #[default]
    Exit,
    /// Before the queue.
    Entry,
}

impl LossConfig {
    /// `recording` is what the file of a [`LossConfig::Trace`] holds.
    pub(crate) fn model(&self, recording: Option<RecordedLoss>) -> Result<(LossModel, LossPlace), Error> {
        Ok(match *self {
            Self::Independent { rate, at } => (LossModel::Independent(probability("loss.rate", rate)?), at),
            Self::Periodic { every: 0, .. } => return Err(Error::config("loss.every", 0, "at least 1")),
            Self::Periodic { every, at } => (LossModel::Periodic(every), at),
            Self::Trace { at, .. } => {
                let recording =
                    recording.ok_or_else(|| Error::config("loss.file", "nothing", "a recording"))?;
                (LossModel::Recorded(recording), at)
            }
            Self::Steps { ref steps, period, at } => (LossModel::Recorded(stepped(steps, period)?), at),
            Self::GilbertElliott { mean, burst, p, r, good, bad, per, at } => {
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
                (LossModel::GilbertElliott(chain, per), at)
            }
        })
    }
}

fn chain_by_burst(mean: f64, burst: f64) -> Result<GilbertElliott, Error> {
    let mean = probability("loss.mean", mean)?;
    GilbertElliott::from_mean_and_burst(mean, burst)
        .ok_or_else(|| Error::config("loss.burst", burst, "at least 1 and at least mean/(1 - mean)"))
}

fn stepped(steps: &[(TimeDelta, f64)], period: Option<TimeDelta>) -> Result<RecordedLoss, Error> {
    let expected = "instants from 0 s on, the first 0 s, each later than the one before";
    let mut ratios = Vec::new();
    let mut last = None;
    for &(at, ratio) in steps {
        if last.map_or(at != TimeDelta::ZERO, |last| at <= last) {
            return Err(Error::config("loss.steps", at, expected));
        }
        ratios.push((at, probability("loss.steps", ratio)?));
        last = Some(at);
    }
    let last = last.ok_or_else(|| Error::config("loss.steps", "nothing", expected))?;
    match period {
        Some(period) if period <= last => {
            Err(Error::config("loss.period", period, "a time later than the last step"))
        }
        period => Ok(RecordedLoss::new(&ratios, period.unwrap_or_default(), period.is_some())),
    }
}

fn probability(field: &str, value: f64) -> Result<Probability, Error> {
    fraction(field, value).map(Probability::clamped)
}

/// Recordings begin again by default.
fn yes() -> bool {
    true
}

/// Which packets the channel loses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LossModel {
    /// Each packet with this probability, independent of all others.
    Independent(Probability),
    /// Every n-th packet; n is at least 1.
    Periodic(u64),
    /// A two-state Markov chain; the chain moves first, then the packet's fate is drawn in the new state.
    GilbertElliott(GilbertElliott, Per),
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
                    Per::Packet => 1,
                    Per::Ms => std::mem::replace(&mut self.moved_to, millis).abs_diff(millis),
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
        for clock in [Per::Packet, Per::Ms] {
            let (ratio, burst) =
                ratio_and_mean_burst(&fates(LossModel::GilbertElliott(chain, clock), 500_000));
            assert!((ratio - 0.05).abs() < 0.0025, "{clock:?}: {ratio}");
            assert!((burst - 4.0).abs() < 0.15, "{clock:?}: {burst}");
        }
    }

    #[test]
    fn fading_does_not_depend_on_how_many_packets_pass() {
        let chain = GilbertElliott::from_mean_and_burst(probability(0.2), 10.0).unwrap();
        let mut loss = Loss::new(LossModel::GilbertElliott(chain, Per::Ms), RandomStream::new(1, "fading"));
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
        let (ratio, _) = ratio_and_mean_burst(&fates(LossModel::GilbertElliott(chain, Per::Packet), 200_000));
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

    /// Cloud gaming over Wi-Fi at 10.2 Mbit/s, counted in slots of 15 ms (hkust-spark, "SparkTraces"): 0.83 % of the packets
    /// lost, in 4 % of the slots, 2.4 % of the slots lose a tenth or more; episodes of such slots 23 ms in the mean,
    /// 90 of 100 at most 45 ms, 99 of 100 at most 105 ms; 19 % lost inside.
    #[test]
    fn a_chain_by_time_has_the_episodes_that_were_counted() {
        let to_good = 1.0 / 15.0;
        let chain = GilbertElliott {
            to_bad: probability(to_good * 0.023 / 0.977),
            to_good: probability(to_good),
            good_loss: Probability::ZERO,
            bad_loss: probability(0.36),
        };
        let mut loss = Loss::new(LossModel::GilbertElliott(chain, Per::Ms), RandomStream::new(1, "episodes"));
        // 16 packets of 1200 B a slot, for an hour.
        let slots: Vec<usize> = (0..240_000_u64)
            .map(|slot| {
                (0..16).filter(|n| loss.takes(Timestamp::from_nanos(slot * 15_000_000 + n * 937_500))).count()
            })
            .collect();
        let episodes = slots.split(|&lost| lost == 0).filter(|episode| !episode.is_empty());
        let mut lengths: Vec<usize> = episodes.map(<[usize]>::len).collect();
        lengths.sort_unstable();
        let part =
            |is: fn(&usize) -> bool| slots.iter().filter(|lost| is(lost)).count() as f64 / slots.len() as f64;
        let lost = slots.iter().sum::<usize>() as f64;
        let within = |found: f64, low: f64, high: f64| assert!((low..=high).contains(&found), "{found}");
        within(lost / (16.0 * slots.len() as f64), 0.0078, 0.0088);
        within(part(|&lost| lost > 0), 0.035, 0.043);
        within(part(|&lost| lost >= 2), 0.022, 0.031);
        within(15.0 * lengths.iter().sum::<usize>() as f64 / lengths.len() as f64, 23.0, 30.0);
        assert_eq!(15 * lengths[lengths.len() * 9 / 10], 45);
        within(15.0 * lengths[lengths.len() * 99 / 100] as f64, 75.0, 105.0);
        within(lost / (16.0 * lengths.iter().sum::<usize>() as f64), 0.19, 0.23);
    }

    #[test]
    fn loss_changes_at_its_steps_and_begins_again() {
        let at = |secs| TimeDelta::from_secs(secs);
        let config = |period| LossConfig::Steps {
            steps: vec![(at(0), 0.0), (at(2), 1.0), (at(3), 0.0)],
            period,
            at: LossPlace::Exit,
        };
        let lost_in = |period: Option<TimeDelta>| {
            let fates = fates(config(period).model(None).unwrap().0, 10_000);
            (0..10)
                .filter(|second| fates[second * 1000..][..1000].iter().all(|&lost| lost))
                .collect::<Vec<_>>()
        };
        assert_eq!(lost_in(None), [2]);
        assert_eq!(lost_in(Some(at(4))), [2, 6]);
    }

    #[test]
    fn periodic_takes_every_nth() {
        let fates = fates(LossModel::Periodic(3), 9);
        assert_eq!(fates, [false, false, true, false, false, true, false, false, true]);
    }
}
