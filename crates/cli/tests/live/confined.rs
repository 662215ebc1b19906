//! The decoder of `recv`: it may do next to nothing, and its end is no more than a freeze.

use super::process::{free_port, has, signal, skip};
use super::stream::{receive, send};
use std::path::Path;
use std::process::Command;

/// The children of a process.
fn children(process: u32) -> Vec<u32> {
    let output = Command::new("ps").args(["-o", "pid=", "--ppid", &process.to_string()]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// A line of a process's status.
fn status(process: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("{name}: {status}")).trim().to_owned()
}

#[test]
fn a_crash_of_the_decoder_is_a_freeze() {
    if !Path::new("/proc/self/status").exists() || !has("ps", "--version") {
        skip("no /proc");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    let sender = send(folder.path(), port, &[]);
    let before = receiver.wait_for_frames(10);
    let decoders = children(receiver.id());
    assert_eq!(decoders.len(), 1);
    // A filter is in force, and nothing can gain a privilege.
    assert_eq!((status(decoders[0], "Seccomp"), status(decoders[0], "NoNewPrivs")), ("2".into(), "1".into()));
    let environment = std::fs::read(format!("/proc/{}/environ", decoders[0])).unwrap();
    assert!(environment.is_empty());
    signal("SEGV", decoders[0]);
    receiver.wait_for_frames(before + 50);
    receiver.wait_for_note("the decoder failed");
    let again = children(receiver.id());
    assert!(again.len() == 1 && again != decoders, "{again:?}");
    sender.finish();
    // All well, and nobody is left behind.
    receiver.finish();
    assert!(!Path::new(&format!("/proc/{}", again[0])).exists());
}
