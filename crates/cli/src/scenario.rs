//! Where a scenario comes from: a file, standard input, or the library.

use crate::commands::Failure;
use seaway_lab::library::{self, Entry};
use seaway_lab::scenario::{Flow, FlowKind, Override, Scenario, Source as FrameSource, Text};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A scenario before it is parsed.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name in messages.
    name: String,
    /// What it says.
    pub(crate) text: String,
    files: Files,
}

/// Where the files are that it names.
#[derive(Debug)]
enum Files {
    Folder(PathBuf),
    Library(Entry),
}

impl Source {
    /// Reads `name`: `-` is standard input, then a file, then a name of the library.
    pub(crate) fn read(name: &str) -> Result<Self, Failure> {
        let source = |text, files| Self { name: name.to_owned(), text, files };
        if name == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::input(&format!("standard input: {error}")))?;
            return Ok(source(text, Files::Folder(PathBuf::from("."))));
        }
        if Path::new(name).exists() {
            let text =
                std::fs::read_to_string(name).map_err(|error| Failure::input(&format!("{name}: {error}")))?;
            let folder = Path::new(name).parent().unwrap_or(Path::new("."));
            return Ok(source(text, Files::Folder(folder.to_owned())));
        }
        let entry = library::find(name).map_err(|advice| {
            Failure::input(&format!("{name}: no such file, nor a scenario of that name; {advice}"))
        })?;
        Ok(source(entry.text.to_owned(), Files::Library(entry)))
    }

    pub(crate) fn parse(&self, overrides: &[Override]) -> Result<Scenario, Failure> {
        let read = |name: &str| match &self.files {
            Files::Folder(folder) => {
                std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string())
            }
            Files::Library(entry) => entry.read(name),
        };
        let text = Text { file: &self.name, text: &self.text, read: &read };
        let mut scenario = Scenario::parse(text, overrides).map_err(|error| Failure::input(&error))?;
        if let Files::Folder(folder) = &self.files {
            scenario.flows.iter_mut().for_each(|flow| find_clip(flow, folder));
        }
        Ok(scenario)
    }
}

/// Clips are relative to the scenario, as every file is.
fn find_clip(flow: &mut Flow, folder: &Path) {
    if let FlowKind::Media(media) = &mut flow.kind
        && let FrameSource::Clip { file: Some(file), .. } = &mut media.source
    {
        *file = folder.join(&*file).to_string_lossy().into_owned();
    }
}
