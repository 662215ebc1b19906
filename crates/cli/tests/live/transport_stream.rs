//! Transport streams of others: by RTP and by UDP alone.

use super::copied_opus::check;
use super::plain_rtp::{SENT, assert_whole, ffmpeg, gstreamer, record};
use super::process::{Live, free_port, has};
use super::sound::{self, track_durations};
use super::stream::receive;
use std::path::Path;

/// Three tracks: pictures with B pictures, and sound.
const SCENE: &str = "-f lavfi -i testsrc2=size=320x180:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 6 \
    -c:v libx264 -g 50";

/// A clip of six seconds with this sound.
fn make_clip(folder: &Path, sound: &str) {
    assert!(ffmpeg(folder, &format!("{SCENE} -c:a {sound} clip.ts")).status().unwrap().success());
}

fn ffmpeg_sends(sound: &str, format: &str, destination: impl Fn(u16) -> String) {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    make_clip(folder.path(), sound);
    let sender = ffmpeg(folder.path(), &format!("-re -i clip.ts -c copy -f {format} {}", destination(port)));
    assert_whole(format, record(folder.path(), port, &[], sender));
    let tracks = track_durations(&folder.path().join("got.mp4"));
    assert!(
        tracks.len() == 2 && tracks.iter().all(|(_, track)| *track > 5.0),
        "{format}, {sound}: {tracks:?}"
    );
}

#[test]
fn ffmpeg_sends_a_transport_stream_by_rtp() {
    ffmpeg_sends("aac", "rtp_mpegts", |port| format!("rtp://127.0.0.1:{port}"));
}

#[test]
fn ffmpeg_sends_a_transport_stream_by_udp() {
    ffmpeg_sends("mp2", "mpegts", |port| format!("udp://127.0.0.1:{port}?pkt_size=1316"));
    // By default the datagrams are cut within transport packets.
    ffmpeg_sends("aac", "mpegts", |port| format!("udp://127.0.0.1:{port}"));
}

#[test]
fn aac_of_a_transport_stream_is_recorded_as_it_is() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (format, scheme, size) in [("rtp_mpegts", "rtp", ""), ("mpegts", "udp", "?pkt_size=1316")] {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        sound::make_clip(folder.path(), "clip.mp4");
        let sender = format!("-re -i clip.mp4 -c copy -f {format} {scheme}://127.0.0.1:{port}{size}");
        record(folder.path(), port, &[], ffmpeg(folder.path(), &sender));
        check(folder.path(), "clip.mp4", 1_024);
    }
}

#[test]
fn ffmpeg_sends_a_transport_stream_by_its_description() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    make_clip(folder.path(), "ac3");
    let text = format!(
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {port} RTP/AVP 33\na=rtpmap:33 MP2T/90000\n"
    );
    std::fs::write(folder.path().join("clip.sdp"), text).unwrap();
    let sender =
        ffmpeg(folder.path(), &format!("-re -i clip.ts -c copy -f rtp_mpegts rtp://127.0.0.1:{port}"));
    assert_whole("by SDP", record(folder.path(), port, &["--sdp", "clip.sdp"], sender));
}

#[test]
fn gstreamer_sends_a_transport_stream() {
    if !has("gst-launch-1.0", "--version") || !has("ffprobe", "-version") {
        return;
    }
    let scene = format!(
        "videotestsrc is-live=true num-buffers={SENT} ! video/x-raw,format=I420,width=320,height=180,framerate=25/1 \
         ! x264enc tune=zerolatency key-int-max=50 ! h264parse ! mpegtsmux alignment=7"
    );
    for (name, payload) in [("rtpmp2tpay", "! rtpmp2tpay"), ("udpsink", "")] {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let sender = gstreamer(&format!("{scene} {payload} ! udpsink host=127.0.0.1 port={port}"));
        assert_whole(name, record(folder.path(), port, &[], sender));
    }
}

/// Freezes while FFmpeg copies a transport stream with sound, which leaves in bursts of a third of a second.
fn freezes_of_bursts(latency: &str) -> u64 {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    make_clip(folder.path(), "aac");
    let mut receiver = receive(folder.path(), port, &["--stats", "json", "--latency", latency]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let destination = format!("rtp://127.0.0.1:{port}");
    let sender =
        Live::start(ffmpeg(folder.path(), &format!("-re -i clip.ts -c copy -f rtp_mpegts {destination}")));
    let all = receiver.wait_for("the pictures", |line| {
        line["frames_displayed"].as_u64().is_some_and(|shown| shown > SENT * 9 / 10)
    });
    sender.kill();
    receiver.finish();
    all["freezes"].as_u64().unwrap()
}

#[test]
fn an_uneven_multiplex_is_shown_evenly() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let (even, uneven) = (freezes_of_bursts("500ms"), freezes_of_bursts("20ms"));
    assert!(even <= 1 && uneven >= 5, "{even}, and {uneven} where the latency is less than a burst");
}

/// What the programme has is named, and the command fails.
#[test]
fn another_video_is_refused_with_its_name() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut receiver = receive(folder.path(), port, &["-o", "got.mp4"]);
    let scene = format!(
        "-re -f lavfi -i testsrc2=size=320x180:rate=25 -t 6 -c:v mpeg2video -f rtp_mpegts rtp://127.0.0.1:{port}"
    );
    let sender = Live::start(ffmpeg(folder.path(), &scene));
    receiver.wait_for_note("without H.264 video: it has MPEG-2 video");
    receiver.interrupt();
    sender.kill();
    let (status, _, notes) = receiver.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(!folder.path().join("got.mp4").exists());
}
