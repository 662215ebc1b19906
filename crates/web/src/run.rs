//! Runs a scenario.

use seaway_lab::compare::flow_metrics;
use seaway_lab::scenario::{FlowKind, Scenario};
use seaway_lab::traces::{self, RateChange, Trace};
use seaway_lab::{Outcome, RunOptions};
use serde::Serialize;
use std::ops::ControlFlow;

/// A run of which one flow is shown.
#[derive(Debug, Serialize)]
pub(crate) struct FlowRun {
    duration_s: f64,
    /// In the order of the metrics of the listing, in the units of pages; absent where one does not apply.
    numbers: Vec<Option<f64>>,
    traces: Vec<Trace>,
    /// The largest rate change of each tenth of a second.
    changes: Vec<RateChange>,
    /// The link with the lowest mean capacity.
    bottleneck: Option<String>,
    /// Jain's index over the flows that answer congestion.
    fairness: Option<f64>,
}

/// The document that `seaway sim --json --no-timing` prints.
///
/// # Errors
/// The scenario cannot be built.
pub(crate) fn summary(scenario: &Scenario) -> Result<String, String> {
    let outcome = run(scenario, false)?;
    serde_json::to_string_pretty(&outcome.summary).map_err(|error| error.to_string())
}

/// Runs the scenario and shows the media flow of that name.
///
/// # Errors
/// There is no such flow, or the scenario cannot be built.
pub(crate) fn of_flow(scenario: &Scenario, flow: &str) -> Result<FlowRun, String> {
    let is_shown = |candidate: &&seaway_lab::scenario::Flow| {
        candidate.name == flow && matches!(candidate.kind, FlowKind::Media(_))
    };
    if scenario.flows.iter().find(is_shown).is_none() {
        return Err(format!("no media flow is called {flow}"));
    }
    let outcome = run(scenario, true)?;
    let summary = outcome.summary.flows.iter().find(|candidate| candidate.name == flow);
    let document = serde_json::to_value(summary).map_err(|error| error.to_string())?;
    let numbers = flow_metrics()
        .map(|metric| metric.value(&document).map(|number| number * metric.unit().display().1))
        .collect();
    let traces = traces::traces(&outcome, flow);
    let decisions = outcome.decisions.iter().find(|(name, _)| name == flow);
    Ok(FlowRun {
        duration_s: scenario.duration.as_secs_f64(),
        numbers,
        bottleneck: traces::bottleneck(&traces).map(str::to_owned),
        traces,
        changes: decisions.map(|(_, decisions)| traces::rate_changes(decisions)).unwrap_or_default(),
        fairness: outcome.summary.fairness.as_ref().map(|fairness| fairness.jain),
    })
}

fn run(scenario: &Scenario, series: bool) -> Result<Outcome, String> {
    let options = RunOptions { series, ..RunOptions::default() };
    seaway_lab::run(scenario, options, &mut |_| ControlFlow::Continue(())).map_err(|error| error.to_string())
}
