//! The portable crates hold no clock, no socket, no randomness of the operating system, and depend on none.
//!
//! Clippy forbids the clocks everywhere; this forbids, in these crates, all the ways out that also build for the browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ways out, as they stand in a source file.
const FORBIDDEN: &[&str] = &[
    "std::net",
    "std::fs",
    "std::env",
    "std::process",
    "thread::sleep",
    "std::os",
    "std::io::stdin",
    "std::time::Instant",
    "SystemTime",
    "Instant::now",
    "RandomState",
    "HashMap",
    "HashSet",
    "getrandom",
    "thread_rng",
    "from_os_rng",
    "extern \"C\"",
    "asm!",
];
/// Crates that reach the operating system.
const OUTSIDE: &[&str] =
    &["getrandom", "mio", "socket2", "tokio", "libc", "nix", "rustix", "web-time", "instant"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates that the Makefile builds for the browser.
fn portable() -> Vec<String> {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let line = makefile.lines().find_map(|line| line.strip_prefix("PORTABLE :=")).unwrap();
    line.split_whitespace().map(str::to_owned).collect()
}

/// The forbidden words of a source, comments left out.
fn violations(source: &str) -> Vec<&'static str> {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    let code: String = source.lines().map(|line| code(line) + "\n").collect();
    FORBIDDEN.iter().copied().filter(|word| code.contains(word)).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_way_out_in_the_portable_crates() {
    let names = portable();
    assert!(names.len() >= 8, "{names:?}");
    let mut files = Vec::new();
    for name in &names {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    assert!(files.len() > 100, "only {} files", files.len());
    for file in files {
        let found = violations(&fs::read_to_string(&file).unwrap());
        assert!(found.is_empty(), "{}: {found:?}", file.display());
    }
}

#[test]
fn no_way_out_in_what_they_depend_on() {
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(root()).args(["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none"]);
    tree.args(["--target", "wasm32-unknown-unknown", "--format", "{p}"]);
    for name in portable() {
        tree.args(["-p", &format!("seaway-{name}")]);
    }
    let output = tree.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("seaway-units"), "{text}");
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    let outside: Vec<_> = names.filter(|name| OUTSIDE.contains(name)).collect();
    assert!(outside.is_empty(), "{outside:?}");
}

/// The scan finds what it looks for, and nothing in comments.
#[test]
fn violations_are_found() {
    for (source, found) in [
        ("let now = std::time::Instant::now();", &["std::time::Instant", "Instant::now"][..]),
        ("use std::net::UdpSocket;", &["std::net"]),
        ("let key = std::hash::RandomState::new();", &["RandomState"]),
        ("let _ = std::fs::read(\"/dev/urandom\");", &["std::fs"]),
        ("/// Like `std::thread::sleep`, but not.\nfn wait() {} // std::net", &[]),
    ] {
        assert_eq!(violations(source), found, "{source}");
    }
}
