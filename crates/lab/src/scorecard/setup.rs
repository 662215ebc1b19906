//! The runs that a scorecard needs.

use super::bars::Bar;
use super::cases::{self, Case, Suite};
use crate::build::World;
use crate::options::RunOptions;
use crate::scenario::Scenario;
use schemars::JsonSchema;
use seaway_control::{ControlSpec, Registry};
use serde::Serialize;
use std::collections::BTreeSet;

/// What is no controller.
const NO_CONTROL: &str = "fixed";

/// The runs that a scorecard needs.
#[derive(Debug)]
pub struct Setup {
    pub(super) controls: Vec<ControlSpec>,
    /// Those that bars compare with and that are not on the card.
    peers: Vec<ControlSpec>,
    pub(super) cases: Vec<Case>,
    pub(super) seeds: u16,
    /// One a run, in the order of [`Setup::scenarios`]: case and controller.
    pub(super) runs: Vec<(usize, usize)>,
    pub(super) scenarios: Vec<Scenario>,
    pub(super) left_out: Vec<LeftOut>,
}

/// What was not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LeftOut {
    /// The controller.
    pub control: String,
    /// The case, where it is that alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Why.
    pub reason: String,
}

impl Setup {
    /// These controllers, or all that can run, over these suites, from `seed` on with so many seeds.
    ///
    /// # Errors
    /// An unknown controller, or nothing to run; in words.
    pub fn new(
        registry: &Registry,
        controls: Option<Vec<ControlSpec>>,
        suites: &[Suite],
        seed: u64,
        seeds: u16,
    ) -> Result<Self, String> {
        let mut left_out = Vec::new();
        let is_all = controls.is_none();
        let named = |name: &str| ControlSpec { name: name.to_owned(), options: Vec::new() };
        let all = || registry.controllers().iter().map(|info| named(info.name)).collect();
        let mut controls = controls.unwrap_or_else(all);
        for control in &controls {
            registry.check(control).map_err(|error| error.to_string())?;
        }
        controls.retain(|control| {
            let reason = misfit(registry, control, is_all);
            left_out.extend(reason.map(|reason| LeftOut {
                control: control.to_string(),
                case: None,
                reason: reason.to_owned(),
            }));
            reason.is_none()
        });
        if controls.is_empty() {
            let why = left_out.iter().map(|left| format!("{}: {}", left.control, left.reason));
            return Err(format!("no controller is left: {}", why.collect::<Vec<_>>().join("; ")));
        }
        let cases = cases::cases(registry, suites)?;
        let (peers, runs, scenarios) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = Self { controls, peers, cases, seeds, runs, scenarios, left_out };
        plan.fill(seed);
        Ok(plan)
    }

    /// What is not run, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The scenario of every run.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// How many cases and how many controllers there are.
    pub fn extent(&self) -> (usize, usize) {
        (self.cases.len(), self.controls.len())
    }

    fn fill(&mut self, seed: u64) {
        for case in 0..self.cases.len() {
            for control in 0..self.controls.len() {
                self.try_add((case, control), &self.controls[control].clone(), seed);
            }
        }
        for case in 0..self.cases.len() {
            let wanted: BTreeSet<&'static str> = self.cases[case].bars.iter().flat_map(Bar::peers).collect();
            wanted.into_iter().for_each(|name| self.add_peer(case, name, seed));
        }
    }

    /// A run of each seed, or the reason why that cannot be.
    fn try_add(&mut self, place: (usize, usize), control: &ControlSpec, seed: u64) {
        match scenario(&self.cases[place.0], control) {
            Ok(scenario) => {
                for number in 0..self.seeds {
                    self.runs.push(place);
                    let seed = seed.wrapping_add(u64::from(number));
                    self.scenarios.push(Scenario { seed, ..scenario.clone() });
                }
            }
            Err(reason) => {
                let case = Some(self.cases[place.0].id());
                self.left_out.push(LeftOut { control: control.to_string(), case, reason });
            }
        }
    }

    /// Runs what a bar compares with, unless it is on the card anyhow.
    fn add_peer(&mut self, case: usize, name: &str, seed: u64) {
        let control = ControlSpec { name: name.to_owned(), options: Vec::new() };
        let place = self.place_of(name).unwrap_or_else(|| {
            self.peers.push(control.clone());
            self.controls.len() + self.peers.len() - 1
        });
        if place >= self.controls.len() {
            self.try_add((case, place), &control, seed);
        }
    }

    /// The place of this controller among those that run.
    pub(super) fn place_of(&self, control: &str) -> Option<usize> {
        self.controls.iter().chain(&self.peers).position(|known| known.to_string() == control)
    }
}

fn misfit(registry: &Registry, control: &ControlSpec, is_all: bool) -> Option<&'static str> {
    if registry.requirements(control).is_ok_and(|requirements| requirements.buffer) {
        return Some("steers by a receiver's buffer of bytes, which no receiver of these cases has");
    }
    (is_all && control.name == NO_CONTROL)
        .then_some("no control; name it with a rate to have it as a baseline")
}

/// The case with this controller in all its media flows, or why that cannot be.
fn scenario(case: &Case, control: &ControlSpec) -> Result<Scenario, String> {
    let mut scenario = case.scenario.clone();
    scenario.control_all(control)?;
    World::new(&scenario, RunOptions::default()).map_err(|error| error.to_string())?;
    Ok(scenario)
}

impl Case {
    fn id(&self) -> String {
        format!("{}-{}", self.suite, self.name)
    }
}
