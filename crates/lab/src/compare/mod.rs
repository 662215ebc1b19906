//! The same network and the same video under several controllers.
//!
//! A [`Contest`] sets the scenarios up, whoever calls runs them (and may remember a [`Take`], which has a text form),
//! and a [`Comparison`] is what they come to: a document, tables, and one page that needs nothing else.

mod contest;
mod page;
mod table;
mod take;

pub use contest::{Contest, Video};
pub use take::{Cause, Footage, Line, Take};

use crate::ensemble::combined;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};

/// Several controllers, each with its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// What it shows.
    pub about: String,
    /// How long a run lasts, s.
    pub duration_s: f64,
    /// The flow that is watched.
    pub flow: String,
    /// The video.
    pub video: Video,
    /// The video as it was sent, filmed as those that were received.
    pub sent: Vec<u8>,
    /// One a controller, in the order asked for.
    pub contenders: Vec<Contender>,
}

/// A controller and what it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// The controller with its options.
    pub control: String,
    /// One a seed; the first was filmed.
    pub takes: Vec<Take>,
}

/// What a program reads of it.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    seaway: &'static str,
    scenario: &'a str,
    flow: &'a str,
    clip: &'a str,
    controls: Vec<Runs<'a>>,
}

#[derive(Debug, Serialize)]
struct Runs<'a> {
    control: &'a str,
    runs: Vec<&'a Value>,
    /// In the shape of a summary.
    mean: Value,
    /// Half the width of the 95 % interval, in the shape of a summary.
    ci95: Value,
}

impl Contender {
    fn combined(&self) -> (Value, Value) {
        combined(&self.takes.iter().map(|take| take.summary.clone()).collect::<Vec<_>>())
    }

    /// What was filmed.
    fn footage(&self) -> Option<&Footage> {
        self.takes.first().and_then(|take| take.footage.as_ref())
    }
}

impl Comparison {
    /// The document that `--json` prints.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        let controls = self.contenders.iter().map(|contender| {
            let (mean, ci95) = contender.combined();
            let runs = contender.takes.iter().map(|take| &take.summary).collect();
            Runs { control: &contender.control, runs, mean, ci95 }
        });
        let document = Document {
            schema: 1,
            seaway: env!("CARGO_PKG_VERSION"),
            scenario: &self.scenario,
            flow: &self.flow,
            clip: &self.video.name,
            controls: controls.collect(),
        };
        serde_json::to_writer_pretty(out, &document)?;
        Ok(())
    }

    /// Means and intervals, a row a number and controller, as CSV (RFC 4180) with a header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "metric,unit,control,mean,ci95")?;
        for row in table::rows(self) {
            for (cell, contender) in row.cells.iter().zip(&self.contenders) {
                let Some(cell) = cell else { continue };
                let interval = cell.ci95.map(|half| half.to_string()).unwrap_or_default();
                writeln!(
                    out,
                    "\"{}\",{},\"{}\",{},{interval}",
                    row.label, row.unit, contender.control, cell.mean
                )?;
            }
        }
        Ok(())
    }

    /// Means and intervals for a person to read.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let wide = self.contenders.iter().map(|contender| contender.control.len()).max().unwrap_or(0).max(17);
        write!(out, "{:<32}", "")?;
        for contender in &self.contenders {
            write!(out, "  {:>wide$}", contender.control)?;
        }
        writeln!(out)?;
        for row in table::rows(self) {
            let name = if row.unit.is_empty() {
                row.label.to_owned()
            } else {
                format!("{}, {}", row.label, row.unit)
            };
            write!(out, "{name:<32}")?;
            for cell in &row.cells {
                let text = cell.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
                write!(out, "  {text:>wide$}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// What was filmed of each controller over time, as one table: CSV (RFC 4180) with a header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_series(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time,control,of,name,value,unit")?;
        for contender in &self.contenders {
            let Some(footage) = contender.footage() else { continue };
            let control = &contender.control;
            for line in &footage.lines {
                for (index, value) in line.values.iter().enumerate() {
                    let Some(value) = value else { continue };
                    let time = (index + 1) as f64 / 10.0;
                    writeln!(out, "{time},\"{control}\",{},{},{value},{}", line.of, line.name, line.unit)?;
                }
            }
            for &(time, psnr, _) in &footage.psnr {
                writeln!(out, "{time},\"{control}\",{},psnr,{psnr},dB", self.flow)?;
            }
        }
        Ok(())
    }

    /// Why rates changed, as CSV (RFC 4180) with a header: the largest change of each tenth of a second.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_causes(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time,control,cause,signal,value,unit,threshold,before_bps,after_bps,phase")?;
        for contender in &self.contenders {
            for cause in contender.footage().iter().flat_map(|footage| &footage.causes) {
                let Cause { at, cause, signal, value, unit, threshold, before, after, phase, .. } = cause;
                let threshold = threshold.map(|value| value.to_string()).unwrap_or_default();
                let control = &contender.control;
                let value = value.map(|value| value.to_string()).unwrap_or_default();
                writeln!(
                    out,
                    "{at},\"{control}\",\"{cause}\",{signal},{value},{unit},{threshold},{before},{after},\"{phase}\""
                )?;
            }
        }
        Ok(())
    }

    /// One page with everything in it; `command` made it.
    pub fn page(&self, command: &str) -> String {
        page::page(self, command)
    }
}

#[cfg(test)]
mod tests;
