//! Runs that an agent drives: the native half of the gymnasium environments.

use crate::agent::{NAME, Shared, State};
use crate::error;
use crate::input::{ScenarioInput, overrides};
use crate::runs::NativeRun;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use seaway_lab::scenario::{FlowKind, Override, Scenario};
use seaway_lab::{RunOptions, Simulation};
use seaway_units::{Bitrate, DataSize, RateRange, TimeDelta};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A step by feedback looks so often whether a report came.
const LOOK: TimeDelta = TimeDelta::from_millis(1);
/// A step by feedback ends after this long without a report.
const SILENCE: TimeDelta = TimeDelta::from_secs(1);

/// A number that an agent sees. All are known to the sender of a real session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Observation {
    Rate,
    SentRate,
    ReceiveRate,
    LossRatio,
    Rtt,
    LeastRtt,
    RttRatio,
    QueueDelay,
    DelayGradient,
    Backlog,
    SendRatio,
}

impl Observation {
    const ALL: [(&'static str, &'static str, Self); 11] = [
        ("rate", "the rate in force over the largest, 0 to 1", Self::Rate),
        ("sent_rate", "octets sent in the step, over the largest rate", Self::SentRate),
        ("receive_rate", "octets reported as received in the step, over the largest rate", Self::ReceiveRate),
        ("loss_ratio", "lost packets over those whose fate is known, 0 to 1", Self::LossRatio),
        (
            "rtt",
            "mean round-trip time of the step, s; that of the step before where there is no sample",
            Self::Rtt,
        ),
        ("least_rtt", "smallest round-trip time so far, s", Self::LeastRtt),
        ("rtt_ratio", "rtt over least_rtt, less 1", Self::RttRatio),
        ("queue_delay", "mean one-way delay above the least so far, s", Self::QueueDelay),
        ("delay_gradient", "increase of the one-way delay over the length of the step", Self::DelayGradient),
        ("backlog", "time that the send queue takes at the rate in force, s", Self::Backlog),
        ("send_ratio", "packets whose fate is known over those received, less 1", Self::SendRatio),
    ];

    fn named(name: &str) -> PyResult<Self> {
        let found = Self::ALL.iter().find(|(known, ..)| *known == name).map(|(.., it)| *it);
        found.ok_or_else(|| unknown("observation", name, Self::ALL.iter().map(|(name, ..)| *name)))
    }
}

/// The reward of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reward {
    Aurora,
    Vivace,
    Power,
}

impl Reward {
    const ALL: [(&'static str, &'static str, Self); 3] = [
        (
            "aurora",
            "10 x throughput (packets/s) - 1000 x latency (s) - 2000 x loss (Jay et al., ICML 2019)",
            Self::Aurora,
        ),
        (
            "vivace",
            "x^0.9 - 900 x d(RTT)/dt - 11.35 x loss, x in Mbit/s and each term times x (Dong et al., NSDI 2018)",
            Self::Vivace,
        ),
        (
            "power",
            "throughput over the largest rate, over the RTT over the least RTT (Kleinrock)",
            Self::Power,
        ),
    ];

    fn named(name: &str) -> PyResult<Self> {
        let found = Self::ALL.iter().find(|(known, ..)| *known == name).map(|(.., it)| *it);
        found.ok_or_else(|| unknown("reward", name, Self::ALL.iter().map(|(name, ..)| *name)))
    }
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str> + Clone) -> PyErr {
    error::input(format!("{name:?}: no such {what}; {}", seaway_control::nearest(name, known)))
}

fn no_run(index: usize) -> PyErr {
    error::input(format!("there is no run {index}"))
}

/// When a step ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// With the next report.
    Feedback,
    /// After so long.
    Time(TimeDelta),
}

/// Runs side by side, each with its own scenario and seed.
#[pyclass(frozen, module = "seaway")]
#[derive(Debug)]
pub(crate) struct Environment {
    episodes: Mutex<Vec<Episode>>,
    length: Length,
    observations: Vec<Observation>,
    reward: Reward,
    series: bool,
}

/// One of the runs.
#[derive(Debug)]
struct Episode {
    scenario: Scenario,
    flow: usize,
    shared: Shared,
    simulation: Option<Simulation>,
    limits: RateRange,
    /// The last values of what a step may lack a sample of.
    rtt: TimeDelta,
    queue_delay: TimeDelta,
}

/// What a step showed.
#[derive(Debug, Clone, Copy)]
struct View {
    seconds: f64,
    rate: f64,
    max: f64,
    sent_rate: f64,
    receive_rate: f64,
    packets_per_second: f64,
    loss_ratio: f64,
    send_ratio: f64,
    rtt: f64,
    least_rtt: f64,
    queue_delay: f64,
    delay_change: f64,
    backlog: f64,
}

#[pymethods]
impl Environment {
    /// `sources` has a scenario a run; `step` is in seconds, or absent for the interval of feedback.
    #[new]
    fn new(
        sources: Vec<ScenarioInput>,
        changes: Vec<String>,
        flow: Option<&str>,
        step: Option<f64>,
        observations: Vec<String>,
        reward: &str,
        series: bool,
    ) -> PyResult<Self> {
        let changes = overrides(&changes)?;
        let length = match step.map(TimeDelta::from_secs_f64) {
            None => Length::Feedback,
            Some(step) if step >= LOOK => Length::Time(step),
            Some(step) => return Err(error::input(format!("step is {step}: expected at least {LOOK}"))),
        };
        let episodes = sources
            .into_iter()
            .map(|source| Episode::new(source, &changes, flow))
            .collect::<PyResult<_>>()?;
        let observations =
            observations.iter().map(|name| Observation::named(name)).collect::<PyResult<_>>()?;
        Ok(Self {
            episodes: Mutex::new(episodes),
            length,
            observations,
            reward: Reward::named(reward)?,
            series,
        })
    }

    /// Begins run `index` anew with this seed, and writes what its first report showed into `into` (float32).
    fn reset(&self, py: Python<'_>, index: usize, seed: u64, into: PyBuffer<f32>) -> PyResult<()> {
        let (length, series) = (self.length, self.series);
        let mut episodes = self.episodes()?;
        let place = episodes.get_mut(index).ok_or_else(|| no_run(index))?;
        let view = py.detach(|| place.reset(seed, length, series)).map_err(error::input)?;
        let values = self.values(&view);
        into.copy_from_slice(py, &values)
    }

    /// Sets the rate of each run, bit/s, and takes a step of all. Writes the observations of each behind one another
    /// (float32), the rewards (float64), and whether each run is over (bytes).
    fn step(
        &self,
        py: Python<'_>,
        rates: PyBuffer<f64>,
        observations: PyBuffer<f32>,
        rewards: PyBuffer<f64>,
        over: PyBuffer<u8>,
    ) -> PyResult<()> {
        let rates = rates.to_vec(py)?;
        let mut episodes = self.episodes()?;
        if rates.len() != episodes.len() {
            return Err(error::input(format!("{} rates for {} runs", rates.len(), episodes.len())));
        }
        let (length, episodes) = (self.length, &mut *episodes);
        let views: Vec<View> = py
            .detach(|| {
                episodes
                    .iter_mut()
                    .zip(&rates)
                    .map(|(episode, rate)| episode.step(*rate, length))
                    .collect::<Result<_, _>>()
            })
            .map_err(error::input)?;
        let values: Vec<f32> = views.iter().flat_map(|view| self.values(view)).collect();
        observations.copy_from_slice(py, &values)?;
        let values: Vec<f64> = views.iter().map(|view| view.reward(self.reward)).collect();
        rewards.copy_from_slice(py, &values)?;
        let ends: Vec<u8> = episodes.iter().map(|episode| u8::from(episode.is_over())).collect();
        over.copy_from_slice(py, &ends)
    }

    /// The least and the largest rate of a run, bit/s. Known after its first reset.
    fn limits(&self, index: usize) -> PyResult<(f64, f64)> {
        let episodes = self.episodes()?;
        let episode = episodes.get(index).ok_or_else(|| no_run(index))?;
        Ok((episode.limits.min.as_bps_f64(), episode.limits.max.as_bps_f64()))
    }

    /// The rate in force in a run, bit/s, and its virtual time, s.
    fn state(&self, index: usize) -> PyResult<(f64, f64)> {
        let episodes = self.episodes()?;
        let episode = episodes.get(index).ok_or_else(|| no_run(index))?;
        let now = episode.simulation.as_ref().map_or(0.0, |run| run.now().as_secs_f64());
        Ok((episode.shared.lock().rate.as_bps_f64(), now))
    }

    /// Ends a run and gives its outcome; it must be reset before its next step.
    fn finish(&self, index: usize) -> PyResult<NativeRun> {
        let run = self.episodes()?.get_mut(index).and_then(|episode| episode.simulation.take());
        let run = run.ok_or_else(|| error::input("the run has not begun: reset it"))?;
        run.finish().map(NativeRun::new).map_err(error::running)
    }
}

impl Environment {
    /// The runs. To wait for another thread here, with Python's lock held, could be for ever.
    fn episodes(&self) -> PyResult<MutexGuard<'_, Vec<Episode>>> {
        match self.episodes.try_lock() {
            Ok(episodes) => Ok(episodes),
            Err(TryLockError::Poisoned(episodes)) => Ok(episodes.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(error::input("another thread is at work on this environment"))
            }
        }
    }

    fn values(&self, view: &View) -> Vec<f32> {
        self.observations.iter().map(|observation| view.get(*observation) as f32).collect()
    }
}

impl Episode {
    fn new(source: ScenarioInput, changes: &[Override], flow: Option<&str>) -> PyResult<Self> {
        let file = source.open()?;
        let shared = Shared::default();
        let registry = shared.registry().map_err(error::input)?;
        let plain = file.parse(&registry, changes).map_err(error::input)?;
        let is_wanted = |candidate: &&seaway_lab::scenario::Flow| {
            flow.is_none_or(|flow| flow == candidate.name) && matches!(candidate.kind, FlowKind::Media(_))
        };
        let name = plain.flows.iter().find(is_wanted).map(|flow| flow.name.clone());
        let name = name.ok_or_else(|| {
            let media = plain.flows.iter().filter(|flow| matches!(flow.kind, FlowKind::Media(_)));
            let names: Vec<_> = media.map(|flow| flow.name.as_str()).collect();
            error::input(format!(
                "no media flow {}; there are: {}",
                flow.unwrap_or_default(),
                names.join(", ")
            ))
        })?;
        let mut changes = changes.to_vec();
        changes.push(format!("flow.{name}.control={NAME}").parse().map_err(error::input)?);
        let scenario = file.parse(&registry, &changes).map_err(error::input)?;
        let flow = scenario.flows.iter().position(|flow| flow.name == name).unwrap_or_default();
        Ok(Self {
            scenario,
            flow,
            shared,
            simulation: None,
            limits: RateRange::ALL,
            rtt: TimeDelta::ZERO,
            queue_delay: TimeDelta::ZERO,
        })
    }

    fn is_over(&self) -> bool {
        self.simulation.as_ref().is_none_or(Simulation::is_over)
    }

    /// Goes to the first report of the flow.
    fn reset(&mut self, seed: u64, length: Length, series: bool) -> Result<View, String> {
        self.scenario.seed = seed;
        *self.shared.lock() = State::default();
        (self.rtt, self.queue_delay) = (TimeDelta::ZERO, TimeDelta::ZERO);
        let options = RunOptions { series, ..RunOptions::default() };
        let mut simulation = Simulation::new(&self.scenario, options).map_err(|error| error.to_string())?;
        while self.shared.lock().reports == 0 && !simulation.is_over() {
            simulation.run_until(simulation.now() + LOOK);
        }
        if let Length::Time(step) = length {
            // So that steps begin at multiples of their length.
            let steps = simulation.now().as_nanos() / step.as_nanos() + 1;
            simulation.run_until(step * steps);
        }
        let began = simulation.now();
        self.simulation = Some(simulation);
        self.limits = self.shared.lock().limits.unwrap_or(RateRange::ALL);
        Ok(self.look(began))
    }

    fn step(&mut self, rate: f64, length: Length) -> Result<View, String> {
        let Some(simulation) = &mut self.simulation else {
            return Err("the run has not begun: reset it".to_owned());
        };
        if !rate.is_finite() || rate < 0.0 {
            return Err(format!("the rate is {rate}: expected bit/s"));
        }
        let began = simulation.now();
        let reports = {
            let mut state = self.shared.lock();
            state.requested = Some(Bitrate::from_bps_f64(rate));
            (state.step, state.sent) = (Default::default(), DataSize::ZERO);
            state.reports
        };
        simulation.wake(self.flow);
        match length {
            Length::Time(step) => simulation.run_until(began + step),
            Length::Feedback => {
                let end = began + SILENCE;
                while self.shared.lock().reports == reports && simulation.now() < end && !simulation.is_over()
                {
                    simulation.run_until(simulation.now() + LOOK);
                }
            }
        }
        let passed = simulation.now() - began;
        Ok(self.look(passed))
    }

    /// What was seen in the `passed` time.
    fn look(&mut self, passed: TimeDelta) -> View {
        let state = self.shared.lock();
        let step = &state.step;
        self.rtt = step.rtt().unwrap_or(self.rtt);
        self.queue_delay = step.queue_delay().unwrap_or(self.queue_delay);
        let seconds = passed.as_secs_f64().max(LOOK.as_secs_f64());
        let per_second = |size: DataSize| size.as_bits() as f64 / seconds;
        View {
            seconds,
            rate: state.rate.as_bps_f64(),
            max: self.limits.max.as_bps_f64(),
            sent_rate: per_second(state.sent),
            receive_rate: per_second(step.received_size),
            packets_per_second: f64::from(step.received) / seconds,
            loss_ratio: step.loss_ratio(),
            send_ratio: f64::from(step.lost) / f64::from(step.received.max(1)),
            rtt: self.rtt.as_secs_f64(),
            least_rtt: state.least_rtt.unwrap_or(self.rtt).as_secs_f64(),
            queue_delay: self.queue_delay.as_secs_f64(),
            delay_change: step.delay_change().as_secs_f64(),
            backlog: state.backlog.as_bits() as f64 / state.rate.as_bps_f64().max(1.0),
        }
    }
}

impl View {
    fn get(&self, observation: Observation) -> f64 {
        match observation {
            Observation::Rate => self.rate / self.max,
            Observation::SentRate => self.sent_rate / self.max,
            Observation::ReceiveRate => self.receive_rate / self.max,
            Observation::LossRatio => self.loss_ratio,
            Observation::Rtt => self.rtt,
            Observation::LeastRtt => self.least_rtt,
            Observation::RttRatio => self.rtt_ratio() - 1.0,
            Observation::QueueDelay => self.queue_delay,
            Observation::DelayGradient => self.delay_change / self.seconds,
            Observation::Backlog => self.backlog,
            Observation::SendRatio => self.send_ratio,
        }
    }

    fn reward(&self, reward: Reward) -> f64 {
        match reward {
            Reward::Aurora => 10.0 * self.packets_per_second - 1000.0 * self.rtt - 2000.0 * self.loss_ratio,
            Reward::Vivace => {
                let x = self.receive_rate * 1e-6;
                libm::pow(x, 0.9)
                    - 900.0 * x * (self.delay_change / self.seconds)
                    - 11.35 * x * self.loss_ratio
            }
            Reward::Power => self.receive_rate / self.max / self.rtt_ratio(),
        }
    }

    fn rtt_ratio(&self) -> f64 {
        if self.least_rtt > 0.0 { self.rtt / self.least_rtt } else { 1.0 }
    }
}

/// The names of the observations and what they are.
#[pyfunction]
fn observations() -> Vec<(&'static str, &'static str)> {
    Observation::ALL.iter().map(|(name, about, _)| (*name, *about)).collect()
}

/// The names of the rewards and what they are.
#[pyfunction]
fn rewards() -> Vec<(&'static str, &'static str)> {
    Reward::ALL.iter().map(|(name, about, _)| (*name, *about)).collect()
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(observations, module)?)?;
    module.add_function(wrap_pyfunction!(rewards, module)?)
}
