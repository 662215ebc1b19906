//! A table or figure of a paper.

use crate::interpretation::{Interpretation, Varied};
use crate::results::Results;
use crate::runner::{Failure, Runner, Stress};
use crate::slider::Slider;
use schemars::JsonSchema;
use serde::Serialize;

/// A paper.
#[derive(Debug, Clone, Copy)]
pub struct Paper {
    /// `S000`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// How it is read: one set for all rows.
    pub readings: &'static [Interpretation],
    /// The rule by which the beginning of a run is left out.
    pub settled: &'static str,
    /// What a reader should know beside the numbers: what the paper says, what cannot hold, what we suggest to its authors.
    pub account: &'static str,
    /// The changes by which its conclusions are tried.
    pub stresses: &'static [Stress],
    /// Its rows.
    pub rows: &'static [Experiment],
}

/// A table or figure: a row of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// `S000-T1`: the paper, then its table, figure, equation or conclusion.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Whether it counts.
    pub kind: Kind,
    /// What the paper says.
    pub reported: &'static str,
    /// What must come out.
    pub claim: &'static str,
    /// How it is made.
    pub method: Method,
    /// What the paper varies in it. A run that changes another key makes it a row under its own Reading.
    pub varies: &'static [Varied],
    /// A wrong model, which must miss the claim.
    pub opposite: Opposite,
    /// The identity row that proves where it cannot hold; `None` where nothing does.
    pub limited_by: Option<&'static str>,
    /// It shapes the bundled clip, which a build without the feature `codec` of the lab leaves out.
    pub is_of_clip: bool,
    /// What a reader may change in its figures.
    pub slider: Option<Slider>,
}

/// What sort of row it is. Only what is measured counts; the others say how things are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A result of runs.
    Measured,
    /// Parameters.
    Configuration,
    /// A diagram.
    Schematic,
    /// Arithmetic.
    Identity,
}

/// How results are made.
pub type Make = fn(&mut Runner<'_>) -> Result<Results, Failure>;

/// How a row is made.
#[derive(Debug, Clone, Copy)]
pub enum Method {
    /// By this function.
    Run(Make),
    /// A diagram or a structure: by what is named here, a test or a document.
    ShownBy(&'static str),
    /// Not made yet: what it waits for.
    NotYet(&'static str),
}

/// A wrong model of what a row shows. A claim that holds with it as well says nothing.
#[derive(Debug, Clone, Copy)]
pub enum Opposite {
    /// The row measures nothing.
    None,
    /// The same runs, changed.
    Runs {
        /// What is wrong.
        what: &'static str,
        /// Texts of the changes that a run makes, and what stands there instead.
        replace: &'static [(&'static str, &'static str)],
        /// Scenarios, paths and values that every run of that scenario has besides; `*` is every scenario.
        set: &'static [(&'static str, &'static str, &'static str)],
    },
    /// The same, made by this function.
    Made(&'static str, Make),
}

impl Experiment {
    /// What a row has that measures nothing.
    pub const SHOWN: Self = Self {
        id: "",
        title: "",
        kind: Kind::Schematic,
        reported: "–",
        claim: "structure",
        method: Method::NotYet(""),
        varies: &[],
        opposite: Opposite::None,
        limited_by: None,
        is_of_clip: false,
        slider: None,
    };

    /// `S000` of `S000-T1`.
    pub fn paper(&self) -> &'static str {
        self.id.split_once('-').map_or(self.id, |(paper, _)| paper)
    }
}
