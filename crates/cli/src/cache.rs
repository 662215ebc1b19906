//! Runs that were made before. A cached result is a pure function of its key; a fault of the folder
//! costs time and nothing else.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

/// A folder of results by key, or none.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
    /// What stands for this very binary: another one may run the same scenario differently.
    binary: String,
}

/// More files than this are not kept; the oldest go.
const MOST: usize = 400;

impl Cache {
    /// Remembers nothing.
    pub(crate) fn none() -> Self {
        Self { folder: None, binary: String::new() }
    }

    /// The cache of that name under `SEAWAY_CACHE`, or else where the system keeps such things.
    pub(crate) fn open(name: &str) -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = variable("SEAWAY_CACHE")
            .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("seaway")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/seaway")))
            .map(|folder| folder.join(name))
            .filter(|folder| std::fs::create_dir_all(folder).is_ok());
        let cache = Self { folder, binary: binary().unwrap_or_default() };
        cache.prune();
        cache
    }

    /// The key of what this binary makes of `what`.
    pub(crate) fn key(&self, what: &str) -> String {
        // Two hashes of different beginnings: 128 bits.
        let hash = |begin: u8| {
            let mut hasher = DefaultHasher::new();
            (begin, &self.binary, what).hash(&mut hasher);
            hasher.finish()
        };
        format!("{:016x}{:016x}", hash(1), hash(2))
    }

    /// What was put under that key.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let text = std::fs::read(self.path(key)?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Remembers it: written beside, then renamed.
    pub(crate) fn put(&self, key: &str, value: &impl Serialize) {
        let (Some(folder), Some(path)) = (&self.folder, self.path(key)) else { return };
        let Ok(mut draft) = tempfile::NamedTempFile::new_in(folder) else { return };
        let mut out = std::io::BufWriter::new(draft.as_file_mut());
        let written = serde_json::to_writer(&mut out, value).is_ok() && out.flush().is_ok();
        drop(out);
        if written {
            // A failure costs the next run its time.
            let _ = draft.persist(path);
        }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{key}.json")))
    }

    fn prune(&self) {
        let entries = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok());
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let surplus = files.len().saturating_sub(MOST);
        for (_, path) in &files[..surplus] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Version, length and time of the file that runs.
fn binary() -> Option<String> {
    let file = std::env::current_exe().ok()?.metadata().ok()?;
    Some(format!("{} {} {:?}", seaway_report::VERSION, file.len(), file.modified().ok()?))
}
