//! `seaway reproduce`: the papers' tables and figures.

use crate::failure::{Failure, MISSED};
use crate::interrupt;
use crate::output::{Folder, Provenance};
use crate::progress::Progress;
use seaway_papers::report::{Entry, Report, Robustness, Verdict, counts_line, html};
use seaway_papers::{Experiment, Kind, Runner, of_paper, select};
use seaway_units::TimeDelta;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Rows, such as S000-T1 or S001-F5b; `seaway list experiments` lists them
    #[arg(value_name = "ID", required_unless_present_any = ["seed_papers", "all"])]
    ids: Vec<String>,
    /// All rows of a paper, S000 to S004
    #[arg(long = "seed-paper", value_name = "PAPER")]
    seed_papers: Vec<String>,
    /// All rows of all papers
    #[arg(long, conflicts_with_all = ["ids", "seed_papers"])]
    all: bool,
    /// Number of seeds of each run
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Run each measured row again with other seeds, packet sizes, round-trip times and starts, and report which rows still hold
    #[arg(long, conflicts_with = "output")]
    robust: bool,
    /// S002's clip, Mobile, coded as MPEG-2 at 4 Mbit/s; without it S002-F2 and S002-F3 are not checked
    #[arg(long, value_name = "FILE")]
    mobile: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Write a folder with the report as a page and as JSON, the plots and the command
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let experiments = select(&arguments.ids, &arguments.seed_papers, arguments.all)
        .map_err(|problem| Failure::input(&problem))?;
    interrupt::install()?;
    let folder = arguments.output.as_deref().map(Folder::begin).transpose()?;
    let progress = Progress::of_steps(experiments.len() as u64);
    let watch = |_: TimeDelta| {
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut runner = Runner::new(arguments.seed, arguments.seeds, &watch);
    if let Some(path) = &arguments.mobile {
        let stream =
            std::fs::read(path).map_err(|error| Failure::input(&format!("{}: {error}", path.display())))?;
        runner = runner.with_mobile(stream);
    }
    if arguments.robust {
        return robust(&experiments, &mut runner, arguments.json);
    }
    let report = Report::of(&experiments, &mut runner, &mut |experiment| progress.step(experiment.id))
        .map_err(|failure| Failure::running(&failure))?;
    progress.clear();
    if let Some(folder) = folder {
        save(folder, &report)?;
    }
    print(&report, arguments.json).map_err(|error| Failure::output(&error))?;
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// Which conclusions survive.
fn robust(
    experiments: &[&'static Experiment],
    runner: &mut Runner<'_>,
    json: bool,
) -> Result<ExitCode, Failure> {
    // Each measured row is made once for every change of its paper, once as it is, and once with other seeds.
    let changes =
        |row: &&Experiment| of_paper(row.paper()).map_or(0, |paper| paper.stresses.len() as u64 + 2);
    let is_measured = |row: &&&'static Experiment| row.kind == Kind::Measured;
    let steps = experiments.iter().filter(is_measured).map(changes).sum();
    let progress = Progress::of_steps(steps);
    let found = Robustness::of(experiments, runner, &mut |experiment| progress.step(experiment.id))
        .map_err(|failure| Failure::running(&failure))?;
    progress.clear();
    let mut out = std::io::stdout().lock();
    let written = if json {
        serde_json::to_writer_pretty(&mut out, &found).map_err(Into::into).and_then(|()| writeln!(out))
    } else {
        write!(out, "{}", found.text())
    };
    written.map_err(|error| Failure::output(&error))?;
    let falls = found.rows.iter().any(|row| row.verdict == Verdict::Held && !row.survives);
    Ok(if falls { ExitCode::from(MISSED) } else { ExitCode::SUCCESS })
}

fn save(folder: Folder, report: &Report) -> Result<(), Failure> {
    let provenance = Provenance::of_this_process();
    folder.write_json("run.json", &provenance)?;
    folder.write_json("report.json", report)?;
    let page = html(report, &provenance.command);
    folder.write("report.html", |file| file.write_all(page.as_bytes()))?;
    for entry in &report.experiments {
        for (index, figure) in entry.figures.iter().enumerate() {
            let svg = figure.plot().print_svg();
            let name = format!("figures/{}-{}.svg", entry.id, index + 1);
            folder.write(&name, |file| file.write_all(svg.as_bytes()))?;
        }
    }
    folder.finish()
}

fn print(report: &Report, json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, report)?;
        return writeln!(out);
    }
    for entry in &report.experiments {
        writeln!(out, "{:<9} {:<8} {}", entry.id, entry.verdict_text(), entry.title)?;
        for reading in &entry.own_readings {
            writeln!(out, "          its own Reading: {reading}")?;
        }
        print_numbers(&mut out, entry)?;
    }
    let counts = &report.counts;
    writeln!(
        out,
        "\n{}; apart: {} held or shown, {} open",
        counts_line(counts),
        counts.apart,
        counts.apart_open
    )
}

fn print_numbers(out: &mut impl Write, entry: &Entry) -> std::io::Result<()> {
    if let Some(why) = entry.where_or_why.filter(|_| entry.verdict == Verdict::NotYet) {
        writeln!(out, "          waits for {why}")?;
    }
    for check in &entry.checks {
        let interval = check.ci95.map_or_else(String::new, |ci95| format!(" ± {ci95:.4}"));
        let paper = check.paper.map_or_else(String::new, |paper| format!("; paper {paper}"));
        let verdict = match (check.counts, check.held) {
            (false, _) => "reported",
            (true, true) => "held",
            (true, false) => "MISSED",
        };
        writeln!(
            out,
            "    {verdict:<8} {}: {:.4}{interval} {} in {}{paper}",
            check.what, check.ours, check.unit, check.tolerance
        )?;
    }
    Ok(())
}
