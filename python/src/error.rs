//! Exceptions. Their texts are those that the binary prints.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::fmt::Display;

create_exception!(seaway, Error, PyException, "What went wrong, in words.");
create_exception!(seaway, InputError, Error, "Wrong usage or unusable input: the binary exits with 2.");
create_exception!(seaway, RunError, Error, "It failed while running: the binary exits with 1.");

/// Unusable input.
pub(crate) fn input(error: impl Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// A failure while running.
pub(crate) fn running(error: impl Display) -> PyErr {
    RunError::new_err(error.to_string())
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("RunError", py.get_type::<RunError>())
}
