//! One file a command.

mod compare;
mod demo;
mod emulate;
mod generate;
#[cfg(test)]
mod guide;
mod list;
mod qlog;
mod recv;
mod reproduce;
mod schema;
mod score;
mod scorecard;
mod send;
mod shape;
mod sim;
mod sweep;

use clap::{Parser, Subcommand};
use seaway_media::h264::acceleration;
use std::process::ExitCode;
use std::sync::LazyLock;

/// Live video over networks that lose packets, and the lab in which rate controllers are compared.
#[derive(Debug, Parser)]
#[command(name = "seaway", version = seaway_report::VERSION, long_version = LONG_VERSION.as_str(), propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The version, and which code of the codec runs.
static LONG_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{}\nH.264 by OpenH264, its {} code", seaway_report::VERSION, acceleration()));

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed while running, 2 wrong usage or bad input, \
                          3 ran but a threshold was missed.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs several controllers over the same network with the same video, and writes a page
    Compare(compare::Arguments),
    /// The decoder of `recv`, which starts it
    #[command(hide = true)]
    Decode,
    /// Sends a clip live over an impaired link and shows the result: sender, link and receiver in one process
    Demo(Box<demo::Arguments>),
    /// Runs the network of a scenario in real time, between UDP sockets or TUN devices
    Emulate(emulate::Arguments),
    /// Writes the manual pages and the completions of shells, for packages
    #[command(hide = true)]
    Generate(generate::Arguments),
    /// Lists controllers, scenarios, experiments and metrics
    List(list::Arguments),
    /// Writes the page that draws a log of `--qlog`
    Qlog(qlog::Arguments),
    /// Receives live video from another host
    Recv(Box<recv::Arguments>),
    /// Reproduces the tables and figures of the papers
    Reproduce(reproduce::Arguments),
    /// Prints the JSON Schema of a document
    Schema(schema::Arguments),
    /// Scores a received clip against the one that was sent
    Score(score::Arguments),
    /// Scores every controller over the cases of RFC 8867 and RFC 8869 and over curves of loss, jitter and capacity
    Scorecard(scorecard::Arguments),
    /// Sends a clip or a camera live to another host
    Send(Box<send::Arguments>),
    /// Reduces the rate of coded MPEG-1 and MPEG-2 video without re-encoding
    Shape(shape::Arguments),
    /// Runs a scenario in the simulator, faster than real time
    Sim(sim::Arguments),
    /// Runs every combination of scenarios, controllers, parameters and seeds, on one machine or many
    Sweep(sweep::Arguments),
}

/// Runs the command. 0: done; 1: failed while running; 2: wrong usage or bad input; 3: ran, but a
/// threshold was missed.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let outcome = match arguments.command {
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Decode => crate::decoder::serve(),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Qlog(arguments) => qlog::run(&arguments),
        Command::Recv(arguments) => recv::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Score(arguments) => score::run(&arguments),
        Command::Scorecard(arguments) => scorecard::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Shape(arguments) => shape::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
