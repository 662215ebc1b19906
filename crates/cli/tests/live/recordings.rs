//! Recordings of `seaway recv` survive what ends them.

use super::process::{Live, free_port, has, skip};
use super::stream::{probed, receive, send};
use seaway_media::input::open;
use seaway_units::TimeDelta;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The times of the pictures of a file, by our own decoder; FFmpeg's, where it is installed, finds as many and complains
/// of nothing.
fn times(file: &Path) -> Vec<TimeDelta> {
    let mut source = open(file.to_str().unwrap()).unwrap();
    let times: Vec<_> =
        std::iter::from_fn(|| source.next_picture().unwrap().map(|picture| picture.time())).collect();
    if has("ffprobe", "-version") {
        assert_eq!(probed(file), times.len() as u64, "{}", file.display());
    }
    times
}

#[test]
fn a_killed_receiver_leaves_all_but_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["-o", "received.mp4", "--stats", "json"]);
    let sender = send(folder.path(), port, &[]);
    let shown = receiver.wait_for_frames(60);
    receiver.kill();
    sender.finish();
    let count = times(&folder.path().join("received.mp4")).len() as u64;
    assert!(count + 26 >= shown, "{count} of {shown}");
}

#[test]
fn a_terminated_receiver_leaves_all() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["-o", "received.mp4", "--stats", "json"]);
    let sender = send(folder.path(), port, &[]);
    let shown = receiver.wait_for_frames(30);
    receiver.terminate();
    let (status, _, notes) = receiver.end();
    assert!(status.success(), "{notes}");
    sender.finish();
    assert!(times(&folder.path().join("received.mp4")).len() as u64 >= shown);
}

#[test]
fn a_restarted_sender_continues_the_time_line() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["-o", "received.mp4", "--stats", "json"]);
    let sender = send(folder.path(), port, &[]);
    receiver.wait_for_frames(30);
    sender.kill();
    let again = send(folder.path(), port, &[]);
    receiver
        .wait_for("the new sender", |line| line["what"].as_str().is_some_and(|what| what.contains("found")));
    let before = receiver.wait_for_frames(0);
    receiver.wait_for_frames(before + 25);
    again.finish();
    receiver.finish();
    let times = times(&folder.path().join("received.mp4"));
    let steps = || times.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(steps().all(|step| step > TimeDelta::ZERO), "{times:?}");
    // The first sender is silent for seconds before another one is let in, and starts in less than a minute.
    let longest = steps().max().unwrap();
    assert!((TimeDelta::from_millis(500)..TimeDelta::from_secs(60)).contains(&longest), "{longest}");
}

#[test]
fn segments_continue_under_the_next_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    std::fs::write(folder.path().join("received.mp4"), "precious").unwrap();
    let arguments = ["-o", "received.mp4", "--segment", "1 s", "--stats", "json"];
    let mut receiver = receive(folder.path(), port, &arguments);
    receiver.wait_for_note("received.mp4 exists: recording to received-1.mp4");
    let sender = send(folder.path(), port, &[]);
    let shown = receiver.wait_for_frames(100);
    receiver.finish();
    sender.finish();
    let counts = ["received-1.mp4", "received-2.mp4", "received-3.mp4"]
        .map(|name| times(&folder.path().join(name)).len() as u64);
    assert!(counts.iter().all(|count| *count >= 5), "{counts:?} of {shown}");
    assert_eq!(std::fs::read_to_string(folder.path().join("received.mp4")).unwrap(), "precious");
}

#[test]
fn nothing_received_is_an_error_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["-o", "received.mp4", "--duration", "0.2 s"][..], &["-o", "-", "--duration", "0.2 s"]]
    {
        let (status, output, notes) = receive(folder.path(), free_port(), arguments).end();
        assert_eq!((status.code(), output.as_str()), (Some(1), ""), "{notes}");
        assert!(notes.contains("nothing was received"), "{notes}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A file system of two megabytes; gone with the test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Makes it, or says why the test is skipped.
    fn new(at: &Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(at).output();
        if done.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        skip("a small disk needs root and mount");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // What is left goes with the machine.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::new(&folder.path().join("disk")) else { return };
    std::fs::write(disk.0.join("ballast"), vec![1; 1_700_000]).unwrap();
    let port = free_port();
    let fast = ["--control", "fixed(rate=4 Mbit/s)"];
    let mut receiver = receive(folder.path(), port, &["-o", "disk/received.mp4", "--stats", "json"]);
    let sender = send(folder.path(), port, &fast);
    let full = receiver.wait_for("the end of the recording", |line| {
        line["what"].as_str().is_some_and(|what| what.contains("the recording has ended: disk/received.mp4"))
    });
    assert!(full["what"].as_str().unwrap().contains("No space left"), "{full}");
    let before = receiver.wait_for_frames(0);
    receiver.wait_for_frames(before + 10);
    ends_with(receiver, 1, "the recording has ended, the session goes on");
    assert!(!times(&disk.0.join("received.mp4")).is_empty());

    // Without a page, metrics or statistics the receiver ends.
    let receiver = receive(folder.path(), port, &["-o", "disk/again.h264"]);
    let (status, _, notes) = receiver.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("disk/again.h264: No space left"), "{notes}");
    sender.finish();
}

fn ends_with(process: Live, code: i32, note: &str) {
    process.interrupt();
    let (status, _, notes) = process.end();
    assert_eq!(status.code(), Some(code), "{notes}");
    assert!(notes.contains(note), "{notes}");
}
