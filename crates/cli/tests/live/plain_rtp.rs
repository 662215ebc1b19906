//! RTP of others: what FFmpeg and GStreamer send is received.

use super::process::{Live, free_port, has};
use super::stream::{probed, receive, send};
use std::path::Path;
use std::process::Command;

/// Pictures that are sent: six seconds.
pub(crate) const SENT: u64 = 150;
/// Of a hundred pictures so many are recorded: nothing brings back what a busy machine loses.
pub(crate) const WANTED: u64 = 95;

/// Runs a sender against `recv` with `options` until all but the last pictures were shown; gives the pictures of the
/// recording. A sender of others is not waited for: `rtpbin` does not always end with its input.
pub(crate) fn record(folder: &Path, port: u16, options: &[&str], sender: Command) -> u64 {
    let arguments = [&["-o", "got.mp4", "--stats", "json"], options].concat();
    let mut receiver = receive(folder, port, &arguments);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let sender = Live::start(sender);
    receiver.wait_for_frames(SENT * WANTED / 100);
    sender.kill();
    receiver.finish();
    probed(&folder.join("got.mp4"))
}

pub(crate) fn assert_whole(name: &str, pictures: u64) {
    assert!(pictures * 100 >= SENT * WANTED && pictures <= SENT, "{name}: {pictures} pictures of {SENT}");
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

pub(crate) fn ffmpeg(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-hide_banner", "-loglevel", "error", "-y"]).args(words(arguments));
    command
}

const FFMPEG_SCENE: &str = "-re -f lavfi -i testsrc2=size=320x180:rate=25 -t 6";

#[test]
fn ffmpeg_sends_h264_with_and_without_b_pictures() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (name, coding) in
        [("B pictures", "-c:v libx264 -g 50"), ("none", "-c:v libx264 -tune zerolatency -g 50")]
    {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let sender = ffmpeg(folder.path(), &format!("{FFMPEG_SCENE} {coding} -f rtp rtp://127.0.0.1:{port}"));
        assert_whole(name, record(folder.path(), port, &[], sender));
    }
}

/// The parameter sets stand in the session description alone.
#[test]
fn ffmpeg_sends_by_its_session_description() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let clip =
        "-f lavfi -i testsrc2=size=320x180:rate=25 -t 6 -c:v libx264 -g 50 -flags +global_header clip.mp4";
    assert!(ffmpeg(folder.path(), clip).status().unwrap().success());
    let destination = format!("rtp://127.0.0.1:{port}");
    let describe = format!("-i clip.mp4 -t 0.1 -c copy -f rtp -sdp_file clip.sdp {destination}");
    assert!(ffmpeg(folder.path(), &describe).status().unwrap().success());
    let sender = ffmpeg(folder.path(), &format!("-re -i clip.mp4 -c copy -f rtp {destination}"));
    assert_whole("by SDP", record(folder.path(), port, &["--sdp", "clip.sdp"], sender));
}

const GSTREAMER_SCENE: &str = "videotestsrc is-live=true num-buffers=150 ! video/x-raw,format=I420,width=320,height=180,\
    framerate=25/1 ! x264enc tune=zerolatency key-int-max=50 ! rtph264pay config-interval=-1";

pub(crate) fn gstreamer(pipeline: &str) -> Command {
    let mut command = Command::new("gst-launch-1.0");
    command.arg("-q").args(words(pipeline));
    command
}

#[test]
fn gstreamer_sends_with_and_without_rtpbin() {
    if !has("gst-launch-1.0", "--version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let sender = gstreamer(&format!("{GSTREAMER_SCENE} ! udpsink host=127.0.0.1 port={port}"));
    assert_whole("udpsink", record(folder.path(), port, &[], sender));
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let control = port + 1;
    let sender = gstreamer(&format!(
        "rtpbin name=bin {GSTREAMER_SCENE} ! bin.send_rtp_sink_0 bin.send_rtp_src_0 ! udpsink host=127.0.0.1 port={port} \
         bin.send_rtcp_src_0 ! udpsink host=127.0.0.1 port={control} sync=false async=false"
    ));
    let capture = ["--pcap", "packets.pcap"];
    assert_whole("rtpbin", record(folder.path(), port, &capture, sender));
    if has("tshark", "--version") {
        conforms(&folder.path().join("packets.pcap"), port, [port, control], "201,202");
    }
}

/// A field of the packets of a capture that a filter takes, as tshark reads RTP at `port` and RTCP at the next.
pub(crate) fn fields(capture: &Path, port: u16, filter: &str, field: &str) -> String {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-d", &format!("udp.port=={port},rtp"), "-d"]);
    command.args([&format!("udp.port=={},rtcp", port + 1), "-Y", filter, "-T", "fields", "-e", field]);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// Nothing is malformed, and all reports that `ports` sent are compound packets that begin with `types`, with a canonical
/// name, as tshark reads them.
pub(crate) fn conforms(capture: &Path, port: u16, ports: [u16; 2], types: &str) {
    assert_eq!(fields(capture, port, "_ws.malformed", "frame.number"), "");
    let from = format!("rtcp && (udp.srcport == {} || udp.srcport == {})", ports[0], ports[1]);
    let sent = fields(capture, port, &from, "rtcp.pt");
    assert!(sent.lines().count() >= 3, "{sent}");
    assert!(sent.lines().all(|sent| sent.starts_with(types)), "{sent}");
    let names = fields(capture, port, &from, "rtcp.sdes.text");
    assert!(names.lines().all(|name| name.len() == 24), "{names}");
}

/// What is not understood is said, nothing is left behind, and the command fails.
#[test]
fn another_format_is_refused_with_a_reason() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut receiver = receive(folder.path(), port, &["-o", "got.mp4"]);
    let scene = format!("{FFMPEG_SCENE} -c:v mpeg2video -f rtp rtp://127.0.0.1:{port}");
    let sender = Live::start(ffmpeg(folder.path(), &scene));
    receiver.wait_for_note("payload type 32 and is not understood");
    receiver.interrupt();
    sender.kill();
    let (status, _, notes) = receiver.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("nothing was received"), "{notes}");
    assert!(!folder.path().join("got.mp4").exists());
}

/// A player that sends no reports is named, with what helps.
#[test]
fn silence_of_a_player_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut sender = send(folder.path(), free_port(), &["--sdp", "stream.sdp"]);
    let note = sender.wait_for_note("nothing comes back").to_owned();
    assert!(note.contains("--bind") && note.contains("fixed(rate="), "{note}");
    sender.finish();
}
