//! The text of a plan.

use super::{Parameter, Plan};
use crate::scenario_file::ScenarioFile;
use crate::table::Cell;
use seaway_control::Registry;
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: u32,
    scenario: OneOrMany,
    control: Option<OneOrMany>,
    flow: Option<String>,
    #[serde(default = "one")]
    seeds: Seeds,
    #[serde(default)]
    series: bool,
    #[serde(default)]
    parameters: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number of seeds or a list of seeds")]
enum Seeds {
    First(u32),
    These(Vec<u64>),
}

const fn one() -> Seeds {
    Seeds::First(1)
}

impl OneOrMany {
    fn list(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

impl Plan {
    /// Reads a plan, which `file` names in messages. Scenarios are files relative to `folder`, or names of the library.
    ///
    /// # Errors
    /// The first mistake, in words.
    pub fn parse(file: &str, text: &str, folder: &Path, registry: &Registry) -> Result<Self, String> {
        let named = |problem: String| format!("{file}: {problem}");
        let document: Document =
            toml::from_str(text).map_err(|error| named(error.to_string().trim_end().to_owned()))?;
        if document.schema != 1 {
            return Err(named(format!("`schema` is {}: expected 1", document.schema)));
        }
        let find = |name: String| match folder.join(&name) {
            path if path.is_file() => {
                let mut file = ScenarioFile::find(&path.to_string_lossy())?;
                file.rename(&name);
                Ok(file)
            }
            _ => ScenarioFile::find(&name),
        };
        let controls = document.control.map(OneOrMany::list).unwrap_or_default();
        let controls = controls.iter().map(|control| control.parse().map_err(|error| format!("{error}")));
        let plan = Self {
            scenarios: document
                .scenario
                .list()
                .into_iter()
                .map(find)
                .collect::<Result<_, String>>()
                .map_err(named)?,
            controls: controls.collect::<Result<_, String>>().map_err(named)?,
            flow: document.flow,
            parameters: document
                .parameters
                .into_iter()
                .map(parameter)
                .collect::<Result<_, _>>()
                .map_err(named)?,
            seeds: match document.seeds {
                Seeds::First(count) => (1..=u64::from(count)).collect(),
                Seeds::These(seeds) => seeds,
            },
            series: document.series,
            registry: registry.clone(),
        };
        plan.check().map_err(named)?;
        Ok(plan)
    }
}

fn parameter((key, value): (String, toml::Value)) -> Result<Parameter, String> {
    let values = match value {
        toml::Value::Array(values) if !values.is_empty() => values,
        _ => return Err(format!("`{key}`: expected a list of values")),
    };
    let cell = |value| match value {
        toml::Value::Integer(value) => Cell::Integer(value),
        toml::Value::Float(value) => Cell::Float(value),
        toml::Value::Boolean(value) => Cell::Switch(value),
        toml::Value::String(text) => Cell::Text(text),
        other => Cell::Text(other.to_string()),
    };
    Ok(Parameter { key, values: values.into_iter().map(cell).collect() })
}
