//! A file or live media over QUIC under a controller of ours, second by second, in virtual time:
//! `cargo run -p seaway-quic --example transfer -- live quinn`. The link falls from 6 to 2 Mbit/s and rises again.

#![allow(clippy::print_stdout, clippy::print_stderr)]
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod simulation;

use seaway_link::{DropTailConfig, LinkConfig, QueueConfig};
use seaway_quic::ControllerConfig;
use seaway_units::{Bitrate, TimeDelta};
use simulation::network::Network;
use simulation::source::Source;
use simulation::stacks::{Transport, noq, quinn};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (source, transport, spec) = match words[..] {
        [] => ("live", "noq", "seaway"),
        [source] => (source, "noq", "seaway"),
        [source, transport] => (source, transport, "seaway"),
        [source, transport, spec, ..] => (source, transport, spec),
    };
    let config = match ControllerConfig::new(spec) {
        Ok(config) => Arc::new(config),
        Err(error) => return usage(&error.to_string()),
    };
    let mut transport: Box<dyn Transport> = match transport {
        "noq" => Box::new(noq::Pair::new(config, 1)),
        "quinn" => Box::new(quinn::Pair::new(config, 1)),
        other => return usage(&format!("there is no transport `{other}`")),
    };
    let mut source = match source {
        "file" => Source::file(),
        // One stream for each group of pictures; an unfinished one is reset when the next begins.
        "live" => Source::live([1, 2, 4].map(Bitrate::from_mbps).to_vec()),
        other => return usage(&format!("there is no source `{other}`")),
    };
    let mut network = Network::new(&link(), &LinkConfig { steps: Vec::new(), ..link() }, 1);
    let record = simulation::run(&mut *transport, &mut network, &mut source, 30.0);
    println!("second  sent          round trip (p95)  allowed");
    for second in 0..30 {
        let (from, to) = (f64::from(second), f64::from(second + 1));
        let rtt = record.round_trip(from, to, 0.95);
        let rates = record.rates.iter().rev().find(|(at, ..)| at.as_secs_f64() < to);
        let allowed = rates.and_then(|(_, allowed, _)| *allowed).unwrap_or_default();
        println!(
            "{second:6}  {:12}  {rtt:13.1} ms  {:.2} Mbit/s",
            record.rate(from, to).to_string(),
            allowed.as_bps_f64() / 1e6
        );
    }
    println!("{} octets were read", record.read);
    ExitCode::SUCCESS
}

fn link() -> LinkConfig {
    let rate = |second, mbps| (TimeDelta::from_secs(second), Bitrate::from_mbps(mbps));
    LinkConfig {
        rate: Some(Bitrate::from_mbps(6)),
        steps: vec![rate(10, 2), rate(20, 6)],
        delay: TimeDelta::from_millis(25),
        queue: Some(QueueConfig::DropTail(DropTailConfig::time(TimeDelta::from_millis(300)))),
        ..LinkConfig::default()
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("{problem}\nusage: transfer [file|live] [noq|quinn] [CONTROLLER]");
    ExitCode::FAILURE
}
