//! `compare`: the same network and the same video under several controllers.

use crate::error;
use crate::input::{ScenarioInput, registry, scenario};
use crate::law::Law;
use crate::watch::{Failure, Watch};
use pyo3::prelude::*;
use seaway_control::ControlSpec;
use seaway_lab::compare::{Comparison, Run, Setup};
use seaway_lab::{BuildError, RunOptions, sweep_each};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// The outcome of a comparison.
#[pyclass(frozen, module = "seaway", name = "NativeComparison")]
#[derive(Debug)]
pub(crate) struct NativeComparison(Comparison);

#[pymethods]
impl NativeComparison {
    /// The document, as `seaway compare --json` prints it.
    #[getter]
    fn json(&self) -> PyResult<String> {
        let mut text = Vec::new();
        self.0.write_json(&mut text).map_err(error::running)?;
        String::from_utf8(text).map_err(error::running)
    }

    /// The table for a person to read.
    #[getter]
    fn text(&self) -> PyResult<String> {
        let mut text = Vec::new();
        self.0.print(&mut text).map_err(error::running)?;
        String::from_utf8(text).map_err(error::running)
    }

    /// A self-contained page with the synchronised videos and plots.
    fn page(&self) -> String {
        self.0.page("seaway.compare")
    }
}

/// Runs the controllers of `controls` over a scenario.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python half gives them names")]
fn compare(
    py: Python<'_>,
    source: ScenarioInput,
    controls: Vec<String>,
    flow: Option<&str>,
    clip: Option<&str>,
    seed: Option<u64>,
    seeds: u16,
    changes: Vec<String>,
    laws: Vec<Law>,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeComparison> {
    let failure = Failure::default();
    let scenario = scenario(&source.open()?, &registry(laws, &failure)?, &changes, seed)?;
    if !(1..=8).contains(&controls.len()) {
        return Err(error::input(format!("control: {} controllers: expected 1 to 8", controls.len())));
    }
    let specs = controls.iter().map(|text| text.parse::<ControlSpec>().map_err(error::input));
    let specs = specs.collect::<PyResult<_>>()?;
    let setup = Setup::new(scenario, flow, specs, clip, seeds).map_err(error::input)?;
    let watch = Watch::new(progress, failure.clone());
    let runs = py.detach(|| run_all(&setup, &watch, &failure));
    failure.raise()?;
    let comparison = py.detach(|| setup.finish(runs)).map_err(error::running)?;
    Ok(NativeComparison(comparison))
}

/// The runs of each controller. Only the first of each is recorded, so the first runs and the others are two sweeps.
fn run_all(setup: &Setup, watch: &Watch, failure: &Failure) -> Vec<Vec<Run>> {
    let (controls, seeds) = (setup.controls().len(), setup.seeds());
    let runs = Mutex::new(vec![vec![None; usize::from(seeds)]; controls]);
    for numbers in [0..1, 1..seeds] {
        let jobs: Vec<(usize, u16)> =
            (0..controls).flat_map(|control| numbers.clone().map(move |number| (control, number))).collect();
        let record = (numbers.start == 0).then(|| setup.recording());
        let options = RunOptions { series: record.is_some(), record, ..RunOptions::default() };
        sweep_each(
            jobs.len(),
            None,
            options,
            &|job| Ok(setup.scenario(&setup.controls()[jobs[job].0], jobs[job].1)),
            &|passed| watch.passed(passed),
            &|job, result: Result<_, BuildError>| match result {
                Ok(outcome) => {
                    let (control, number) = jobs[job];
                    let run = Run::new(&outcome, setup.flow());
                    runs.lock().unwrap_or_else(PoisonError::into_inner)[control][usize::from(number)] =
                        Some(run);
                    ControlFlow::Continue(())
                }
                Err(problem) => {
                    failure.set(error::input(problem));
                    ControlFlow::Break(())
                }
            },
        );
    }
    let runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
    runs.into_iter().map(|runs| runs.into_iter().flatten().collect()).collect()
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compare, module)?)
}
