//! Where a scenario comes from: a file, a text, or the library.

use crate::library::{self, BundledScenario};
use crate::scenario::{Flow, FlowKind, Override, Scenario, ScenarioError, SourceConfig, Text};
use seaway_control::Registry;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The text of a scenario, and where the files are that it names.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    name: String,
    text: String,
    files: Files,
}

#[derive(Debug, Clone)]
enum Files {
    Folder(PathBuf),
    Library(BundledScenario),
}

impl ScenarioFile {
    /// The file `name`, else the scenario of the library that is called so.
    ///
    /// # Errors
    /// There is neither, or the file cannot be read; in words.
    pub fn find(name: &str) -> Result<Self, String> {
        let path = Path::new(name);
        if path.exists() {
            let text = text_of(path).map_err(|problem| format!("{name}: {problem}"))?;
            return Ok(Self::new(name, text, path.parent().unwrap_or(Path::new("."))));
        }
        let entry = library::find(name)
            .map_err(|advice| format!("{name}: no such file, nor a scenario of that name; {advice}"))?;
        let (name, text) = (name.to_owned(), entry.text.to_owned());
        Ok(Self { name, text, files: Files::Library(entry) })
    }

    /// What `from` gives, called `name` in messages; its files are relative to the working directory.
    ///
    /// # Errors
    /// It cannot be read, or is no text; in words.
    pub fn read(name: &str, from: impl Read) -> Result<Self, String> {
        let text = bounded(from).map_err(|problem| format!("{name}: {problem}"))?;
        Ok(Self::new(name, text, Path::new(".")))
    }

    /// A text, called `name` in messages; its files are relative to `folder`.
    pub fn new(name: &str, text: String, folder: &Path) -> Self {
        Self { name: name.to_owned(), text, files: Files::Folder(folder.to_owned()) }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives it another name in messages.
    pub(crate) fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// What it says.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The scenario, with the controllers of `registry` and these changes.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse(&self, registry: &Registry, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        let read = |name: &str| match &self.files {
            Files::Folder(folder) => text_of(&folder.join(name)),
            Files::Library(entry) => entry.read(name),
        };
        let text = Text { file: &self.name, text: &self.text, read: &read };
        let mut scenario = Scenario::parse_with(registry, text, overrides)?;
        if let Files::Folder(folder) = &self.files {
            scenario.flows.iter_mut().for_each(|flow| find_clip(flow, folder));
        }
        Ok(scenario)
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    std::fs::File::open(path).map_err(|error| error.to_string()).and_then(bounded)
}

/// All that is to be read, if it is text and not endless.
fn bounded(file: impl Read) -> Result<String, String> {
    const LARGEST: u64 = 64 << 20;
    let mut octets = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut octets).map_err(|error| error.to_string())?;
    if octets.len() as u64 > LARGEST {
        return Err(format!("more than {} MiB: expected a scenario, or a file that it names", LARGEST >> 20));
    }
    String::from_utf8(octets).map_err(|error| {
        format!("expected text in UTF-8, found none at octet {}", error.utf8_error().valid_up_to())
    })
}

/// Clips and streams are relative to the scenario, as every file is.
fn find_clip(flow: &mut Flow, folder: &Path) {
    if let FlowKind::Media(media) = &mut flow.kind
        && let SourceConfig::Clip { file: Some(file), .. } | SourceConfig::Shaper { file: Some(file), .. } =
            &mut media.source
    {
        *file = folder.join(&*file).to_string_lossy().into_owned();
    }
}
