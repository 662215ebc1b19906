//! Where a scenario comes from: a file, standard input, or the library.

use crate::commands::Failure;
use seaway_lab::library;
use seaway_lab::scenario::{Override, Scenario};
use std::io::Read;
use std::path::Path;

/// The text of a scenario and its name in messages.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) file: String,
    pub(crate) text: String,
}

impl Text {
    /// Reads `name`: `-` is standard input, then a file, then a name of the library.
    pub(crate) fn read(name: &str) -> Result<Self, Failure> {
        if name == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::input(&format!("standard input: {error}")))?;
            return Ok(Self { file: "-".to_owned(), text });
        }
        if Path::new(name).exists() {
            let text =
                std::fs::read_to_string(name).map_err(|error| Failure::input(&format!("{name}: {error}")))?;
            return Ok(Self { file: name.to_owned(), text });
        }
        let entry = library::find(name).map_err(|advice| {
            Failure::input(&format!("{name}: no such file, nor a scenario of that name; {advice}"))
        })?;
        Ok(Self { file: name.to_owned(), text: entry.text.to_owned() })
    }

    pub(crate) fn parse(&self, overrides: &[Override]) -> Result<Scenario, Failure> {
        Scenario::parse(&self.file, &self.text, overrides).map_err(|error| Failure::input(&error))
    }
}
