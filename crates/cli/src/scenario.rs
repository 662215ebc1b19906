//! The scenario that is named on the command line.

use crate::failure::Failure;
use seaway_control::Registry;
use seaway_lab::ScenarioFile;
use seaway_lab::scenario::{Override, Scenario};

/// A scenario before it is parsed.
#[derive(Debug)]
pub(crate) struct Source(ScenarioFile);

impl Source {
    /// Reads `name`: `-` is standard input, then a file, then a name of the library.
    pub(crate) fn read(name: &str) -> Result<Self, Failure> {
        let read = match name {
            "-" => ScenarioFile::read("standard input", std::io::stdin()),
            name => ScenarioFile::find(name),
        };
        read.map(Self).map_err(|problem| Failure::input(&problem))
    }

    /// What it says.
    pub(crate) fn text(&self) -> &str {
        self.0.text()
    }

    pub(crate) fn parse(&self, overrides: &[Override]) -> Result<Scenario, Failure> {
        self.0.parse(&Registry::builtin(), overrides).map_err(|error| Failure::input(&error))
    }
}
