//! `seaway sweep`: every combination of scenarios, controllers, parameters and seeds.

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use seaway_control::Registry;
use seaway_lab::plan::{Merge, Plan, SweepFolder};
use seaway_lab::{BuildError, Outcome, RunOptions, sweep_each};
use seaway_units::TimeDelta;
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

const AFTER: &str = "Several processes may fill one folder, each with its shard. The last to end writes \
                     runs.parquet: the same bytes whatever the shards. docs/sweeps.md describes the plan and the folder.";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Arguments {
    /// The plan: scenarios, controllers, parameters and seeds
    plan: PathBuf,
    /// The folder of the runs
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Make only the runs of part I of N, counted from 1
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Continue where an earlier process stopped: finished runs are not made again
    #[arg(long)]
    resume: bool,
    /// Threads; all cores by default
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// A part of the runs: every n-th, from the i-th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shard {
    index: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Self { index, of }),
            _ => Err("expected I/N with I from 1 to N, such as 2/8".to_owned()),
        }
    }
}

impl Shard {
    fn of(self, runs: usize) -> impl Iterator<Item = usize> {
        (self.index - 1..runs).step_by(self.of)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let plan = read(&arguments.plan)?;
    interrupt::install()?;
    let folder = SweepFolder::open(&arguments.output, &plan).map_err(|problem| Failure::input(&problem))?;
    let mine: Vec<usize> = arguments.shard.of(plan.runs()).collect();
    let missing: Vec<usize> = mine.iter().copied().filter(|run| !folder.has(*run)).collect();
    if missing.len() < mine.len() && !arguments.resume {
        let (there, what) = (mine.len() - missing.len(), arguments.output.display());
        return Err(Failure::input(&format!(
            "{what}: {there} runs are there already; --resume makes the others"
        )));
    }
    let made = make(&plan, &folder, &missing, arguments.threads)?;
    if interrupt::requested() {
        let text = format!("interrupted; {made} runs were made, and --resume makes the others");
        return Err(Failure::running(&text));
    }
    let merged = folder.merge(&plan).map_err(|problem| Failure::running(&problem))?;
    let what = arguments.output.display();
    let mut out = std::io::stdout().lock();
    let printed = match merged {
        Merge::Written(rows) => {
            writeln!(
                out,
                "{} runs, {made} of them made now; {what}/runs.parquet has {rows} rows",
                plan.runs()
            )
        }
        Merge::Missing(runs) => {
            writeln!(out, "{made} runs made; {what}/runs.parquet waits for {runs} of other shards")
        }
    };
    printed.map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Plan, Failure> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|problem| Failure::input(&format!("{name}: {problem}")))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    Plan::parse(&name, &text, folder, &Registry::builtin()).map_err(|problem| Failure::input(&problem))
}

/// Makes these runs and keeps each whole one. Returns how many.
fn make(
    plan: &Plan,
    folder: &SweepFolder,
    runs: &[usize],
    threads: Option<NonZeroUsize>,
) -> Result<usize, Failure> {
    let progress = Progress::new(length(plan, runs)?);
    let (failure, made) = (Mutex::new(None), Mutex::new(0));
    let keep = |index: usize, result: Result<Outcome, BuildError>| {
        let kept = match result {
            Ok(outcome) if outcome.interrupted => return ControlFlow::Break(()),
            Ok(outcome) => folder.put(plan, runs[index], &outcome).map_err(|error| Failure::running(&error)),
            Err(error) => Err(Failure::input(&error)),
        };
        match kept {
            Ok(()) => {
                *made.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                ControlFlow::Continue(())
            }
            Err(problem) => {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
                ControlFlow::Break(())
            }
        }
    };
    let options = RunOptions { series: plan.series, ..RunOptions::default() };
    let scenario = |index: usize| plan.scenario(runs[index]);
    sweep_each(runs.len(), threads, options, &scenario, &|passed| progress.simulated(passed), &keep);
    progress.clear();
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(problem) => Err(problem),
        None => Ok(made.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// Virtual time of these runs: those that differ in the seed alone are of one length.
fn length(plan: &Plan, runs: &[usize]) -> Result<TimeDelta, Failure> {
    let seeds = plan.seeds.len().max(1);
    let mut known = (usize::MAX, TimeDelta::ZERO);
    let mut sum = TimeDelta::ZERO;
    for run in runs {
        if known.0 != run / seeds {
            let scenario = plan.scenario(*run).map_err(|problem| Failure::input(&problem))?;
            known = (run / seeds, scenario.duration);
        }
        sum += known.1;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_parts_of_the_whole() {
        assert_eq!("2/8".parse(), Ok(Shard { index: 2, of: 8 }));
        for wrong in ["", "2", "0/2", "3/2", "1/0", "-1/2", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        let mut all: Vec<usize> = (1..=3).flat_map(|index| Shard { index, of: 3 }.of(10)).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10));
    }
}
