//! Ends and new beginnings of either side.

use super::process::free_port;
use super::stream::{receive, send};
use seaway_media::input::open;
use serde_json::Value;

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
    super::stream::wait_for_metric(&metrics, "frames_displayed", 20.0);
    let report: Value = serde_json::from_str(&receiver.finish()).unwrap();
    assert!(report["flows"][0]["frames"]["displayed"].as_u64().unwrap() >= 20, "{report}");
    let file = folder.path().join("received.mp4");
    assert!(open(file.to_str().unwrap()).unwrap().next_picture().unwrap().is_some());
    let report: Value = serde_json::from_str(&sender.finish()).unwrap();
    assert!(report["flows"][0]["packets"]["sent"].as_u64().unwrap() > 20, "{report}");
}
