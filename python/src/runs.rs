//! Single runs.

use crate::error;
use crate::input::{ScenarioInput, registry, scenario, toml_of_json, toml_value_of_json};
use crate::law::Law;
use crate::table::Table;
use crate::watch::{Failure, Watch};
use pyo3::prelude::*;
use seaway_control::{ControllerInfo, OptionInfo, Registry};
use seaway_lab::{Outcome, RunOptions, ShownFrame, library, plan, run};
use seaway_units::TimeDelta;

/// The outcome of a run.
#[pyclass(frozen, module = "seaway", name = "NativeRun")]
#[derive(Debug)]
pub(crate) struct NativeRun(Outcome);

impl NativeRun {
    pub(crate) fn new(outcome: Outcome) -> Self {
        Self(outcome)
    }
}

#[pymethods]
impl NativeRun {
    /// The summary, as `seaway sim --json --no-timing` prints it.
    #[getter]
    fn json(&self) -> PyResult<String> {
        serde_json::to_string_pretty(&self.0.summary).map_err(error::running)
    }

    /// Whether every expectation of the scenario was met.
    #[getter]
    fn holds(&self) -> bool {
        self.0.summary.holds()
    }

    /// Whether the run was broken off.
    #[getter]
    fn interrupted(&self) -> bool {
        self.0.interrupted
    }

    /// One row a flow.
    fn flows(&self) -> PyResult<Table> {
        Table::of(&plan::flow_table(std::slice::from_ref(&self.0)))
    }

    /// The time series.
    fn series(&self) -> PyResult<Table> {
        Table::of_series(&self.0.series)
    }

    /// Why rates changed.
    fn decisions(&self) -> PyResult<Table> {
        Table::of_decisions(&self.0.decisions)
    }

    /// Capture times of the displayed frames, s, by flow.
    fn shown(&self) -> Vec<(String, Vec<f64>)> {
        let seconds = |(flow, frames): &(String, Vec<ShownFrame>)| {
            (flow.clone(), frames.iter().map(|frame| frame.captured.as_secs_f64()).collect())
        };
        self.0.shown.iter().map(seconds).collect()
    }
}

/// Runs a scenario. Every media flow has the controller `control`, where one is named.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python half gives them names")]
fn sim(
    py: Python<'_>,
    source: ScenarioInput,
    changes: Vec<String>,
    control: Option<&str>,
    seed: Option<u64>,
    laws: Vec<Law>,
    series: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeRun> {
    let failure = Failure::default();
    let registry = registry(laws, &failure)?;
    let mut scenario = scenario(&source.open()?, &registry, &changes, seed)?;
    if let Some(control) = control {
        let control = control.parse().map_err(error::input)?;
        registry.check(&control).map_err(error::input)?;
        scenario.control_all(&control).map_err(error::input)?;
    }
    let watch = Watch::new(progress, failure.clone());
    let outcome = py.detach(|| {
        let mut last = TimeDelta::ZERO;
        let options = RunOptions { series, ..RunOptions::default() };
        run(&scenario, options, &mut |now| watch.passed(now - std::mem::replace(&mut last, now)))
    });
    failure.raise()?;
    Ok(NativeRun(outcome.map_err(error::input)?))
}

/// Reads a scenario and says how long it is, s, and which flows it has.
#[pyfunction]
fn check(source: ScenarioInput, changes: Vec<String>, laws: Vec<Law>) -> PyResult<(f64, Vec<String>)> {
    let scenario = scenario(&source.open()?, &registry(laws, &Failure::default())?, &changes, None)?;
    let flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    Ok((scenario.duration.as_secs_f64(), flows))
}

/// The names of the scenarios of the library.
#[pyfunction]
fn scenarios() -> Vec<&'static str> {
    library::entries().iter().map(|entry| entry.name).collect()
}

/// Each controller: its name, its document, and its options as (name, default, range, meaning).
#[pyfunction]
#[expect(clippy::type_complexity, reason = "it becomes a dict at once")]
fn controllers()
-> Vec<(&'static str, &'static str, Vec<(&'static str, &'static str, &'static str, &'static str)>)> {
    let option = |option: &OptionInfo| (option.name, option.default, option.range, option.about);
    let all =
        |info: &ControllerInfo| info.options.iter().flat_map(|group| group.options).map(option).collect();
    Registry::builtin().controllers().iter().map(|info| (info.name, info.source, all(info))).collect()
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sim, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(scenarios, module)?)?;
    module.add_function(wrap_pyfunction!(controllers, module)?)?;
    module.add_function(wrap_pyfunction!(toml_value_of_json, module)?)?;
    module.add_function(wrap_pyfunction!(toml_of_json, module)?)
}
