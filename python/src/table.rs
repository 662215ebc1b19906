//! Tables in the Arrow format, handed over without a copy by the Arrow PyCapsule interface.

use crate::error;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{ArrowError, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use seaway_control::Decision;
use seaway_lab::Series;
use seaway_lab::table::{Table as Columns, Values};
use std::sync::Arc;

/// A table that pandas, polars, DuckDB and pyarrow read in place.
#[pyclass(frozen, module = "seaway")]
#[derive(Debug)]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// The table as a stream of one batch.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the requested schema.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema_ref().as_ref()).map_err(error::running)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<seaway.Table of {} rows: {}>", self.0.num_rows(), self.column_names().join(", "))
    }
}

impl Table {
    fn new(columns: Vec<(&str, ArrayRef)>) -> PyResult<Self> {
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        RecordBatch::try_from_iter_with_nullable(columns).map(Self).map_err(error::running)
    }

    /// A table of the lab.
    pub(crate) fn of(table: &Columns) -> PyResult<Self> {
        if table.columns().is_empty() {
            return Ok(Self(RecordBatch::new_empty(Arc::new(Schema::empty()))));
        }
        let columns = table.columns().iter().map(|column| (column.name.as_str(), array(&column.values)));
        Self::new(columns.collect())
    }

    /// The time series of a run.
    pub(crate) fn of_series(series: &Series) -> PyResult<Self> {
        let count = series.readings().count();
        let (mut time, mut value) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut names = [(); 3].map(|()| StringDictionaryBuilder::<Int32Type>::new());
        for reading in series.readings() {
            time.push(reading.at.as_secs_f64());
            value.push(reading.value);
            let texts = [reading.flow, reading.name, reading.unit];
            append(&mut names, texts).map_err(error::running)?;
        }
        let [flow, name, unit] = names.map(|mut names| Arc::new(names.finish()) as ArrayRef);
        Self::new(vec![
            ("time", floats(time)),
            ("flow", flow),
            ("name", name),
            ("value", floats(value)),
            ("unit", unit),
        ])
    }

    /// Why rates changed, by flow.
    pub(crate) fn of_decisions(flows: &[(String, Vec<Decision>)]) -> PyResult<Self> {
        let rows = || flows.iter().flat_map(|(flow, rows)| rows.iter().map(move |row| (flow.as_str(), row)));
        let mut names = [(); 5].map(|()| StringDictionaryBuilder::<Int32Type>::new());
        for (flow, row) in rows() {
            let texts = [flow, row.cause, row.signal.name, row.signal.unit, row.phase];
            append(&mut names, texts).map_err(error::running)?;
        }
        let [flow, cause, signal, unit, phase] = names.map(|mut names| Arc::new(names.finish()) as ArrayRef);
        let numbers = |number: fn(&Decision) -> f64| floats(rows().map(|(_, row)| number(row)).collect());
        Self::new(vec![
            ("time", numbers(|row| row.at.as_secs_f64())),
            ("flow", flow),
            ("cause", cause),
            ("signal", signal),
            ("value", numbers(|row| row.signal.value)),
            ("unit", unit),
            ("threshold", numbers(|row| row.threshold)),
            ("before_bps", numbers(|row| row.before.as_bps_f64())),
            ("after_bps", numbers(|row| row.after.as_bps_f64())),
            ("phase", phase),
        ])
    }
}

fn floats(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

fn append<const N: usize>(
    builders: &mut [StringDictionaryBuilder<Int32Type>; N],
    texts: [&str; N],
) -> Result<(), ArrowError> {
    builders.iter_mut().zip(texts).try_for_each(|(builder, text)| builder.append(text).map(drop))
}

fn array(values: &Values) -> Arc<dyn Array> {
    match values {
        Values::Integer(values) => Arc::new(Int64Array::from(values.clone())),
        Values::Float(values) => Arc::new(Float64Array::from(values.clone())),
        Values::Text(values) => Arc::new(values.iter().map(Option::as_deref).collect::<StringArray>()),
        Values::Switch(values) => Arc::new(BooleanArray::from(values.clone())),
    }
}
