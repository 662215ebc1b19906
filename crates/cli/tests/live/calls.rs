//! A sender that listens, and receivers that call it.

use super::keyed::KEY;
use super::process::{Live, free_port, seaway};
use std::path::Path;

const INPUT: &str = "test:320x180@25+tone";

fn listen(folder: &Path, port: u16, arguments: &[&str]) -> Live {
    let url = format!("rtp://127.0.0.1:{port}?mode=listener");
    Live::start(seaway(folder, &[&["send", INPUT, &url], arguments].concat()))
}

fn call(folder: &Path, port: u16, arguments: &[&str]) -> Live {
    let url = format!("rtp://127.0.0.1:{port}?mode=caller");
    Live::start(seaway(folder, &[&["recv", &url, "--stats", "json"], arguments].concat()))
}

#[test]
fn one_receiver_after_another_is_served() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut first = call(folder.path(), port, &[]);
    let mut sender = listen(folder.path(), port, &[]);
    sender.wait_for_note(&format!("receive from rtp://127.0.0.1:{port}?mode=caller"));
    sender.wait_for_note(" receives");
    first.wait_for_frames(25);
    // The next one has the key too, and takes over.
    let mut second = call(folder.path(), port, &[]);
    second.wait_for_frames(25);
    let (status, _, notes) = first.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("another receiver with the same key took over"), "{notes}");
    second.finish();
    sender.wait_for_note("the receiver has left");
    let mut third = call(folder.path(), port, &["-o", "third.mp4"]);
    third.wait_for_frames(25);
    third.wait_for("sound", |line| line["sound_packets"].as_u64().is_some_and(|count| count > 20));
    third.finish();
    sender.finish_sender();
}

#[test]
fn a_restarted_sender_is_called_again() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let sender = listen(folder.path(), port, &[]);
    let mut receiver = call(folder.path(), port, &[]);
    let count = receiver.wait_for_frames(25);
    sender.kill();
    let sender = listen(folder.path(), port, &[]);
    receiver.wait_for_frames(count + 25);
    receiver.finish();
    sender.finish_sender();
}

#[test]
fn only_who_has_the_key_is_served() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut sender = listen(folder.path(), port, &["--key-file", "key"]);
    sender.wait_for_note("with the same key");
    // Without a key, and with another.
    for other in [None, Some(KEY)] {
        let url = format!("rtp://127.0.0.1:{port}?mode=caller");
        let mut command = seaway(folder.path(), &["recv", &url]);
        other.map(|key| command.env("SEAWAY_KEY", key));
        let (status, _, notes) = Live::start(command).end();
        assert_eq!(status.code(), Some(1), "{notes}");
        assert!(notes.contains("the sender has another key"), "{notes}");
    }
    sender.wait_for_note("calls with another key and is refused");
    let mut receiver = call(folder.path(), port, &["--key-file", "key"]);
    receiver.wait_for_frames(25);
    receiver.finish();
    sender.finish_sender();
}

#[test]
fn what_does_not_go_with_calls_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], why: &str| {
        let (status, _, notes) = Live::start(seaway(folder.path(), arguments)).end();
        assert_eq!(status.code(), Some(2), "{arguments:?}: {notes}");
        assert!(notes.contains(why), "{arguments:?}: {notes}");
    };
    let listener = "rtp://127.0.0.1:5004?mode=listener";
    refused(&["send", INPUT, listener, "--sdp", "a.sdp"], "--sdp does not apply to");
    refused(&["send", INPUT, listener, "--bind", "127.0.0.1:5006"], "--bind does not apply to");
    let elsewhere = "rtp://192.0.2.1:5004?mode=caller";
    refused(&["recv", elsewhere], "give the key that `seaway send` printed");
    refused(&["recv", "rtp://127.0.0.1:5004?mode=caller", "--sdp", "a.sdp"], "--sdp does not apply to");
    refused(&["send", INPUT, listener, "--stun", "192.0.2.1"], "--stun is for");
    refused(&["recv", elsewhere, "--stun", "192.0.2.1"], "--stun is for");
    let (status, _, notes) =
        Live::start(seaway(folder.path(), &["recv", "rtp://192.0.2.1:5004", "--insecure"])).end();
    assert!(!status.success() && notes.contains("add ?mode=caller"), "{notes}");
    refused(&["recv", "udp://127.0.0.1:5004?mode=caller"], "nothing behind it");
}
