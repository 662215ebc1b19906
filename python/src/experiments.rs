//! `reproduce`: the papers' tables and figures.

use crate::error;
use crate::watch::{Failure, Watch};
use pyo3::prelude::*;
use seaway_papers::report::Report;
use seaway_papers::{Runner, catalogue, select};

/// Makes rows of the papers again. Returns the report as `seaway reproduce --json` prints it, and whether every number
/// that counts is in its tolerance.
#[pyfunction]
fn reproduce(
    py: Python<'_>,
    ids: Vec<String>,
    papers: Vec<String>,
    seeds: u16,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, bool)> {
    let experiments = select(&ids, &papers, false).map_err(error::input)?;
    let failure = Failure::default();
    let watch = Watch::new(progress, failure.clone());
    let report = py.detach(|| {
        let look = |passed| watch.passed(passed);
        let mut runner = Runner::new(seed, seeds, &look);
        Report::of(&experiments, &mut runner, &mut |_| {})
    });
    failure.raise()?;
    let report = report.map_err(error::running)?;
    Ok((serde_json::to_string_pretty(&report).map_err(error::running)?, report.holds()))
}

/// Each row of the papers: its name and its title.
#[pyfunction]
fn experiments() -> Vec<(&'static str, &'static str)> {
    catalogue().map(|experiment| (experiment.id, experiment.title)).collect()
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(experiments, module)?)
}
