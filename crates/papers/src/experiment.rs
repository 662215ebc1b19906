//! A table or figure of a paper.

use crate::interpretation::Interpretation;
use crate::results::Results;
use crate::runner::{Failure, Runner};
use serde::Serialize;

/// A paper.
#[derive(Debug, Clone, Copy)]
pub struct Paper {
    /// `S000`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// How it is read.
    pub readings: &'static [Interpretation],
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
}

/// What sort of row it is. Only what is measured counts; the others say how things are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

/// How a row is made.
#[derive(Debug, Clone, Copy)]
pub enum Method {
    /// By this function.
    Run(fn(&mut Runner<'_>) -> Result<Results, Failure>),
    /// A diagram or a structure: by what is named here, a test or a document.
    ShownBy(&'static str),
    /// Not made yet: what it waits for.
    NotYet(&'static str),
}

impl Experiment {
    /// `S000` of `S000-T1`.
    pub fn paper(&self) -> &'static str {
        self.id.split_once('-').map_or(self.id, |(paper, _)| paper)
    }
}
