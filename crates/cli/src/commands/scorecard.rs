//! `seaway scorecard`: every controller over the test cases of two RFCs, over curves, and over networks with bars.

use crate::controls;
use crate::failure::{Failure, MISSED};
use crate::files::Output;
use crate::interrupt;
use crate::output::{Folder, Provenance};
use crate::progress::Progress;
use seaway_control::Registry;
use seaway_lab::scorecard::{Scorecard, Setup, Suite};
use seaway_lab::{Outcome, RunOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Controllers, such as tfrc,nada,'multfrc(max=8)'; default: all that can run, or seaway for suites with bars
    #[arg(long, value_name = "LIST")]
    control: Vec<String>,
    /// Suites of cases: rfc8867, rfc8869, curves; suites with bars, where a missed bar gives exit code 3: acceptance, real-loss, traps
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = Suite::COMPARED)]
    suite: Vec<Suite>,
    /// Number of seeds for each case; default: 5, or 3 for suites with bars
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Write the page to this file; default without -o and --json: scorecard.html
    #[arg(long, value_name = "FILE")]
    page: Option<String>,
    /// Write a folder with the page, the results as JSON and CSV, and the command
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let setup = setup(arguments)?;
    interrupt::install()?;
    let folder = arguments.output.as_deref().map(Folder::begin).transpose()?;
    let page = page_name(arguments).map(|name| Output::create(&name)).transpose()?;
    let card = setup.finish(&outcomes(&setup)?);
    if let Some(mut page) = page {
        page.put(card.page(&Provenance::of_this_process().command).as_bytes())?;
        page.finish()?;
    }
    if let Some(folder) = folder {
        save(folder, &card)?;
    }
    print(arguments, &card).map_err(|error| Failure::output(&error))?;
    let has_missed = card.judged(Registry::DEFAULT).is_some_and(|control| card.has_missed(control));
    Ok(if has_missed { ExitCode::from(MISSED) } else { ExitCode::SUCCESS })
}

fn setup(arguments: &Arguments) -> Result<Setup, Failure> {
    let has_bars_alone = arguments.suite.iter().all(|suite| suite.has_bars());
    let controls = match arguments.control.as_slice() {
        [] if has_bars_alone => Some(controls::parse(&[Registry::DEFAULT.to_owned()])?),
        [] => None,
        named => Some(controls::parse(named)?),
    };
    let seeds = arguments.seeds.unwrap_or(if has_bars_alone { 3 } else { 5 });
    let is_selected = |suite: &Suite| arguments.suite.contains(suite);
    let suites: Vec<Suite> = Suite::ALL.into_iter().filter(is_selected).collect();
    Setup::new(&Registry::builtin(), controls, &suites, arguments.seed, seeds)
        .map_err(|error| Failure::input(&error))
}

fn page_name(arguments: &Arguments) -> Option<String> {
    let is_usual = arguments.output.is_none() && !arguments.json;
    arguments.page.clone().or_else(|| is_usual.then(|| "scorecard.html".to_owned()))
}

/// All runs on all cores.
fn outcomes(setup: &Setup) -> Result<Vec<Outcome>, Failure> {
    let progress = Progress::new(setup.scenarios().iter().map(|scenario| scenario.duration).sum());
    let step = |passed| progress.simulated(passed);
    let outcomes = seaway_lab::sweep(setup.scenarios(), RunOptions::default(), &step);
    progress.clear();
    if interrupt::requested() {
        return Err(Failure::running(&"interrupted; nothing was written"));
    }
    outcomes.map_err(|error| Failure::input(&error))
}

fn save(folder: Folder, card: &Scorecard) -> Result<(), Failure> {
    let provenance = Provenance::of_this_process();
    folder.write_json("run.json", &provenance)?;
    folder.write("index.html", |file| file.write_all(card.page(&provenance.command).as_bytes()))?;
    folder
        .write("scorecard.json", |file| card.write_json(&mut *file).and_then(|()| file.write_all(b"\n")))?;
    folder.write("scorecard.csv", |file| card.write_csv(file))?;
    if card.has_bars() {
        folder.write("bars.csv", |file| card.write_bars(file))?;
    }
    folder.finish()
}

fn print(arguments: &Arguments, card: &Scorecard) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if arguments.json {
        card.write_json(&mut out)?;
        return writeln!(out);
    }
    card.print(&mut out)?;
    let page = page_name(arguments)
        .or_else(|| arguments.output.as_ref().map(|folder| folder.join("index.html").display().to_string()));
    match page {
        Some(page) => writeln!(out, "page: {page}"),
        None => Ok(()),
    }
}
