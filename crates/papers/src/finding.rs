//! What came out of an experiment.

use crate::band::Band;
use crate::figure::Figure;
use seaway_quality::statistics::Estimate;
use serde::Serialize;

/// What an experiment found.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    /// Its numbers; it holds where all that count do.
    pub checks: Vec<Check>,
    /// Its plots.
    pub figures: Vec<Figure>,
    /// What it ran with.
    pub parameters: Vec<(&'static str, String)>,
    /// What a reader should know: where ours falls, what was substituted.
    pub remarks: Vec<String>,
    /// What stands in for a clip that does not ship; only the order of its numbers is judged then.
    pub substitute: Option<&'static str>,
}

/// A number, the paper's beside ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What it is.
    pub what: String,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// The paper's value, where it prints one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
    /// Ours: the mean over the seeds.
    pub ours: f64,
    /// Half the width of the 95 % interval; absent from a single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<f64>,
    /// Where ours must lie.
    pub band: Band,
    /// True where it lies there.
    pub held: bool,
    /// False where it is told and not judged: a literal reading, a number the paper does not claim.
    pub counts: bool,
}

impl Check {
    /// One value.
    pub fn value(what: impl Into<String>, unit: &'static str, ours: f64, band: Band) -> Self {
        let what = what.into();
        Self { what, unit, paper: None, ours, ci95: None, band, held: band.holds(ours), counts: true }
    }

    /// One value a seed. Without any it does not hold.
    pub fn seeds(what: impl Into<String>, unit: &'static str, values: &[f64], band: Band) -> Self {
        let estimate = Estimate::of(values).unwrap_or(Estimate { mean: f64::NAN, ci95: None });
        Self { ci95: estimate.ci95, ..Self::value(what, unit, estimate.mean, band) }
    }

    /// A statement: how many of `of` cases it held in, and how many must.
    pub fn count(what: impl Into<String>, held: usize, at_least: usize, of: usize) -> Self {
        let what = format!("{} (of {of})", what.into());
        Self::value(what, "", held as f64, Band::at_least(at_least as f64))
    }

    /// With what the paper printed.
    pub const fn printed(mut self, paper: f64) -> Self {
        self.paper = Some(paper);
        self
    }

    /// Told, not judged.
    pub const fn reported(mut self) -> Self {
        self.counts = false;
        self
    }
}

impl Finding {
    /// True where every number that counts lies in its band; nothing is not enough.
    pub fn holds(&self) -> bool {
        let mut judged = self.checks.iter().filter(|check| check.counts).peekable();
        judged.peek().is_some() && judged.all(|check| check.held)
    }
}

/// A number for a reader: four digits that matter, no noughts behind.
pub(crate) fn shortened(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3.0 - libm::log10(value.abs()).floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_without_judged_numbers_holds_nothing() {
        let mut finding = Finding::default();
        assert!(!finding.holds());
        finding.checks.push(Check::value("told", "", 1.0, Band::at_most(0.0)).reported());
        assert!(!finding.holds());
        finding.checks.push(Check::value("judged", "", 1.0, Band::at_most(1.0)));
        assert!(finding.holds());
        finding.checks.push(Check::seeds("no seeds", "", &[], Band::at_least(0.0)));
        assert!(!finding.holds());
    }

    #[test]
    fn numbers_for_a_reader() {
        for (value, text) in [
            (0.0, "0"),
            (313.4712, "313.5"),
            (0.0024, "0.0024"),
            (12345.6, "12346"),
            (2.0, "2"),
            (-0.55, "-0.55"),
        ] {
            assert_eq!(shortened(value), text);
        }
    }
}
