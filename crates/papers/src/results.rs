//! The result of an experiment.

use crate::figure::Figure;
use crate::tolerance::Tolerance;
use schemars::JsonSchema;
use seaway_quality::statistics::Estimate;
use serde::Serialize;

/// The result of an experiment.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// Its numbers; it passes where all that count do.
    pub checks: Vec<Check>,
    /// Its plots.
    pub figures: Vec<Figure>,
    /// What it ran with.
    pub parameters: Vec<(&'static str, String)>,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
    /// The substitute for a clip that is not shipped; only the order of the numbers is checked then.
    pub substitute: Option<&'static str>,
}

/// A number, the paper's beside ours.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
    /// The range in which ours must lie.
    #[serde(rename = "band")]
    pub tolerance: Tolerance,
    /// True where it lies there: a pass.
    pub held: bool,
    /// False where it is only reported: a literal reading, or a number that the paper does not claim.
    pub counts: bool,
}

impl Check {
    /// One value.
    pub fn value(what: impl Into<String>, unit: &'static str, ours: f64, tolerance: Tolerance) -> Self {
        let what = what.into();
        Self {
            what,
            unit,
            paper: None,
            ours,
            ci95: None,
            tolerance,
            held: tolerance.holds(ours),
            counts: true,
        }
    }

    /// One value a seed. Without any it does not hold.
    pub fn seeds(what: impl Into<String>, unit: &'static str, values: &[f64], tolerance: Tolerance) -> Self {
        let estimate = Estimate::of(values).unwrap_or(Estimate { mean: f64::NAN, ci95: None });
        Self { ci95: estimate.ci95, ..Self::value(what, unit, estimate.mean, tolerance) }
    }

    /// A statement: in how many of `of` cases it holds, and in how many it must.
    pub fn count(what: impl Into<String>, held: usize, at_least: usize, of: usize) -> Self {
        let what = format!("{} (of {of})", what.into());
        Self::value(what, "", held as f64, Tolerance::at_least(at_least as f64))
    }

    /// With what the paper printed.
    pub const fn printed(mut self, paper: f64) -> Self {
        self.paper = Some(paper);
        self
    }

    /// Only reported, not checked.
    pub const fn reported(mut self) -> Self {
        self.counts = false;
        self
    }
}

impl Results {
    /// True where every number that counts lies in its tolerance, and there is one.
    pub fn holds(&self) -> bool {
        let mut checked = self.checks.iter().filter(|check| check.counts).peekable();
        checked.peek().is_some() && checked.all(|check| check.held)
    }
}

/// A number for a reader: four significant digits without trailing zeros.
pub(crate) fn shortened(value: f64) -> String {
    if value.is_nan() {
        return "no data".to_owned();
    }
    if value == 0.0 || value.is_infinite() {
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
    fn a_result_without_checked_numbers_does_not_pass() {
        let mut result = Results::default();
        assert!(!result.holds());
        result.checks.push(Check::value("reported", "", 1.0, Tolerance::at_most(0.0)).reported());
        assert!(!result.holds());
        result.checks.push(Check::value("checked", "", 1.0, Tolerance::at_most(1.0)));
        assert!(result.holds());
        result.checks.push(Check::seeds("no seeds", "", &[], Tolerance::at_least(0.0)));
        assert!(!result.holds());
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
            (f64::NAN, "no data"),
        ] {
            assert_eq!(shortened(value), text);
        }
    }
}
