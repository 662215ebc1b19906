//! `[[expect]]`: compares the summary with the scenario's bounds.

use crate::scenario::{Bound, Expect, Scenario, resolve};
use seaway_report::metric;
use seaway_report::summary::{Expectation, Summary};

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
