//! The window transport: a coded MPEG stream, shaped while it is sent.

use super::process::{Live, free_port, has, seaway};
use super::stream::probed;
use pcap_file::pcap::PcapReader;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// 132 pictures of 250 kbit/s.
pub(crate) const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/bigbuckbunny_320x180.m2v");
const PICTURES: u64 = 132;

fn receive(folder: &Path, port: u16, arguments: &[&str]) -> Live {
    let url = format!("seaway+window://127.0.0.1:{port}");
    Live::start(seaway(folder, &[&["recv", &url, "--stats", "json"], arguments].concat()))
}

fn send(folder: &Path, port: u16, arguments: &[&str]) -> Live {
    let url = format!("seaway+window://127.0.0.1:{port}");
    Live::start(seaway(folder, &[&["send", CLIP, &url], arguments].concat()))
}

/// What left for `port` in the order of its numbers, headers taken off.
fn sent(capture: &Path, port: u16) -> Vec<u8> {
    let mut packets = BTreeMap::new();
    let mut reader = PcapReader::new(File::open(capture).unwrap()).unwrap();
    let (mut first, mut count) = (None, 0u16);
    while let Some(packet) = reader.next_packet() {
        let data = packet.unwrap().data.into_owned();
        // IPv4 and UDP without options.
        let datagram = &data[28..];
        if u16::from_be_bytes([data[22], data[23]]) == port {
            let number = u16::from_be_bytes([datagram[0], datagram[1]]);
            let first = *first.get_or_insert(number);
            assert!(datagram.len() <= 10 + 512);
            packets.insert(number.wrapping_sub(first), datagram[10..].to_vec());
            count += 1;
        }
    }
    assert!(count > 200, "{count} packets");
    packets.into_values().flatten().collect()
}

/// Nothing of `file` is damaged in the eyes of libmpeg2, FFmpeg and our own shaper.
pub(crate) fn plays(folder: &Path, file: &Path) -> u64 {
    if has("which", "mpeg2dec") {
        let output = Command::new("mpeg2dec").args(["-o", "null"]).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    if has("ffmpeg", "-version") {
        let arguments = ["-v", "error", "-f", "null", "-"];
        let output =
            Command::new("ffmpeg").args(["-v", "error", "-i"]).arg(file).args(&arguments[2..]).output();
        assert_eq!(String::from_utf8_lossy(&output.unwrap().stderr), "", "{}", file.display());
    }
    let shaped = ["shape", file.to_str().unwrap(), "again.m2v", "--ratio", "1.0", "--json"];
    let report = seaway(folder, &shaped).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["totals"]["damaged_slices"], 0, "{report}");
    report["totals"]["pictures"].as_u64().unwrap()
}

#[test]
fn the_recording_is_what_was_sent() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut receiver = receive(folder.path(), port, &["-o", "got.m2v", "--latency", "1 s"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let (status, report, notes) =
        send(folder.path(), port, &["--pcap", "sent.pcap", "--json", "--rate", "0..0.2Mbit/s"]).end();
    assert!(status.success(), "{notes}");
    receiver.wait_for("the end", |line| line["what"] == "sender gone");
    receiver.finish();
    let got = folder.path().join("got.m2v");
    let recorded = std::fs::read(&got).unwrap();
    assert!(recorded == sent(&folder.path().join("sent.pcap"), port), "{} octets", recorded.len());
    let rate = recorded.len() as f64 * 8.0 / (PICTURES as f64 * 0.04);
    assert!((170e3..215e3).contains(&rate), "{rate} bit/s");
    assert_eq!(plays(folder.path(), &got), PICTURES);
    if has("ffprobe", "-version") {
        assert_eq!(probed(&got), PICTURES);
    }
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["flows"][0]["frames"]["captured"], PICTURES, "{report}");
}

/// The same stream by RFC 2250 under another controller, whole at both ends.
#[test]
fn rtp_carries_a_shaped_stream() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let url = format!("rtp://127.0.0.1:{port}");
    // Time and rate for the intra pictures, which are six times the mean.
    let receiver = ["recv", &url, "-o", "got.m2v", "--latency", "2 s", "--stats", "json"];
    let mut receiver = Live::start(seaway(folder.path(), &receiver));
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let control = "fixed(rate=330 kbit/s)";
    let arguments = ["send", CLIP, &url, "--shape", "--control", control, "--latency", "2 s", "--json"];
    let (status, report, notes) = Live::start(seaway(folder.path(), &arguments)).end();
    assert!(status.success() && notes.contains("the video goes alone"), "{notes}");
    receiver.wait_for("the end", |line| line["what"] == "sender gone");
    let shown = receiver.wait_for_frames(PICTURES - 12);
    receiver.finish();
    let got = folder.path().join("got.m2v");
    let pictures = plays(folder.path(), &got);
    assert!(pictures >= shown && pictures >= PICTURES - 6, "{pictures} recorded, {shown} shown");
    // Of the pictures that are there: a busy machine may leave out a few.
    let rate = std::fs::metadata(&got).unwrap().len() as f64 * 8.0 / (pictures as f64 * 0.04);
    assert!((200e3..260e3).contains(&rate), "{rate} bit/s");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let frames = &report["flows"][0]["frames"];
    assert!(frames["captured"].as_u64() >= Some(PICTURES - 6) && frames["skipped"] == 0, "{report}");
}

/// Between hosts plain RTP needs `--insecure`, and an option that does not apply is refused.
#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let away = "seaway+window://192.0.2.7:5004";
    let here = "seaway+window://127.0.0.1:5004";
    for (arguments, expected) in [
        (vec!["send", CLIP, away], "--insecure"),
        (vec!["recv", "seaway+window://0.0.0.0:5004"], "--insecure"),
        (vec!["send", CLIP, here, "--control", "gcc"], "window"),
        (vec!["send", CLIP, here, "--policy", "pdd"], "pd"),
        (vec!["send", CLIP, here, "--sdp", "x.sdp"], "--sdp"),
        (vec!["send", "/dev/null", here], "/dev/null"),
        (vec!["send", "test:320x180@25", "rtp://127.0.0.1:5004", "--shape"], "test:"),
        (vec!["send", CLIP, here, "--sizes", "fixed"], "--sizes"),
        (vec!["send", CLIP, "rtp://127.0.0.1:5004", "--shape", "--sizes", "fixed"], "--sizes"),
        (vec!["recv", here, "-o", "x.mp4"], ".ts"),
        (vec!["recv", here, "-o", "x.ts", "--segment", "1 min"], "--segment"),
    ] {
        let (status, output, notes) = Live::start(seaway(folder.path(), &arguments)).end();
        assert_eq!((status.code(), output.as_str()), (Some(2), ""), "{arguments:?}: {notes}");
        assert!(notes.contains(expected), "{expected}: {notes}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
