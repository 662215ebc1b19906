//! The circuit breaker: a transmission that the network does not carry is stopped; with a key it waits for the receiver.

use super::copy::ffmpeg;
use super::keyed;
use super::lane::emulate;
use super::process::{Live, free_port, has, seaway};
use super::relay::{Attack, Relay};
use super::stream::{INPUT, receive, send};

/// 300 kbit/s with hardly a queue, and a round trip of 600 ms: nothing but loss shows the sender its limit.
const POLICER: &str = r#"
rate = "300 kbit/s"
delay = "300 ms"
queue = { kind = "drop-tail", packets = 2 }
"#;

#[test]
fn a_congested_path_reduces_a_fixed_rate_to_a_tenth() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let (emulator, relay) = emulate(folder.path(), POLICER, port);
    let receiver = receive(folder.path(), port, &["--json"]);
    let mut sender = send(folder.path(), relay, &["--control", "fixed(rate=3 Mbit/s)"]);
    let note = sender.wait_for_note("is sent for a minute or more: the path is congested");
    assert!(note.contains("no more than"), "{note}");
    sender.interrupt();
    sender.end();
    // So little got through that there may be no whole picture, which it reports.
    receiver.interrupt();
    receiver.end();
    emulator.finish();
}

/// A fifth of that, over a round trip of 1.2 s: ten times TCP's rate is some 100 kbit/s.
const NARROW: &str = r#"
rate = "60 kbit/s"
delay = "600 ms"
queue = { kind = "drop-tail", packets = 2 }
"#;

/// An encoder sends so little after the cut that it congests the path no more. Coded pictures cannot become smaller, and where each is
/// a key frame, losses do not make the sender leave any out: a tenth of their rate is too much again.
#[test]
fn coded_pictures_that_still_congest_after_the_cut_are_stopped() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scene = "-f lavfi -i testsrc2=size=640x360:rate=25 -t 4 -c:v libx264 -preset ultrafast -bf 0 -g 1";
    let rate = "-b:v 6000k -maxrate 6000k -bufsize 600k";
    assert!(ffmpeg(folder.path(), &format!("{scene} {rate} clip.ts")).status().unwrap().success());
    let port = free_port();
    let (emulator, relay) = emulate(folder.path(), NARROW, port);
    let receiver = receive(folder.path(), port, &["--json"]);
    let url = format!("rtp://127.0.0.1:{relay}");
    let mut command = seaway(folder.path(), &["send", "clip.ts", &url, "--copy", "--repeat"]);
    command.args(["--control", "fixed(rate=8 Mbit/s)", "--rate", "4..12Mbit/s"]);
    let (status, _, notes) = Live::start(command).end();
    assert_eq!(status.code(), Some(1), "{notes}");
    let at = |what: &str| notes.find(what).unwrap_or_else(|| panic!("{what}: {notes}"));
    let reduced = at("is sent for a minute or more: the path is congested");
    assert!(reduced < at("the transmission was stopped: the path is congested"), "{notes}");
    receiver.interrupt();
    receiver.end();
    emulator.finish();
}

#[test]
fn silence_stops_a_plain_session_and_a_keyed_one_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, with_key) = (free_port(), free_port());
    let mut receiver = receive(folder.path(), plain, &["--stats", "json"]);
    let mut keyed_receiver = keyed::receive(folder.path(), with_key, keyed::KEY, &["--stats", "json"]);
    let sender = send(folder.path(), plain, &[]);
    let keyed_sender = keyed::send(folder.path(), with_key, keyed::KEY, &[]);
    receiver.wait_for_frames(10);
    keyed_receiver.wait_for_frames(10);
    keyed_receiver.kill();
    receiver.kill();
    let (status, _, notes) = sender.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(
        notes.contains("the transmission was stopped: the receiver has sent no report for 15 s"),
        "{notes}"
    );
    // The other has been silent for as long.
    let mut again = keyed::receive(folder.path(), with_key, keyed::KEY, &["--stats", "json"]);
    again.wait_for_frames(25);
    keyed_sender.finish();
    again.finish();
}

/// Media still arrives where no report comes back, and so does the goodbye.
#[test]
fn a_sender_without_feedback_sends_a_goodbye() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let relay = Relay::start(port, Attack::Mute);
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    let (status, _, notes) = send(folder.path(), relay.port(), &[]).end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("the receiver has sent no report for 15 s"), "{notes}");
    receiver.wait_for_note("the sender has ended the session");
    receiver.finish();
}

/// Players without RTCP are waited for on the same host.
#[test]
fn a_sender_on_one_host_needs_no_reports() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("rtp://127.0.0.1:{}", free_port());
    let arguments = ["send", INPUT, &url, "--duration", "22 s", "--json", "--sdp", "stream.sdp"];
    let (status, _, notes) = Live::start(seaway(folder.path(), &arguments)).end();
    assert!(status.success(), "{notes}");
}
