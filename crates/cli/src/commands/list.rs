//! `seaway list`.

use super::schema::{DocumentSchema, SCHEMAS};
use crate::failure::Failure;
use clap::ValueEnum;
use schemars::JsonSchema;
use seaway_control::{ControllerInfo, Kind, OptionGroup, OptionInfo, Registry};
use seaway_lab::library;
use seaway_lab::scenario::Scenario;
use seaway_papers::{self as papers, Experiment, Method, catalogue};
use seaway_report::{Better, Row, Scope};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to list
    what: What,
    /// One JSON document on stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Rate controllers with their options
    Controls,
    /// Tables and figures of the papers that `reproduce` makes
    Experiments,
    /// Numbers of a summary
    Metrics,
    /// Scenarios that come with Seaway
    Scenarios,
    /// JSON Schemas of the documents, for `seaway schema`
    Schemas,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let registry = Registry::builtin();
    let controllers = registry.controllers();
    let text = match (arguments.what, arguments.json) {
        (What::Controls, true) => document(controllers.iter().map(ListedController::of))?,
        (What::Controls, false) => controllers_as_text(controllers),
        (What::Experiments, true) => document(catalogue().map(ListedExperiment::of))?,
        (What::Experiments, false) => catalogue().map(experiment_as_text).collect(),
        (What::Metrics, true) => document(metrics().map(ListedMetric::of))?,
        (What::Metrics, false) => metrics().map(metric_as_text).collect(),
        (What::Scenarios, json) => scenarios(json)?,
        (What::Schemas, true) => document(SCHEMAS.iter().map(ListedSchema::of))?,
        (What::Schemas, false) => {
            SCHEMAS.iter().map(|it| format!("{:<18} {}\n", it.name, it.about)).collect()
        }
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// A list as one line of JSON.
fn document<T: Serialize>(rows: impl Iterator<Item = T>) -> Result<String, Failure> {
    let rows: Vec<T> = rows.collect();
    serde_json::to_string(&rows).map(|text| text + "\n").map_err(|error| Failure::running(&error))
}

const fn kind(info: &ControllerInfo) -> &'static str {
    match info.kind {
        Kind::Rate => "rate",
        Kind::Window => "window",
    }
}

/// A rate controller.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ListedController {
    /// Its name.
    name: &'static str,
    /// How it limits its sender: by a `rate` or by a `window`.
    kind: &'static str,
    /// Its law was checked against a primary text.
    verified: bool,
    /// The document it follows.
    source: &'static str,
    /// What can be set.
    options: Vec<ListedOption>,
}

/// An option of a controller.
#[derive(Debug, JsonSchema, Serialize)]
struct ListedOption {
    /// Its name.
    name: &'static str,
    /// Its value where none is given.
    default: &'static str,
    /// What it may be, in words.
    range: &'static str,
    /// What it sets.
    about: &'static str,
    /// The controllers that have it too; null where it is this one's own.
    shared_by: Option<&'static str>,
}

impl ListedController {
    fn of(info: &ControllerInfo) -> Self {
        let options = info.options.iter().flat_map(|group| {
            group.options.iter().map(|&OptionInfo { name, default, range, about }| ListedOption {
                name,
                default,
                range,
                about,
                shared_by: group.family,
            })
        });
        Self {
            name: info.name,
            kind: kind(info),
            verified: info.verified,
            source: info.source,
            options: options.collect(),
        }
    }
}

/// Each controller with the options of its own, then the options that several share.
fn controllers_as_text(controllers: &[ControllerInfo]) -> String {
    let mut text = String::new();
    let mut families: Vec<(OptionGroup, Vec<&str>)> = Vec::new();
    for info in controllers {
        let unverified = if info.verified { "" } else { " (unverified)" };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{:<14} {:<7} {}{unverified}", info.name, kind(info), info.source);
        for group in info.options {
            match (group.family, families.iter_mut().find(|(known, _)| known == group)) {
                (None, _) => options_as_text(&mut text, group),
                (Some(_), Some((_, names))) => names.push(info.name),
                (Some(_), None) => families.push((*group, vec![info.name])),
            }
        }
    }
    for (group, names) in families {
        let _ = writeln!(text, "\n{} ({})", group.family.unwrap_or_default(), names.join(", "));
        options_as_text(&mut text, &group);
    }
    text
}

fn options_as_text(text: &mut String, group: &OptionGroup) {
    for OptionInfo { name, default, range, about } in group.options {
        let _ = writeln!(text, "    {name}={default} ({range}): {about}");
    }
}

/// A table or figure of a paper.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ListedExperiment {
    /// Its name: `S000-T1`.
    name: &'static str,
    /// What it shows.
    title: &'static str,
    /// What sort of row it is.
    kind: papers::Kind,
    /// What the paper says.
    reported: &'static str,
    /// What must come out.
    claim: &'static str,
    /// False where `reproduce` does not make it yet.
    made: bool,
}

impl ListedExperiment {
    fn of(experiment: &Experiment) -> Self {
        let &Experiment { id: name, title, kind, reported, claim, ref method, .. } = experiment;
        let made = !matches!(method, Method::NotYet(_));
        Self { name, title, kind, reported, claim, made }
    }
}

fn experiment_as_text(experiment: &Experiment) -> String {
    let state = if matches!(experiment.method, Method::NotYet(_)) { " (not yet)" } else { "" };
    format!("{:<9} {}{state}\n", experiment.id, experiment.title)
}

/// The scopes of a summary, and what stands before their keys in a path.
const SCOPES: [(Scope, &str); 3] =
    [(Scope::Run, ""), (Scope::Flow, "flow.NAME."), (Scope::Link, "link.NAME.")];

fn metrics() -> impl Iterator<Item = (&'static str, &'static Row)> {
    SCOPES.into_iter().flat_map(|(scope, before)| scope.rows().iter().map(move |row| (before, row)))
}

/// A number of a summary, or a group of numbers.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ListedMetric {
    /// Its path, such as `flow.NAME.rtt_ms`.
    name: String,
    /// The keys of a group's numbers.
    parts: Vec<&'static str>,
    /// Its unit; empty for a pure number.
    unit: &'static str,
    /// Which direction is better.
    better: Better,
    /// What it means.
    about: &'static str,
}

impl ListedMetric {
    fn of((before, row): (&str, &'static Row)) -> Self {
        let Row { key, unit, better, about, parts, .. } = row;
        Self {
            name: format!("{before}{key}"),
            parts: parts.iter().map(|part| part.key).collect(),
            unit: unit.symbol(),
            better: *better,
            about: about.trim(),
        }
    }
}

fn metric_as_text((before, row): (&str, &Row)) -> String {
    let unit = if row.unit.symbol().is_empty() { String::new() } else { format!(" [{}]", row.unit.symbol()) };
    let mut text = format!("{:<30} {}{unit}\n", format!("{before}{}", row.key), row.about.trim());
    if !row.parts.is_empty() {
        let parts: Vec<_> = row.parts.iter().map(|part| part.key).collect();
        let _ = writeln!(text, "    .{}", parts.join(" ."));
    }
    text
}

/// A scenario that comes with Seaway.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ListedScenario {
    /// Its name.
    name: String,
    /// What it shows.
    about: String,
    /// Length of a run in virtual time, seconds.
    duration_s: f64,
    /// How many flows it has.
    flows: usize,
}

impl ListedScenario {
    fn of(scenario: &Scenario) -> Self {
        Self {
            name: scenario.name.clone(),
            about: scenario.about.clone().unwrap_or_default(),
            duration_s: scenario.duration.as_secs_f64(),
            flows: scenario.flows.len(),
        }
    }
}

/// A schema.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ListedSchema {
    /// Its name, for `seaway schema`.
    name: &'static str,
    /// Which document it describes.
    about: &'static str,
    /// The version of the document's form.
    version: u32,
}

impl ListedSchema {
    const fn of(&DocumentSchema { name, about, version, .. }: &DocumentSchema) -> Self {
        Self { name, about, version }
    }
}

fn scenarios(as_json: bool) -> Result<String, Failure> {
    let parse = |entry: library::BundledScenario| entry.parse(&[]).map_err(|error| Failure::running(&error));
    let scenarios = library::entries().into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let rows = scenarios.iter().map(ListedScenario::of);
    if as_json {
        return document(rows);
    }
    Ok(rows.map(|row| format!("{:<30} {}\n", row.name, row.about)).collect())
}
