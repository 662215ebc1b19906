//! A sweep: scenarios, controllers, parameters and seeds, each combination a run.
//!
//! ```toml
//! schema = 1
//! scenario = ["clean", "lossy-wifi"]              # names of the library or files; or one
//! control = ["gcc", "nada", "seaway"]             # absent: those of the scenarios
//! seeds = 10                                      # so many from 1; or a list
//! series = false                                  # keep the time series of each run
//! [parameters]                                    # keys as of --set
//! "link.bottleneck.rate" = ["2 Mbit/s", "6 Mbit/s"]
//! ```
//!
//! Runs are numbered from 0: the seed changes first, then the last parameter, and so on to the scenario. A run depends on
//! its place alone, so a plan gives the same rows on one machine and on many.

mod document;
mod folder;

pub use folder::{Merge, SweepFolder};

use crate::run::Outcome;
use crate::scenario::{Override, Scenario};
use crate::scenario_file::ScenarioFile;
use crate::table::{Cell, Table, flatten};
use seaway_control::{ControlSpec, Registry};
use serde_json::{Value, json};

/// A sweep.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The scenarios, at least one.
    pub scenarios: Vec<ScenarioFile>,
    /// The controllers of the flows; none: those of the scenarios.
    pub controls: Vec<ControlSpec>,
    /// The flow that alone has the controllers; else all media flows have them.
    pub flow: Option<String>,
    /// What else is changed.
    pub parameters: Vec<Parameter>,
    /// The seeds, at least one.
    pub seeds: Vec<u64>,
    /// Keep the time series of each run.
    pub series: bool,
    /// The controllers that can be named.
    pub registry: Registry,
}

/// A key of the scenarios and the values that it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its path, as of [`Override`].
    pub key: String,
    /// Its values, at least one.
    pub values: Vec<Cell>,
}

/// The largest number of runs.
const MOST: usize = 10_000_000;

/// A place in the plan: which of each.
struct Place<'p> {
    scenario: &'p ScenarioFile,
    control: Option<&'p ControlSpec>,
    parameters: Vec<(&'p str, &'p Cell)>,
    seed: u64,
}

impl Plan {
    /// The number of runs.
    pub fn runs(&self) -> usize {
        let parameters = self.parameters.iter().map(|parameter| parameter.values.len());
        let others = [self.scenarios.len(), self.controls.len().max(1), self.seeds.len()];
        parameters.chain(others).fold(1, usize::saturating_mul)
    }

    /// The scenario of run `run`.
    ///
    /// # Errors
    /// A change that does not fit the scenario, or a controller that there is not; in words.
    pub fn scenario(&self, run: usize) -> Result<Scenario, String> {
        let Place { scenario, control, parameters, seed } = self.place(run);
        let change = |key: &str, value: String| format!("{key}={value}").parse::<Override>();
        let mut changes: Vec<Override> = parameters
            .iter()
            .map(|(key, value)| change(key, (*value).clone().text()))
            .collect::<Result<_, _>>()?;
        if let (Some(control), Some(flow)) = (control, &self.flow) {
            changes.push(change(&format!("flow.{flow}.control"), control.to_string())?);
        }
        let scenario = scenario.parse(&self.registry, &changes).map_err(|error| error.to_string())?;
        let mut scenario = Scenario { seed, ..scenario };
        if let (Some(control), None) = (control, &self.flow) {
            self.registry.check(control).map_err(|error| error.to_string())?;
            scenario.control_all(control)?;
        }
        Ok(scenario)
    }

    /// Checks the plan and every combination of it, each with the first seed.
    ///
    /// # Errors
    /// The first mistake, in words.
    pub fn check(&self) -> Result<(), String> {
        let runs = self.runs();
        if !(1..=MOST).contains(&runs) {
            return Err(format!("the plan has {runs} runs: expected 1 to {MOST}"));
        }
        if let Some(Parameter { key, .. }) = self.parameters.iter().find(|parameter| parameter.key == "seed")
        {
            return Err(format!("`{key}` is no parameter: the plan has `seeds`"));
        }
        (0..runs).step_by(self.seeds.len()).try_for_each(|run| self.scenario(run).map(drop))
    }

    /// Adds the rows of run `run`, one for each flow of its summary.
    pub fn add_rows(&self, run: usize, summary: &Value, table: &mut Table) {
        let Place { scenario, control, parameters, seed } = self.place(run);
        let mut head = vec![
            ("run".to_owned(), Cell::Integer(run as i64)),
            ("scenario".to_owned(), Cell::Text(scenario.name().to_owned())),
        ];
        head.extend(control.map(|control| ("controller".to_owned(), Cell::Text(control.to_string()))));
        head.extend(parameters.into_iter().map(|(key, value)| (key.to_owned(), value.clone())));
        head.push(("seed".to_owned(), Cell::Integer(seed as i64)));
        add_flows(&head, summary, table);
    }

    /// The plan as it is compared: with the texts of its scenarios and the version that runs it.
    fn fingerprint(&self) -> Value {
        let scenarios = self.scenarios.iter().map(|file| json!({ "name": file.name(), "text": file.text() }));
        let values = |parameter: &Parameter| {
            parameter.values.iter().map(|value| value.clone().text()).collect::<Vec<_>>()
        };
        json!({
            "schema": 1,
            "seaway": seaway_report::VERSION,
            "scenarios": scenarios.collect::<Vec<_>>(),
            "controls": self.controls.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "flow": self.flow,
            "parameters": self.parameters.iter().map(|it| json!([it.key, values(it)])).collect::<Vec<_>>(),
            "seeds": self.seeds,
            "series": self.series,
        })
    }

    fn place(&self, run: usize) -> Place<'_> {
        let mut rest = run;
        let mut digit = |base: usize| {
            let digit = rest % base.max(1);
            rest /= base.max(1);
            digit
        };
        let seed = self.seeds.get(digit(self.seeds.len())).copied().unwrap_or(1);
        let mut parameters: Vec<_> = self
            .parameters
            .iter()
            .rev()
            .filter_map(|it| Some((it.key.as_str(), it.values.get(digit(it.values.len()))?)))
            .collect();
        parameters.reverse();
        let control = self.controls.get(digit(self.controls.len()));
        let scenario = &self.scenarios[digit(self.scenarios.len())];
        Place { scenario, control, parameters, seed }
    }
}

/// The row of each flow of an outcome, as [`Plan::add_rows`] writes them.
pub fn flow_table(outcomes: &[Outcome]) -> Table {
    let mut table = Table::default();
    for (run, Outcome { summary, .. }) in outcomes.iter().enumerate() {
        let head = [
            ("run".to_owned(), Cell::Integer(run as i64)),
            ("scenario".to_owned(), Cell::Text(summary.scenario.clone())),
            ("seed".to_owned(), Cell::Integer(summary.seed as i64)),
        ];
        add_flows(&head, &serde_json::to_value(summary).unwrap_or_default(), &mut table);
    }
    table
}

fn add_flows(head: &[(String, Cell)], summary: &Value, table: &mut Table) {
    let mut run = head.to_vec();
    for key in ["seaway", "simulated_s", "events", "fairness"] {
        flatten(key, &summary[key], &mut run);
    }
    for flow in summary["flows"].as_array().into_iter().flatten() {
        let mut row = run.clone();
        for (key, value) in flow.as_object().into_iter().flatten() {
            flatten(if key == "name" { "flow" } else { key }, value, &mut row);
        }
        table.push(row);
    }
}

#[cfg(test)]
mod tests;
