//! `seaway schema`: the JSON Schemas of the documents that commands print and write.

use super::{emulate, list, shape, sim};
use crate::failure::Failure;
use crate::live::report;
use crate::output::Provenance;
use crate::web::Live;
use seaway_lab::{compare, score, scorecard};
use seaway_papers::report as papers;
use seaway_report::qlog::Record;
use seaway_report::schema::of;
use serde_json::Value;
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A name of `seaway list schemas`
    name: String,
}

/// A document and how it is described.
pub(crate) struct DocumentSchema {
    /// Its name.
    pub(crate) name: &'static str,
    /// Where it is printed or written.
    pub(crate) about: &'static str,
    /// The version of its form.
    pub(crate) version: u32,
    schema: fn(&str, u32) -> Value,
}

const fn document(
    name: &'static str,
    version: u32,
    schema: fn(&str, u32) -> Value,
    about: &'static str,
) -> DocumentSchema {
    DocumentSchema { name, about, version, schema }
}

/// Every document.
pub(crate) const SCHEMAS: &[DocumentSchema] = &[
    document("summary", 1, of::<sim::Report>, "sim --json; summary.json of sim -o"),
    document("session", 1, of::<report::Report>, "send --json, recv --json, demo --json"),
    document("line", 1, of::<Live>, "a line of --stats json of send, recv and demo"),
    document("qlog", 1, of::<Record>, "a record of --qlog of sim, send, recv and demo"),
    document("emulation", 1, of::<emulate::Report>, "emulate --json"),
    document("comparison", 1, of::<compare::Document<'_>>, "compare --json; compare.json of compare -o"),
    document("scorecard", 1, of::<scorecard::Scorecard>, "scorecard --json"),
    document("score", 1, of::<score::Report>, "score --json"),
    document("shaping", 1, of::<shape::Document<'_>>, "shape --json"),
    document("reproduction", 2, of::<papers::Report>, "reproduce --json; report.json of reproduce -o"),
    document("robustness", 1, of::<papers::Robustness>, "reproduce --robust --json"),
    document("provenance", 1, of::<Provenance>, "run.json of every -o"),
    document("controls", 1, of::<Vec<list::ListedController>>, "list controls --json"),
    document("experiments", 1, of::<Vec<list::ListedExperiment>>, "list experiments --json"),
    document("metrics", 1, of::<Vec<list::ListedMetric>>, "list metrics --json"),
    document("scenarios", 1, of::<Vec<list::ListedScenario>>, "list scenarios --json"),
    document("schemas", 1, of::<Vec<list::ListedSchema>>, "list schemas --json"),
];

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Some(document) = SCHEMAS.iter().find(|document| document.name == arguments.name) else {
        let names: Vec<&str> = SCHEMAS.iter().map(|document| document.name).collect();
        let error = format!("no schema {:?}; there are {}", arguments.name, names.join(", "));
        return Err(Failure::input(&error));
    };
    let schema = (document.schema)(document.name, document.version);
    writeln!(std::io::stdout(), "{schema:#}").map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}
