//! The papers' systems between two hosts, over a link that changes.

use super::emulate::Lane;
use super::lane::link;
use super::process::has;
use super::stream::{INPUT, probed};
use super::window::{CLIP, plays};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A link of 20 ms each way that is narrower from 8 to 16 s.
fn changing(rate: &str, narrow: &str) -> String {
    link(&format!(
        r#"
rate = "{rate}"
steps = [["8 s", "{narrow}"], ["16 s", "{rate}"]]
delay = "20 ms"
queue = {{ kind = "drop-tail", packets = 40 }}
"#
    ))
}

/// What a session across the lane has reported.
struct Session {
    /// The sender's JSON lines.
    lines: Vec<Value>,
    shown: u64,
    recording: PathBuf,
}

impl Session {
    /// A receiver and a sender for half a minute, in which more than `pictures` are shown.
    fn run(lane: &Lane, scheme: &str, recv: &[&str], (input, send): (&str, &[&str]), pictures: u64) -> Self {
        let url = format!("{scheme}://10.98.0.2:5004");
        let mut receiver = lane.seaway(1, &[&["recv", &url, "--stats", "json"], recv].concat());
        receiver.wait_for("its start", |line| line["type"] == "sample");
        let sender = ["send", input, &url, "--duration", "30s", "--stats", "json"];
        let sender = lane.seaway(0, &[&sender, send].concat());
        let shown = receiver.wait_for_frames(pictures);
        let (status, lines, notes) = sender.end();
        assert!(status.success(), "{notes}");
        receiver.wait_for("the end", |line| line["what"] == "sender gone");
        receiver.finish();
        let name = recv.iter().skip_while(|argument| **argument != "-o").nth(1).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Self { lines, shown, recording: lane.folder.path().join(name) }
    }

    /// At least 20 decisions a minute.
    fn decides(&self) {
        let decisions = self.lines.iter().filter(|line| line["kind"] == "decision").count();
        assert!(decisions >= 10, "{decisions} decisions in half a minute");
    }

    fn values(&self, name: &str) -> Vec<f64> {
        self.lines.iter().filter_map(|line| line[name].as_f64()).collect()
    }

    fn least(&self, name: &str) -> f64 {
        self.values(name).into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Nearly all that was shown is in the recording, which FFmpeg decodes without a complaint.
    fn is_recorded(&self) {
        if !has("ffprobe", "-version") {
            return;
        }
        let pictures = probed(&self.recording);
        assert!(pictures * 10 >= self.shown * 9, "{pictures} recorded, {} shown", self.shown);
    }
}

/// S000: the client takes less than the narrow link carries, so that its buffer sets the rate.
#[test]
fn the_clients_buffer_sets_the_rate() {
    let Some(lane) = Lane::over(&changing("1 Mbit/s", "500 kbit/s"), "b") else { return };
    let client = ["--buffer", "64 kB", "--consume", "250 kbit/s", "-o", "got.mp4"];
    let send = ["--control", "buffer-type1", "--rate", "0.05..1Mbit/s"];
    let session = Session::run(&lane, "rtp", &client, (INPUT, &send), 200);
    session.decides();
    let levels = session.values("buffer_bytes");
    // The thresholds are a fifth and nine tenths.
    let stable = levels.iter().filter(|level| (12_800.0..57_600.0).contains(*level)).count();
    assert!(stable * 5 > levels.len(), "{levels:?}");
    session.is_recorded();
    lane.end();
}

/// S002: the clip takes more than the narrow link carries.
#[test]
fn a_shaped_stream_follows_the_window() {
    let Some(lane) = Lane::over(&changing("300 kbit/s", "200 kbit/s"), "w") else { return };
    let recv = ["-o", "got.m2v", "--latency", "5 s"];
    let session = Session::run(&lane, "seaway+window", &recv, (CLIP, &["--repeat"]), 500);
    session.decides();
    assert!(session.least("target_bps") < 240e3);
    let pictures = plays(lane.folder.path(), &session.recording);
    assert!(pictures >= session.shown && pictures >= 600, "{pictures} recorded, {} shown", session.shown);
    lane.end();
}

/// S003: four connections, each with a socket, share what the link carries.
#[test]
fn connections_share_the_changing() {
    let Some(lane) = Lane::over(&changing("1 Mbit/s", "500 kbit/s"), "s") else { return };
    let striped = ["--control", "tfrc(count=4)", "--stripe", "gop", "--sockets", "--key-every", "400 ms"];
    let session = Session::run(&lane, "rtp", &["-o", "got.mp4"], (INPUT, &striped), 200);
    session.decides();
    assert!(session.least("allowance_bps") < 600e3);
    session.is_recorded();
    lane.end();
}

/// S004: NADA, and pictures that shrink by S004's rule: 90 rows at 150 kbit/s, 180 from 157 on.
#[test]
fn pictures_shrink_and_grow_with_the_rate() {
    let Some(lane) = Lane::over(&changing("1.5 Mbit/s", "200 kbit/s"), "n") else { return };
    let adaptive = ["--control", "nada", "--sizes", "ns3-rmcat"];
    let session = Session::run(&lane, "rtp", &["-o", "got.mp4"], ("test:640x360@30", &adaptive), 200);
    session.decides();
    let sizes: BTreeSet<&str> = session.lines.iter().filter_map(|line| line["resolution"].as_str()).collect();
    assert!(sizes.len() >= 3, "{sizes:?}");
    session.is_recorded();
    lane.end();
}
