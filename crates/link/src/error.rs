//! What can be wrong with a description of a link.

use seaway_units::{DataSize, TimeDelta};
use std::fmt;

/// A configuration or a trace that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A value that is not valid, or does not apply where it stands.
    Config {
        /// The key, with dots: `queue.packets`.
        field: String,
        /// What was found there.
        found: String,
        /// What would be valid.
        expected: String,
    },
    /// A trace that cannot be read.
    Trace {
        /// Line, counted from one.
        line: usize,
        /// What was found there.
        found: String,
        /// What would be valid.
        expected: String,
    },
}

impl Error {
    pub(crate) fn config(
        field: impl Into<String>,
        found: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::Config { field: field.into(), found: found.to_string(), expected: expected.into() }
    }

    pub(crate) fn trace(line: usize, found: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self::Trace { line, found: found.to_string(), expected: expected.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config { field, found, expected } => {
                write!(f, "{field}: found {found}, expected {expected}")
            }
            Self::Trace { line, found, expected } => {
                write!(f, "line {line}: found {found}, expected {expected}")
            }
        }
    }
}

impl std::error::Error for Error {}

pub(crate) fn above_zero(field: &str, span: TimeDelta) -> Result<TimeDelta, Error> {
    if span > TimeDelta::ZERO { Ok(span) } else { Err(Error::config(field, span, "a time above zero")) }
}

pub(crate) fn not_negative(field: &str, span: TimeDelta) -> Result<TimeDelta, Error> {
    if span.is_negative() { Err(Error::config(field, span, "a time not below zero")) } else { Ok(span) }
}

/// Refuses instants that do not grow.
pub(crate) fn in_order(field: &str, instants: impl Iterator<Item = TimeDelta>) -> Result<(), Error> {
    let mut last = TimeDelta::from_nanos(-1);
    for at in instants {
        if at <= last {
            return Err(Error::config(field, at, "instants from 0 s on, each later than the one before"));
        }
        last = at;
    }
    Ok(())
}

pub(crate) fn some_octets(field: &str, size: DataSize) -> Result<DataSize, Error> {
    if size.is_zero() { Err(Error::config(field, size, "a size above zero")) } else { Ok(size) }
}

pub(crate) fn fraction(field: &str, value: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::config(field, value, "a number from 0 to 1"))
    }
}
