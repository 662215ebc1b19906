//! The value at every bar, and the verdict of a row.

use super::bars::{Bar, Quantity};
use super::cases::Case;
use super::{Scorecard, Setup};
use crate::run::Outcome;
use schemars::JsonSchema;
use seaway_report::summary::Summary;
use serde::Serialize;
use std::collections::BTreeMap;

/// A row of a suite with bars: it is whole for a controller that reaches every bar.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub(super) struct JudgedRow {
    /// Its suite.
    pub(super) suite: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// What it asks for.
    pub(super) about: &'static str,
    /// Its bars.
    pub(super) bars: Vec<JudgedBar>,
    /// In the order of the controllers.
    pub(super) whole: Vec<bool>,
}

/// A bar with what every controller reached.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub(super) struct JudgedBar {
    /// The network.
    pub(super) case: String,
    /// What is measured.
    pub(super) quantity: &'static str,
    /// Its unit.
    pub(super) unit: &'static str,
    /// The bar in words.
    pub(super) bar: String,
    /// At least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) least: Option<f64>,
    /// At most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) most: Option<f64>,
    /// Means over the seeds, in the order of the controllers; null where it does not apply, which misses the bar.
    pub(super) reached: Vec<Option<f64>>,
    /// Whether each controller reached it.
    pub(super) held: Vec<bool>,
}

impl Setup {
    /// The rows of the suites with bars, in their order.
    pub(super) fn judge(&self, outcomes: &[Outcome]) -> Vec<JudgedRow> {
        let mut runs: BTreeMap<(usize, usize), Vec<&Summary>> = BTreeMap::new();
        for (place, outcome) in self.runs.iter().zip(outcomes) {
            runs.entry(*place).or_default().push(&outcome.summary);
        }
        let mut rows: Vec<JudgedRow> = Vec::new();
        for (index, case) in self.cases.iter().enumerate() {
            let Some(name) = case.row else { continue };
            let reached = |control: usize, quantity: Quantity| {
                mean(case, quantity, runs.get(&(index, control)).map(Vec::as_slice)?)
            };
            let bars = case.bars.iter().map(|bar| self.judge_bar(case, bar, &reached));
            match rows.last_mut().filter(|row| (row.suite, row.name) == (case.suite.name(), name.name)) {
                Some(row) => row.bars.extend(bars),
                None => rows.push(JudgedRow {
                    suite: case.suite.name(),
                    name: name.name,
                    about: name.about,
                    bars: bars.collect(),
                    whole: Vec::new(),
                }),
            }
        }
        for row in &mut rows {
            let is_whole = |control: usize| row.bars.iter().all(|bar| bar.held[control]);
            row.whole = (0..self.controls.len()).map(is_whole).collect();
        }
        rows
    }

    fn judge_bar(
        &self,
        case: &Case,
        bar: &Bar,
        reached: &dyn Fn(usize, Quantity) -> Option<f64>,
    ) -> JudgedBar {
        let peer = |control: &str| reached(self.place_of(control)?, bar.quantity);
        let (least, most) = bar.bounds(&peer).unwrap_or_default();
        let reached: Vec<Option<f64>> =
            (0..self.controls.len()).map(|control| reached(control, bar.quantity)).collect();
        JudgedBar {
            case: case.name.clone(),
            quantity: bar.quantity.label(),
            unit: bar.quantity.unit().symbol(),
            bar: bar.to_string(),
            least,
            most,
            held: reached.iter().map(|&value| bar.holds(value, &peer)).collect(),
            reached,
        }
    }
}

/// Over the runs; `None` where one of them has no such number.
fn mean(case: &Case, quantity: Quantity, runs: &[&Summary]) -> Option<f64> {
    let values: Option<Vec<f64>> = runs.iter().map(|summary| quantity.of(&case.scenario, summary)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

impl Scorecard {
    /// Whether a suite with bars is on the card.
    pub fn has_bars(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Whether this controller missed a bar. False where there is no bar, and where it is not on the card.
    pub fn has_missed(&self, control: &str) -> bool {
        let place = self.controls.iter().position(|known| known == control);
        place.is_some_and(|place| self.rows.iter().any(|row| !row.whole[place]))
    }

    /// The first controller, or `preferred` where it is on the card: the one whose verdict counts.
    pub fn judged<'a>(&'a self, preferred: &'a str) -> Option<&'a str> {
        let is_there = self.controls.iter().any(|control| control == preferred);
        if is_there { Some(preferred) } else { self.controls.first().map(String::as_str) }
    }
}
