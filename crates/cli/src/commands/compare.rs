//! `seaway compare`: the same network and the same video under several controllers.

use super::Failure;
use crate::cache::Cache;
use crate::controls;
use crate::interrupt;
use crate::output::{Folder, Provenance};
use crate::progress::Progress;
use crate::scenario::Source;
use crate::stream::Sink;
use seaway_control::ControlSpec;
use seaway_lab::compare::{Comparison, Contest, Take};
use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{Outcome, RunOptions};
use seaway_units::TimeDelta;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A scenario file, `-` for standard input, or a name of `seaway list scenarios`
    scenario: String,
    /// Controllers, such as tfrc,nada,'multfrc(max=8)'
    #[arg(long, value_name = "LIST", required = true)]
    control: Vec<String>,
    /// The video; the bundled clip where the scenario names none
    #[arg(long, value_name = "FILE")]
    clip: Option<String>,
    /// The flow that is watched and alone takes the controllers; else the first, and all media flows take them
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Where all randomness comes from; in place of the scenario's own
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run with so many seeds, one after another from the first; the first is shown
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    /// Change the scenario, such as link.bottleneck.rate='2 Mbit/s'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Write the page to this file; without it and -o it is SCENARIO-compare.html, unless --json is asked for
    #[arg(long, value_name = "FILE")]
    page: Option<String>,
    /// Write a folder with the page, the results, tables of numbers, time series and causes, and the command
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Run everything again, whatever was run before
    #[arg(long)]
    no_cache: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let source = Source::read(&arguments.scenario)?;
    let scenario = source.parse(&arguments.overrides)?;
    let scenario = Scenario { seed: arguments.seed.unwrap_or(scenario.seed), ..scenario };
    let contest = contest(arguments, scenario)?;
    interrupt::install()?;
    let folder = arguments.output.as_deref().map(Folder::begin).transpose()?;
    let page = page_name(arguments, contest.name()).as_deref().map(Sink::create).transpose()?;
    let cache = if arguments.no_cache { Cache::none() } else { Cache::open("compare") };
    let comparison = contest.finish(runs(&contest, &cache)?).map_err(|error| Failure::running(&error))?;
    if let Some(mut page) = page {
        page.put(comparison.page(&Provenance::of_this_process().command).as_bytes())?;
        page.finish()?;
    }
    if let Some(folder) = folder {
        save(folder, &source, &comparison)?;
    }
    print(arguments, &comparison).map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn contest(arguments: &Arguments, scenario: Scenario) -> Result<Contest, Failure> {
    let controls = controls::parse(&arguments.control)?;
    if !(1..=8).contains(&controls.len()) {
        return Err(Failure::input(&format!("--control: {} controllers: expected 1 to 8", controls.len())));
    }
    let (flow, clip) = (arguments.flow.as_deref(), arguments.clip.as_deref());
    Contest::new(scenario, flow, controls, clip, arguments.seeds).map_err(|error| Failure::input(&error))
}

fn page_name(arguments: &Arguments, scenario: &str) -> Option<String> {
    let usual = || {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        format!("{}-compare.html", scenario.chars().map(plain).collect::<String>())
    };
    let is_usual = arguments.output.is_none() && !arguments.json;
    arguments.page.clone().or_else(|| is_usual.then(usual))
}

/// One run that is needed.
struct Job {
    key: String,
    scenario: Scenario,
}

/// The runs of each controller: from the cache what was run before, the rest on all cores.
fn runs(contest: &Contest, cache: &Cache) -> Result<Vec<Vec<Take>>, Failure> {
    // The scenario holds what is in its other files; of the clip it has the name alone.
    let clip = contest.clip().and_then(|file| std::fs::metadata(file).ok());
    let clip = clip.map(|file| (file.len(), file.modified().ok()));
    let job = |control: &ControlSpec, number: u16| {
        let scenario = contest.scenario(control, number);
        Job { key: cache.key(&format!("{scenario:?} {clip:?} {:?}", options(contest, number))), scenario }
    };
    let jobs: Vec<Vec<Job>> = contest
        .controls()
        .iter()
        .map(|control| (0..contest.seeds()).map(|number| job(control, number)).collect())
        .collect();
    let mut takes: Vec<Vec<Option<Take>>> =
        jobs.iter().map(|jobs| jobs.iter().map(|job| cache.get(&job.key)).collect()).collect();
    let is_missing =
        |takes: &[Vec<Option<Take>>], control: usize, number: usize| takes[control][number].is_none();
    let every =
        || (0..jobs.len()).flat_map(|control| (0..jobs[control].len()).map(move |number| (control, number)));
    let missing: Vec<_> = every().filter(|&(control, number)| is_missing(&takes, control, number)).collect();
    let total = missing.iter().map(|&(control, number)| jobs[control][number].scenario.duration).sum();
    let progress = Progress::new(total);
    // First runs are filmed, the others are not: two sets with options of their own.
    for filmed in [true, false] {
        let set: Vec<_> = missing.iter().copied().filter(|&(_, number)| (number == 0) == filmed).collect();
        let scenarios: Vec<Scenario> =
            set.iter().map(|&(control, number)| jobs[control][number].scenario.clone()).collect();
        let outcomes = simulate(&scenarios, options(contest, u16::from(!filmed)), &progress)?;
        for ((control, number), outcome) in set.into_iter().zip(&outcomes) {
            let take = Take::of(outcome, contest.flow());
            cache.put(&jobs[control][number].key, &take);
            takes[control][number] = Some(take);
        }
    }
    progress.clear();
    Ok(takes.into_iter().map(|takes| takes.into_iter().flatten().collect()).collect())
}

/// A first run is filmed.
fn options(contest: &Contest, number: u16) -> RunOptions {
    let record = (number == 0).then(|| contest.filming());
    RunOptions { series: record.is_some(), record, ..RunOptions::default() }
}

fn simulate(
    scenarios: &[Scenario],
    options: RunOptions,
    progress: &Progress,
) -> Result<Vec<Outcome>, Failure> {
    let step = |passed: TimeDelta| {
        progress.advance(passed);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcomes = seaway_lab::sweep(scenarios, options, &step).map_err(|error| Failure::input(&error))?;
    if interrupt::asked() {
        progress.clear();
        return Err(Failure::running(&"interrupted; whole runs are remembered"));
    }
    Ok(outcomes)
}

fn save(folder: Folder, source: &Source, comparison: &Comparison) -> Result<(), Failure> {
    let provenance = Provenance::of_this_process();
    folder.write_json("run.json", &provenance)?;
    folder.write("scenario.toml", |file| file.write_all(source.text.as_bytes()))?;
    folder.write("index.html", |file| file.write_all(comparison.page(&provenance.command).as_bytes()))?;
    folder.write("compare.json", |file| {
        comparison.write_json(&mut *file).and_then(|()| file.write_all(b"\n"))
    })?;
    folder.write("table.csv", |file| comparison.write_table(file))?;
    folder.write("series.csv", |file| comparison.write_series(file))?;
    folder.write("causes.csv", |file| comparison.write_causes(file))?;
    folder.finish()
}

fn print(arguments: &Arguments, comparison: &Comparison) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if arguments.json {
        comparison.write_json(&mut out)?;
        return writeln!(out);
    }
    comparison.print(&mut out)?;
    let page = page_name(arguments, &comparison.scenario)
        .or_else(|| arguments.output.as_ref().map(|folder| folder.join("index.html").display().to_string()));
    match page {
        Some(page) => writeln!(out, "page: {page}"),
        None => Ok(()),
    }
}
