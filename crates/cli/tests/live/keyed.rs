//! Keyed sessions: only an end with the key takes part, and no one else changes anything.

use super::hostile::{Bytes, RATE, SECONDS, datagrams, flood};
use super::process::{Live, free_port, seaway};
use super::relay::{Attack, Relay};
use super::stream::{INPUT, metric, wait_for_metric};
use serde_json::Value;
use std::path::Path;

pub(crate) const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const OTHER: &str = "_wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

pub(crate) fn receive(folder: &Path, port: u16, key: &str, arguments: &[&str]) -> Live {
    let url = format!("rtp://127.0.0.1:{port}");
    let mut command = seaway(folder, &[&["recv", &url], arguments].concat());
    command.env("SEAWAY_KEY", key);
    Live::start(command)
}

pub(crate) fn send(folder: &Path, port: u16, key: &str, arguments: &[&str]) -> Live {
    let url = format!("rtp://127.0.0.1:{port}");
    let mut command = seaway(folder, &[&["send", INPUT, &url], arguments].concat());
    command.env("SEAWAY_KEY", key);
    Live::start(command)
}

/// A receiver that reports and serves its metrics, whose address comes with it.
fn measured(folder: &Path, port: u16) -> (Live, String) {
    let mut receiver = receive(folder, port, KEY, &["--json", "--metrics", "127.0.0.1:0"]);
    let metrics = receiver.wait_for_address("metrics");
    (receiver, metrics)
}

fn refused(report: &str, counter: &str) -> u64 {
    let report: Value = serde_json::from_str(report).unwrap();
    report["refused"][counter].as_u64().unwrap_or_else(|| panic!("{counter}: {report}"))
}

#[test]
fn the_printed_url_lets_a_sender_in_and_nothing_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let listen = format!("rtp://0.0.0.0:{}", free_port());
    let options = ["--stats", "json", "--pcap", "tap.pcap", "--export-keys", "there"];
    let mut receiver = Live::start(seaway(folder.path(), &[&["recv", &listen][..], &options].concat()));
    let note = receiver.wait_for_note("send to rtp://");
    let url = note.split_whitespace().find(|word| word.starts_with("rtp://")).unwrap().to_owned();
    let (_, key) = url.split_once("?key=").unwrap_or_else(|| panic!("{note}"));
    let port = listen.rsplit_once(':').unwrap().1;
    let to = format!("rtp://127.0.0.1:{port}?key={key}");
    let mut sender = Live::start(seaway(folder.path(), &["send", INPUT, &to, "--export-keys", "here"]));
    sender.wait_for_note("list of processes");
    receiver.wait_for_frames(25);
    sender.finish();
    receiver.finish();
    for octets in datagrams(&folder.path().join("tap.pcap"), port.parse().unwrap()) {
        let holds = |text: &[u8]| octets.windows(text.len()).any(|window| window == text);
        assert!(!holds(b"SEAW") && !holds(b"tfrc"), "{octets:?}");
        let is_rtp = octets[0] >> 6 == 2 && !(192..=223).contains(&octets[1]);
        assert!(!is_rtp || octets[12..14] == [0xC2, 0xDE], "{octets:?}");
    }
    let keys = ["here", "there"].map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    assert_eq!(keys[0], keys[1]);
    assert!(
        keys[0]
            .lines()
            .any(|line| line.strip_prefix("sender-to-receiver ").is_some_and(|key| key.len() == 56))
    );
}

#[test]
fn a_key_file_is_made_once_and_read_by_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let url = format!("rtp://127.0.0.1:{port}");
    let arguments = ["recv", &url, "--key-file", "key", "--stats", "json"];
    let mut receiver = Live::start(seaway(folder.path(), &arguments));
    receiver.wait_for_note("a fresh key is in key");
    let file = folder.path().join("key");
    let before = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap()) & 0o777, 0o600);
    let sender = Live::start(seaway(folder.path(), &["send", INPUT, &url, "--key-file", "key"]));
    receiver.wait_for_frames(10);
    receiver.finish();
    let mut again = Live::start(seaway(folder.path(), &arguments));
    again.wait_for_frames(10);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    sender.finish();
    again.finish();
}

#[test]
fn with_another_key_both_ends_fail_and_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, KEY, &["--json"]);
    receiver.wait_for_note("send to");
    let (status, _, notes) = send(folder.path(), port, OTHER, &[]).end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("the receiver has another key"), "{notes}");
    receiver.interrupt();
    let (status, output, notes) = receiver.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("nothing was received") && notes.contains("another key"), "{notes}");
    assert!(refused(&output, "not_authentic") > 0);
    let report: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(report["flows"][0]["frames"]["displayed"], 0);
}

#[test]
fn a_sender_without_a_receiver_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, notes) = send(folder.path(), free_port(), KEY, &["--duration", "3 s"]).end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("does not answer yet"), "{notes}");
    assert!(notes.contains("no receiver answered"), "{notes}");
}

#[test]
fn insecure_is_plain_and_warns() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let listen = format!("rtp://0.0.0.0:{port}");
    // It overrides the environment, not an option.
    let mut command = seaway(folder.path(), &["recv", &listen, "--insecure", "--stats", "json"]);
    command.env("SEAWAY_KEY", KEY);
    let mut receiver = Live::start(command);
    receiver.wait_for_note("INSECURE");
    let sender = send(folder.path(), port, "", &[]);
    receiver.wait_for_frames(5);
    sender.finish();
    receiver.finish();
}

#[test]
fn plain_senders_and_garbage_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let (receiver, metrics) = measured(folder.path(), port);
    // Before the sender and beside it: a sender without the key, and datagrams that look like a handshake.
    let attacker = send(folder.path(), port, "", &[]);
    let mut bytes = Bytes(7);
    let mut make = |packet: u64| {
        let mut datagram = vec![0; 60 + (packet % 1200) as usize];
        bytes.fill(&mut datagram);
        match packet % 3 {
            0 => datagram[..4].copy_from_slice(&[b'S', b'W', 1, 1 + (packet % 5) as u8]),
            1 => datagram[0] = 0x90,
            _ => {}
        }
        datagram.truncate([56, 72, 20, 1200][(packet % 4) as usize]);
        datagram
    };
    flood(port, &mut make);
    assert!(metric(&metrics, "frames_displayed_total").is_none_or(|shown| shown == 0.0));
    let sender = send(folder.path(), port, KEY, &[]);
    let shown = wait_for_metric(&metrics, "frames_displayed_total", 1.0);
    flood(port, &mut make);
    wait_for_metric(&metrics, "frames_displayed_total", shown + 25.0 * SECONDS as f64 * 0.8);
    let report = receiver.finish();
    assert!(refused(&report, "unknown_ssrc") + refused(&report, "malformed") > RATE * SECONDS, "{report}");
    sender.finish();
    drop(attacker);
}

#[test]
fn a_recorded_session_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, KEY, &["--stats", "json", "--pcap", "tap.pcap"]);
    let sender = send(folder.path(), port, KEY, &[]);
    receiver.wait_for_frames(25);
    sender.finish();
    receiver.finish();
    let recorded = datagrams(&folder.path().join("tap.pcap"), port);
    assert!(recorded.len() > 20);
    let (receiver, metrics) = measured(folder.path(), port);
    flood(port, |packet| recorded[packet as usize % recorded.len()].clone());
    assert!(metric(&metrics, "frames_displayed_total").is_none_or(|shown| shown == 0.0));
    let sender = send(folder.path(), port, KEY, &[]);
    let shown = wait_for_metric(&metrics, "frames_displayed_total", 1.0);
    flood(port, |packet| recorded[packet as usize % recorded.len()].clone());
    wait_for_metric(&metrics, "frames_displayed_total", shown + 25.0 * SECONDS as f64 * 0.8);
    let report = receiver.finish();
    assert!(
        refused(&report, "not_authentic") + refused(&report, "unknown_ssrc") > RATE * SECONDS,
        "{report}"
    );
    sender.finish();
}

/// A session through an attacker on the path, until so many pictures were shown; the receiver's report.
fn attacked(attack: Attack) -> (String, u64) {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let relay = Relay::start(port, attack);
    let (receiver, metrics) = measured(folder.path(), port);
    let sender = send(folder.path(), relay.port(), KEY, &[]);
    wait_for_metric(&metrics, "frames_displayed_total", 150.0);
    sender.finish();
    let report = receiver.finish();
    let parsed: Value = serde_json::from_str(&report).unwrap();
    let lost = parsed["flows"][0]["frames"]["lost"].as_u64().unwrap();
    assert_eq!(lost, 0, "{report}");
    (report, relay.attacks())
}

#[test]
fn flipped_bits_are_counted_and_repaired() {
    let (report, attacks) = attacked(Attack::Flip);
    let counters = ["not_authentic", "unknown_ssrc", "malformed"];
    let counted: u64 = counters.iter().map(|counter| refused(&report, counter)).sum();
    assert!(attacks > 10 && counted.abs_diff(attacks) <= 2, "{counted} of {attacks}: {report}");
    assert!(refused(&report, "not_authentic") > 0, "{report}");
}

#[test]
fn replayed_packets_are_counted() {
    let (report, attacks) = attacked(Attack::Replay);
    let counted = refused(&report, "replayed");
    // Those under way when the receiver ended are not counted.
    assert!(attacks > 100 && counted + 4 >= attacks, "{counted} of {attacks}: {report}");
    assert_eq!(refused(&report, "duplicates"), 0, "none reaches the session");
}

#[test]
fn a_session_survives_a_new_port_of_its_sender() {
    let (report, attacks) = attacked(Attack::Rebind);
    assert!(attacks > 50, "{attacks}");
    for counter in ["not_authentic", "unknown_ssrc", "replayed"] {
        assert_eq!(refused(&report, counter), 0, "{counter}: {report}");
    }
}

#[test]
fn either_end_may_be_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, KEY, &["--stats", "json"]);
    let sender = send(folder.path(), port, KEY, &[]);
    receiver.wait_for_frames(10);
    sender.kill();
    let sender = send(folder.path(), port, KEY, &[]);
    receiver.wait_for("the new sender", |line| line["what"] == "sender has the key");
    let before = receiver.wait_for_frames(0);
    receiver.wait_for_frames(before + 25);
    receiver.kill();
    let mut again = receive(folder.path(), port, KEY, &["--stats", "json"]);
    again.wait_for_frames(25);
    sender.finish();
    again.finish();
}

#[test]
fn the_sender_that_came_last_stays() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, KEY, &["--stats", "json"]);
    let first = send(folder.path(), port, KEY, &[]);
    receiver.wait_for_frames(10);
    let second = send(folder.path(), port, KEY, &[]);
    let (status, _, notes) = first.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("another sender with the same key took over"), "{notes}");
    let before = receiver.wait_for_frames(0);
    receiver.wait_for_frames(before + 25);
    second.finish();
    receiver.finish();
}
