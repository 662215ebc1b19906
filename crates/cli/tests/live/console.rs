//! Warnings to the operator about an input, an encoder or another end that does not keep up, and the outcome.

use super::process::{Live, TIMEOUT, free_port, has, seaway, signal};
use super::stream::{INPUT, receive, send};
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

const HEADER: &[u8] = b"YUV4MPEG2 W64 H36 F25:1 Ip A1:1 C420\n";

/// `send -` to a receiver, with pictures every `interval` for `seconds`: the exit code, the report and the notes.
fn fed(folder: &Path, interval: TimeDelta, seconds: i64) -> (Option<i32>, Value, String) {
    let port = free_port();
    let mut receiver = receive(folder, port, &["--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let mut command = seaway(folder, &["send", "-", &format!("rtp://127.0.0.1:{port}"), "--json"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(HEADER).unwrap();
    let picture = [b"FRAME\n".as_slice(), &[100; 64 * 36 * 3 / 2]].concat();
    let (clock, mut count) = (Clock::start(), 0);
    let begin = clock.now();
    while clock.now().since(begin) < TimeDelta::from_secs(seconds) {
        pipe.write_all(&picture).unwrap();
        count += 1;
        clock.sleep_until(begin + interval * count);
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    receiver.finish();
    let notes = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), notes)
}

/// Ten pictures a second where twenty-five are promised.
#[test]
fn a_starved_input_causes_a_warning_and_misses_a_threshold() {
    let folder = tempfile::tempdir().unwrap();
    let (code, report, notes) = fed(folder.path(), TimeDelta::from_millis(100), 6);
    assert_eq!(code, Some(3), "{notes}");
    let frames = &report["flows"][0]["frames"];
    let (due, captured) = (frames["due"].as_u64().unwrap(), frames["captured"].as_u64().unwrap());
    assert!(captured > 20 && captured * 2 < due, "{frames}");
    assert!(notes.contains("the input is too slow: it gives"), "{notes}");
    assert!(notes.contains("pictures that were due did not come: the input was too slow"), "{notes}");
}

#[test]
fn an_input_in_time_has_all_that_was_due() {
    let folder = tempfile::tempdir().unwrap();
    let (code, report, notes) = fed(folder.path(), TimeDelta::from_millis(40), 4);
    assert_eq!(code, Some(0), "{notes}");
    let frames = &report["flows"][0]["frames"];
    let (due, captured) = (frames["due"].as_u64().unwrap(), frames["captured"].as_u64().unwrap());
    assert!(captured > 50 && captured * 100 >= due * 95, "{frames}");
}

/// Pictures of 8.3 million pixels, sixty a second.
#[test]
fn an_encoder_that_is_too_slow_causes_a_warning_and_misses_a_threshold() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let (width, height) = (3840, 2160);
    let header = format!("YUV4MPEG2 W{width} H{height} F60:1 Ip A1:1 C420\n");
    let mut file = std::fs::File::create(folder.path().join("large.y4m")).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    for shift in 0..2u32 {
        file.write_all(b"FRAME\n").unwrap();
        let noise = |at: u32| (at.wrapping_mul(2_654_435_761) >> (20 + shift)) as u8;
        file.write_all(&(0..width * height * 3 / 2).map(noise).collect::<Vec<_>>()).unwrap();
    }
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let url = format!("rtp://127.0.0.1:{port}");
    let rate = ["--control", "fixed(rate=200 Mbit/s)", "--rate", "100..200Mbit/s", "--start", "200 Mbit/s"];
    let arguments = [&["send", "large.y4m", &url, "--repeat", "--duration", "8 s"], rate.as_slice()].concat();
    let (status, _, notes) = Live::start(seaway(folder.path(), &arguments)).end();
    receiver.interrupt();
    receiver.end();
    assert_eq!(status.code(), Some(3), "{notes}");
    assert!(notes.contains("the encoder is too slow: it codes"), "{notes}");
    assert!(notes.contains("did not come: the encoder was too slow"), "{notes}");
}

/// Neither a pipe that stays silent nor a subprocess that waits for ever keeps a sender from ending.
#[test]
fn a_source_that_gives_nothing_ends_on_a_signal_and_leaves_no_orphan() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/live", silent.local_addr().unwrap());
    let url = format!("rtp://127.0.0.1:{}", free_port());
    let inputs: &[&str] = if has("ffmpeg", "-version") { &["-", &address] } else { &["-"] };
    for input in inputs {
        let mut command = seaway(folder.path(), &["send", input, &url]);
        // A writer that is silent: of the pipe of our own.
        let child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let pipe = child.stdin.take();
        let mut notes = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("has given nothing for 2 s") {
            assert!(std::io::BufRead::read_line(&mut notes, &mut said).unwrap() > 0, "{said}");
        }
        let children = children(child.id());
        assert_eq!(children.len(), usize::from(*input != "-"), "{input}");
        signal("TERM", child.id());
        std::io::Read::read_to_string(&mut notes, &mut said).unwrap();
        // One that had to be ended by force has 130.
        assert_eq!(child.wait().unwrap().code(), Some(1), "{said}");
        assert!(said.contains("nothing was sent"), "{said}");
        assert!(children.iter().all(|id| !is_alive(*id)), "{input} left an orphan");
        drop(pipe);
    }
}

fn children(process: u32) -> Vec<u32> {
    let output = Command::new("ps").args(["-o", "pid=", "--ppid", &process.to_string()]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(|id| id.parse().unwrap()).collect()
}

fn is_alive(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

#[test]
fn a_receiver_that_never_answers_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    // Another process has the port, and sends nothing.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("rtp://{}", socket.local_addr().unwrap());
    let sender = Live::start(seaway(folder.path(), &["send", INPUT, &url, "--duration", "3 s"]));
    let (status, _, notes) = sender.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("nothing comes back"), "{notes}");
    assert!(notes.contains("no receiver answered"), "{notes}");
}

#[test]
fn a_receiver_without_a_sender_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, notes) = receive(folder.path(), free_port(), &["--duration", "0.5 s"]).end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("nothing was received: no sender came"), "{notes}");
}

#[test]
fn a_silent_sender_causes_a_warning_and_its_return_another() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    let sender = send(folder.path(), port, &[]);
    // Packets come before the first picture is decoded.
    let is_live = |line: &Value| line["state"] == "live" && line["resolution"] == "320x180";
    let sample = receiver.wait_for("a live session", is_live);
    assert!(sample["peer"].as_str().is_some_and(|peer| peer.starts_with("127.0.0.1:")), "{sample}");
    sender.kill();
    let warning = receiver.wait_for("a warning", |line| line["kind"] == "warning");
    assert!(warning["what"].as_str().unwrap().contains("nothing has come from the other end"), "{warning}");
    receiver.wait_for("silence", |line| line["state"] == "silent");
    let sender = send(folder.path(), port, &[]);
    receiver.wait_for("its return", |line| line["kind"] == "warning");
    receiver.wait_for_note("the other end is back");
    sender.finish();
    receiver.finish();
}

/// One line while it runs, taken away at the end, and a summary.
#[test]
fn a_terminal_shows_one_line() {
    if !has("script", "--version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let binary = env!("CARGO_BIN_EXE_seaway");
    let mut command = Command::new("script");
    let line = format!("{binary} recv rtp://127.0.0.1:{port} --duration 6s");
    command.current_dir(folder.path()).args(["-qec", &line, "/dev/null"]);
    let screen = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let sender = send(folder.path(), port, &[]);
    let clock = Clock::start();
    let output = screen.wait_with_output().unwrap();
    assert!(clock.now().as_nanos() < TIMEOUT.as_nanos() as u64);
    sender.interrupt();
    sender.end();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("live  from 127.0.0.1:"), "{shown}");
    assert!(shown.contains("320x180") && shown.contains("repaired "), "{shown}");
    let summary = shown.lines().find(|line| line.contains("packets repaired, delay")).unwrap_or_default();
    assert!(summary.contains("pictures") && summary.contains("freezes"), "{shown}");
}
