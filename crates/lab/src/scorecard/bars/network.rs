//! The network of a bar: a bundled scenario and what is changed in it.

use super::Bar;
use crate::library;
use crate::scenario::{FlowKind, Override, Scenario, Start};
use seaway_control::Registry;
use seaway_units::TimeDelta;

/// A network with bars.
#[derive(Debug)]
pub(crate) struct Network {
    /// Unique in its suite.
    pub(crate) name: String,
    scenario: &'static str,
    changes: Vec<String>,
    /// Media flows of the same kind, and the time between their starts.
    copies: Option<(usize, TimeDelta)>,
    pub(crate) bars: Vec<Bar>,
}

impl Network {
    /// The bundled `scenario` as it is.
    pub(super) fn new(name: impl Into<String>, scenario: &'static str) -> Self {
        Self { name: name.into(), scenario, changes: Vec::new(), copies: None, bars: Vec::new() }
    }

    /// With a key changed, as `--set` does.
    pub(super) fn set(mut self, change: impl Into<String>) -> Self {
        self.changes.push(change.into());
        self
    }

    /// With so many media flows, which start one after the other.
    pub(super) fn flows(mut self, count: usize, apart: TimeDelta) -> Self {
        self.copies = Some((count, apart));
        self
    }

    pub(super) fn bars(mut self, bars: impl IntoIterator<Item = Bar>) -> Self {
        self.bars.extend(bars);
        self
    }

    /// The scenario.
    ///
    /// # Errors
    /// A change that does not fit; in words.
    pub(crate) fn scenario(&self, registry: &Registry) -> Result<Scenario, String> {
        let changes: Vec<Override> =
            self.changes.iter().map(|change| change.parse()).collect::<Result<_, _>>()?;
        let entry = library::find(self.scenario)?;
        let mut scenario = entry.parse_with(registry, &changes).map_err(|error| error.to_string())?;
        if let Some((count, apart)) = self.copies {
            copy_media(&mut scenario, count, apart);
        }
        Ok(scenario)
    }
}

/// Writes the first media flow `count` times, each `apart` later than the one before.
fn copy_media(scenario: &mut Scenario, count: usize, apart: TimeDelta) {
    let is_media = |kind: &FlowKind| matches!(kind, FlowKind::Media(_));
    let Some(place) = scenario.flows.iter().position(|flow| is_media(&flow.kind)) else { return };
    let first = scenario.flows[place].clone();
    let later = |index: usize| {
        let shift = apart * index as i64;
        let mut flow = first.clone();
        flow.name = format!("{}#{}", first.name, index + 1);
        flow.start = match first.start {
            Start::At(at) => Start::At(at + shift),
            Start::Uniform(from, to) => Start::Uniform(from + shift, to + shift),
        };
        flow
    };
    scenario.flows.splice(place..=place, (0..count).map(later));
}
