//! Every controller over the test cases of RFC 8867 and RFC 8869 and over curves of loss, jitter and capacity.
//!
//! A [`Setup`] has the scenario of every run, the caller runs them, and [`Setup::finish`] makes a [`Scorecard`] of the
//! outcomes: a document, a table and a self-contained page.

mod cases;
mod metrics;
mod page;
mod table;

pub use cases::{CURVES, Curve, Suite};

use crate::build::World;
use crate::options::RunOptions;
use crate::run::Outcome;
use crate::scenario::{FlowKind, Scenario};
use cases::Case;
use seaway_control::{ControlSpec, Registry};
use seaway_quality::statistics::Estimate;
use seaway_report::{Metric, Scope};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What is no controller.
const NO_CONTROL: &str = "fixed";

/// The runs that a scorecard needs.
#[derive(Debug)]
pub struct Setup {
    controls: Vec<ControlSpec>,
    cases: Vec<Case>,
    seeds: u16,
    /// One a run, in the order of [`Setup::scenarios`]: case and controller.
    runs: Vec<(usize, usize)>,
    scenarios: Vec<Scenario>,
    left_out: Vec<LeftOut>,
}

/// What was not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The controller.
    pub control: String,
    /// The case, where it is that alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Why.
    pub reason: String,
}

impl Setup {
    /// These controllers, or all that can run, over these suites, from `seed` on with so many seeds.
    ///
    /// # Errors
    /// An unknown controller, or nothing to run; in words.
    pub fn new(
        registry: &Registry,
        controls: Option<Vec<ControlSpec>>,
        suites: &[Suite],
        seed: u64,
        seeds: u16,
    ) -> Result<Self, String> {
        let mut left_out = Vec::new();
        let is_all = controls.is_none();
        let named = |name: &str| ControlSpec { name: name.to_owned(), options: Vec::new() };
        let all = || registry.controllers().iter().map(|info| named(info.name)).collect();
        let mut controls = controls.unwrap_or_else(all);
        for control in &controls {
            registry.check(control).map_err(|error| error.to_string())?;
        }
        controls.retain(|control| {
            let reason = misfit(registry, control, is_all);
            left_out.extend(reason.map(|reason| LeftOut {
                control: control.to_string(),
                case: None,
                reason: reason.to_owned(),
            }));
            reason.is_none()
        });
        if controls.is_empty() {
            let why = left_out.iter().map(|left| format!("{}: {}", left.control, left.reason));
            return Err(format!("no controller is left: {}", why.collect::<Vec<_>>().join("; ")));
        }
        let cases = cases::cases(registry, suites)?;
        let mut plan = Self { controls, cases, seeds, runs: Vec::new(), scenarios: Vec::new(), left_out };
        plan.fill(seed);
        Ok(plan)
    }

    /// The scenario of every run.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// How many cases and how many controllers there are.
    pub fn extent(&self) -> (usize, usize) {
        (self.cases.len(), self.controls.len())
    }

    fn fill(&mut self, seed: u64) {
        for (case, control) in (0..self.cases.len())
            .flat_map(|case| (0..self.controls.len()).map(move |control| (case, control)))
        {
            match scenario(&self.cases[case], &self.controls[control]) {
                Ok(scenario) => {
                    for number in 0..self.seeds {
                        self.runs.push((case, control));
                        let seed = seed.wrapping_add(u64::from(number));
                        self.scenarios.push(Scenario { seed, ..scenario.clone() });
                    }
                }
                Err(reason) => self.left_out.push(LeftOut {
                    control: self.controls[control].to_string(),
                    case: Some(self.cases[case].id()),
                    reason,
                }),
            }
        }
    }

    /// What the runs come to; `outcomes` are those of [`Setup::scenarios`], in their order.
    pub fn finish(&self, outcomes: &[Outcome]) -> Scorecard {
        let metrics = Scope::Score.metrics();
        let mut numbers: BTreeMap<(usize, usize), Vec<Numbers>> = BTreeMap::new();
        for ((place, scenario), outcome) in self.runs.iter().zip(&self.scenarios).zip(outcomes) {
            let score = metrics::score(scenario, &outcome.summary);
            let score = serde_json::to_value(score).unwrap_or_default();
            let run = metrics.iter().map(|metric| metric.value(&score)).collect();
            numbers.entry(*place).or_default().push(run);
        }
        let of = |case, control| numbers.get(&(case, control));
        let controls = 0..self.controls.len();
        let cases = self.cases.iter().enumerate().map(|(index, case)| ScoredCase {
            suite: case.suite.name(),
            name: case.name.clone(),
            about: case.about.clone(),
            curve: case.point.map(|(curve, _)| curve.name),
            x: case.point.map(|(_, x)| x),
            scores: controls
                .clone()
                .map(|control| of(index, control).map(|runs| Estimates::of(runs.iter())))
                .collect(),
        });
        let mut suites: Vec<Suite> = self.cases.iter().map(|case| case.suite).collect();
        suites.dedup();
        let suites = suites.into_iter().map(|suite| {
            // Of the cases that every controller has run.
            let shared: Vec<usize> = (0..self.cases.len())
                .filter(|&case| self.cases[case].suite == suite)
                .filter(|&case| controls.clone().all(|control| of(case, control).is_some()))
                .collect();
            let score = |control| {
                let runs = |seed: usize| {
                    let of = |&case: &usize| of(case, control).and_then(|runs| runs.get(seed));
                    estimates(shared.iter().filter_map(of)).map(|score| Some(score?.mean)).collect()
                };
                let runs: Vec<Numbers> = (0..usize::from(self.seeds)).map(runs).collect();
                Estimates::of(runs.iter())
            };
            ScoredSuite {
                suite: suite.name(),
                cases: shared.len(),
                scores: controls.clone().map(score).collect(),
            }
        });
        Scorecard {
            schema: 1,
            seaway: env!("CARGO_PKG_VERSION"),
            seeds: self.seeds,
            first_seed: self.scenarios.first().map_or(0, |scenario| scenario.seed),
            metrics: metrics.into_iter().map(|metric| Column { kind: kind(&metric.key()), metric }).collect(),
            controls: self.controls.iter().map(ToString::to_string).collect(),
            suites: suites.collect(),
            curves: CURVES
                .iter()
                .filter(|_| self.cases.iter().any(|case| case.point.is_some()))
                .map(|curve| CurveAxis { name: curve.name, label: curve.label, unit: curve.unit })
                .collect(),
            cases: cases.collect(),
            left_out: self.left_out.clone(),
        }
    }
}

impl Case {
    fn id(&self) -> String {
        format!("{}-{}", self.suite, self.name)
    }
}

fn misfit(registry: &Registry, control: &ControlSpec, is_all: bool) -> Option<&'static str> {
    if registry.requirements(control).is_ok_and(|requirements| requirements.buffer) {
        return Some("steers by a receiver's buffer of bytes, which no receiver of these cases has");
    }
    (is_all && control.name == NO_CONTROL)
        .then_some("no control; name it with a rate to have it as a baseline")
}

/// The case with this controller in all its media flows, or why that cannot be.
fn scenario(case: &Case, control: &ControlSpec) -> Result<Scenario, String> {
    let mut scenario = case.scenario.clone();
    for flow in &mut scenario.flows {
        if let FlowKind::Media(media) = &mut flow.kind {
            media.control = control.clone();
            media.apply_weight()?;
            media.apply_feedback_interval()?;
        }
    }
    World::new(&scenario, RunOptions::default()).map_err(|error| error.to_string())?;
    Ok(scenario)
}

/// The scores of a run, in the order of [`Scope::Score`].
type Numbers = Vec<Option<f64>>;

/// An estimate of each score from the runs that have it.
fn estimates<'a>(runs: impl Iterator<Item = &'a Numbers> + Clone) -> impl Iterator<Item = Option<Estimate>> {
    let of = move |index: usize| Estimate::of(&runs.clone().filter_map(|run| run[index]).collect::<Vec<_>>());
    (0..Scope::Score.rows().len()).map(of)
}

/// Every controller over every case.
#[derive(Debug, Clone, Serialize)]
pub struct Scorecard {
    schema: u32,
    seaway: &'static str,
    /// Runs of each case and controller.
    seeds: u16,
    first_seed: u64,
    metrics: Vec<Column>,
    /// Scores are in their order.
    controls: Vec<String>,
    suites: Vec<ScoredSuite>,
    curves: Vec<CurveAxis>,
    cases: Vec<ScoredCase>,
    left_out: Vec<LeftOut>,
}

/// Means over the cases of a suite that all controllers have run.
#[derive(Debug, Clone, Serialize)]
struct ScoredSuite {
    suite: &'static str,
    cases: usize,
    scores: Vec<Estimates>,
}

#[derive(Debug, Clone, Serialize)]
struct CurveAxis {
    name: &'static str,
    label: &'static str,
    unit: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct ScoredCase {
    suite: &'static str,
    name: String,
    about: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<f64>,
    /// Null where the controller was left out.
    scores: Vec<Option<Estimates>>,
}

/// Mean and 95 % interval of each score; those that do not apply are absent.
#[derive(Debug, Clone)]
struct Estimates(Vec<Option<Estimate>>);

impl Estimates {
    fn of<'a>(runs: impl Iterator<Item = &'a Numbers> + Clone) -> Self {
        Self(estimates(runs).collect())
    }
}

impl Serialize for Estimates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = Scope::Score.rows().iter().zip(&self.0);
        serializer.collect_map(known.filter_map(|(row, estimate)| Some((row.key, (*estimate)?))))
    }
}

/// A score as documents describe it.
#[derive(Debug, Clone, Serialize)]
struct Column {
    #[serde(flatten)]
    metric: Metric,
    /// `modelled` where it is not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

/// `modelled` where the score is not measured.
fn kind(key: &str) -> Option<&'static str> {
    (key == "psnr").then_some(metrics::MODELLED)
}

impl Scorecard {
    /// The document that `--json` prints.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        Ok(serde_json::to_writer_pretty(out, self)?)
    }

    /// One page that needs nothing else.
    pub fn page(&self, command: &str) -> String {
        page::page(self, command)
    }

    /// What was left out, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }
}

#[cfg(test)]
mod tests;
