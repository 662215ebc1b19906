//! `[[expect]]`: a bound on a number of the summary.

use crate::scenario::Scenario;
use seaway_control::nearest;
use seaway_report::{Metric, Scope, Unit};
use seaway_units::{Bitrate, ParseError, TimeDelta};
use serde::Deserialize;
use std::str::FromStr;

/// A number of the summary and the bounds it should keep.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The number's path, `flow.video.received_bps`.
    pub of: String,
    /// At least.
    pub min: Option<Bound>,
    /// At most.
    pub max: Option<Bound>,
}

/// A bound as it was written: a quantity with its unit, or a bare number where the metric has none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// A pure number.
    Number(f64),
    /// A quantity with its unit.
    Quantity(String),
}

/// The metric that a path of a scenario names: `flow.video.rtt_ms.p95`.
///
/// # Errors
/// Says which part is unknown and what would be valid.
pub(crate) fn resolve(path: &str, scenario: &Scenario) -> Result<Metric, String> {
    let parts: Vec<&str> = path.split('.').collect();
    let (scope, keys) = match parts[..] {
        ["flow", name, ref keys @ ..] => {
            known("flow", name, scenario.flows.iter().map(|flow| flow.name.as_str()))?;
            (Scope::Flow, keys)
        }
        ["link", name, ref keys @ ..] => {
            let names = scenario.link_names();
            known("link", name, names.iter().map(String::as_str))?;
            (Scope::Link, keys)
        }
        _ => (Scope::Run, &parts[..]),
    };
    if let Some(metric) = scope.metric(&keys.join(".")) {
        return Ok(metric);
    }
    let key = keys.first().ok_or_else(|| format!("`{path}` names no number"))?;
    let row = scope.rows().iter().find(|row| row.key == *key).ok_or_else(|| {
        format!("unknown metric `{key}`; {}", nearest(key, scope.rows().iter().map(|row| row.key)))
    })?;
    if row.parts.is_empty() {
        return Err(format!("`{key}` is a single number"));
    }
    let metrics = row.metrics();
    let parts: Vec<_> = metrics.iter().map(|metric| metric.key()[key.len() + 1..].to_owned()).collect();
    Err(format!("`{key}` has the parts {}", parts.join(", ")))
}

fn known<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
    if names.clone().any(|known| known == name) {
        return Ok(());
    }
    Err(format!("there is no {what} named `{name}`; {}", nearest(name, names)))
}

impl Bound {
    /// The bound as a number in the metric's unit.
    ///
    /// # Errors
    /// Where the metric has a unit and the bound has none or another, or the other way round.
    pub fn in_unit_of(&self, metric: &Metric) -> Result<f64, String> {
        match (self, metric.unit()) {
            (Self::Quantity(text), Unit::BitsPerSecond) => number(text, |rate: Bitrate| rate.as_bps_f64()),
            (Self::Quantity(text), Unit::Seconds) => number(text, |span: TimeDelta| span.as_secs_f64()),
            (Self::Quantity(text), Unit::Milliseconds) => {
                number(text, |span: TimeDelta| span.as_millis_f64())
            }
            (Self::Quantity(text), _) => Err(format!("{text:?}: `{}` is a pure number", metric.key())),
            (Self::Number(number), unit @ (Unit::BitsPerSecond | Unit::Seconds | Unit::Milliseconds)) => {
                Err(format!("{number} has no unit: `{}` is in {}", metric.key(), unit.symbol()))
            }
            (Self::Number(number), _) if number.is_finite() => Ok(*number),
            (Self::Number(number), _) => Err(format!("{number} is not a number to compare with")),
        }
    }
}

fn number<T: FromStr<Err = ParseError>>(text: &str, convert: impl FnOnce(T) -> f64) -> Result<f64, String> {
    text.parse().map(convert).map_err(|error| error.to_string())
}
