//! The client's buffer of S000: what controllers that answer its level do, and what they say without one.

use super::process::{Live, free_port, seaway};
use super::schema;
use super::stream::INPUT;
use std::path::Path;

fn start(folder: &Path, arguments: &[&str]) -> Live {
    Live::start(seaway(folder, arguments))
}

#[test]
fn the_rate_settles_where_the_client_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    for control in ["buffer-type1", "buffer-type2(low=0.3, high=0.8)"] {
        // Less than what the pictures take at their best, so that the client sets the rate.
        let client = ["--buffer", "64 kB", "--consume", "250 kbit/s", "--duration", "20s"];
        let arguments =
            [&["demo", INPUT, "--control", control, "--headless", "--json"][..], &client].concat();
        let (status, report, notes) = start(folder.path(), &arguments).end();
        // A machine that is too busy is said, and its numbers are none of the network's.
        assert!(status.code().is_some_and(|code| [0, 3].contains(&code)), "{notes}");
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        schema::check("session", &report);
        let flow = &report["flows"][0];
        assert!(flow["decisions"].as_u64() >= Some(20), "{control}: {flow}");
        assert!(flow["frames"]["displayed"].as_u64() >= Some(100), "{control}: {flow}");
        let stable = flow["buffer"]["time_in"]["stable"].as_f64().unwrap();
        assert!(stable > 0.2, "{control}: {flow}");
    }
}

#[test]
fn a_client_without_a_buffer_is_reported() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let url = format!("rtp://127.0.0.1:{port}");
    let send = ["send", INPUT, &url, "--control", "buffer-type1"];
    let mut receiver = start(folder.path(), &["recv", &url, "--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let (status, _, notes) = start(folder.path(), &send).end();
    assert_eq!(status.code(), Some(2), "{notes}");
    assert!(notes.contains("--buffer and --consume"), "{notes}");
    receiver.finish();

    let buffer = ["--buffer", "64 kB", "--consume", "500 kbit/s"];
    let arguments = [&["recv", &url, "--stats", "json"][..], &buffer].concat();
    let mut receiver = start(folder.path(), &arguments);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let mut sender = start(folder.path(), &[&send[..], &["--stats", "json"]].concat());
    sender.wait_for("thresholds", |line| {
        line["buffer_bytes"].as_u64() > Some(0) && line["buffer_low_bytes"] == 12_800
    });
    receiver.wait_for_frames(100);
    assert!(sender.is_running());
    sender.finish();
    receiver.finish();
}

#[test]
fn what_makes_no_buffer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (vec!["recv", "rtp://127.0.0.1:5004", "--buffer", "64 kB"], "--consume"),
        (vec!["recv", "rtp://127.0.0.1:5004", "--buffer", "0 B", "--consume", "1 Mbit/s"], "above zero"),
        (
            vec!["send", INPUT, "rtp://127.0.0.1:5004", "--control", "buffer-type2", "--sdp", "x.sdp"],
            "a player or a media server reports none",
        ),
    ] {
        let (status, _, notes) = start(folder.path(), &arguments).end();
        assert_eq!(status.code(), Some(2), "{notes}");
        assert!(notes.contains(expected), "{expected}: {notes}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
