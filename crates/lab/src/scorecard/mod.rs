//! Every controller over the test cases of RFC 8867 and RFC 8869, over curves of loss, jitter and capacity, and over
//! networks with bars, which it reaches or misses.
//!
//! A [`Setup`] has the scenario of every run, the caller runs them, and [`Setup::finish`] makes a [`Scorecard`] of the
//! outcomes: a document, a table and a self-contained page.

mod bars;
mod cases;
mod metrics;
mod page;
mod setup;
mod table;
mod verdict;

pub use cases::{CURVES, Curve, Suite};
pub use setup::{LeftOut, Setup};

use crate::run::Outcome;
use schemars::JsonSchema;
use seaway_quality::statistics::Estimate;
use seaway_report::{Metric, Scope};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};
use verdict::JudgedRow;

impl Setup {
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
                has_bars: suite.has_bars(),
                cases: shared.len(),
                scores: controls.clone().map(score).collect(),
            }
        });
        Scorecard {
            schema: 1,
            seaway: seaway_report::VERSION,
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
            rows: self.judge(outcomes),
            left_out: self.left_out.clone(),
        }
    }
}

/// The scores of a run, in the order of [`Scope::Score`].
type Numbers = Vec<Option<f64>>;

/// An estimate of each score from the runs that have it.
fn estimates<'a>(runs: impl Iterator<Item = &'a Numbers> + Clone) -> impl Iterator<Item = Option<Estimate>> {
    let of = move |index: usize| Estimate::of(&runs.clone().filter_map(|run| run[index]).collect::<Vec<_>>());
    (0..Scope::Score.rows().len()).map(of)
}

/// Every controller over every case.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Scorecard {
    /// The version of this form.
    schema: u32,
    /// The version of Seaway.
    seaway: &'static str,
    /// Runs of each case and controller.
    seeds: u16,
    /// The seed of the first; the others follow it.
    first_seed: u64,
    /// The scores.
    metrics: Vec<Column>,
    /// Scores are in their order.
    controls: Vec<String>,
    /// Means over suites.
    suites: Vec<ScoredSuite>,
    /// The axes of curves.
    curves: Vec<CurveAxis>,
    /// Case by case.
    cases: Vec<ScoredCase>,
    /// The rows of the suites with bars.
    rows: Vec<JudgedRow>,
    /// What was not run, and why.
    left_out: Vec<LeftOut>,
}

/// Means over the cases of a suite that all controllers have run.
#[derive(Debug, Clone, JsonSchema, Serialize)]
struct ScoredSuite {
    /// Its name.
    suite: &'static str,
    /// Its rows are reached or missed.
    has_bars: bool,
    /// Cases that all controllers have run.
    cases: usize,
    /// Of each controller, under the keys of `metrics`.
    #[schemars(with = "Vec<BTreeMap<String, Estimate>>")]
    scores: Vec<Estimates>,
}

#[derive(Debug, Clone, JsonSchema, Serialize)]
struct CurveAxis {
    /// What varies along it.
    name: &'static str,
    /// Its label on the page.
    label: &'static str,
    /// Its unit.
    unit: &'static str,
}

#[derive(Debug, Clone, JsonSchema, Serialize)]
struct ScoredCase {
    /// Its suite.
    suite: &'static str,
    /// Its name.
    name: String,
    /// What it is.
    about: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The curve that it is a point of.
    curve: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Where on that curve.
    x: Option<f64>,
    /// Null where the controller was left out.
    #[schemars(with = "Vec<Option<BTreeMap<String, Estimate>>>")]
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
#[derive(Debug, Clone, JsonSchema, Serialize)]
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
