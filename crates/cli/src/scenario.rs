//! Where a scenario comes from: a file, standard input, or the library.

use crate::failure::Failure;
use seaway_lab::library::{self, BundledScenario};
use seaway_lab::scenario::{Flow, FlowKind, Override, Scenario, SourceConfig, Text};
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
    Library(BundledScenario),
}

impl Source {
    /// Reads `name`: `-` is standard input, then a file, then a name of the library.
    pub(crate) fn read(name: &str) -> Result<Self, Failure> {
        let source = |text, files| Self { name: name.to_owned(), text, files };
        if name == "-" {
            let text = bounded(std::io::stdin())
                .map_err(|problem| Failure::input(&format!("standard input: {problem}")))?;
            return Ok(source(text, Files::Folder(PathBuf::from("."))));
        }
        if Path::new(name).exists() {
            let text =
                text_of(Path::new(name)).map_err(|problem| Failure::input(&format!("{name}: {problem}")))?;
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
            Files::Folder(folder) => text_of(&folder.join(name)),
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
