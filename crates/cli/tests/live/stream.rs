//! From `seaway send` to `seaway recv`.

use super::process::{Live, TIMEOUT, free_port, has, seaway};
use super::schema;
use pcap_file::pcap::PcapReader;
use seaway_media::input::open;
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// A moving picture, small enough for a busy machine.
pub(crate) const INPUT: &str = "test:320x180@25";

pub(crate) fn receive(folder: &Path, port: u16, arguments: &[&str]) -> Live {
    let url = format!("rtp://127.0.0.1:{port}");
    Live::start(seaway(folder, &[&["recv", &url], arguments].concat()))
}

pub(crate) fn send(folder: &Path, port: u16, arguments: &[&str]) -> Live {
    let url = format!("rtp://127.0.0.1:{port}");
    Live::start(seaway(folder, &[&["send", INPUT, &url], arguments].concat()))
}

/// The pictures of a file, by our own decoder.
pub(crate) fn pictures(file: &Path) -> u64 {
    let mut source = open(file.to_str().unwrap()).unwrap();
    let mut count = 0;
    while source.next_picture().unwrap().is_some() {
        count += 1;
    }
    count
}

/// The pictures of a file, by FFmpeg's.
pub(crate) fn probed(file: &Path) -> u64 {
    let wanted = [
        "-v",
        "error",
        "-select_streams",
        "v:0",
        "-count_frames",
        "-show_entries",
        "stream=nb_read_frames",
        "-of",
        "csv=p=0",
    ];
    let output = Command::new("ffprobe").args(wanted).arg(file).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", file.display());
    String::from_utf8(output.stdout).unwrap().trim().trim_end_matches(',').parse().unwrap()
}

#[test]
fn what_is_received_can_be_played() {
    let has_probe = has("ffprobe", "-version");
    for name in ["received.mp4", "received.h264"] {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut receiver = receive(folder.path(), port, &["-o", name, "--stats", "json"]);
        let sender = send(folder.path(), port, &["--json"]);
        let shown = receiver.wait_for_frames(40);
        sender.finish();
        receiver.finish();
        let file = folder.path().join(name);
        let count = pictures(&file);
        assert!(count >= shown, "{name}: {count} pictures, {shown} were shown");
        if has_probe {
            assert_eq!(probed(&file), count, "{name}");
        }
    }
}

#[test]
fn json_lines_speak_one_vocabulary() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json", "--qlog", "there.qlog"]);
    let mut sender = send(folder.path(), port, &["--stats", "json", "--qlog", "here.qlog"]);
    receiver.wait_for_frames(20);
    let decision = sender.wait_for("a decision", |line| line["kind"] == "decision");
    for name in ["time", "what", "signal", "threshold", "before_bps", "after_bps", "phase"] {
        assert!(!decision[name].is_null(), "{name}: {decision}");
    }
    let sent =
        sender.wait_for("a round trip", |line| line["rtt_ms"].is_number() && line["target_bps"].is_number());
    check(&sent, &["time", "allowance_bps", "target_bps", "sent_bps", "backlog_bytes", "frames_captured"]);
    assert_eq!(sent["control"], "seaway");
    let parts = ["encoding_ms", "queueing_ms", "pacing_ms"];
    let sent = sender.wait_for("where time goes", |line| parts.iter().all(|part| line[part].is_number()));
    check(&sent, &parts);
    let received = receiver.wait_for("a sample", |line| line["type"] == "sample");
    check(&received, &["time", "received_bps", "playout_buffer_ms", "frames_displayed", "freezes"]);
    let parts = ["delay_ms", "assembly_ms", "playout_ms", "decoding_ms"];
    let received =
        receiver.wait_for("where time goes", |line| parts.iter().all(|part| line[part].is_number()));
    check(&received, &parts);
    let lines = sender.finish() + &receiver.finish();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        schema::check("line", &line);
        assert!(line["type"] == "sample" || line["type"] == "event", "{line}");
    }
    for (name, end, event) in
        [("here.qlog", "client", "seaway:decision"), ("there.qlog", "server", "seaway:event")]
    {
        let records = schema::records(&std::fs::read_to_string(folder.path().join(name)).unwrap());
        assert_eq!(records[0]["trace"]["vantage_point"]["type"], end);
        for event in ["seaway:values", event] {
            assert!(records.iter().any(|record| record["name"] == event), "{name}: no {event}");
        }
    }
}

fn check(sample: &Value, numbers: &[&str]) {
    assert_eq!(sample["type"], "sample");
    for name in numbers {
        assert!(sample[name].as_f64().is_some_and(f64::is_finite), "{name}: {sample}");
    }
}

#[test]
fn captures_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json", "--pcap", "there.pcap"]);
    let sender = send(folder.path(), port, &["--pcap", "here.pcap"]);
    receiver.wait_for_frames(20);
    sender.finish();
    receiver.finish();
    for name in ["here.pcap", "there.pcap"] {
        let (to, from) = directions(&folder.path().join(name), port);
        assert!(to > 20 && from > 0, "{name}: {to} to the receiver, {from} from it");
    }
}

/// Datagrams to and from `port` in a capture.
fn directions(file: &Path, port: u16) -> (u64, u64) {
    let mut reader = PcapReader::new(File::open(file).unwrap()).unwrap();
    let (mut to, mut from) = (0, 0);
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let at = |offset: usize| u16::from_be_bytes([packet.data[offset], packet.data[offset + 1]]);
        assert_eq!((packet.data[0], packet.data[9]), (0x45, 17), "IPv4 with UDP");
        assert_eq!(usize::from(at(2)), packet.data.len(), "the length in the header");
        from += u64::from(at(20) == port);
        to += u64::from(at(22) == port);
    }
    (to, from)
}

/// The value of one metric at `address`, `host:port/metrics`.
pub(crate) fn metric(address: &str, name: &str) -> Option<f64> {
    let text = exposition(address);
    let line = text.lines().find(|line| line.starts_with(&format!("seaway_{name} ")))?;
    line.split_whitespace().nth(1).unwrap().parse().ok()
}

/// What `/metrics` answers, the header left out.
pub(crate) fn exposition(address: &str) -> String {
    let (host, path) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    reply.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Prometheus' own check finds nothing to say about them. Skips where there is none.
pub(crate) fn check_by_promtool(text: &str) {
    let unpacked =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/prometheus/usr/bin/promtool");
    let tool = if unpacked.exists() { unpacked } else { "promtool".into() };
    let check =
        Command::new(&tool).args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut check) = check else { return super::process::skip("no promtool") };
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn metrics_answer() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let options = ["--stats", "json", "--metrics", "127.0.0.1:0"];
    let mut receiver = receive(folder.path(), port, &options);
    let mut sender = send(folder.path(), port, &options);
    let there = receiver.wait_for_address("metrics");
    let here = sender.wait_for_address("metrics");
    let shown = receiver.wait_for_frames(10);
    assert!(metric(&there, "frames_displayed_total").unwrap() >= shown as f64);
    sender.wait_for("a round trip", |line| line["rtt_ms"].is_number());
    assert!(metric(&here, "allowance_bps").unwrap() > 0.0);
    assert!(metric(&here, "no_such_value").is_none());
    check_by_promtool(&exposition(&here));
    let seen = exposition(&there);
    assert!(seen.contains("seaway_observed_delay_seconds_count "), "{seen}");
    check_by_promtool(&seen);
}

/// Waits until one metric is at least `wanted`; gives it.
pub(crate) fn wait_for_metric(address: &str, name: &str, wanted: f64) -> f64 {
    let clock = Clock::start();
    let end = clock.now() + TimeDelta::from_secs(TIMEOUT.as_secs() as i64);
    while clock.now() < end {
        match metric(address, name) {
            Some(value) if value >= wanted => return value,
            _ => clock.sleep_until(clock.now() + TimeDelta::from_millis(50)),
        }
    }
    panic!("{name} stays below {wanted}");
}
