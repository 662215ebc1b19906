//! The scenarios that come with Seaway.

use crate::scenario::{Override, Scenario, ScenarioError, Text};
use include_dir::{Dir, include_dir};
use seaway_control::{Registry, nearest};
use std::path::Path;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scenarios");

/// A scenario of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledScenario {
    /// What it is called by: its file's name without the ending.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    path: &'static Path,
}

impl BundledScenario {
    /// Reads the scenario with these changes.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse(&self, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        self.parse_with(&Registry::builtin(), overrides)
    }

    /// Reads the scenario with the controllers of `registry` and these changes.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_with(&self, registry: &Registry, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        let text = Text { file: self.name, text: self.text, read: &|name| self.read(name) };
        Scenario::parse_with(registry, text, overrides)
    }

    /// The folder that it is in: `networks`.
    pub fn group(&self) -> &'static str {
        self.path.parent().and_then(Path::to_str).unwrap_or_default()
    }

    /// A file of the library, named as the scenario names it.
    ///
    /// # Errors
    /// Where there is none.
    pub fn read(&self, name: &str) -> Result<String, String> {
        let path = self.path.with_file_name(name);
        let file = FILES.get_file(&path).and_then(include_dir::File::contents_utf8);
        file.map(str::to_owned).ok_or_else(|| "not in the library".to_owned())
    }
}

/// All of them, by name.
pub fn entries() -> Vec<BundledScenario> {
    let mut entries = Vec::new();
    collect(&FILES, &mut entries);
    entries.sort_unstable_by_key(|entry| entry.name);
    entries
}

/// The named networks, which are what is measured, by name.
pub fn networks() -> Vec<BundledScenario> {
    let mut entries = Vec::new();
    FILES.get_dir("networks").into_iter().for_each(|folder| collect(folder, &mut entries));
    entries.sort_unstable_by_key(|entry| entry.name);
    entries
}

fn collect(folder: &'static Dir<'static>, entries: &mut Vec<BundledScenario>) {
    for file in folder.files() {
        let path = file.path();
        let name = path.file_stem().and_then(|stem| stem.to_str());
        if path.extension().is_some_and(|extension| extension == "toml")
            && let (Some(name), Some(text)) = (name, file.contents_utf8())
        {
            entries.push(BundledScenario { name, text, path });
        }
    }
    for inner in folder.dirs() {
        collect(inner, entries);
    }
}

/// The scenario called `name`.
///
/// # Errors
/// The nearest names, or all.
pub fn find(name: &str) -> Result<BundledScenario, String> {
    let entries = entries();
    let found = entries.iter().find(|entry| entry.name == name).copied();
    found.ok_or_else(|| nearest(name, entries.iter().map(|entry| entry.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_the_library_is_valid_and_bears_its_files_name() {
        let entries = entries();
        assert!(!entries.is_empty());
        for entry in entries {
            let scenario = entry.parse(&[]).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name, entry.name);
            assert!(scenario.about.is_some(), "{} says nothing about itself", entry.name);
        }
    }
}
