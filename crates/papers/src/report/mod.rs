//! The report of a set of experiments: a JSON document, a page, and Markdown.

mod markdown;
mod page;
mod robust;

use crate::experiment::{Experiment, Kind, Method, Opposite};
use crate::figure::Figure;
use crate::interpretation::Interpretation;
use crate::results::{Check, Results};
use crate::runner::{Failure, Runner};
use schemars::JsonSchema;
use serde::Serialize;

pub use markdown::{figure_name, markdown};
pub use page::html;
pub use robust::{Changed, RobustRow, Robustness};

/// Experiments and their results.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Report {
    /// The version of this form.
    pub schema: u32,
    /// The version of Seaway.
    pub seaway: &'static str,
    /// Every run's seeds.
    pub seeds: Vec<u64>,
    /// Rows by verdict.
    pub counts: Counts,
    /// How each paper is read.
    pub readings: Vec<PaperReadings>,
    /// One by one.
    pub experiments: Vec<Entry>,
}

/// Rows by verdict; those that measure nothing are counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Counts {
    /// Measured rows whose numbers all lie in their tolerances.
    pub held: usize,
    /// Measured rows that need a Reading which the paper's other rows do not have.
    pub held_under_own_reading: usize,
    /// Measured rows with a number outside its tolerance.
    pub missed: usize,
    /// Such rows of which an identity row proves that they cannot hold.
    pub excluded: usize,
    /// Measured rows that are not made yet.
    pub not_yet: usize,
    /// Configuration, schematic and identity rows that hold or are shown.
    pub apart: usize,
    /// Such rows that fail or are not made yet.
    pub apart_open: usize,
}

/// A paper's Readings.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct PaperReadings {
    /// `S000`.
    pub paper: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// The rule by which the beginning of a run is left out.
    pub settled: &'static str,
    /// What it says, what cannot hold, and what we suggest to its authors.
    #[serde(skip)]
    pub account: &'static str,
    /// Its Readings.
    pub readings: &'static [Interpretation],
}

/// The verdict on an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub enum Verdict {
    /// Every number lies in its tolerance, under the paper's one set of Readings.
    #[serde(rename = "held")]
    Held,
    /// The same, but with a change that neither the paper nor its Readings make.
    #[serde(rename = "held under its own Reading")]
    HeldUnderOwnReading,
    /// A number lies outside.
    #[serde(rename = "missed")]
    Missed,
    /// The same, and an identity row proves that it must.
    #[serde(rename = "excluded")]
    Excluded,
    /// It is shown elsewhere.
    #[serde(rename = "shown")]
    Shown,
    /// It is not made yet.
    #[serde(rename = "not yet")]
    NotYet,
}

impl Verdict {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::HeldUnderOwnReading => "held under its own Reading",
            Self::Missed => "missed",
            Self::Excluded => "excluded",
            Self::Shown => "shown",
            Self::NotYet => "not yet",
        }
    }
}

/// An experiment and its result.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Entry {
    /// `S000-T1`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Whether it counts.
    pub kind: Kind,
    /// The verdict.
    pub verdict: Verdict,
    /// What the paper says.
    pub reported: &'static str,
    /// What must come out.
    pub claim: &'static str,
    /// Where a diagram is shown, or what an unfinished row waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub where_or_why: Option<&'static str>,
    /// The identity row that proves where it cannot hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<&'static str>,
    /// Changes of its runs that neither the paper nor its Readings make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_readings: Vec<String>,
    /// The wrong model that misses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opposite: Option<&'static str>,
    /// Its numbers.
    pub checks: Vec<Check>,
    /// What it ran with.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub parameters: pairs::Pairs,
    /// The substitute for a clip that is not shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub substitute: Option<&'static str>,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
    /// Its plots.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

/// Pairs that are written as an object, in their order.
mod pairs {
    use serde::{Serialize, Serializer};

    /// Names and values.
    #[derive(Debug, Clone, Default)]
    pub struct Pairs(pub Vec<(&'static str, String)>);

    impl Serialize for Pairs {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
        }
    }
}

impl Report {
    /// The version of the form.
    pub const SCHEMA: u32 = 2;

    /// Runs these experiments, all rows of a paper together. `done` is called after each.
    ///
    /// # Errors
    /// Where one could not be run.
    pub fn of(
        experiments: &[&'static Experiment],
        runner: &mut Runner<'_>,
        done: &mut dyn FnMut(&Experiment),
    ) -> Result<Self, Failure> {
        let mut entries = Vec::with_capacity(experiments.len());
        for rows in experiments.chunk_by(|a, b| a.paper() == b.paper()) {
            runner.clear();
            entries.extend(made_together(rows, runner, done)?);
        }
        let is_asked = |paper: &&crate::Paper| entries.iter().any(|entry| entry.id.starts_with(paper.id));
        let papers: Vec<&'static crate::Paper> = crate::papers().iter().filter(is_asked).collect();
        let readings = papers.into_iter().map(|paper| PaperReadings {
            paper: paper.id,
            title: paper.title,
            settled: paper.settled,
            account: paper.account,
            readings: paper.readings,
        });
        Ok(Self {
            schema: Self::SCHEMA,
            seaway: seaway_report::VERSION,
            seeds: runner.seeds().to_vec(),
            counts: Counts::of(&entries),
            readings: readings.collect(),
            experiments: entries,
        })
    }

    /// True unless a number that counts lies outside its tolerance.
    pub fn holds(&self) -> bool {
        self.experiments.iter().all(|entry| entry.verdict != Verdict::Missed)
    }
}

/// The measured rows by verdict, in words.
pub fn counts_line(counts: &Counts) -> String {
    let Counts { held, held_under_own_reading: own, missed, excluded, not_yet, .. } = counts;
    let all = held + own + missed + excluded + not_yet;
    let mut text = format!("{held} of {all} measured rows held");
    for (count, verdict) in [
        (own, Verdict::HeldUnderOwnReading),
        (excluded, Verdict::Excluded),
        (missed, Verdict::Missed),
        (not_yet, Verdict::NotYet),
    ] {
        if *count > 0 {
            text += &format!(", {count} {}", verdict.as_str());
        }
    }
    text
}

/// How far a row is that is made case by case.
#[derive(Debug)]
pub enum Step {
    /// So many cases are known to be left.
    Left(usize),
    /// It is there.
    Made(Box<Entry>),
}

/// Runs one of the cases that the row still needs, for a caller who shows how far it is. The runner keeps what was run.
///
/// # Errors
/// Where it could not be run.
pub fn step(row: &'static Experiment, runner: &mut Runner<'_>) -> Result<Step, Failure> {
    runner.plan();
    match Entry::of(row, runner) {
        Err(Failure::Pending) => Ok(Step::Left(runner.run_one_planned()?)),
        made => {
            runner.end_plan();
            Ok(Step::Made(Box::new(made?)))
        }
    }
}

/// Rows of a paper. What they need is collected first and run together, until no row needs more.
fn made_together(
    rows: &[&'static Experiment],
    runner: &mut Runner<'_>,
    done: &mut dyn FnMut(&Experiment),
) -> Result<Vec<Entry>, Failure> {
    let mut entries: Vec<Option<Entry>> = rows.iter().map(|_| None).collect();
    while entries.iter().any(Option::is_none) {
        runner.plan();
        for (row, entry) in rows.iter().zip(&mut entries).filter(|(_, entry)| entry.is_none()) {
            match Entry::of(row, runner) {
                Ok(made) => {
                    *entry = Some(made);
                    done(row);
                }
                Err(Failure::Pending) => {}
                Err(failure) => return Err(failure),
            }
        }
        runner.run_planned()?;
    }
    Ok(entries.into_iter().flatten().collect())
}

impl Counts {
    fn of<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Self {
        let mut counts = Self::default();
        for entry in entries {
            *match (entry.kind, entry.verdict) {
                (Kind::Measured, Verdict::Held | Verdict::Shown) => &mut counts.held,
                (Kind::Measured, Verdict::HeldUnderOwnReading) => &mut counts.held_under_own_reading,
                (Kind::Measured, Verdict::Missed) => &mut counts.missed,
                (Kind::Measured, Verdict::Excluded) => &mut counts.excluded,
                (Kind::Measured, Verdict::NotYet) => &mut counts.not_yet,
                (_, Verdict::Held | Verdict::Shown) => &mut counts.apart,
                _ => &mut counts.apart_open,
            } += 1;
        }
        counts
    }
}

impl Entry {
    /// The verdict, with the proof of one that is excluded.
    pub fn verdict_text(&self) -> String {
        match (self.verdict, self.limited_by) {
            (Verdict::Excluded, Some(id)) => format!("excluded by {id}"),
            (verdict, _) => verdict.as_str().to_owned(),
        }
    }

    fn of(experiment: &'static Experiment, runner: &mut Runner<'_>) -> Result<Self, Failure> {
        let Experiment { id, title, kind, reported, claim, method, limited_by, .. } = *experiment;
        runner.begin(experiment);
        let (verdict, where_or_why, result) = match method {
            Method::Run(make) => {
                let result = make(runner)?;
                (Self::verdict(&result, experiment, runner)?, None, result)
            }
            Method::ShownBy(place) => (Verdict::Shown, Some(place), Results::default()),
            Method::NotYet(why) => (Verdict::NotYet, Some(why), Results::default()),
        };
        let opposite = match experiment.opposite {
            Opposite::None => None,
            Opposite::Runs { what, .. } | Opposite::Made(what, _) => Some(what),
        };
        Ok(Self {
            id,
            title,
            kind,
            verdict,
            reported,
            claim,
            where_or_why,
            limited_by,
            own_readings: runner.own_readings(),
            opposite,
            checks: result.checks,
            parameters: pairs::Pairs(result.parameters),
            substitute: result.substitute,
            remarks: result.remarks,
            figures: result.figures,
        })
    }

    /// A missed row is excluded only where its proof holds.
    fn verdict(
        result: &Results,
        experiment: &Experiment,
        runner: &mut Runner<'_>,
    ) -> Result<Verdict, Failure> {
        let is_own = !runner.own_readings().is_empty();
        if result.holds() {
            return Ok(if is_own { Verdict::HeldUnderOwnReading } else { Verdict::Held });
        }
        let proof = experiment.limited_by.and_then(crate::find).map(|row| row.method);
        let Some(Method::Run(prove)) = proof else { return Ok(Verdict::Missed) };
        Ok(if prove(runner)?.holds() { Verdict::Excluded } else { Verdict::Missed })
    }
}

/// True where the row's wrong model misses its claim; `None` where it has none.
///
/// # Errors
/// Where it could not be run.
pub fn opposite_misses(
    experiment: &'static Experiment,
    runner: &mut Runner<'_>,
) -> Result<Option<bool>, Failure> {
    runner.begin_opposite(experiment);
    let results = match (experiment.opposite, experiment.method) {
        (Opposite::Made(_, make), _) | (Opposite::Runs { .. }, Method::Run(make)) => make(runner)?,
        _ => return Ok(None),
    };
    Ok(Some(!results.holds()))
}
