//! Sweeps: in memory, and into a folder.

use crate::error;
use crate::input::{ScenarioInput, registry};
use crate::law::Law;
use crate::table::Table;
use crate::watch::{Failure, Watch};
use pyo3::prelude::*;
use seaway_control::{ControlSpec, Registry};
use seaway_lab::plan::{Merge, Parameter, Plan, SweepFolder};
use seaway_lab::table::{Cell, Table as Columns};
use seaway_lab::{Outcome, RunOptions, sweep_each};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A value of a parameter.
#[derive(FromPyObject)]
enum Value {
    Switch(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Switch(value) => Self::Switch(value),
            Value::Integer(value) => Self::Integer(value),
            Value::Float(value) => Self::Float(value),
            Value::Text(text) => Self::Text(text),
        }
    }
}

/// A sweep that is set up.
#[pyclass(frozen, module = "seaway", name = "NativeSweep")]
#[derive(Debug)]
pub(crate) struct NativeSweep {
    plan: Plan,
    failure: Failure,
}

#[pymethods]
impl NativeSweep {
    /// A sweep over these scenarios, controllers, parameters and seeds.
    #[new]
    fn new(
        scenarios: Vec<ScenarioInput>,
        controls: Vec<String>,
        flow: Option<String>,
        parameters: Vec<(String, Vec<Value>)>,
        seeds: Vec<u64>,
        laws: Vec<Law>,
        series: bool,
    ) -> PyResult<Self> {
        let failure = Failure::default();
        let specs = controls.iter().map(|text| text.parse::<ControlSpec>().map_err(error::input));
        let parameters = parameters
            .into_iter()
            .map(|(key, values)| Parameter { key, values: values.into_iter().map(Cell::from).collect() });
        let plan = Plan {
            scenarios: scenarios.into_iter().map(ScenarioInput::open).collect::<PyResult<_>>()?,
            controls: specs.collect::<PyResult<_>>()?,
            flow,
            parameters: parameters.collect(),
            seeds,
            series,
            registry: registry(laws, &failure)?,
        };
        plan.check().map_err(error::input)?;
        Ok(Self { plan, failure })
    }

    /// The sweep of a plan's file.
    #[staticmethod]
    fn read(path: &str) -> PyResult<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|problem| error::input(format!("{path}: {problem}")))?;
        let folder = Path::new(path).parent().unwrap_or(Path::new("."));
        let plan = Plan::parse(path, &text, folder, &Registry::builtin()).map_err(error::input)?;
        Ok(Self { plan, failure: Failure::default() })
    }

    /// The number of runs.
    fn __len__(&self) -> usize {
        self.plan.runs()
    }

    /// Virtual seconds of all runs together.
    fn seconds(&self) -> PyResult<f64> {
        let of = |run| self.plan.scenario(run).map(|scenario| scenario.duration.as_secs_f64());
        let seeds = self.plan.seeds.len();
        let firsts = (0..self.plan.runs()).step_by(seeds.max(1)).map(of);
        firsts.sum::<Result<f64, _>>().map(|sum| sum * seeds as f64).map_err(error::input)
    }

    /// Makes all runs and returns their table: a row a run and flow.
    fn run(&self, py: Python<'_>, threads: Option<usize>, progress: Option<Py<PyAny>>) -> PyResult<Table> {
        let watch = Watch::new(progress, self.failure.clone());
        let summaries = Mutex::new(vec![None; self.plan.runs()]);
        let keep = |run: usize, outcome: Outcome| {
            let summary = serde_json::to_value(&outcome.summary).map_err(error::running)?;
            summaries.lock().unwrap_or_else(PoisonError::into_inner)[run] = Some(summary);
            Ok(())
        };
        let all: Vec<usize> = (0..self.plan.runs()).collect();
        py.detach(|| self.each(&all, threads, &watch, &keep));
        self.failure.raise()?;
        let mut table = Columns::default();
        for (run, summary) in
            summaries.into_inner().unwrap_or_else(PoisonError::into_inner).iter().enumerate()
        {
            let summary =
                summary.as_ref().ok_or_else(|| error::running(format!("run {run} was not made")))?;
            self.plan.add_rows(run, summary, &mut table);
        }
        Table::of(&table)
    }

    /// Makes those runs of shard `shard` of `shards` (from 1) that `folder` has not, and the table when all are there.
    /// Returns the number of runs that are still missing.
    fn run_into(
        &self,
        py: Python<'_>,
        folder: &str,
        shard: (usize, usize),
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<usize> {
        let (shard, shards) = shard;
        if shard == 0 || shard > shards {
            return Err(error::input(format!(
                "shard {shard}/{shards}: expected 1/{shards} to {shards}/{shards}"
            )));
        }
        let folder = SweepFolder::open(Path::new(folder), &self.plan).map_err(error::input)?;
        let mine = (shard - 1..self.plan.runs()).step_by(shards);
        let missing: Vec<usize> = mine.filter(|run| !folder.has(*run)).collect();
        let watch = Watch::new(progress, self.failure.clone());
        let keep =
            |run: usize, outcome: Outcome| folder.put(&self.plan, run, &outcome).map_err(error::running);
        py.detach(|| self.each(&missing, threads, &watch, &keep));
        self.failure.raise()?;
        match py.detach(|| folder.merge(&self.plan)).map_err(error::running)? {
            Merge::Written(_) => Ok(0),
            Merge::Missing(runs) => Ok(runs),
        }
    }
}

impl NativeSweep {
    /// Makes these runs and gives each whole one to `keep`.
    fn each(
        &self,
        runs: &[usize],
        threads: Option<usize>,
        watch: &Watch,
        keep: &(dyn Fn(usize, Outcome) -> PyResult<()> + Sync),
    ) {
        let options = RunOptions { series: self.plan.series, ..RunOptions::default() };
        let scenario = |index: usize| self.plan.scenario(runs[index]);
        sweep_each(
            runs.len(),
            threads.and_then(NonZeroUsize::new),
            options,
            &scenario,
            &|passed| watch.passed(passed),
            &|index, result| {
                let kept = match result {
                    // What was broken off is not kept.
                    Ok(outcome) if outcome.interrupted => return ControlFlow::Break(()),
                    Ok(outcome) => keep(runs[index], outcome),
                    Err(problem) => Err(error::input(problem)),
                };
                match kept {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(problem) => {
                        self.failure.set(problem);
                        ControlFlow::Break(())
                    }
                }
            },
        );
    }
}

pub(crate) fn add(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
