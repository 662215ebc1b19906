//! `seaway sim`: one scenario in the simulator.

mod table;

use crate::failure::{Failure, MISSED};
use crate::files::Output;
use crate::interrupt;
use crate::live::qlog;
use crate::output::{Folder, Provenance};
use crate::plot_options::PlotOptions;
use crate::progress::Progress;
use crate::scenario::Source;
use schemars::JsonSchema;
use seaway_lab::plot::PlotStyle;
use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{Outcome, RunOptions, decisions, plot};
use seaway_report::summary::Timing;
use seaway_report::{Aggregate, Summary};
use seaway_units::TimeDelta;
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A scenario file, `-` for standard input, or a name of `seaway list scenarios`
    scenario: String,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Seed of all random numbers; default: that of the scenario
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of seeds, counted up from the first; report means and 95 % intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    seeds: Option<u16>,
    /// Change the scenario, such as flow.video.control=tfrc or link.bottleneck.rate='2 Mbit/s'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Leave out the run time, so that the same run prints the same bytes
    #[arg(long)]
    no_timing: bool,
    /// Write a folder with the results, time series, plots, the scenario and the command
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    plots: PlotOptions,
    /// Write the packets of each flow, as its sending host sees them, to a capture file; with `-` to standard output,
    /// and the report to standard error. Wireshark recognises RTP in it with the option `--enable-heuristic
    /// rtp_udp`
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    pcap: Option<String>,
    /// Write readings, changes of rates and displayed pictures to a log in qlog's form (docs/qlog.md)
    #[arg(long, value_name = "FILE", conflicts_with = "seeds", value_parser = qlog::file)]
    qlog: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let captures_to_output = arguments.pcap.as_deref() == Some("-");
    if captures_to_output && arguments.json {
        return Err(Failure::input(&"--pcap -: standard output is for the document of --json; name a file"));
    }
    let source = Source::read(&arguments.scenario)?;
    let scenario = source.parse(&arguments.overrides)?;
    let scenarios = with_seeds(&scenario, arguments);
    interrupt::install()?;
    let folder = arguments.output.as_deref().map(Folder::begin).transpose()?;
    let log = arguments.qlog.as_deref().map(Output::create).transpose()?;
    let outcomes = simulate(&scenarios, folder.is_some() || log.is_some(), arguments)?;
    if let (Some(log), Some(outcome)) = (log, outcomes.first()) {
        let failed = |error| Failure::running(&format!("--qlog: {error}"));
        let log = seaway_lab::qlog::write(outcome, BufWriter::new(log)).map_err(failed)?;
        log.into_inner().map_err(|error| failed(error.into_error()))?.finish()?;
    }
    let summaries: Vec<Summary> = outcomes.iter().map(|outcome| outcome.summary.clone()).collect();
    let holds = summaries.iter().all(Summary::holds);
    let report = Report::of(summaries, arguments.seeds.is_some());
    if let Some(folder) = folder {
        save(folder, &source, &outcomes, &report, arguments.plots.style())?;
    }
    let printed = if captures_to_output {
        report.print(std::io::stderr().lock(), false)
    } else {
        report.print(std::io::stdout().lock(), arguments.json)
    };
    printed.map_err(|error| Failure::output(&error))?;
    if let Some(outcome) = outcomes.iter().find(|outcome| outcome.interrupted) {
        let after = outcome.summary.simulated_s;
        return Err(Failure::running(&format!("interrupted after {after} s of virtual time")));
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// The scenario once for each seed.
fn with_seeds(scenario: &Scenario, arguments: &Arguments) -> Vec<Scenario> {
    let first = arguments.seed.unwrap_or(scenario.seed);
    let seeds = (0..u64::from(arguments.seeds.unwrap_or(1))).map(|offset| first.wrapping_add(offset));
    seeds.map(|seed| Scenario { seed, ..scenario.clone() }).collect()
}

fn simulate(scenarios: &[Scenario], series: bool, arguments: &Arguments) -> Result<Vec<Outcome>, Failure> {
    let progress = Progress::new(scenarios.iter().map(|scenario| scenario.duration).sum());
    let step = |passed| progress.simulated(passed);
    // A front end may look at the clock; nothing of it goes into the run.
    #[expect(clippy::disallowed_methods, reason = "the report says how long it took")]
    let began = Instant::now();
    let options = RunOptions { series, ..RunOptions::default() };
    let mut outcomes = match (&arguments.pcap, scenarios) {
        (Some(file), [scenario]) => vec![captured(scenario, options, file, &step)?],
        _ => seaway_lab::sweep(scenarios, options, &step).map_err(|error| Failure::input(&error))?,
    };
    let wall_s = began.elapsed().as_secs_f64();
    progress.clear();
    for outcome in outcomes.iter_mut().filter(|_| !arguments.no_timing) {
        outcome.summary.timing = Some(Timing { wall_s });
    }
    Ok(outcomes)
}

/// A run whose packets go to a capture file.
fn captured(
    scenario: &Scenario,
    options: RunOptions,
    file: &str,
    step: &dyn Fn(TimeDelta) -> ControlFlow<()>,
) -> Result<Outcome, Failure> {
    let shared = Arc::new(Mutex::new(BufWriter::new(Output::create(file)?)));
    let failure = Arc::default();
    let mut last = TimeDelta::ZERO;
    let out = Box::new(Shared { out: Arc::clone(&shared), failure: Arc::clone(&failure) });
    let outcome = seaway_lab::run_captured(scenario, options, out, &mut |now| {
        let passed = now - std::mem::replace(&mut last, now);
        step(passed)
    });
    let failed = |error: std::io::Error| Failure::running(&format!("{file}: {error}"));
    if let Some(error) = failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(failed(error));
    }
    let outcome = outcome.map_err(|error| Failure::input(&error))?;
    let lost = || Failure::running(&format!("{file}: the capture is still being written"));
    let writer = Arc::into_inner(shared).ok_or_else(lost)?.into_inner().map_err(|_| lost())?;
    writer.into_inner().map_err(|error| failed(error.into_error()))?.finish()?;
    Ok(outcome)
}

/// A file that the run writes and its caller finishes.
struct Shared {
    out: Arc<Mutex<BufWriter<Output>>>,
    /// What went wrong with it first: the run cannot distinguish that from a scenario that it refuses.
    failure: Arc<Mutex<Option<std::io::Error>>>,
}

impl Shared {
    fn attempt<T>(
        &self,
        act: impl FnOnce(&mut BufWriter<Output>) -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        act(&mut self.out.lock().unwrap_or_else(PoisonError::into_inner)).map_err(|error| {
            let kind = error.kind();
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            kind.into()
        })
    }
}

impl Write for Shared {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.attempt(|out| out.write(octets))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.attempt(BufWriter::flush)
    }
}

/// What is printed and kept: a summary, or several made one.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum Report {
    One(Box<Summary>),
    Several(Box<Aggregate>),
}

impl Report {
    fn of(mut summaries: Vec<Summary>, several: bool) -> Self {
        match summaries.pop() {
            Some(summary) if !several && summaries.is_empty() => Self::One(Box::new(summary)),
            last => {
                summaries.extend(last);
                Self::Several(Box::new(Aggregate::new(summaries)))
            }
        }
    }

    fn print(&self, mut out: impl Write, json: bool) -> std::io::Result<()> {
        match self {
            _ if json => {
                serde_json::to_writer_pretty(&mut out, self)?;
                writeln!(out)
            }
            Self::One(summary) => table::summary(&mut out, summary),
            Self::Several(aggregate) => table::aggregate(&mut out, aggregate),
        }
    }
}

/// One seed's files stand in the folder itself, those of several each in a folder of its own.
fn save(
    folder: Folder,
    source: &Source,
    outcomes: &[Outcome],
    report: &Report,
    style: PlotStyle,
) -> Result<(), Failure> {
    folder.write_json("run.json", &Provenance::of_this_process())?;
    folder.write_json("summary.json", report)?;
    folder.write("scenario.toml", |file| file.write_all(source.text().as_bytes()))?;
    for outcome in outcomes {
        let Summary { scenario, seed, .. } = &outcome.summary;
        let place = |name: &str| match report {
            Report::One(_) => name.to_owned(),
            Report::Several(_) => format!("seed-{seed}/{name}"),
        };
        if matches!(report, Report::Several(_)) {
            folder.write_json(&place("summary.json"), &outcome.summary)?;
        }
        folder.write(&place("series.csv"), |file| outcome.series.write_csv(file))?;
        folder.write(&place("series.parquet"), |file| outcome.series.write_parquet(file))?;
        folder.write(&place("decisions.csv"), |file| decisions::write_csv(&outcome.decisions, file))?;
        let picture =
            plot::svg(&outcome.series, &outcome.decisions, &format!("{scenario}, seed {seed}"), style);
        folder.write(&place("plot.svg"), |file| file.write_all(picture.as_bytes()))?;
    }
    folder.finish()
}
