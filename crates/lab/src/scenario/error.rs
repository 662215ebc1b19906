//! What is wrong with a scenario, and where.

use std::fmt;

/// A scenario that cannot be used: where, what was found, what would be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    place: Place,
    message: String,
}

/// Where a mistake is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the file as a whole.
    File {
        /// The file's name as it was given.
        file: String,
    },
    /// At a line and column of the file, counted from 1.
    Line {
        /// The file's name as it was given.
        file: String,
        /// The line.
        line: usize,
        /// The column, in characters.
        column: usize,
    },
    /// In an override given on the command line, as it was written.
    Override(String),
}

impl ScenarioError {
    /// An error at `place`.
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What was found and what would be valid.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file } => f.write_str(file),
            Self::Line { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Override(text) => write!(f, "--set {text}"),
        }
    }
}
