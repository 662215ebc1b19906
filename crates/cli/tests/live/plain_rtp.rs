//! RTP of others: what FFmpeg and GStreamer send is received.

use super::process::{Live, TIMEOUT, free_port, has};
use super::stream::{probed, receive, send};
use seaway_net::Clock;
use seaway_units::TimeDelta;
use std::path::Path;
use std::process::Command;

/// Pictures that are sent: six seconds.
pub(crate) const SENT: u64 = 150;
/// Of a hundred pictures so many are recorded.
const WANTED: u64 = 98;
/// Of a hundred pictures that our sender codes so many are played while the rate is found.
const PLAYED: u64 = 95;

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
    conforms(&folder.path().join("packets.pcap"), port);
}

/// Our reports are compound packets with a canonical name, as tshark reads them.
fn conforms(capture: &Path, port: u16) {
    if !has("tshark", "--version") {
        return;
    }
    let list = |filter: &str, field: &str| {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(capture).args(["-d", &format!("udp.port=={port},rtp")]);
        command.args([
            "-d",
            &format!("udp.port=={},rtcp", port + 1),
            "-Y",
            filter,
            "-T",
            "fields",
            "-e",
            field,
        ]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(list("_ws.malformed", "frame.number"), "");
    let from_us = format!("rtcp && (udp.srcport == {port} || udp.srcport == {})", port + 1);
    let types = list(&from_us, "rtcp.pt");
    assert!(types.lines().count() >= 3, "{types}");
    assert!(types.lines().all(|types| types.starts_with("201,202")), "{types}");
    assert!(list(&from_us, "rtcp.sdes.text").lines().all(|name| name.len() == 24));
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

/// A GStreamer player of what `send --sdp` sends, with reports to `reports`; it writes the stream to a file.
fn player(folder: &Path, port: u16, reports: u16, profile: &str, caps: &str) -> Live {
    let control = port + 1;
    let mut command = gstreamer(&format!(
        "rtpbin name=bin rtp-profile={profile} udpsrc port={port} \
         caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96{caps} ! bin.recv_rtp_sink_0 \
         bin. ! rtph264depay ! h264parse ! video/x-h264,stream-format=byte-stream ! filesink location=got.h264 \
         udpsrc port={control} caps=application/x-rtcp ! bin.recv_rtcp_sink_0 \
         bin.send_rtcp_src_0 ! udpsink host=127.0.0.1 port={reports} sync=false async=false"
    ));
    command.current_dir(folder);
    Live::start(command)
}

const TRANSPORT_WIDE: &str = ",extmap-4=(string)http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01,\
    rtcp-fb-transport-cc=(boolean)true";

/// The controller runs on transport-wide feedback, or on receiver reports where nothing else comes.
#[test]
fn gstreamer_plays_and_its_reports_drive_the_rate() {
    if !has("gst-launch-1.0", "--version") || !has("ffprobe", "-version") {
        return;
    }
    for (profile, caps, kind) in
        [("avpf", TRANSPORT_WIDE, "transport-wide feedback"), ("avp", "", "receiver reports alone")]
    {
        let (folder, port, local) = (tempfile::tempdir().unwrap(), free_port(), free_port());
        let player = player(folder.path(), port, local + 1, profile, caps);
        // A player that is not there yet misses the first key frame, and two seconds until the next.
        wait_until_bound(port);
        let bind = format!("127.0.0.1:{local}");
        let options = ["--control", "gcc", "--sdp", "stream.sdp", "--bind", &bind, "--stats", "json"];
        let mut sender = send(folder.path(), port, &options);
        sender.wait_for("a rate above the first", |line| {
            line["target_bps"].as_f64().is_some_and(|rate| rate > 400_000.0)
        });
        // An event has a time and no counters.
        let sent = sender.wait_for("eight seconds", |line| {
            line["type"] == "sample" && line["time"].as_f64().is_some_and(|time| time > 8.0)
        });
        assert!(sender.prints_note(&format!("runs on {kind}")));
        sender.finish();
        player.interrupt();
        player.end();
        let frames = sent["frames_captured"].as_u64().unwrap() - sent["frames_skipped"].as_u64().unwrap();
        let played = probed(&folder.path().join("got.h264"));
        // The send queue drops frames where the rate falls, and the player's jitter buffer those that a busy machine holds up.
        assert!(played * 100 >= frames * PLAYED, "{kind}: {played} of {frames}");
    }
}

/// Waits until a process has UDP port `port`.
fn wait_until_bound(port: u16) {
    let (local, clock) = (format!(":{port:04X} "), Clock::start());
    let is_bound = |table: &str| std::fs::read_to_string(table).is_ok_and(|table| table.contains(&local));
    while !["/proc/net/udp", "/proc/net/udp6"].into_iter().any(is_bound) {
        assert!(clock.now().as_nanos() < TIMEOUT.as_nanos() as u64, "no process takes port {port}");
        clock.sleep_until(clock.now() + TimeDelta::from_millis(20));
    }
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
