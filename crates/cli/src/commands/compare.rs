//! `seaway compare`: the same network and the same video under several controllers.

use crate::cache::Cache;
use crate::controls;
use crate::failure::Failure;
use crate::files::Output;
use crate::interrupt;
use crate::output::{Folder, Provenance};
use crate::progress::Progress;
use crate::scenario::Source;
use seaway_control::ControlSpec;
use seaway_lab::compare::{Comparison, Run, Setup};
use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{Outcome, RunOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A scenario file, `-` for standard input, or a name of `seaway list scenarios`
    scenario: String,
    /// Controllers, such as tfrc,nada,'multfrc(max=8)'
    #[arg(long, value_name = "LIST", required = true)]
    control: Vec<String>,
    /// The video; default: the clip of the scenario, else the bundled one
    #[arg(long, value_name = "FILE")]
    clip: Option<String>,
    /// The flow that is compared and the only one that uses the controllers; default: the first, and all media flows use them
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// The policy that divides a controller's target among its encoders, for all media flows, such as 'direct' or 'pd(buffer=2 s)';
    /// default: that of the scenario
    #[arg(long, value_name = "POLICY")]
    policy: Option<ControlSpec>,
    /// Seed of all random numbers; default: that of the scenario
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of seeds, counted up from the first; the first is shown
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    /// Change the scenario, such as link.bottleneck.rate='2 Mbit/s'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Write the page to this file; default without -o and --json: SCENARIO-compare.html
    #[arg(long, value_name = "FILE")]
    page: Option<String>,
    /// Write a folder with the page, the results, tables of numbers, time series and causes, and the command
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Run everything again and ignore the cache
    #[arg(long)]
    no_cache: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let source = Source::read(&arguments.scenario)?;
    let scenario = source.parse(&arguments.overrides)?;
    let mut scenario = Scenario { seed: arguments.seed.unwrap_or(scenario.seed), ..scenario };
    if let Some(policy) = &arguments.policy {
        scenario.policy_all(policy).map_err(|error| Failure::input(&error))?;
    }
    let setup = setup(arguments, scenario)?;
    interrupt::install()?;
    let folder = arguments.output.as_deref().map(Folder::begin).transpose()?;
    let page = page_name(arguments, setup.name()).as_deref().map(Output::create).transpose()?;
    let cache = if arguments.no_cache { Cache::none() } else { Cache::open("compare") };
    let comparison = setup.finish(runs(&setup, &cache)?).map_err(|error| Failure::running(&error))?;
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

fn setup(arguments: &Arguments, scenario: Scenario) -> Result<Setup, Failure> {
    let controls = controls::parse(&arguments.control)?;
    if !(1..=8).contains(&controls.len()) {
        return Err(Failure::input(&format!("--control: {} controllers: expected 1 to 8", controls.len())));
    }
    let (flow, clip) = (arguments.flow.as_deref(), arguments.clip.as_deref());
    Setup::new(scenario, flow, controls, clip, arguments.seeds).map_err(|error| Failure::input(&error))
}

fn page_name(arguments: &Arguments, scenario: &str) -> Option<String> {
    let usual = || {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        format!("{}-compare.html", scenario.chars().map(plain).collect::<String>())
    };
    let is_usual = arguments.output.is_none() && !arguments.json;
    arguments.page.clone().or_else(|| is_usual.then(usual))
}

/// A run that the comparison needs.
struct Job {
    key: String,
    scenario: Scenario,
    options: RunOptions,
    /// From the cache, or simulated.
    run: Option<Run>,
}

/// The runs of each controller: those of the cache, the others simulated on all cores.
fn runs(setup: &Setup, cache: &Cache) -> Result<Vec<Vec<Run>>, Failure> {
    // The scenario holds the contents of its other files, but only the name of the clip.
    let clip = setup.clip().and_then(|file| std::fs::metadata(file).ok());
    let clip = clip.map(|file| (file.len(), file.modified().ok()));
    let job = |control: &ControlSpec, number: u16| {
        let (scenario, options) = (setup.scenario(control, number), options(setup, number));
        let key = cache.key(&format!("{scenario:?} {clip:?} {options:?}"));
        Job { run: cache.get(&key), key, scenario, options }
    };
    let of = |control| (0..setup.seeds()).map(|number| job(control, number)).collect();
    let mut jobs: Vec<Vec<Job>> = setup.controls().iter().map(of).collect();
    let mut missing: Vec<&mut Job> = jobs.iter_mut().flatten().filter(|job| job.run.is_none()).collect();
    let progress = Progress::new(missing.iter().map(|job| job.scenario.duration).sum());
    // A sweep has one set of options, and only the first run of a controller is recorded.
    for number in [0, 1] {
        let options = options(setup, number);
        let mut set: Vec<_> = missing
            .iter_mut()
            .filter(|job| job.options.record.is_some() == options.record.is_some())
            .collect();
        let scenarios: Vec<Scenario> = set.iter().map(|job| job.scenario.clone()).collect();
        let outcomes = simulate(&scenarios, options, &progress)?;
        for (job, outcome) in set.iter_mut().zip(&outcomes) {
            let run = Run::new(outcome, setup.flow());
            cache.put(&job.key, &run);
            job.run = Some(run);
        }
    }
    progress.clear();
    Ok(jobs.into_iter().map(|jobs| jobs.into_iter().filter_map(|job| job.run).collect()).collect())
}

/// The first run of a controller is recorded.
fn options(setup: &Setup, number: u16) -> RunOptions {
    let record = (number == 0).then(|| setup.recording());
    RunOptions { series: record.is_some(), record, ..RunOptions::default() }
}

fn simulate(
    scenarios: &[Scenario],
    options: RunOptions,
    progress: &Progress,
) -> Result<Vec<Outcome>, Failure> {
    let step = |passed| progress.simulated(passed);
    let outcomes = seaway_lab::sweep(scenarios, options, &step).map_err(|error| Failure::input(&error))?;
    if interrupt::requested() {
        progress.clear();
        return Err(Failure::running(&"interrupted; finished runs are in the cache"));
    }
    Ok(outcomes)
}

fn save(folder: Folder, source: &Source, comparison: &Comparison) -> Result<(), Failure> {
    let provenance = Provenance::of_this_process();
    folder.write_json("run.json", &provenance)?;
    folder.write("scenario.toml", |file| file.write_all(source.text().as_bytes()))?;
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
