//! The texts of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without sources of the project.
const SKIPPED: [&str; 7] = ["target", "node_modules", "dist", ".git", "corpus", "artifacts", "__pycache__"];
/// Endings of the files that are searched.
const SEARCHED: [&str; 9] = ["rs", "md", "toml", "py", "sh", "js", "ts", "mjs", "tcl"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The searched files by their path from the root, with their text (a transport stream, which ends in `.ts` too, has none).
pub(crate) fn files() -> Vec<(String, String)> {
    let (root, mut files, mut folders) = (root(), Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !SKIPPED.iter().any(|skipped| path.ends_with(skipped)) {
                folders.push(path);
            } else if path.ends_with("Makefile")
                || SEARCHED.iter().any(|end| path.extension() == Some(end.as_ref()))
            {
                files.push((name, fs::read_to_string(&path).unwrap_or_default()));
            }
        }
    }
    files
}
