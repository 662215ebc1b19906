//! The folder of a sweep, which several processes may fill.
//!
//! Each run leaves a file of its own, written beside and then renamed, so a process that dies leaves whole runs only. The
//! table is made of these files when all are there: it has the same octets whatever process made a run, and in whatever order.

use super::Plan;
use crate::run::Outcome;
use crate::table::Table;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The folder of a sweep.
#[derive(Debug)]
pub struct SweepFolder {
    root: PathBuf,
}

/// What became of the table of all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// It is written: so many rows.
    Written(usize),
    /// So many runs are still to be made.
    Missing(usize),
}

/// The plan, by which a folder is recognised.
const PLAN: &str = "plan.json";
/// How the name of a file begins that is being written.
const DRAFT: &str = ".seaway-";
/// The table of all runs.
const RUNS: &str = "runs.parquet";

impl SweepFolder {
    /// Makes the folder, or opens one that was made for the same plan by the same version.
    ///
    /// # Errors
    /// It holds something else, or cannot be made; in words.
    pub fn open(root: &Path, plan: &Plan) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", root.display());
        let folder = Self { root: root.to_owned() };
        let fingerprint = plan.fingerprint();
        if !root.join(PLAN).exists() {
            fs::create_dir_all(root.join("runs")).map_err(failed)?;
            if !fs::read_dir(root).map_err(failed)?.all(|entry| entry.is_ok_and(|entry| is_own(&entry))) {
                return Err(format!("{}: exists and is no folder of a sweep", root.display()));
            }
            let text = serde_json::to_vec_pretty(&fingerprint).unwrap_or_default();
            folder.write(PLAN, |out| out.write_all(&text)).map_err(failed)?;
        }
        // Another process may have been first.
        let text = fs::read(root.join(PLAN)).map_err(failed)?;
        if serde_json::from_slice::<Value>(&text).ok().as_ref() != Some(&fingerprint) {
            return Err(format!("{}: was made for another plan or by another version", root.display()));
        }
        Ok(folder)
    }

    /// Whether run `run` is there.
    pub fn has(&self, run: usize) -> bool {
        self.root.join(part(run)).is_file()
    }

    /// Keeps the outcome of run `run`: its summary, and its series where the plan requests them.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn put(&self, plan: &Plan, run: usize, outcome: &Outcome) -> io::Result<()> {
        if plan.series {
            self.write(&series(plan, run), |out| outcome.series.write_parquet(out))?;
        }
        let document = json!({ "run": run, "summary": outcome.summary });
        self.write(&part(run), |out| serde_json::to_writer(out, &document).map_err(io::Error::from))
    }

    /// Makes the table of all runs, if all are there.
    ///
    /// # Errors
    /// Those of the file system, or a file that is not as it was written; in words.
    pub fn merge(&self, plan: &Plan) -> Result<Merge, String> {
        let missing = (0..plan.runs()).filter(|run| !self.has(*run)).count();
        if missing > 0 {
            return Ok(Merge::Missing(missing));
        }
        let mut table = Table::default();
        for run in 0..plan.runs() {
            let path = self.root.join(part(run));
            let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let text = fs::read(&path).map_err(|error| failed(&error))?;
            let document: Value = serde_json::from_slice(&text).map_err(|error| failed(&error))?;
            if document["run"] != json!(run) || !document["summary"]["flows"].is_array() {
                return Err(failed(&"this is no summary of that run"));
            }
            plan.add_rows(run, &document["summary"], &mut table);
        }
        let written = self.write(RUNS, |out| table.write_parquet(out));
        written.map_err(|error| format!("{}: {error}", self.root.join(RUNS).display()))?;
        Ok(Merge::Written(table.rows()))
    }

    fn write(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<&mut fs::File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = self.root.join(name);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)?;
        let mut draft = tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder)?;
        let mut out = BufWriter::new(draft.as_file_mut());
        write(&mut out)?;
        out.flush()?;
        drop(out);
        make_readable(draft.as_file())?;
        draft.persist(path).map(drop).map_err(|error| error.error)
    }
}

/// Whether this stands in the folder of a sweep, perhaps as another process is writing it.
fn is_own(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    ["runs", "series", PLAN, RUNS].contains(&&*name) || name.starts_with(DRAFT)
}

/// The file of a run: a thousand a folder.
fn part(run: usize) -> String {
    format!("runs/{:04}/{run:07}.json", run / 1000)
}

/// The series of a run, in folders that readers of partitioned Parquet understand.
fn series(plan: &Plan, run: usize) -> String {
    let place = plan.place(run);
    let plain = |text: &str| -> String {
        let keep = |c: char| if c.is_alphanumeric() || "-_.()=".contains(c) { c } else { '-' };
        text.chars().map(keep).collect::<String>().replace('=', "-")
    };
    let control = place.control.map(|control| format!("controller={}/", plain(&control.to_string())));
    let scenario = plain(place.scenario.name());
    format!("series/scenario={scenario}/{}run={run}/series.parquet", control.unwrap_or_default())
}

/// Only the owner may read a temporary file; a result gets the usual permissions.
#[cfg(unix)]
fn make_readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_file: &fs::File) -> io::Result<()> {
    Ok(())
}
