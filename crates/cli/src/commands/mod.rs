//! One file a command.

mod compare;
mod demo;
mod emulate;
mod list;
mod recv;
mod reproduce;
mod score;
mod scorecard;
mod send;
mod shape;
mod sim;

use crate::live::console::{Console, Stats};
use crate::web::Hello;
use clap::{Parser, Subcommand};
use seaway_units::TimeDelta;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Live video over networks that lose packets, and the lab in which rate controllers are compared.
#[derive(Debug, Parser)]
#[command(name = "seaway", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed while running, 2 wrong usage or bad input, \
                          3 ran but a threshold was missed.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs several controllers over the same network with the same video; makes a page of it
    Compare(compare::Arguments),
    /// Sends a clip live through a rough network and shows it: sender, link and receiver in one process
    Demo(demo::Arguments),
    /// Runs the network of a scenario in real time, between UDP sockets or TUN devices
    Emulate(emulate::Arguments),
    /// Shows what there is
    List(list::Arguments),
    /// Receives what `send` sends
    Recv(recv::Arguments),
    /// Makes the tables and figures of the papers again
    Reproduce(reproduce::Arguments),
    /// Scores a received clip against the one that was sent
    Score(score::Arguments),
    /// Scores every controller over the cases of RFC 8867 and RFC 8869 and over curves of loss, jitter and capacity
    Scorecard(scorecard::Arguments),
    /// Sends a clip or a camera live to another host
    Send(send::Arguments),
    /// Lowers the rate of coded MPEG-1 and MPEG-2 video
    Shape(shape::Arguments),
    /// Runs a scenario in the simulator, faster than real time
    Sim(sim::Arguments),
}

/// Carries out what was asked. 0: done; 1: failed while running; 2: wrong usage or bad input; 3: ran, but a
/// threshold was missed.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let outcome = match arguments.command {
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Recv(arguments) => recv::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Score(arguments) => score::run(&arguments),
        Command::Scorecard(arguments) => scorecard::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Shape(arguments) => shape::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// The exit code of a run that missed a threshold.
const MISSED: u8 = 3;

/// How a live session is watched and when it ends.
#[derive(Debug, clap::Args)]
struct Watching {
    /// End after this long, such as '30s'
    #[arg(long, value_name = "TIME")]
    duration: Option<TimeDelta>,
    /// Serve a page with the pictures and live plots, such as at 127.0.0.1:8090
    #[arg(long, value_name = "ADDR")]
    web: Option<SocketAddr>,
    /// Serve /metrics for Prometheus
    #[arg(long, value_name = "ADDR")]
    metrics: Option<SocketAddr>,
    /// Print JSON lines while it runs
    #[arg(long, conflicts_with = "json")]
    stats: Option<Stats>,
    /// Print the report as one JSON document on stdout
    #[arg(long)]
    json: bool,
    /// Write every datagram to a capture file
    #[arg(long, value_name = "FILE")]
    pcap: Option<String>,
}

impl Watching {
    fn console(&self, hello: impl FnOnce() -> Hello) -> Result<Console, Failure> {
        Console::new().with_stats(self.stats).with_page(self.web, hello)?.with_metrics(self.metrics)
    }

    const fn uses_stdout(&self) -> bool {
        self.json || self.stats.is_some()
    }
}

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Failure {
    /// It failed while running.
    pub(crate) fn running(text: &impl ToString) -> Self {
        Self { code: 1, text: text.to_string() }
    }

    /// The input cannot be used.
    pub(crate) fn input(text: &impl ToString) -> Self {
        Self { code: 2, text: text.to_string() }
    }

    /// Standard output cannot be written. A reader that went away has seen enough: that is no failure.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { 1 };
        Self { code, text: format!("standard output: {error}") }
    }

    #[expect(clippy::print_stderr, reason = "the place where a person is told")]
    fn report(&self) -> ExitCode {
        if self.code != 0 {
            eprintln!("seaway: {}", self.text);
        }
        ExitCode::from(self.code)
    }
}
