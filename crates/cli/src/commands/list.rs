//! `seaway list`.

use crate::failure::Failure;
use clap::ValueEnum;
use seaway_control::{ControllerInfo, Kind, OptionGroup, OptionInfo, Registry};
use seaway_lab::library;
use seaway_lab::scenario::Scenario;
use seaway_papers::{Experiment, Method, catalogue};
use seaway_report::{Row, Scope};
use serde_json::{Value, json};
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
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let registry = Registry::builtin();
    let controllers = registry.controllers();
    let text = match (arguments.what, arguments.json) {
        (What::Controls, true) => {
            json!(controllers.iter().map(as_json).collect::<Vec<_>>()).to_string() + "\n"
        }
        (What::Controls, false) => controllers_as_text(controllers),
        (What::Experiments, true) => {
            json!(catalogue().map(experiment_as_json).collect::<Vec<_>>()).to_string() + "\n"
        }
        (What::Experiments, false) => catalogue().map(experiment_as_text).collect(),
        (What::Metrics, true) => json!(metrics().map(metric_as_json).collect::<Vec<_>>()).to_string() + "\n",
        (What::Metrics, false) => metrics().map(metric_as_text).collect(),
        (What::Scenarios, json) => scenarios(json)?,
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

const fn kind(info: &ControllerInfo) -> &'static str {
    match info.kind {
        Kind::Rate => "rate",
        Kind::Window => "window",
    }
}

fn as_json(info: &ControllerInfo) -> Value {
    let options = info.options.iter().flat_map(|group| {
        group.options.iter().map(|option| {
            json!({
                "name": option.name,
                "default": option.default,
                "range": option.range,
                "about": option.about,
                "shared_by": group.family,
            })
        })
    });
    json!({
        "name": info.name,
        "kind": kind(info),
        "verified": info.verified,
        "source": info.source,
        "options": options.collect::<Vec<_>>(),
    })
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

fn experiment_as_json(experiment: &Experiment) -> Value {
    let Experiment { id, title, kind, reported, claim, method, .. } = experiment;
    let made = !matches!(method, Method::NotYet(_));
    json!({ "name": id, "title": title, "kind": kind, "reported": reported, "claim": claim, "made": made })
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

fn metric_as_json((before, row): (&str, &Row)) -> Value {
    let Row { key, unit, better, about, parts, .. } = row;
    let parts: Vec<_> = parts.iter().map(|part| part.key).collect();
    json!({
        "name": format!("{before}{key}"),
        "parts": parts,
        "unit": unit.symbol(),
        "better": better,
        "about": about.trim(),
    })
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

fn scenarios(as_json: bool) -> Result<String, Failure> {
    let parse = |entry: library::BundledScenario| entry.parse(&[]).map_err(|error| Failure::running(&error));
    let scenarios = library::entries().into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let about = |scenario: &Scenario| scenario.about.clone().unwrap_or_default();
    Ok(if as_json {
        let row = |scenario: &Scenario| {
            json!({
                "name": scenario.name,
                "about": about(scenario),
                "duration_s": scenario.duration.as_secs_f64(),
                "flows": scenario.flows.len(),
            })
        };
        json!(scenarios.iter().map(row).collect::<Vec<_>>()).to_string() + "\n"
    } else {
        let row = |scenario: &Scenario| format!("{:<30} {}\n", scenario.name, about(scenario));
        scenarios.iter().map(row).collect()
    })
}
