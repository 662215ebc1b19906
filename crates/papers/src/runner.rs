//! Runs experiments.

use crate::experiment::{Experiment, Opposite};
use crate::figure::Figure;
use crate::interpretation::Varied;
use crate::results::Check;
use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{Outcome, RunOptions, library, sweep};
use seaway_units::TimeDelta;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

/// A scenario of the library with changes, run once a seed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    scenario: &'static str,
    changes: Vec<(String, String)>,
    series: bool,
    /// At least so many, whatever the runner's number.
    seeds: Option<u16>,
}

impl Case {
    /// The scenario of this name as it stands.
    pub const fn new(scenario: &'static str) -> Self {
        Self { scenario, changes: Vec::new(), series: false, seeds: None }
    }

    /// With this key changed, as `--set` does.
    pub fn set(mut self, path: &str, value: impl std::fmt::Display) -> Self {
        self.changes.push((path.to_owned(), value.to_string()));
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
        let changes = self.changes.iter().map(|(path, value)| format!(" --set '{path}={value}'"));
        format!("seaway sim {}{}", self.scenario, changes.collect::<String>())
    }

    fn parse(&self) -> Result<Scenario, Failure> {
        let overrides: Result<Vec<Override>, String> =
            self.changes.iter().map(|(path, value)| format!("{path}={value}").parse()).collect();
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
    /// Its runs are still to be made, together with those of other rows.
    #[error("not run yet")]
    Pending,
}

/// Called with the virtual time that has passed; may break off.
pub type Progress<'p> = &'p (dyn Fn(TimeDelta) -> ControlFlow<()> + Sync);

/// Changes of every run by which a conclusion is tried.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stress {
    /// What is changed.
    pub what: &'static str,
    /// Scenarios, paths and values; `*` is every scenario.
    pub set: &'static [(&'static str, &'static str, &'static str)],
}

/// Runs cases with several seeds on all cores and keeps the outcomes: figures of one experiment share runs.
pub struct Runner<'p> {
    first: u64,
    seeds: Vec<u64>,
    outcomes: BTreeMap<Case, Rc<[Outcome]>>,
    progress: Progress<'p>,
    row: Row,
    stress: Stress,
    mobile: Option<Arc<[u8]>>,
    /// What is still to be run, where rows are planned together.
    planned: Option<BTreeSet<Case>>,
}

/// The experiment that is made.
#[derive(Debug, Default)]
struct Row {
    varies: &'static [Varied],
    opposite: Option<Opposite>,
    is_beside: bool,
    own_readings: BTreeSet<String>,
}

/// Numbers and plots that stand beside a row's own.
pub(crate) type Beside = (Vec<Check>, Vec<Figure>);

impl<'p> Runner<'p> {
    /// With so many seeds from `first` on.
    pub fn new(first: u64, seeds: u16, progress: Progress<'p>) -> Self {
        let seeds = (0..u64::from(seeds)).map(|offset| first.wrapping_add(offset)).collect();
        Self {
            first,
            seeds,
            outcomes: BTreeMap::new(),
            progress,
            row: Row::default(),
            stress: Stress::default(),
            mobile: None,
            planned: None,
        }
    }

    /// As many seeds, those that follow.
    pub(crate) fn with_other_seeds(&self) -> Self {
        let count = self.seeds.len() as u64;
        let first = self.first.wrapping_add(count);
        let mut other = Self::new(first, 0, self.progress);
        other.seeds = (0..count).map(|offset| first.wrapping_add(offset)).collect();
        other.mobile.clone_from(&self.mobile);
        other
    }

    /// With S002's clip, Mobile, as an MPEG-2 elementary stream; it is not ours to give away.
    pub fn with_mobile(mut self, stream: Vec<u8>) -> Self {
        self.mobile = Some(stream.into());
        self
    }

    /// S002's clip, where it was given.
    pub(crate) fn mobile(&self) -> Option<Arc<[u8]>> {
        self.mobile.clone()
    }

    /// Drops the outcomes that it keeps.
    pub fn clear(&mut self) {
        self.outcomes.clear();
    }

    /// What follows belongs to that row.
    pub(crate) fn begin(&mut self, experiment: &Experiment) {
        self.row = Row { varies: experiment.varies, ..Row::default() };
    }

    /// The same row with its wrong model.
    pub(crate) fn begin_opposite(&mut self, experiment: &Experiment) {
        self.row = Row { varies: experiment.varies, opposite: Some(experiment.opposite), ..Row::default() };
    }

    /// Every run from now on has these changes besides.
    pub fn stress(&mut self, stress: Stress) {
        self.stress = stress;
    }

    /// The changes of the present row that the paper does not make.
    pub(crate) fn own_readings(&self) -> Vec<String> {
        self.row.own_readings.iter().cloned().collect()
    }

    /// Makes numbers that are only reported: under another Reading, or by another control. None of them counts.
    pub(crate) fn beside(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<Beside, Failure>,
    ) -> Result<Beside, Failure> {
        self.row.is_beside = true;
        let made = make(self);
        self.row.is_beside = false;
        let (checks, figures) = made?;
        Ok((checks.into_iter().map(Check::reported).collect(), figures))
    }

    /// From now on [`Self::run`] collects what is not run yet.
    pub(crate) fn plan(&mut self) {
        self.planned = Some(BTreeSet::new());
    }

    /// Runs what was collected, the longest first.
    pub(crate) fn run_planned(&mut self) -> Result<(), Failure> {
        let planned = self.planned.take().unwrap_or_default();
        for series in [false, true] {
            let cases: Vec<&Case> = planned.iter().filter(|case| case.series == series).collect();
            self.sweep(&cases, series)?;
        }
        Ok(())
    }

    /// Runs one of the cases that were collected. Returns how many are left.
    pub(crate) fn run_one_planned(&mut self) -> Result<usize, Failure> {
        let mut planned = self.planned.take().unwrap_or_default();
        if let Some(case) = planned.pop_first() {
            self.sweep(&[&case], case.series)?;
        }
        Ok(planned.len())
    }

    /// What is planned is run at once again.
    pub(crate) fn end_plan(&mut self) {
        self.planned = None;
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
    /// Where the lab refuses a case, it was broken off, or its runs are only planned.
    pub fn run(&mut self, cases: &[Case]) -> Result<Vec<Rc<[Outcome]>>, Failure> {
        self.row.note(cases);
        let cases: Vec<Case> =
            cases.iter().map(|case| self.stress.apply(self.row.changed(case.clone()))).collect();
        let missing = cases.iter().filter(|case| !self.outcomes.contains_key(*case));
        if let Some(planned) = &mut self.planned {
            let missing: Vec<&Case> = missing.collect();
            if !missing.is_empty() {
                planned.extend(missing.into_iter().cloned());
                return Err(Failure::Pending);
            }
        } else {
            let missing: Vec<&Case> = missing.collect();
            for series in [false, true] {
                let new: Vec<&Case> = missing.iter().copied().filter(|case| case.series == series).collect();
                self.sweep(&new, series)?;
            }
        }
        Ok(cases.iter().map(|case| Rc::clone(&self.outcomes[case])).collect())
    }

    fn sweep(&mut self, cases: &[&Case], series: bool) -> Result<(), Failure> {
        let mut runs = Vec::new();
        for (place, case) in cases.iter().enumerate() {
            let scenario = case.parse()?;
            let seeds = self.seeds_of(case);
            runs.extend(seeds.map(|seed| (place, Scenario { seed, ..scenario.clone() })));
        }
        // The longest first, so that the cores end together.
        runs.sort_by_key(|(_, scenario)| std::cmp::Reverse(cost(scenario)));
        let (places, scenarios): (Vec<usize>, Vec<Scenario>) = runs.into_iter().unzip();
        let options = RunOptions { series, ..RunOptions::default() };
        let outcomes = sweep(&scenarios, options, self.progress)
            .map_err(|error| Failure::Scenario(error.to_string()))?;
        if outcomes.len() < scenarios.len() || outcomes.iter().any(|outcome| outcome.interrupted) {
            return Err(Failure::Interrupted);
        }
        let mut sorted: Vec<Vec<Outcome>> = cases.iter().map(|_| Vec::new()).collect();
        for (place, outcome) in places.into_iter().zip(outcomes) {
            sorted[place].push(outcome);
        }
        for (case, mut outcomes) in cases.iter().zip(sorted) {
            outcomes.sort_by_key(|outcome| outcome.summary.seed);
            self.outcomes.insert((*case).clone(), outcomes.into());
        }
        Ok(())
    }
}

/// Which of two runs takes longer: roughly its time by its flows.
fn cost(scenario: &Scenario) -> u64 {
    let seconds = scenario.duration.as_secs_f64().max(0.0) as u64;
    seconds.saturating_mul(scenario.flows.len() as u64)
}

impl Row {
    /// Notes changes that the paper does not make.
    fn note(&mut self, cases: &[Case]) {
        if self.is_beside || self.opposite.is_some() {
            return;
        }
        for (path, value) in cases.iter().flat_map(|case| &case.changes) {
            if !self.varies.iter().any(|varied| varied.allows(path, value)) {
                self.own_readings.insert(format!("{path}={value}"));
            }
        }
    }

    /// The case with the row's wrong model, where that is asked for.
    fn changed(&self, mut case: Case) -> Case {
        let Some(Opposite::Runs { replace, set, .. }) = self.opposite else { return case };
        for (from, to) in replace {
            for (_, value) in &mut case.changes {
                *value = value.replace(from, to);
            }
        }
        with(case, set)
    }
}

impl Stress {
    fn apply(self, case: Case) -> Case {
        with(case, self.set)
    }
}

/// The case with those of these changes that are of its scenario.
fn with(mut case: Case, set: &[(&str, &str, &str)]) -> Case {
    for (scenario, path, value) in set {
        if *scenario == "*" || *scenario == case.scenario {
            case = case.set(path, value);
        }
    }
    case
}
