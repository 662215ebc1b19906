//! `seaway`: live video over networks that lose packets, and the lab in which rate controllers are compared.

mod cache;
mod commands;
mod configuration;
mod controls;
mod decoder;
mod failure;
mod files;
mod interrupt;
mod live;
mod output;
mod plot_options;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(not(target_os = "linux"))]
#[path = "no_privileges.rs"]
mod privileges;
mod progress;
mod scenario;
mod status_line;
mod web;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    let line =
        configuration::complete(&commands::Arguments::command(), std::env::args_os().collect(), variable);
    let code = match line {
        Ok(line) => commands::run(commands::Arguments::parse_from(line)),
        Err(failure) => failure.report(),
    };
    // A thread may still wait for one.
    seaway_media::kill_subprocesses();
    code
}
