//! A table of typed columns, which are found as rows are added.

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

/// A table. A column that a row lacks is empty there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    places: BTreeMap<String, usize>,
    rows: usize,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// One for each row.
    pub values: Values,
}

/// The values of a column; `None` where a row has none.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
    /// Yes or no.
    Switch(Vec<Option<bool>>),
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Switch(bool),
}

impl Table {
    /// The columns, in the order in which they were first met.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows there are.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row. Where a column holds values of another type, both become numbers if they are, else texts.
    pub fn push(&mut self, row: impl IntoIterator<Item = (String, Cell)>) {
        for (name, cell) in row {
            let place = *self.places.entry(name).or_insert_with_key(|name| {
                let values = Values::of(&cell);
                self.columns.push(Column { name: name.clone(), values });
                self.columns.len() - 1
            });
            let values = &mut self.columns[place].values;
            values.resize(self.rows);
            values.push(cell);
        }
        self.rows += 1;
        self.columns.iter_mut().for_each(|column| column.values.resize(self.rows));
    }

    /// Writes the table as Parquet. The same table gives the same octets.
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
        let fields = self.columns.iter().map(Column::schema).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
        let properties = Arc::new(WriterProperties::default());
        let mut writer = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
        let mut group = writer.next_row_group()?;
        for column in &self.columns {
            let Some(mut place) = group.next_column()? else { break };
            match &column.values {
                Values::Integer(values) => {
                    let (present, levels) = split(values, |value| *value);
                    place.typed::<Int64Type>().write_batch(&present, Some(&levels), None)?;
                }
                Values::Float(values) => {
                    let (present, levels) = split(values, |value| *value);
                    place.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
                }
                Values::Switch(values) => {
                    let (present, levels) = split(values, |value| *value);
                    place.typed::<BoolType>().write_batch(&present, Some(&levels), None)?;
                }
                Values::Text(values) => {
                    let (present, levels) = split(values, |text| ByteArray::from(text.as_bytes().to_vec()));
                    place.typed::<ByteArrayType>().write_batch(&present, Some(&levels), None)?;
                }
            }
            place.close()?;
        }
        group.close()?;
        writer.close().map(|_| ())
    }
}

impl Column {
    fn schema(&self) -> Result<Arc<Type>, ParquetError> {
        let (physical, logical) = match self.values {
            Values::Integer(_) => (PhysicalType::INT64, None),
            Values::Float(_) => (PhysicalType::DOUBLE, None),
            Values::Switch(_) => (PhysicalType::BOOLEAN, None),
            Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let builder = Type::primitive_type_builder(&self.name, physical);
        builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
    }
}

impl Values {
    fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Integer(_) => Self::Integer(Vec::new()),
            Cell::Float(_) => Self::Float(Vec::new()),
            Cell::Text(_) => Self::Text(Vec::new()),
            Cell::Switch(_) => Self::Switch(Vec::new()),
        }
    }

    fn resize(&mut self, rows: usize) {
        match self {
            Self::Integer(values) => values.resize(rows, None),
            Self::Float(values) => values.resize(rows, None),
            Self::Text(values) => values.resize(rows, None),
            Self::Switch(values) => values.resize(rows, None),
        }
    }

    fn push(&mut self, cell: Cell) {
        match (&mut *self, cell) {
            (Self::Integer(values), Cell::Integer(value)) => values.push(Some(value)),
            (Self::Float(values), Cell::Float(value)) => values.push(Some(value)),
            (Self::Float(values), Cell::Integer(value)) => values.push(Some(value as f64)),
            (Self::Text(values), cell) => values.push(Some(cell.text())),
            (Self::Switch(values), Cell::Switch(value)) => values.push(Some(value)),
            (Self::Integer(values), Cell::Float(value)) => {
                let mut values: Vec<_> = values.iter().map(|value| value.map(|value| value as f64)).collect();
                values.push(Some(value));
                *self = Self::Float(values);
            }
            (_, cell) => {
                let mut values = self.texts();
                values.push(Some(cell.text()));
                *self = Self::Text(values);
            }
        }
    }

    fn texts(&self) -> Vec<Option<String>> {
        match self {
            Self::Integer(values) => values.iter().map(|value| Some(value.as_ref()?.to_string())).collect(),
            Self::Float(values) => values.iter().map(|value| Some(value.as_ref()?.to_string())).collect(),
            Self::Text(values) => values.clone(),
            Self::Switch(values) => values.iter().map(|value| Some(value.as_ref()?.to_string())).collect(),
        }
    }
}

impl Cell {
    /// As it is written.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) => text,
            Self::Switch(value) => value.to_string(),
        }
    }
}

/// The cells of a document under `name`: the keys of inner objects are joined by underscores, lists are left out.
pub fn flatten(name: &str, value: &Value, cells: &mut Vec<(String, Cell)>) {
    let cell = match value {
        Value::Object(inner) => {
            for (key, value) in inner {
                let name = if name.is_empty() { key.clone() } else { format!("{name}_{key}") };
                flatten(&name, value, cells);
            }
            return;
        }
        Value::Null | Value::Array(_) => return,
        Value::Bool(value) => Cell::Switch(*value),
        Value::String(text) => Cell::Text(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Cell::Integer(number),
            (None, Some(number)) => Cell::Float(number),
            (None, None) => return,
        },
    };
    cells.push((name.to_owned(), cell));
}

/// The values that are there, and for each row whether its value is (1) or not (0).
fn split<T, U>(values: &[Option<T>], value: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let present = values.iter().flatten().map(value).collect();
    (present, values.iter().map(|value| i16::from(value.is_some())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use serde_json::json;

    fn table(rows: &[Value]) -> Table {
        let mut table = Table::default();
        for row in rows {
            let mut cells = Vec::new();
            flatten("", row, &mut cells);
            table.push(cells);
        }
        table
    }

    #[test]
    fn columns_are_the_union_of_the_rows_and_widen() {
        let table = table(&[
            json!({ "a": 1, "rtt_ms": { "mean": 2.5 }, "list": [1] }),
            json!({ "a": 0.5, "held": true }),
            json!({ "held": "no" }),
        ]);
        let names: Vec<_> = table.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "rtt_ms_mean", "held"]);
        assert_eq!(table.columns()[0].values, Values::Float(vec![Some(1.0), Some(0.5), None]));
        assert_eq!(table.columns()[1].values, Values::Float(vec![Some(2.5), None, None]));
        let held = Values::Text(vec![None, Some("true".to_owned()), Some("no".to_owned())]);
        assert_eq!(table.columns()[2].values, held);
    }

    #[test]
    fn parquet_holds_the_rows_with_their_gaps() {
        let table = table(&[json!({ "n": 1, "x": 0.5, "s": "a" }), json!({ "n": 2, "ok": true }), json!({})]);
        let mut file = Vec::new();
        table.write_parquet(&mut file).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        let (none, text) = (Field::Null, Field::Str("a".to_owned()));
        assert_eq!(rows[0], [Field::Long(1), Field::Double(0.5), text, none.clone()]);
        assert_eq!(rows[1], [Field::Long(2), none.clone(), none.clone(), Field::Bool(true)]);
        assert_eq!(rows[2], [none.clone(), none.clone(), none.clone(), none]);
    }
}
