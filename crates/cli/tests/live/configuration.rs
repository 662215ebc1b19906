//! Options from a file and from the environment.

use super::process::{Live, free_port, seaway};
use super::stream::INPUT;
use std::process::Output;

#[test]
fn a_session_is_configured_without_a_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let file = format!(
        "source = \"rtp://127.0.0.1:{port}\"\nstats = \"json\"\noutput = \"wrong.mp4\"\nstamp = true\n"
    );
    std::fs::write(folder.path().join("recv.toml"), file).unwrap();
    let mut receiver = seaway(folder.path(), &["recv"]);
    receiver.env("SEAWAY_CONFIG", "recv.toml").env("SEAWAY_OUTPUT", "got.mp4");
    let mut receiver = Live::start(receiver);
    let mut sender = seaway(folder.path(), &["send", INPUT, &format!("rtp://127.0.0.1:{port}")]);
    sender.env("SEAWAY_STAMP", "true").env("SEAWAY_JSON", "1");
    let sender = Live::start(sender);
    receiver.wait_for("a stamp", |line| line["glass_to_glass_ms"].is_number());
    receiver.wait_for_frames(20);
    assert!(sender.finish().contains("\"delay_from\""));
    receiver.finish();
    assert!(folder.path().join("got.mp4").exists() && !folder.path().join("wrong.mp4").exists());
}

#[test]
fn a_wrong_key_or_variable_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("recv.toml"), "source = \"rtp://127.0.0.1:0\"\nlatancy = \"1 s\"\n")
        .unwrap();
    let stderr = |output: Output| (output.status.code(), String::from_utf8(output.stderr).unwrap());
    let (code, notes) = stderr(seaway(folder.path(), &["recv", "--config", "recv.toml"]).output().unwrap());
    assert_eq!(code, Some(2), "{notes}");
    assert!(
        notes.contains("recv.toml: unknown key `latancy`") && notes.contains("did you mean latency?"),
        "{notes}"
    );
    let mut command = seaway(folder.path(), &["recv", "rtp://127.0.0.1:0"]);
    let (code, notes) = stderr(command.env("SEAWAY_LATENCY", "soon").output().unwrap());
    assert_eq!(code, Some(2), "{notes}");
    assert!(notes.contains("soon") && notes.contains("--latency"), "{notes}");
}
