//! H.265 and AV1 of others: recorded, and shown where FFmpeg decodes them.

use super::plain_rtp::{SENT, WANTED, assert_whole, ffmpeg, gstreamer};
use super::process::{Live, free_port, has, seaway, signal, skip};
use super::stream::{probed, receive};
use super::web::parts;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Runs a sender against `recv` until all but the last pictures came; gives the pictures of the recording, which FFmpeg decodes
/// without a message, and what was reported at the end.
fn record(folder: &Path, port: u16, options: &[&str], sender: Command) -> (u64, Value) {
    let arguments = [&["-o", "got.mp4", "--stats", "json"], options].concat();
    let mut receiver = receive(folder, port, &arguments);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let sender = Live::start(sender);
    let wanted = SENT * 98 / 100;
    let sample = receiver
        .wait_for("pictures", |line| line["frames_undecoded"].as_u64().is_some_and(|count| count >= wanted));
    sender.kill();
    assert!(receiver.prints_note("are recorded and not shown"));
    receiver.finish();
    let file = folder.join("got.mp4");
    let decoded = ffmpeg(folder, "-i got.mp4 -f null -").output().unwrap();
    assert!(
        decoded.status.success() && decoded.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&decoded.stderr)
    );
    (probed(&file), sample)
}

/// Nothing was displayed, and the recording has this tag.
fn assert_undecoded(folder: &Path, sample: &Value, expected: &str) {
    assert_eq!((&sample["frames_displayed"], &sample["resolution"]), (&json!(0), &json!("320x180")));
    assert_eq!(tag(&folder.join("got.mp4")), expected);
}

/// The tag of the sample entry.
fn tag(file: &Path) -> String {
    let wanted = [
        "-v",
        "error",
        "-select_streams",
        "v:0",
        "-show_entries",
        "stream=codec_tag_string",
        "-of",
        "csv=p=0",
    ];
    let output = Command::new("ffprobe").args(wanted).arg(file).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const SCENE: &str = "-re -f lavfi -i testsrc2=size=320x180:rate=25 -t 6 -pix_fmt yuv420p";

#[test]
fn ffmpeg_sends_h265_with_and_without_b_pictures() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (name, options) in [
        ("B pictures", "-x265-params log-level=error:pools=1"),
        ("none", "-tune zerolatency -x265-params log-level=error:pools=1"),
    ] {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let coding = format!("-c:v libx265 -preset ultrafast -g 50 {options}");
        let sender = ffmpeg(folder.path(), &format!("{SCENE} {coding} -f rtp rtp://127.0.0.1:{port}"));
        let (pictures, sample) = record(folder.path(), port, &[], sender);
        assert_whole(name, pictures);
        assert_undecoded(folder.path(), &sample, "hvc1");
    }
}

/// The parameter sets stand in the session description alone.
#[test]
fn ffmpeg_sends_h265_by_its_session_description() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let clip = "-f lavfi -i testsrc2=size=320x180:rate=25 -t 6 -pix_fmt yuv420p -c:v libx265 -preset ultrafast -g 50 \
                -x265-params log-level=error -flags +global_header clip.mp4";
    assert!(ffmpeg(folder.path(), clip).status().unwrap().success());
    let destination = format!("rtp://127.0.0.1:{port}");
    let describe = format!("-i clip.mp4 -t 0.1 -c copy -f rtp -sdp_file clip.sdp {destination}");
    assert!(ffmpeg(folder.path(), &describe).status().unwrap().success());
    let sender = ffmpeg(folder.path(), &format!("-re -i clip.mp4 -c copy -f rtp {destination}"));
    assert_whole("by SDP", record(folder.path(), port, &["--sdp", "clip.sdp"], sender).0);
}

#[test]
fn gstreamer_sends_h265() {
    if !has("gst-inspect-1.0", "x265enc") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let sender = gstreamer(&format!(
        "videotestsrc is-live=true num-buffers={SENT} ! video/x-raw,format=I420,width=320,height=180,framerate=25/1 \
         ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=50 ! h265parse ! rtph265pay config-interval=-1 \
         ! udpsink host=127.0.0.1 port={port}"
    ));
    assert_whole("x265enc", record(folder.path(), port, &[], sender).0);
}

/// A sender of AV1, which FFmpeg packetises since version 8: that of PyAV, where Python finds it or `make tools` installed it. Its session
/// description has the format and nothing else.
fn av1_sender(folder: &Path, port: u16, prediction: &str) -> Option<Command> {
    const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/av");
    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/av1_sender.py");
    let python = || {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", TOOLS);
        command
    };
    let has_encoder = "import av, sys; sys.exit('libsvtav1' not in av.codecs_available)";
    if !python().args(["-c", has_encoder]).output().is_ok_and(|output| output.status.success()) {
        skip("Python has no module av with SVT-AV1");
        return None;
    }
    let text = format!(
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {port} RTP/AVP 96\na=rtpmap:96 AV1/90000\n"
    );
    std::fs::write(folder.join("clip.sdp"), text).unwrap();
    let mut sender = python();
    sender.args([SCRIPT, &port.to_string(), prediction]);
    Some(sender)
}

#[test]
fn ffmpeg_sends_av1_by_its_session_description() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (name, prediction) in [("earlier frames", "1"), ("later frames too", "2")] {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let Some(sender) = av1_sender(folder.path(), port, prediction) else { return };
        let (pictures, sample) = record(folder.path(), port, &["--sdp", "clip.sdp"], sender);
        assert_whole(name, pictures);
        assert_undecoded(folder.path(), &sample, "av01");
    }
}

/// Runs a sender against `recv` with a page, and a player that records the page, until more than `wanted` pictures were shown. With `kill`
/// the decoder is killed in the middle, and they count from then on.
fn show(folder: &Path, port: u16, options: &[&str], sender: Command, kill: bool, wanted: u64) {
    let arguments = [&["-o", "got.mp4", "--stats", "json", "--web", "127.0.0.1:0"], options].concat();
    let mut receiver = receive(folder, port, &arguments);
    let (host, path) = parts(&receiver.wait_for_address("page"));
    let url = format!("whep+http://{host}/whep?{}", path.trim_start_matches("/?"));
    let mut player = Live::start(seaway(folder, &["recv", &url, "-o", "page.mp4", "--stats", "json"]));
    player.wait_for_note("the media server is connected");
    let sender = Live::start(sender);
    let mut before = 0;
    if kill {
        before = receiver.wait_for_frames(40);
        let decoders = children(receiver.id(), "ffmpeg");
        assert_eq!(decoders.len(), 1, "{decoders:?}");
        signal("KILL", decoders[0]);
    }
    receiver.wait_for_frames(before + wanted);
    // The last access units of a sender that has ended are recorded all the same.
    receiver.wait_for("its end", |line| {
        let count = |name: &str| line[name].as_u64().unwrap_or(0);
        count("frames_displayed") + count("frames_undecoded") + 8 >= SENT * WANTED / 100
    });
    player.interrupt();
    let (status, _, notes) = player.end();
    assert!(status.success(), "{notes}");
    sender.kill();
    receiver.finish();
    let page = probed(&folder.join("page.mp4"));
    assert!(page >= 50, "{page} pictures of the page");
}

/// The processes of this name that `parent` started.
fn children(parent: u32, name: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let of_parent = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let (head, rest) = stat.rsplit_once(") ").unwrap_or_default();
        head.ends_with(&format!("({name}")) && rest.split(' ').nth(1) == Some(&parent.to_string())
    };
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(of_parent).collect()
}

#[test]
fn h265_is_shown_where_ffmpeg_decodes_it() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (name, options) in [("B pictures", ""), ("none", "-tune zerolatency")] {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let coding =
            format!("-c:v libx265 -preset ultrafast -g 25 {options} -x265-params log-level=error:pools=1");
        let sender = ffmpeg(folder.path(), &format!("{SCENE} {coding} -f rtp rtp://127.0.0.1:{port}"));
        show(folder.path(), port, &[], sender, false, 130);
        assert_whole(name, probed(&folder.path().join("got.mp4")));
        assert_eq!(tag(&folder.path().join("got.mp4")), "hvc1");
    }
}

#[test]
fn a_decoder_that_crashes_costs_a_freeze() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let coding =
        "-c:v libx265 -preset ultrafast -tune zerolatency -g 25 -x265-params log-level=error:pools=1";
    let sender = ffmpeg(folder.path(), &format!("{SCENE} {coding} -f rtp rtp://127.0.0.1:{port}"));
    show(folder.path(), port, &[], sender, true, 50);
    assert_whole("H.265", probed(&folder.path().join("got.mp4")));
}

#[test]
fn av1_is_shown_where_ffmpeg_decodes_it() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (name, prediction) in [("earlier frames", "1"), ("later frames too", "2")] {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let Some(sender) = av1_sender(folder.path(), port, prediction) else { return };
        show(folder.path(), port, &["--sdp", "clip.sdp"], sender, false, 130);
        assert_whole(name, probed(&folder.path().join("got.mp4")));
    }
}

/// Without a recording and a decoder nothing comes of it: the command fails and gives the reason.
#[test]
fn h265_that_is_not_recorded_is_a_failure() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let coding =
        "-c:v libx265 -preset ultrafast -tune zerolatency -g 25 -x265-params log-level=error:pools=1";
    let sender =
        Live::start(ffmpeg(folder.path(), &format!("{SCENE} {coding} -f rtp rtp://127.0.0.1:{port}")));
    receiver.wait_for("a picture", |line| line["frames_undecoded"].as_u64().is_some_and(|count| count > 0));
    receiver.interrupt();
    sender.kill();
    let (status, _, notes) = receiver.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(
        notes.contains("no picture was shown: the video is H.265, for which there is no decoder"),
        "{notes}"
    );
}
