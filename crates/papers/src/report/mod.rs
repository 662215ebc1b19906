//! The report of a set of experiments: a JSON document, a page, and Markdown.

mod markdown;
mod page;

use crate::experiment::{Experiment, Kind, Method};
use crate::figure::Figure;
use crate::interpretation::Interpretation;
use crate::results::Check;
use crate::runner::{Failure, Runner};
use serde::Serialize;

pub use markdown::{figure_name, markdown};
pub use page::html;

/// Experiments and their results.
#[derive(Debug, Clone, Serialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Measured rows whose numbers all lie in their tolerances.
    pub held: usize,
    /// Measured rows with a number outside its tolerance.
    pub missed: usize,
    /// Measured rows that are not made yet.
    pub not_yet: usize,
    /// Configuration, schematic and identity rows that pass or are shown.
    pub apart: usize,
    /// Such rows that fail or are not made yet.
    pub apart_open: usize,
}

/// A paper's Readings.
#[derive(Debug, Clone, Serialize)]
pub struct PaperReadings {
    /// `S000`.
    pub paper: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Its Readings.
    pub readings: &'static [Interpretation],
}

/// The verdict on an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Every number lies in its tolerance.
    #[serde(rename = "held")]
    Held,
    /// One does not.
    #[serde(rename = "missed")]
    Missed,
    /// It is shown elsewhere.
    #[serde(rename = "shown")]
    Shown,
    /// It is not made yet.
    #[serde(rename = "not yet")]
    NotYet,
}

impl Verdict {
    /// Its name in texts; documents say `held` and `missed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "pass",
            Self::Missed => "fail",
            Self::Shown => "shown",
            Self::NotYet => "not yet",
        }
    }
}

/// An experiment and its result.
#[derive(Debug, Clone, Serialize)]
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
    /// Its numbers.
    pub checks: Vec<Check>,
    /// What it ran with.
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
    pub const SCHEMA: u32 = 1;

    /// Runs these experiments. `begun` is called before each.
    ///
    /// # Errors
    /// Where one could not be run.
    pub fn of(
        experiments: &[&'static Experiment],
        runner: &mut Runner<'_>,
        begun: &mut dyn FnMut(&Experiment),
    ) -> Result<Self, Failure> {
        let mut entries = Vec::with_capacity(experiments.len());
        let mut paper = "";
        for experiment in experiments {
            if paper != experiment.paper() {
                paper = experiment.paper();
                runner.clear();
            }
            begun(experiment);
            entries.push(Entry::of(experiment, runner)?);
        }
        let is_asked = |paper: &&crate::Paper| entries.iter().any(|entry| entry.id.starts_with(paper.id));
        let readings = crate::papers().iter().filter(is_asked).map(|paper| PaperReadings {
            paper: paper.id,
            title: paper.title,
            readings: paper.readings,
        });
        Ok(Self {
            schema: Self::SCHEMA,
            seaway: env!("CARGO_PKG_VERSION"),
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

impl Counts {
    fn of(entries: &[Entry]) -> Self {
        let mut counts = Self::default();
        for entry in entries {
            *match (entry.kind, entry.verdict) {
                (Kind::Measured, Verdict::Held | Verdict::Shown) => &mut counts.held,
                (Kind::Measured, Verdict::Missed) => &mut counts.missed,
                (Kind::Measured, Verdict::NotYet) => &mut counts.not_yet,
                (_, Verdict::Held | Verdict::Shown) => &mut counts.apart,
                _ => &mut counts.apart_open,
            } += 1;
        }
        counts
    }
}

impl Entry {
    fn of(experiment: &'static Experiment, runner: &mut Runner<'_>) -> Result<Self, Failure> {
        let Experiment { id, title, kind, reported, claim, method } = *experiment;
        let (verdict, where_or_why, result) = match method {
            Method::Run(make) => {
                let result = make(runner)?;
                let verdict = if result.holds() { Verdict::Held } else { Verdict::Missed };
                (verdict, None, result)
            }
            Method::ShownBy(place) => (Verdict::Shown, Some(place), crate::Results::default()),
            Method::NotYet(why) => (Verdict::NotYet, Some(why), crate::Results::default()),
        };
        Ok(Self {
            id,
            title,
            kind,
            verdict,
            reported,
            claim,
            where_or_why,
            checks: result.checks,
            parameters: pairs::Pairs(result.parameters),
            substitute: result.substitute,
            remarks: result.remarks,
            figures: result.figures,
        })
    }
}
