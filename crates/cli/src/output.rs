//! Folders of results: written under a temporary name, then renamed, so that no folder is ever incomplete.

use crate::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The file that marks a folder as one of ours.
const MARK: &str = "run.json";

/// A folder of results that is being written.
#[derive(Debug)]
pub(crate) struct Folder {
    target: PathBuf,
    draft: TempDir,
}

impl Folder {
    /// Begins a folder that will stand at `target`. What stands there already must be empty or one of ours.
    pub(crate) fn begin(target: &Path) -> Result<Self, Failure> {
        if target.exists() && !is_replaceable(target) {
            let what = target.display();
            return Err(Failure::input(&format!(
                "{what}: exists and is no folder of results; not overwritten"
            )));
        }
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let refused = |error: std::io::Error| Failure::input(&format!("{}: {error}", parent.display()));
        fs::create_dir_all(parent).map_err(refused)?;
        let draft = tempfile::Builder::new().prefix(".seaway-").tempdir_in(parent).map_err(refused)?;
        Ok(Self { target: target.to_owned(), draft })
    }

    /// Writes a file of it; folders in `name` are made.
    pub(crate) fn write(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<fs::File>) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let path = self.draft.path().join(name);
        let written = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = BufWriter::new(fs::File::create(&path)?);
            write(&mut file)?;
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        };
        written().map_err(|error| Failure::running(&format!("{}: {error}", self.target.join(name).display())))
    }

    /// Writes a JSON document of it.
    pub(crate) fn write_json(&self, name: &str, document: &impl Serialize) -> Result<(), Failure> {
        self.write(name, |file| {
            serde_json::to_writer_pretty(&mut *file, document)?;
            file.write_all(b"\n")
        })
    }

    /// Puts the folder in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::running(&format!("{}: {error}", self.target.display()));
        let old = self.draft.path().with_extension("old");
        let replaces = self.target.exists();
        if replaces {
            fs::rename(&self.target, &old).map_err(failed)?;
        }
        let draft = self.draft.keep();
        make_readable(&draft).map_err(failed)?;
        fs::rename(&draft, &self.target).map_err(failed)?;
        if replaces { fs::remove_dir_all(&old).map_err(failed) } else { Ok(()) }
    }
}

fn is_replaceable(target: &Path) -> bool {
    let is_empty = || fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    target.is_dir() && (target.join(MARK).is_file() || is_empty())
}

/// A temporary folder is its owner's alone; a folder of results is like any other.
#[cfg(unix)]
fn make_readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_readable(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

/// How a folder came to be: enough to make it again.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Provenance {
    /// The command, quoted for a shell.
    pub(crate) command: String,
    /// The version of Seaway.
    pub(crate) seaway: &'static str,
    /// The platform it ran on.
    pub(crate) platform: String,
}

impl Provenance {
    /// Of this process.
    pub(crate) fn of_this_process() -> Self {
        let words = std::env::args()
            .enumerate()
            .map(|(index, word)| if index == 0 { "seaway".to_owned() } else { quoted(&word) });
        Self {
            command: words.collect::<Vec<_>>().join(" "),
            seaway: seaway_report::VERSION,
            platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        }
    }
}

/// The word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("flow.video.control=tfrc"), "flow.video.control=tfrc");
        assert_eq!(quoted("multfrc(max=8)"), "'multfrc(max=8)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
