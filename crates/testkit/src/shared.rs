//! Material kept beside the repository: clips and streams too large, or not free enough, to ship.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The path of `name` in the folder of shared material, for example `shared("media/masters/akiyo_cif.mp4")`.
///
/// The folder is the one the environment variable `SEAWAY_SHARED` names, else `shared` beside the
/// repository. Where the file is absent the answer is `None` and a line on stderr says so: the test that
/// asked then returns early.
pub fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SEAWAY_SHARED").map_or_else(beside_the_repository, PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    // Written directly, because the test harness swallows what a passing test prints with a macro.
    let _ = writeln!(
        std::io::stderr(),
        "*** SKIPPED: {name} is not in {} (SEAWAY_SHARED names another folder) ***",
        folder.display()
    );
    None
}

fn beside_the_repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_material_is_none() {
        assert_eq!(shared("media/no such clip"), None);
    }
}
