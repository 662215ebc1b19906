//! The time series of a run as one table.

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use seaway_units::Timestamp;
use std::io::{self, Write};
use std::sync::Arc;

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
        writeln!(out, "{}", COLUMNS.join(","))?;
        for Reading { at, flow, name, value, unit } in self.readings() {
            writeln!(out, "{},{flow},{name},{value},{unit}", at.as_secs_f64())?;
        }
        Ok(())
    }

    /// Writes the same table as Parquet.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_parquet(&self, out: impl Write + Send) -> io::Result<()> {
        self.try_write_parquet(out).map_err(|error| match error {
            ParquetError::External(source) => io::Error::other(source),
            other => io::Error::other(other),
        })
    }

    fn try_write_parquet(&self, out: impl Write + Send) -> Result<(), ParquetError> {
        let schema = Arc::new(parse_message_type(TABLE)?);
        let mut writer = SerializedFileWriter::new(out, schema, Arc::new(WriterProperties::default()))?;
        for rows in self.rows.chunks(ROWS) {
            let numbers = |number: fn(&Row) -> f64| rows.iter().map(number).collect::<Vec<_>>();
            let words = |word: &dyn Fn(&Row) -> ByteArray| rows.iter().map(word).collect::<Vec<_>>();
            // One copy of each name, which the rows share.
            let subjects: Vec<ByteArray> =
                self.subjects.iter().map(|name| ByteArray::from(name.as_bytes().to_vec())).collect();
            let mut group = writer.next_row_group()?;
            for column in COLUMNS {
                let Some(mut place) = group.next_column()? else { break };
                match column {
                    "time" => {
                        let times = numbers(|row| row.at.as_secs_f64());
                        place.typed::<DoubleType>().write_batch(&times, None, None)?;
                    }
                    "value" => {
                        let values = numbers(|row| row.value);
                        place.typed::<DoubleType>().write_batch(&values, None, None)?;
                    }
                    _ => {
                        let names = words(&|row| match column {
                            "flow" => subjects[row.subject as usize].clone(),
                            "name" => ByteArray::from(row.name),
                            _ => ByteArray::from(row.unit),
                        });
                        place.typed::<ByteArrayType>().write_batch(&names, None, None)?;
                    }
                }
                place.close()?;
            }
            group.close()?;
        }
        writer.close().map(|_| ())
    }
}

/// The columns of the table, in order.
const COLUMNS: [&str; 5] = ["time", "flow", "name", "value", "unit"];
/// The same for Parquet.
const TABLE: &str = "message series {
    required double time;
    required binary flow (utf8);
    required binary name (utf8);
    required double value;
    required binary unit (utf8);
}";
/// Rows that are written as one group.
const ROWS: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn both_forms_hold_the_same_rows() {
        let mut series = Series::default();
        let subjects = ["video", "bottleneck"].map(|name| series.subject(name));
        for row in 0..ROWS as u64 + 10 {
            let at = Timestamp::from_nanos(row * 50_000_000);
            let (name, unit) = if row % 2 == 0 { ("rtt", "ms") } else { ("queue", "packets") };
            series.push(at, subjects[row as usize % 2], name, row as f64 / 3.0, unit);
        }
        let mut csv = Vec::new();
        series.write_csv(&mut csv).unwrap();
        let mut file = Vec::new();
        series.write_parquet(&mut file).unwrap();
        assert!(file.len() < csv.len(), "{} octets, {} as text", file.len(), csv.len());
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let names: Vec<_> = reader
            .metadata()
            .file_metadata()
            .schema_descr()
            .columns()
            .iter()
            .map(|c| c.name().to_owned())
            .collect();
        assert_eq!(names, COLUMNS);
        let mut lines = std::str::from_utf8(&csv).unwrap().lines();
        assert_eq!(lines.next(), Some(COLUMNS.join(",").as_str()));
        let mut count = 0;
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let (time, value) = (row.get_double(0).unwrap(), row.get_double(3).unwrap());
            let [flow, name, unit] = [1, 2, 4].map(|column| row.get_string(column).unwrap().clone());
            assert_eq!(lines.next(), Some(format!("{time},{flow},{name},{value},{unit}").as_str()));
            count += 1;
        }
        assert_eq!((count, lines.next()), (ROWS + 10, None));
    }
}
