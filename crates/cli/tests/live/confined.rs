//! The decoder of `recv` and of `demo`: it may do next to nothing, and its end is no more than a freeze.

use super::process::{Live, free_port, has, seaway, signal, skip};
use super::stream::{pictures, receive, send};
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

fn assert_confined(process: u32) {
    // A filter is in force, and nothing can gain a privilege.
    assert_eq!((status(process, "Seccomp"), status(process, "NoNewPrivs")), ("2".into(), "1".into()));
    let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap();
    assert!(environment.is_empty());
    // The socket, the memory of pictures and standard error.
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let mut open: Vec<_> = open.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
}

fn can_look() -> bool {
    let can = Path::new("/proc/self/status").exists() && has("ps", "--version");
    if !can {
        skip("no /proc or no ps");
    }
    can
}

#[test]
fn the_decoder_of_the_demo_is_confined() {
    if !can_look() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Live::start(seaway(folder.path(), &["demo", "--headless", "--stats", "json"]));
    demo.wait_for_frames(10);
    let decoders = children(demo.id());
    assert_eq!(decoders.len(), 1);
    assert_confined(decoders[0]);
    demo.interrupt();
    demo.end();
    assert!(!Path::new(&format!("/proc/{}", decoders[0])).exists());
}

#[test]
fn a_crash_of_the_decoder_is_a_freeze() {
    if !can_look() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json", "-o", "pictures.y4m"]);
    let sender = send(folder.path(), port, &[]);
    let before = receiver.wait_for_frames(10);
    let decoders = children(receiver.id());
    assert_eq!(decoders.len(), 1);
    assert_confined(decoders[0]);
    signal("SEGV", decoders[0]);
    receiver.wait_for_frames(before + 50);
    receiver.wait_for_note("the decoder failed");
    let again = children(receiver.id());
    assert!(again.len() == 1 && again != decoders, "{again:?}");
    sender.finish();
    // Both ends report success, and no process is left.
    receiver.finish();
    assert!(!Path::new(&format!("/proc/{}", again[0])).exists());
}

#[test]
fn a_recording_of_the_stream_needs_no_decoder() {
    if !can_look() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json", "-o", "stream.mp4"]);
    let sender = send(folder.path(), port, &[]);
    receiver.wait_for_frames(10);
    assert!(children(receiver.id()).is_empty());
    sender.finish();
    receiver.finish();
    let recorded = pictures(&folder.path().join("stream.mp4"));
    assert!(recorded >= 10, "{recorded}");
}
