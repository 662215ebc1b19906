//! `[[expect]]`: compares the summary with the scenario's bounds.

use crate::scenario::{Bound, Expect, Scenario};
use seaway_control::nearest;
use seaway_report::summary::{Expectation, Summary};
use seaway_report::{Metric, Scope, metric};

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
            let names = crate::build::link_names(scenario);
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

/// Each expectation of the scenario with its value.
pub(crate) fn evaluate(scenario: &Scenario, summary: &Summary) -> Vec<Expectation> {
    if scenario.expect.is_empty() {
        return Vec::new();
    }
    let document = serde_json::to_value(summary).unwrap_or_default();
    let with_value = |expect| compare(scenario, expect, metric::value_at(&document, &expect.of));
    scenario.expect.iter().map(with_value).collect()
}

fn compare(scenario: &Scenario, expect: &Expect, value: Option<f64>) -> Expectation {
    // The scenario was checked when it was parsed: path and bounds are valid.
    let metric = resolve(&expect.of, scenario).ok();
    let number = |bound: &Option<Bound>| bound.as_ref()?.in_unit_of(metric.as_ref()?).ok();
    let (min, max) = (number(&expect.min), number(&expect.max));
    let held =
        value.is_some_and(|value| min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max));
    Expectation { of: expect.of.clone(), value, min, max, held }
}
