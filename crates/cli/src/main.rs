//! `seaway`: live video over networks that lose packets, and the lab in which rate controllers are compared.

mod cache;
mod commands;
mod controls;
mod decoder;
mod failure;
mod files;
mod interrupt;
mod live;
mod output;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(not(target_os = "linux"))]
#[path = "no_privileges.rs"]
mod privileges;
mod progress;
mod scenario;
mod status_line;
mod web;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = commands::run(commands::Arguments::parse());
    // A thread may still wait for one.
    seaway_media::kill_subprocesses();
    code
}
