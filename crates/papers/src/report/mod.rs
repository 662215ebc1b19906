//! What is said of a set of experiments: one document for programs, one page for readers.

mod markdown;
mod page;

use crate::bench::{Bench, Failure};
use crate::experiment::{Experiment, Kind, Method};
use crate::figure::Figure;
use crate::finding::Check;
use crate::reading::Reading;
use serde::Serialize;

pub use markdown::{figure_name, markdown};
pub use page::html;

/// The experiments that were asked for, and what came of them.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of this form.
    pub schema: u32,
    /// The version of Seaway.
    pub seaway: &'static str,
    /// Every run's seeds.
    pub seeds: Vec<u64>,
    /// How many rows came out how.
    pub counts: Counts,
    /// How each paper is read.
    pub readings: Vec<PaperReadings>,
    /// One by one.
    pub experiments: Vec<Entry>,
}

/// How many rows came out how; those that measure nothing stand apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Measured rows whose numbers all lie in their bands.
    pub held: usize,
    /// Measured rows with a number outside.
    pub missed: usize,
    /// Measured rows that are not made yet.
    pub not_yet: usize,
    /// Configuration, schematic and identity rows that hold or are shown.
    pub apart: usize,
    /// Such rows that do not hold or are not made yet.
    pub apart_open: usize,
}

/// A paper's table of Readings.
#[derive(Debug, Clone, Serialize)]
pub struct PaperReadings {
    /// `S000`.
    pub paper: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Its Readings.
    pub readings: &'static [Reading],
}

/// What came of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Every number lies in its band.
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
    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::Shown => "shown",
            Self::NotYet => "not yet",
        }
    }
}

/// An experiment and what came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// `S000-T1`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Whether it counts.
    pub kind: Kind,
    /// What came of it.
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
    /// What stands in for a clip that does not ship.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub substitute: Option<&'static str>,
    /// What a reader should know.
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

    /// Makes these experiments. `begun` hears of each before it runs.
    ///
    /// # Errors
    /// Where one could not be run.
    pub fn of(
        experiments: &[&'static Experiment],
        bench: &mut Bench<'_>,
        begun: &mut dyn FnMut(&Experiment),
    ) -> Result<Self, Failure> {
        let mut entries = Vec::with_capacity(experiments.len());
        let mut paper = "";
        for experiment in experiments {
            if paper != experiment.paper() {
                paper = experiment.paper();
                bench.forget();
            }
            begun(experiment);
            entries.push(Entry::of(experiment, bench)?);
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
            seeds: bench.seeds().to_vec(),
            counts: Counts::of(&entries),
            readings: readings.collect(),
            experiments: entries,
        })
    }

    /// True unless a measured number lies outside its band.
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
    fn of(experiment: &'static Experiment, bench: &mut Bench<'_>) -> Result<Self, Failure> {
        let Experiment { id, title, kind, reported, claim, method } = *experiment;
        let (verdict, where_or_why, finding) = match method {
            Method::Run(make) => {
                let finding = make(bench)?;
                let verdict = if finding.holds() { Verdict::Held } else { Verdict::Missed };
                (verdict, None, finding)
            }
            Method::ShownBy(place) => (Verdict::Shown, Some(place), crate::Finding::default()),
            Method::NotYet(why) => (Verdict::NotYet, Some(why), crate::Finding::default()),
        };
        Ok(Self {
            id,
            title,
            kind,
            verdict,
            reported,
            claim,
            where_or_why,
            checks: finding.checks,
            parameters: pairs::Pairs(finding.parameters),
            substitute: finding.substitute,
            remarks: finding.remarks,
            figures: finding.figures,
        })
    }
}
