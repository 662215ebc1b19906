//! Ends and new beginnings of either side.

use super::process::{free_port, seaway, signal};
use super::schema;
use super::stream::{receive, send};
use seaway_media::input::open;
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

#[test]
fn video_resumes_when_the_receiver_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    let mut sender = send(folder.path(), port, &[]);
    receiver.wait_for_frames(10);
    receiver.kill();
    let mut again = receive(folder.path(), port, &["--stats", "json"]);
    again.wait_for_frames(25);
    assert!(sender.is_running());
    sender.finish();
    again.finish();
}

#[test]
fn video_resumes_when_the_sender_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    let sender = send(folder.path(), port, &[]);
    receiver.wait_for_frames(10);
    sender.kill();
    let again = send(folder.path(), port, &[]);
    receiver
        .wait_for("the new sender", |line| line["what"].as_str().is_some_and(|what| what.contains("found")));
    let before = receiver.wait_for_frames(0);
    receiver.wait_for_frames(before + 25);
    again.finish();
    receiver.finish();
}

#[test]
fn an_interrupt_leaves_report_and_file() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver =
        receive(folder.path(), port, &["--json", "-o", "received.mp4", "--metrics", "127.0.0.1:0"]);
    let metrics = receiver.wait_for_address("metrics");
    let sender = send(folder.path(), port, &["--json"]);
    super::stream::wait_for_metric(&metrics, "frames_displayed_total", 20.0);
    let report: Value = serde_json::from_str(&receiver.finish()).unwrap();
    schema::check("session", &report);
    assert!(report["flows"][0]["frames"]["displayed"].as_u64().unwrap() >= 20, "{report}");
    let file = folder.path().join("received.mp4");
    assert!(open(file.to_str().unwrap()).unwrap().next_picture().unwrap().is_some());
    let report: Value = serde_json::from_str(&sender.finish()).unwrap();
    schema::check("session", &report);
    assert!(report["flows"][0]["packets"]["sent"].as_u64().unwrap() > 20, "{report}");
}

#[test]
fn an_interrupt_that_comes_twice_at_once_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    let sender = send(folder.path(), port, &["--json"]);
    receiver.wait_for_frames(10);
    sender.interrupt_twice();
    let (status, report, notes) = sender.end();
    assert!(status.success(), "{status}: {notes}");
    schema::check("session", &serde_json::from_str(&report).unwrap());
    receiver.finish();
}

/// Ctrl-C ends a sender whose input has begun and is silent, which missed pictures, and one whose input has not begun.
#[test]
fn an_interrupt_does_not_wait_for_a_silent_input() {
    let folder = tempfile::tempdir().unwrap();
    let picture =
        [b"YUV4MPEG2 W64 H36 F25:1 Ip A1:1 C420\nFRAME\n".as_slice(), &[0; 64 * 36 * 3 / 2]].concat();
    for (input, code) in [(picture.as_slice(), 3), (&[], 1)] {
        let port = free_port();
        let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
        // It listens: the only picture is not sent again to who comes later.
        receiver.wait_for("a sample", |line| line["type"] == "sample");
        let mut command = seaway(folder.path(), &["send", "-", &format!("rtp://127.0.0.1:{port}")]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input).unwrap();
        if code == 3 {
            let is_found = |line: &Value| line["what"].as_str().is_some_and(|what| what.contains("found"));
            receiver.wait_for("the sender", is_found);
            let shown = receiver.wait_for("a picture", |line| line["frames_displayed"].as_u64() > Some(0));
            // Until more pictures are due.
            let later = shown["time"].as_f64().unwrap() + 1.0;
            receiver.wait_for("a second more", |line| line["time"].as_f64() > Some(later));
        } else {
            receiver.wait_for("another sample", |line| line["type"] == "sample");
        }
        signal("INT", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        drop(pipe);
        if code == 3 {
            receiver.finish();
        } else {
            receiver.finish_empty();
        }
    }
}
