//! The scorecard as tables: all numbers as CSV, and the means of the suites for a person.

use super::{Estimates, Scorecard, kind};
use seaway_report::Scope;
use std::io::{self, Write};

impl Scorecard {
    /// Every number as CSV (RFC 4180) with a header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "suite,case,curve,x,control,metric,unit,kind,mean,ci95")?;
        for case in &self.cases {
            for (control, score) in self.controls.iter().zip(&case.scores) {
                let Some(Estimates(estimates)) = score else { continue };
                for (metric, estimate) in Scope::Score.rows().iter().zip(estimates) {
                    let Some(estimate) = estimate else { continue };
                    let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
                    writeln!(
                        out,
                        "{},{},{},{},\"{control}\",{},{},{},{},{}",
                        case.suite,
                        case.name,
                        case.curve.unwrap_or_default(),
                        number(case.x),
                        metric.key,
                        metric.unit.symbol(),
                        kind(metric.key).unwrap_or_default(),
                        estimate.mean,
                        number(estimate.ci95)
                    )?;
                }
            }
        }
        Ok(())
    }

    /// The means of each suite, a row a controller.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let wide = self.controls.iter().map(String::len).max().unwrap_or(0).max(10);
        for suite in &self.suites {
            writeln!(out, "{}: means over {} cases and {} seeds\n", suite.suite, suite.cases, self.seeds)?;
            // Columns without any number are left out.
            let is_known = |index: &usize| suite.scores.iter().any(|score| score.0[*index].is_some());
            let columns: Vec<usize> = (0..Scope::Score.rows().len()).filter(is_known).collect();
            write!(out, "{:<wide$}", "")?;
            for &column in &columns {
                write!(out, " {:>COLUMN$}", Scope::Score.rows()[column].key)?;
            }
            write!(out, "\n{:<wide$}", "")?;
            for &column in &columns {
                write!(out, " {:>COLUMN$}", Scope::Score.rows()[column].unit.symbol())?;
            }
            writeln!(out)?;
            for (control, score) in self.controls.iter().zip(&suite.scores) {
                write!(out, "{control:<wide$}")?;
                for &column in &columns {
                    let text = score.0[column].map_or_else(|| "-".to_owned(), |score| short(score.mean));
                    write!(out, " {text:>COLUMN$}")?;
                }
                writeln!(out)?;
            }
            writeln!(out)?;
        }
        for left in &self.left_out {
            let case = left.case.as_deref().map(|case| format!(" in {case}")).unwrap_or_default();
            writeln!(out, "left out: {}{case}: {}", left.control, left.reason)?;
        }
        writeln!(out, "PSNR is modelled: from the sizes and the quality of a pre-encoded ladder")
    }
}

const COLUMN: usize = 11;

/// Three figures.
fn short(number: f64) -> String {
    let digits = match number.abs() {
        n if n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        n if n >= 0.9995 => 2,
        _ => 3,
    };
    format!("{number:.digits$}")
}
