//! `seaway list`.

use super::Failure;
use clap::ValueEnum;
use seaway_control::registry::{CONTROLLERS, ControllerInfo, Kind};
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
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let text = match (arguments.what, arguments.json) {
        (What::Controls, true) => {
            json!(CONTROLLERS.iter().map(as_json).collect::<Vec<_>>()).to_string() + "\n"
        }
        (What::Controls, false) => CONTROLLERS.iter().map(as_text).collect(),
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::running(&error))?;
    Ok(ExitCode::SUCCESS)
}

const fn kind(info: &ControllerInfo) -> &'static str {
    match info.kind {
        Kind::Rate => "rate",
        Kind::Window => "window",
    }
}

fn as_json(info: &ControllerInfo) -> Value {
    let options = info.options.iter().map(|option| {
        json!({ "name": option.name, "default": option.default, "range": option.range, "about": option.about })
    });
    json!({ "name": info.name, "kind": kind(info), "source": info.source, "options": options.collect::<Vec<_>>() })
}

fn as_text(info: &ControllerInfo) -> String {
    let mut text = format!("{:<14} {:<7} {}\n", info.name, kind(info), info.source);
    for option in info.options {
        // Writing to a String does not fail.
        let _ = writeln!(text, "    {}={} ({}): {}", option.name, option.default, option.range, option.about);
    }
    text
}
