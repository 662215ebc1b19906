//! What can be wrong with a description of a link.

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
