//! Holds the summary against what the scenario expects.

use crate::metrics;
use crate::scenario::{Bound, Expect, Scenario};
use crate::summary::{Expectation, Summary};
use serde_json::Value;

/// Each expectation of the scenario with its value.
pub(crate) fn evaluate(scenario: &Scenario, summary: &Summary) -> Vec<Expectation> {
    if scenario.expect.is_empty() {
        return Vec::new();
    }
    let document = serde_json::to_value(summary).unwrap_or_default();
    scenario.expect.iter().map(|expect| judge(scenario, expect, value(&document, &expect.of))).collect()
}

fn judge(scenario: &Scenario, expect: &Expect, value: Option<f64>) -> Expectation {
    // The scenario was checked when it was read: path and bounds are known to fit.
    let metric = metrics::resolve(&expect.of, scenario).ok();
    let number = |bound: &Option<Bound>| bound.as_ref()?.in_unit_of(metric?).ok();
    let (min, max) = (number(&expect.min), number(&expect.max));
    let held =
        value.is_some_and(|value| min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max));
    Expectation { of: expect.of.clone(), value, min, max, held }
}

/// The number at a path such as `flow.video.rtt_ms.p95`.
pub(crate) fn value(document: &Value, path: &str) -> Option<f64> {
    let mut parts = path.split('.');
    let first = parts.next()?;
    let mut here = match first {
        "flow" | "link" => {
            let list = document.get(format!("{first}s"))?.as_array()?;
            let name = parts.next()?;
            list.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?
        }
        key => document.get(key)?,
    };
    for key in parts {
        here = here.get(key)?;
    }
    here.as_f64()
}
