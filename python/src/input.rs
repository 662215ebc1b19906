//! Scenarios and their changes as they come from Python.

use crate::error;
use crate::law::Law;
use crate::watch::Failure;
use pyo3::prelude::*;
use seaway_control::Registry;
use seaway_lab::ScenarioFile;
use seaway_lab::scenario::{Override, Scenario};
use std::path::Path;

/// What a scenario is given as.
#[derive(FromPyObject)]
pub(crate) enum ScenarioInput {
    /// (name, text, folder): a text, or a dict as TOML.
    Text(String, String, String),
    /// A file or a name of the library.
    Name(String),
}

impl ScenarioInput {
    /// The scenario's text and its files.
    pub(crate) fn open(self) -> PyResult<ScenarioFile> {
        match self {
            Self::Text(name, text, folder) => Ok(ScenarioFile::new(&name, text, Path::new(&folder))),
            Self::Name(name) => ScenarioFile::find(&name).map_err(error::input),
        }
    }
}

/// The changes, as of `--set`.
pub(crate) fn overrides(texts: &[String]) -> PyResult<Vec<Override>> {
    texts.iter().map(|text| text.parse().map_err(error::input)).collect()
}

/// The built-in controllers and these.
pub(crate) fn registry(laws: Vec<Law>, failure: &Failure) -> PyResult<Registry> {
    laws.into_iter().try_fold(Registry::builtin(), |registry, law| law.add_to(registry, failure))
}

/// The scenario with its changes; a seed replaces its own.
pub(crate) fn scenario(
    file: &ScenarioFile,
    registry: &Registry,
    changes: &[String],
    seed: Option<u64>,
) -> PyResult<Scenario> {
    let scenario = file.parse(registry, &overrides(changes)?).map_err(error::input)?;
    Ok(Scenario { seed: seed.unwrap_or(scenario.seed), ..scenario })
}

/// A value in the form of JSON as TOML, on one line.
#[pyfunction]
pub(crate) fn toml_value_of_json(json: &str) -> PyResult<String> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(error::input)?;
    toml::Value::try_from(&value).map(|value| value.to_string()).map_err(error::input)
}

/// A document in the form of JSON as TOML.
#[pyfunction]
pub(crate) fn toml_of_json(json: &str) -> PyResult<String> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(error::input)?;
    toml::to_string(&value).map_err(|problem| error::input(format!("scenario: {problem}")))
}
