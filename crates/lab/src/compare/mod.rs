//! The same network and the same video under several controllers.
//!
//! A [`Setup`] has the scenario of every run, the caller runs them (and may cache each [`Run`], which has a JSON form),
//! and [`Setup::finish`] makes a [`Comparison`]: a document, tables and a self-contained page.

mod page;
mod run;
mod setup;
mod table;

pub use run::{Recording, Run};
pub use setup::{Setup, Video};
pub use table::flow_metrics;

use crate::traces::RateChange;
use schemars::JsonSchema;
use seaway_report::Summary;
use seaway_report::aggregate::mean_and_ci95;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Several controllers, each with its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// What the scenario shows.
    pub about: String,
    /// How long a run lasts, s.
    pub duration_s: f64,
    /// The flow whose video is recorded and compared.
    pub flow: String,
    /// The video.
    pub video: Video,
    /// The video that was sent, coded like the recordings (MP4).
    pub sent: Vec<u8>,
    /// One for each controller, in the order of the request.
    pub candidates: Vec<Candidate>,
}

/// A controller and its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The controller with its options.
    pub control: String,
    /// One for each seed; the first has a recording.
    pub runs: Vec<Run>,
}

/// Controllers over one network with one video: the document that `compare --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The version of this form.
    schema: u32,
    /// The version of Seaway.
    seaway: &'static str,
    /// The scenario's name.
    scenario: &'a str,
    /// The flow whose controllers are compared.
    flow: &'a str,
    /// The video.
    clip: &'a str,
    /// One for each controller.
    controls: Vec<Runs<'a>>,
}

/// The runs of a controller.
#[derive(Debug, JsonSchema, Serialize)]
struct Runs<'a> {
    /// The controller with its options.
    control: &'a str,
    /// One for each seed.
    #[schemars(with = "Vec<Summary>")]
    runs: Vec<&'a Value>,
    /// In the shape of a summary.
    #[schemars(with = "Map<String, Value>")]
    mean: Value,
    /// Half the width of the 95 % interval, in the shape of a summary.
    #[schemars(with = "Map<String, Value>")]
    ci95: Value,
}

impl Candidate {
    fn mean_and_ci95(&self) -> (Value, Value) {
        mean_and_ci95(&self.runs.iter().map(|run| run.summary.clone()).collect::<Vec<_>>())
    }

    fn recording(&self) -> Option<&Recording> {
        self.runs.first().and_then(|run| run.recording.as_ref())
    }
}

impl Comparison {
    /// The document that `--json` prints.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        let controls = self.candidates.iter().map(|candidate| {
            let (mean, ci95) = candidate.mean_and_ci95();
            let runs = candidate.runs.iter().map(|run| &run.summary).collect();
            Runs { control: &candidate.control, runs, mean, ci95 }
        });
        let document = Document {
            schema: 1,
            seaway: seaway_report::VERSION,
            scenario: &self.scenario,
            flow: &self.flow,
            clip: &self.video.name,
            controls: controls.collect(),
        };
        serde_json::to_writer_pretty(out, &document)?;
        Ok(())
    }

    /// Means and intervals, one row for each number and controller, as CSV (RFC 4180) with a header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "metric,unit,control,mean,ci95")?;
        for row in table::rows(self) {
            for (cell, candidate) in row.cells.iter().zip(&self.candidates) {
                let Some(cell) = cell else { continue };
                let interval = cell.ci95.map(|half| half.to_string()).unwrap_or_default();
                writeln!(
                    out,
                    "\"{}\",{},\"{}\",{},{interval}",
                    row.metric.label(),
                    row.metric.unit().display().0,
                    candidate.control,
                    cell.mean
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
        let wide = self.candidates.iter().map(|candidate| candidate.control.len()).max().unwrap_or(0).max(17);
        write!(out, "{:<32}", "")?;
        for candidate in &self.candidates {
            write!(out, "  {:>wide$}", candidate.control)?;
        }
        writeln!(out)?;
        for row in table::rows(self) {
            let name = match (row.metric.label(), row.metric.unit().display().0) {
                (label, "") => label,
                (label, unit) => format!("{label}, {unit}"),
            };
            write!(out, "{name:<32}")?;
            for cell in &row.cells {
                let text = cell.as_ref().map_or_else(|| "-".to_owned(), table::text);
                write!(out, "  {text:>wide$}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// The time series of each controller's first run as one table: CSV (RFC 4180) with a header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_series(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time,control,of,name,value,unit")?;
        for candidate in &self.candidates {
            let Some(recording) = candidate.recording() else { continue };
            let control = &candidate.control;
            for trace in &recording.traces {
                for (index, value) in trace.values.iter().enumerate() {
                    let Some(value) = value else { continue };
                    let time = (index + 1) as f64 / 10.0;
                    writeln!(out, "{time},\"{control}\",{},{},{value},{}", trace.of, trace.name, trace.unit)?;
                }
            }
            for &(time, psnr, _) in &recording.psnr {
                writeln!(out, "{time},\"{control}\",{},psnr,{psnr},dB", self.flow)?;
            }
        }
        Ok(())
    }

    /// The causes of rate changes as CSV (RFC 4180) with a header: the largest change of each tenth of a second.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_causes(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time,control,cause,signal,value,unit,threshold,before_bps,after_bps,phase")?;
        for candidate in &self.candidates {
            for change in candidate.recording().iter().flat_map(|recording| &recording.rate_changes) {
                let RateChange { at, cause, signal, value, unit, threshold, before, after, phase, .. } =
                    change;
                let threshold = threshold.map(|value| value.to_string()).unwrap_or_default();
                let control = &candidate.control;
                let value = value.map(|value| value.to_string()).unwrap_or_default();
                writeln!(
                    out,
                    "{at},\"{control}\",\"{cause}\",{signal},{value},{unit},{threshold},{before},{after},\"{phase}\""
                )?;
            }
        }
        Ok(())
    }

    /// A self-contained page, with the command that made it in its footer.
    pub fn page(&self, command: &str) -> String {
        page::page(self, command)
    }
}

#[cfg(test)]
mod tests;
