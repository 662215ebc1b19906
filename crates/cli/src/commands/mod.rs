//! One file a command.

mod list;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Live video over networks that lose packets, and the lab in which rate controllers are compared.
#[derive(Debug, Parser)]
#[command(name = "seaway", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows what there is
    List(list::Arguments),
}

/// Carries out what was asked. 0: done; 1: failed while running; 2: wrong usage or bad input; 3: ran, but a
/// threshold was missed.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let outcome = match arguments.command {
        Command::List(arguments) => list::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// It failed while running.
    pub(crate) fn running(text: &impl ToString) -> Self {
        Self { code: 1, text: text.to_string() }
    }

    #[expect(clippy::print_stderr, reason = "the place where a person is told")]
    fn report(&self) -> ExitCode {
        eprintln!("seaway: {}", self.text);
        ExitCode::from(self.code)
    }
}
