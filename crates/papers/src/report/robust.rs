//! Which conclusions survive other seeds, packets, round-trip times and starts.

use super::{Entry, Verdict, made_together};
use crate::experiment::{Experiment, Kind, Method};
use crate::runner::{Failure, Runner, Stress};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// Rows under changes that their papers do not make.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Robustness {
    /// Measured rows, each under the changes of its paper.
    pub rows: Vec<RobustRow>,
}

/// A row and what became of it.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct RobustRow {
    /// `S000-T1`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// As `reproduce` has it.
    pub verdict: Verdict,
    /// Under each change.
    pub changed: Vec<Changed>,
    /// It held, and holds under every change.
    pub survives: bool,
}

/// A change and the verdict under it.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Changed {
    /// What was changed.
    pub what: &'static str,
    /// The verdict.
    pub verdict: Verdict,
}

/// The seeds after those of the rows.
const OTHER_SEEDS: &str = "other seeds";

impl Robustness {
    /// Runs the measured ones of these experiments as they are, with other seeds, and under each change of their papers.
    ///
    /// # Errors
    /// Where one could not be run.
    pub fn of(
        experiments: &[&'static Experiment],
        runner: &mut Runner<'_>,
        done: &mut dyn FnMut(&Experiment),
    ) -> Result<Self, Failure> {
        let is_run = |row: &&&Experiment| row.kind == Kind::Measured && matches!(row.method, Method::Run(_));
        let measured: Vec<&'static Experiment> = experiments.iter().filter(is_run).copied().collect();
        let mut rows = Vec::with_capacity(measured.len());
        for of_paper in measured.chunk_by(|a, b| a.paper() == b.paper()) {
            rows.extend(of_one(of_paper, runner, done)?);
        }
        Ok(Self { rows })
    }

    /// A page for `docs/papers`.
    pub fn markdown(&self) -> String {
        let held = self.rows.iter().filter(|row| row.verdict == Verdict::Held).count();
        let survive = self.rows.iter().filter(|row| row.survives).count();
        let mut text = format!(
            "# Which conclusions survive\n\n\
             `make papers` wrote this page from what `seaway reproduce --all --robust` finds: each measured row with the five seeds \
             that follow, and with packets, round-trip times and starts that differ a little. {survive} of {held} rows that hold do so under \
             every change.\n\n\
             | row | what | verdict | under a change |\n| --- | --- | --- | --- |\n"
        );
        for row in &self.rows {
            let differs = row.changed.iter().filter(|changed| changed.verdict != row.verdict);
            let differs: Vec<String> =
                differs.map(|changed| format!("{}: {}", changed.what, changed.verdict.as_str())).collect();
            let differs = if differs.is_empty() { "the same".to_owned() } else { differs.join("; ") };
            let page = row.id.split_once('-').map_or(row.id, |(paper, _)| paper).to_lowercase();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| [{0}]({page}.md#{1}) | {2} | {3} | {differs} |",
                row.id,
                row.id.to_lowercase(),
                row.title,
                row.verdict.as_str()
            );
        }
        text
    }

    /// A table of the rows, one line each.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for row in &self.rows {
            let fate = match (row.verdict, row.survives) {
                (Verdict::Held, true) => "survives",
                (Verdict::Held, false) => "falls",
                (verdict, _) => verdict.as_str(),
            };
            let _ = writeln!(text, "{:<9} {fate:<9} {}", row.id, row.title);
            for changed in row.changed.iter().filter(|changed| changed.verdict != row.verdict) {
                let _ = writeln!(text, "          {}: {}", changed.what, changed.verdict.as_str());
            }
        }
        let held = self.rows.iter().filter(|row| row.verdict == Verdict::Held).count();
        let survive = self.rows.iter().filter(|row| row.survives).count();
        let _ = writeln!(text, "\n{survive} of {held} held rows survive every change");
        text
    }
}

fn of_one(
    rows: &[&'static Experiment],
    runner: &mut Runner<'_>,
    done: &mut dyn FnMut(&Experiment),
) -> Result<Vec<RobustRow>, Failure> {
    let mut verdicts = |runner: &mut Runner<'_>, stress: Stress| -> Result<Vec<Verdict>, Failure> {
        runner.clear();
        runner.stress(stress);
        let entries = made_together(rows, runner, done)?;
        Ok(entries.iter().map(|entry: &Entry| entry.verdict).collect())
    };
    let as_they_are = verdicts(runner, Stress::default())?;
    let mut changes = Vec::new();
    let mut others = runner.with_other_seeds();
    changes.push((OTHER_SEEDS, verdicts(&mut others, Stress::default())?));
    let paper = rows.first().and_then(|row| crate::of_paper(row.paper()));
    for stress in paper.into_iter().flat_map(|paper| paper.stresses) {
        changes.push((stress.what, verdicts(runner, *stress)?));
    }
    runner.stress(Stress::default());
    let row = |(place, row): (usize, &&'static Experiment)| {
        let of = |(what, verdicts): &(&'static str, Vec<Verdict>)| Changed { what, verdict: verdicts[place] };
        let changed: Vec<Changed> = changes.iter().map(of).collect();
        let verdict = as_they_are[place];
        let survives =
            verdict == Verdict::Held && changed.iter().all(|changed| changed.verdict == Verdict::Held);
        RobustRow { id: row.id, title: row.title, verdict, changed, survives }
    };
    Ok(rows.iter().enumerate().map(row).collect())
}
