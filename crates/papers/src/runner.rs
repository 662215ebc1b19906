//! Runs experiments.

use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{Outcome, RunOptions, library, sweep};
use seaway_units::TimeDelta;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;

/// A scenario of the library with changes, run once a seed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    scenario: &'static str,
    overrides: Vec<String>,
    series: bool,
    /// At least so many, whatever the runner's number.
    seeds: Option<u16>,
}

impl Case {
    /// The scenario of this name as it stands.
    pub const fn new(scenario: &'static str) -> Self {
        Self { scenario, overrides: Vec::new(), series: false, seeds: None }
    }

    /// With this key changed, as `--set` does.
    pub fn set(mut self, path: &str, value: impl std::fmt::Display) -> Self {
        self.overrides.push(format!("{path}={value}"));
        self
    }

    /// Keeping the time series.
    pub const fn with_series(mut self) -> Self {
        self.series = true;
        self
    }

    /// Run with at least so many seeds.
    pub const fn seeds(mut self, seeds: u16) -> Self {
        self.seeds = Some(seeds);
        self
    }

    /// The command that runs it by itself.
    pub fn command(&self) -> String {
        let overrides = self.overrides.iter().map(|text| format!(" --set '{text}'"));
        format!("seaway sim {}{}", self.scenario, overrides.collect::<String>())
    }

    fn parse(&self) -> Result<Scenario, Failure> {
        let overrides: Result<Vec<Override>, String> =
            self.overrides.iter().map(|text| text.parse()).collect();
        let overrides = overrides.map_err(Failure::Scenario)?;
        let entry = library::find(self.scenario).map_err(Failure::Scenario)?;
        entry.parse(&overrides).map_err(|error| Failure::Scenario(error.to_string()))
    }
}

/// Why an experiment could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The lab refuses its scenario: a fault of this crate.
    #[error("{0}")]
    Scenario(String),
    /// A run lacks a number that the experiment needs: a fault of this crate.
    #[error("the summary has no {0}")]
    Absent(&'static str),
    /// Broken off.
    #[error("interrupted")]
    Interrupted,
}

/// Called with the virtual time that has passed; may break off.
pub type Progress<'p> = &'p (dyn Fn(TimeDelta) -> ControlFlow<()> + Sync);

/// Runs cases with several seeds on all cores and keeps the outcomes: figures of one experiment share runs.
pub struct Runner<'p> {
    first: u64,
    seeds: Vec<u64>,
    outcomes: BTreeMap<Case, Rc<[Outcome]>>,
    progress: Progress<'p>,
}

impl<'p> Runner<'p> {
    /// With so many seeds from `first` on.
    pub fn new(first: u64, seeds: u16, progress: Progress<'p>) -> Self {
        let seeds = (0..u64::from(seeds)).map(|offset| first.wrapping_add(offset)).collect();
        Self { first, seeds, outcomes: BTreeMap::new(), progress }
    }

    /// Drops the outcomes that it keeps.
    pub fn clear(&mut self) {
        self.outcomes.clear();
    }

    fn seeds_of(&self, case: &Case) -> impl Iterator<Item = u64> + use<> {
        let count = u64::from(case.seeds.unwrap_or(0)).max(self.seeds.len() as u64);
        let first = self.first;
        (0..count).map(move |offset| first.wrapping_add(offset))
    }

    /// The seeds of every case that needs no more.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The outcomes of each case, one a seed.
    ///
    /// # Errors
    /// Where the lab refuses a case, or it was broken off.
    pub fn run(&mut self, cases: &[Case]) -> Result<Vec<Rc<[Outcome]>>, Failure> {
        for series in [false, true] {
            let missing = |case: &&Case| case.series == series && !self.outcomes.contains_key(*case);
            let new: Vec<&Case> = cases.iter().filter(missing).collect();
            self.sweep(&new, series)?;
        }
        Ok(cases.iter().map(|case| Rc::clone(&self.outcomes[case])).collect())
    }

    fn sweep(&mut self, cases: &[&Case], series: bool) -> Result<(), Failure> {
        let mut scenarios = Vec::new();
        for case in cases {
            let scenario = case.parse()?;
            scenarios.extend(self.seeds_of(case).map(|seed| Scenario { seed, ..scenario.clone() }));
        }
        let options = RunOptions { series, ..RunOptions::default() };
        let outcomes = sweep(&scenarios, options, self.progress)
            .map_err(|error| Failure::Scenario(error.to_string()))?;
        if outcomes.len() < scenarios.len() || outcomes.iter().any(|outcome| outcome.interrupted) {
            return Err(Failure::Interrupted);
        }
        let mut outcomes = outcomes.into_iter();
        for case in cases {
            let count = self.seeds_of(case).count();
            self.outcomes.insert((*case).clone(), outcomes.by_ref().take(count).collect());
        }
        Ok(())
    }
}
