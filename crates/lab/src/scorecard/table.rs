//! The scorecard as tables: all numbers as CSV; the means of the suites and the bars for a person.

use super::verdict::JudgedBar;
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

    /// Every bar with what was reached, a row a bar and a controller, as CSV with a header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_bars(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "suite,row,case,quantity,unit,least,most,control,reached,held")?;
        let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
        for row in &self.rows {
            for bar in &row.bars {
                for (index, control) in self.controls.iter().enumerate() {
                    writeln!(
                        out,
                        "{},{},\"{}\",\"{}\",{},{},{},\"{control}\",{},{}",
                        row.suite,
                        row.name,
                        bar.case,
                        bar.quantity,
                        bar.unit,
                        number(bar.least),
                        number(bar.most),
                        number(bar.reached[index]),
                        bar.held[index]
                    )?;
                }
            }
        }
        Ok(())
    }

    /// The means of each suite, a row a controller; the bars, a row each.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let wide = self.controls.iter().map(String::len).max().unwrap_or(0).max(10);
        for suite in self.suites.iter().filter(|suite| !suite.has_bars) {
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
        self.print_bars(out)?;
        for left in &self.left_out {
            let case = left.case.as_deref().map(|case| format!(" in {case}")).unwrap_or_default();
            writeln!(out, "left out: {}{case}: {}", left.control, left.reason)?;
        }
        writeln!(out, "PSNR is modelled: from the sizes and the quality of a pre-encoded ladder")
    }

    fn print_bars(&self, out: &mut impl Write) -> io::Result<()> {
        let suites = self.suites.iter().filter(|suite| suite.has_bars).map(|suite| suite.suite);
        let widths: Vec<usize> = self.controls.iter().map(|control| control.chars().count().max(9)).collect();
        for suite in suites {
            let rows = || self.rows.iter().filter(|row| row.suite == suite);
            writeln!(out, "{suite}: means over {} seeds, ! misses the bar", self.seeds)?;
            for row in rows() {
                write!(out, "\n{:<76}", format!("{}: {}", row.name, row.about))?;
                self.controls
                    .iter()
                    .zip(&widths)
                    .try_for_each(|(name, &wide)| write!(out, " {name:>wide$}"))?;
                writeln!(out)?;
                row.bars.iter().try_for_each(|bar| print_bar(out, bar, &widths))?;
            }
            writeln!(out, "\n{suite}, row by row: whole, or bars missed")?;
            for row in rows() {
                write!(out, "{:<76}", format!("{}: {}", row.name, row.about))?;
                for (control, &wide) in widths.iter().enumerate() {
                    let missed = row.bars.iter().filter(|bar| !bar.held[control]).count();
                    let of = row.bars.len();
                    let verdict = if missed == 0 { "whole".to_owned() } else { format!("{missed} of {of}") };
                    write!(out, " {verdict:>wide$}")?;
                }
                writeln!(out)?;
            }
            write!(out, "{:<76}", format!("rows whole of {}", rows().count()))?;
            for (control, &wide) in widths.iter().enumerate() {
                write!(out, " {:>wide$}", rows().filter(|row| row.whole[control]).count())?;
            }
            writeln!(out, "\n")?;
        }
        Ok(())
    }
}

fn print_bar(out: &mut impl Write, bar: &JudgedBar, widths: &[usize]) -> io::Result<()> {
    let quantity = [bar.quantity, bar.unit].into_iter().filter(|text| !text.is_empty());
    let quantity = quantity.collect::<Vec<_>>().join(", ");
    // What a peer reached is more than a factor of it says.
    let bar_text = match (bar.least, bar.most) {
        (Some(least), Some(most)) => format!("{} to {}", short(least), short(most)),
        (Some(least), None) => format!("≥ {}", short(least)),
        (None, Some(most)) => format!("≤ {}", short(most)),
        (None, None) => bar.bar.clone(),
    };
    write!(out, "  {:<36} {:<24} {:<12}", bar.case, quantity, bar_text)?;
    for ((reached, held), &wide) in bar.reached.iter().zip(&bar.held).zip(widths) {
        let number = reached.map_or_else(|| "-".to_owned(), short);
        write!(out, " {:>wide$}", format!("{number}{}", if *held { "" } else { "!" }))?;
    }
    writeln!(out)
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
