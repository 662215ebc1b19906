//! What was seen over time, as one table.

use seaway_units::Timestamp;
use std::io::{self, Write};

/// The time series of a run: one row a reading, in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    subjects: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    at: Timestamp,
    subject: u32,
    name: &'static str,
    value: f64,
    unit: &'static str,
}

/// A reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading<'a> {
    /// When.
    pub at: Timestamp,
    /// Of which flow or link.
    pub flow: &'a str,
    /// What: `sent_rate`, `queue`.
    pub name: &'static str,
    /// How much, in `unit`.
    pub value: f64,
    /// `bit/s`, `ms`, `packets`; empty for a pure number.
    pub unit: &'static str,
}

/// A flow or link of a [`Series`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject(u32);

impl Series {
    /// A name for readings to refer to.
    pub(crate) fn subject(&mut self, name: &str) -> Subject {
        self.subjects.push(name.to_owned());
        Subject(self.subjects.len() as u32 - 1)
    }

    /// Notes a reading; one that is not finite says nothing and is left out.
    pub(crate) fn push(
        &mut self,
        at: Timestamp,
        subject: Subject,
        name: &'static str,
        value: f64,
        unit: &'static str,
    ) {
        if value.is_finite() {
            self.rows.push(Row { at, subject: subject.0, name, value, unit });
        }
    }

    /// All readings, in order of time.
    pub fn readings(&self) -> impl Iterator<Item = Reading<'_>> {
        self.rows.iter().map(|row| Reading {
            at: row.at,
            flow: &self.subjects[row.subject as usize],
            name: row.name,
            value: row.value,
            unit: row.unit,
        })
    }

    /// Writes the table as CSV (RFC 4180) with a header; names hold neither commas nor quotes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time,flow,name,value,unit")?;
        for Reading { at, flow, name, value, unit } in self.readings() {
            writeln!(out, "{},{flow},{name},{value},{unit}", at.as_secs_f64())?;
        }
        Ok(())
    }
}
