//! `seaway sim`: one scenario in the simulator.

use super::Failure;
use crate::interrupt;
use crate::output::{Folder, Provenance};
use crate::progress::Progress;
use crate::scenario::Source;
use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::summary::Timing;
use seaway_lab::{Options, Outcome, Summary};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A scenario file, `-` for standard input, or a name of `seaway list scenarios`
    scenario: String,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Where all randomness comes from; in place of the scenario's own
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Change the scenario, such as flow.video.control=tfrc or link.bottleneck.rate='2 Mbit/s'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Leave out how long it took, so that the same run prints the same bytes
    #[arg(long)]
    no_timing: bool,
    /// Write a folder with the results, the time series, the scenario and the command
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The exit code of a run that missed a threshold.
const MISSED: u8 = 3;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let text = Source::read(&arguments.scenario)?;
    let mut scenario = text.parse(&arguments.overrides)?;
    if let Some(seed) = arguments.seed {
        scenario.seed = seed;
    }
    interrupt::install()?;
    let folder = arguments.output.as_deref().map(Folder::begin).transpose()?;
    let mut outcome = simulate(&scenario, Options { series: folder.is_some(), ..Options::default() })?;
    if arguments.no_timing {
        outcome.summary.timing = None;
    }
    if let Some(folder) = folder {
        save(folder, &text, &outcome)?;
    }
    report(&outcome.summary, arguments.json).map_err(|error| Failure::output(&error))?;
    if outcome.interrupted {
        return Err(Failure::running(&format!("interrupted after {} s", outcome.summary.simulated_s)));
    }
    Ok(if outcome.summary.holds() { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

fn report(summary: &Summary, json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, summary)?;
        writeln!(out)
    } else {
        print(&mut out, summary)
    }
}

fn simulate(scenario: &Scenario, options: Options) -> Result<Outcome, Failure> {
    let progress = Progress::new(scenario.duration);
    let mut last = seaway_units::TimeDelta::ZERO;
    let mut step = |now: seaway_units::TimeDelta| {
        progress.advance(now - last);
        last = now;
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // The front end may look at the wall clock; nothing that it says goes into the run.
    #[allow(clippy::disallowed_methods)]
    let began = Instant::now();
    let mut outcome =
        seaway_lab::run(scenario, options, &mut step).map_err(|error| Failure::input(&error))?;
    outcome.summary.timing = Some(Timing { wall_s: began.elapsed().as_secs_f64() });
    progress.clear();
    Ok(outcome)
}

fn save(folder: Folder, text: &Source, outcome: &Outcome) -> Result<(), Failure> {
    folder.write_json("run.json", &Provenance::of_this_process())?;
    folder.write_json("summary.json", &outcome.summary)?;
    folder.write("scenario.toml", |file| file.write_all(text.text.as_bytes()))?;
    folder.write("series.csv", |file| outcome.series.write_csv(file))?;
    folder.finish()
}

/// The summary for a reader: one line a flow, a link, an expectation.
fn print(out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
    let Summary { scenario, seed, simulated_s, events, .. } = summary;
    writeln!(out, "{scenario}, seed {seed}: {simulated_s} s simulated, {events} events")?;
    writeln!(out)?;
    let header = ["flow", "kind", "sent", "received", "loss", "RTT p50", "RTT p95", "queueing p95"];
    let mut rows = vec![header.map(str::to_owned)];
    for flow in &summary.flows {
        let rtt = flow.rtt_ms.or(flow.path_rtt_ms);
        rows.push([
            flow.name.clone(),
            flow.control.clone().unwrap_or_else(|| flow.kind.to_owned()),
            rate(flow.sent_bps),
            rate(flow.received_bps),
            flow.loss_ratio.map_or_else(String::new, percent),
            millis(rtt.map(|rtt| rtt.p50)),
            millis(rtt.map(|rtt| rtt.p95)),
            millis(flow.queue_delay_ms.map(|delay| delay.p95)),
        ]);
    }
    table(out, &rows)?;
    writeln!(out)?;
    let header = ["link", "utilisation", "drops queue", "aqm", "channel", "queue mean", "max"];
    let mut rows = vec![header.map(str::to_owned)];
    for link in &summary.links {
        rows.push([
            link.name.clone(),
            percent(link.utilisation),
            link.drops.queue.to_string(),
            link.drops.aqm.to_string(),
            link.drops.channel.to_string(),
            format!("{:.1}", link.queue.mean),
            format!("{}", link.queue.max),
        ]);
    }
    table(out, &rows)?;
    if let Some(fairness) = &summary.fairness {
        writeln!(out, "\nJain's index of {} flows: {:.3}", fairness.over.len(), fairness.jain)?;
    }
    for expectation in &summary.expect {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let (min, value, max) = (number(expectation.min), number(expectation.value), number(expectation.max));
        let verdict = if expectation.held { "held" } else { "MISSED" };
        writeln!(out, "{verdict}: {min} <= {} = {value} <= {max}", expectation.of)?;
    }
    Ok(())
}

fn rate(bps: Option<f64>) -> String {
    bps.map_or_else(String::new, |bps| format!("{:.3}", seaway_units::Bitrate::from_bps_f64(bps)))
}

fn millis(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.1} ms"))
}

fn percent(ratio: f64) -> String {
    format!("{:.2} %", ratio * 100.0)
}

/// Columns as wide as their widest cell; the first to the left, the others to the right.
fn table<const N: usize>(out: &mut impl Write, rows: &[[String; N]]) -> std::io::Result<()> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        let mut line = format!("{:width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
