//! Names the commit that a release build is of. A build for development has none: it would compile anew after each commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=SEAWAY_VERSION");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").as_deref() == Ok("release")
        && std::env::var_os("SEAWAY_VERSION").is_none()
        && let Some(commit) = packaged().or_else(checked_out)
    {
        let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
        println!("cargo::rustc-env=SEAWAY_VERSION={version}+{commit}");
    }
}

/// Of a crate from a registry: `cargo package` notes the commit.
fn packaged() -> Option<String> {
    let notes = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = notes.split_once("\"sha1\": \"")?;
    rest.get(..12).map(str::to_owned)
}

/// Of a clone, where this file is one of it and not a copy in the tree of another project.
fn checked_out() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        // A file that is not there would count as changed each time.
        if let Some(file) = git(&["rev-parse", "--git-path", name]).filter(|file| Path::new(file).exists()) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
