//! `seaway`: live video over rough networks, and the lab in which rate controllers are compared.

mod commands;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run(commands::Arguments::parse())
}
