//! Recorded capacity, in the formats in which such recordings are published.

mod csv;
mod mahimahi;
mod pattern;
mod rows;
mod table;
mod walk;

pub use walk::TraceWalk;

use crate::capacity::Schedule;
use crate::error::Error;
use crate::loss::RecordedLoss;
use crate::server::Opportunities;
use seaway_units::Bitrate;
use serde::Deserialize;

/// A recording of a link's capacity.
///
/// | format | recognised by | capacity |
/// | --- | --- | --- |
/// | Mahimahi | whole numbers, one a line | a line is an opportunity to send 1504 octets (a datagram of 1500 with the four of Mahimahi's tunnel) at that many milliseconds; what is not used is gone |
/// | table | two numbers a line, separated by blanks | seconds, Mbit/s from then on |
/// | CSV | a heading with commas, a `Timestamp` column | the column `DL_bitrate` or another, kbit/s; rows of one second share it evenly |
/// | pattern | JSON | `uplink` or `downlink`, `trace_pattern`: a list of `duration` in ms and `capacity` in kbit/s |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace(pub(crate) Recording);

/// Recorded capacity: `{ file = "drive.down" }`. See [`Trace`] for the formats.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// Where it is, as [`LinkConfig::plan_with`](crate::LinkConfig::plan_with)'s reader understands it.
    pub file: String,
    /// Which of several series: a column of a CSV file, `uplink` or `downlink` of a JSON file.
    pub series: Option<String>,
    /// Begins again when it ends; otherwise the last rate holds, and the last opportunity was the last.
    #[serde(rename = "loop", default = "yes")]
    pub repeats: bool,
}

/// Recordings begin again by default.
fn yes() -> bool {
    true
}

impl TraceConfig {
    /// Reads the file; `read` gives its text, or says why it cannot.
    ///
    /// # Errors
    /// Names the line of the file, or what is wrong with it.
    pub fn load(&self, read: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<Trace, Error> {
        let text = load("trace.file", &self.file, read)?;
        Trace::parse(&text, self.series.as_deref(), self.repeats)
    }
}

/// The text of a file that a configuration names.
pub(crate) fn load(
    field: &str,
    file: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, Error> {
    read(file)
        .map_err(|problem| Error::config(field, format!("{file:?}: {problem}"), "a file that can be read"))
}

/// The two kinds there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recording {
    /// Rates over time; the packet in service follows them.
    Rates(Schedule),
    /// Instants at which octets may leave.
    Opportunities(Opportunities),
}

impl Trace {
    /// Reads a trace of any of the formats. `series` chooses among the series of a CSV file (a column) or of a JSON
    /// file (`uplink` or `downlink`); `None` takes the usual one. The trace repeats for ever where `repeats`.
    ///
    /// # Errors
    /// Names the line, what was found there and what was expected. A trace that carries nothing is refused, for
    /// no packet would ever leave.
    pub fn parse(text: &str, series: Option<&str>, repeats: bool) -> Result<Self, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some((line, first)) = lines(text).next() else {
            return Err(Error::trace(1, "nothing", "a trace"));
        };
        let no_series = |trace| match series {
            Some(series) => Err(Error::config("trace.series", series, "none: this file holds only one")),
            None => Ok(trace),
        };
        if first.starts_with('{') {
            pattern::parse(text, series, repeats).map(Recording::Rates).map(Self)
        } else if first.contains(',') {
            csv::parse(text, series, repeats).map(Recording::Rates).map(Self)
        } else {
            match first.split_whitespace().count() {
                1 => no_series(Self(Recording::Opportunities(mahimahi::parse(text, repeats)?))),
                2 => no_series(Self(Recording::Rates(table::parse(text, repeats)?))),
                _ => Err(Error::trace(
                    line,
                    quoted(first),
                    "one number, two numbers, a heading with commas, or JSON",
                )),
            }
        }
    }

    /// The mean capacity over one pass.
    pub fn mean_rate(&self) -> Bitrate {
        match &self.0 {
            Recording::Rates(schedule) => schedule.mean_rate(),
            Recording::Opportunities(opportunities) => opportunities.mean_rate(),
        }
    }
}

/// Reads loss ratios over time: a table of seconds and ratio, or a JSON pattern with `loss`.
pub(crate) fn parse_loss(text: &str, series: Option<&str>, repeats: bool) -> Result<RecordedLoss, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match (text.trim_start().starts_with('{'), series) {
        (true, _) => pattern::parse_loss(text, series, repeats),
        (false, None) => table::parse_loss(text, repeats),
        (false, Some(series)) => Err(Error::config("loss.series", series, "none: this file holds only one")),
    }
}

/// The lines that hold something, trimmed and counted from one.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty())
}

/// A line as an error shows it: no more of it than a person would read.
fn quoted(line: &str) -> String {
    format!("{:?}", line.chars().take(40).collect::<String>())
}
