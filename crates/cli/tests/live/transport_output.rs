//! `send` to udp:// and srt://, and with --mpegts: transport streams for receivers of others, and for `recv`.

use super::copied_opus::{self, check_packets};
use super::copy::ffmpeg;
use super::plain_rtp::WANTED;
use super::process::{Live, free_port, has, seaway};
use super::schema::check;
use super::sound::{beeps, check_in_step, flashes, make_clip, shown, track_durations, with_sound};
use super::srt;
use super::stream::{probed, receive};
use seaway_media::input::read_code;
use seaway_net::Clock;
use seaway_session::{Format, StreamDescription, to_sdp};
use seaway_units::{TimeDelta, Timestamp};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

const TONE: &str = "test:320x180@25+tone";

/// FFmpeg that records what comes by `url` until nothing does for two seconds.
fn recorder(folder: &Path, url: &str) -> Live {
    let mut command = ffmpeg(folder, "-fflags +discardcorrupt -i");
    command.args([url, "-c", "copy", "got.mp4"]);
    Live::start(command)
}

/// The same, which listens by UDP now.
fn udp_recorder(folder: &Path, url: &str, port: u16) -> Live {
    listens(recorder(folder, url), port)
}

/// Waits until a process listens at this UDP port.
fn listens(listener: Live, port: u16) -> Live {
    let is_there = || std::fs::read_to_string("/proc/net/udp").unwrap().contains(&format!(":{port:04X} "));
    let clock = Clock::start();
    while !is_there() {
        assert!(clock.now().since(Timestamp::ZERO) < TimeDelta::from_secs(30), "no listener at {port}");
        std::thread::yield_now();
    }
    listener
}

/// By RTP, with a session description: FFmpeg records what is coded here, and what is copied with B pictures and AAC.
#[test]
fn ffmpeg_records_what_is_sent_by_rtp() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), "clip.ts");
    let coded = [TONE, "--duration", "6.5 s"];
    for (input, sound) in [(&coded[..], "opus"), (&["clip.ts", "--copy"], "aac")] {
        let port = free_port();
        let to: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
        let description = to_sdp(&[StreamDescription::video(Format::Mp2t)], to);
        std::fs::write(folder.path().join("expected.sdp"), &description).unwrap();
        let mut listener = ffmpeg(folder.path(), "-protocol_whitelist file,udp,rtp -i");
        listener.args(["expected.sdp", "-c", "copy", "got.mp4"]);
        let listener = listens(Live::start(listener), port);
        let options = ["--sdp", "stream.sdp", "--mpegts", "--control", "fixed(rate=2 Mbit/s)"];
        let (report, notes) = send(folder.path(), &[input, &[&format!("rtp://{to}")], &options].concat());
        assert!(!notes.contains("left out"), "{notes}");
        // It ends with the goodbye of the sender.
        listener.end();
        assert_eq!(std::fs::read_to_string(folder.path().join("stream.sdp")).unwrap(), description);
        assert_whole(folder.path(), sent_pictures(&report), sound);
        let file = folder.path().join("got.mp4");
        let shown = if sound == "aac" { flashes(&file) } else { seconds(&file) };
        check_in_step(&with_sound(shown, &file), &beeps(&file), 4);
        std::fs::remove_file(file).unwrap();
    }
}

/// `recv` plays and records it, and its feedback drives the rate.
#[test]
fn recv_takes_a_transport_stream_by_rtp() {
    if !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let to: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let description = to_sdp(&[StreamDescription::video(Format::Mp2t)], to);
    std::fs::write(folder.path().join("expected.sdp"), description).unwrap();
    let options = ["--sdp", "expected.sdp", "-o", "got.mp4", "--stats", "json"];
    let mut receiver = receive(folder.path(), port, &options);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let options = ["--sdp", "stream.sdp", "--mpegts", "--duration", "8 s"];
    let (report, notes) = send(folder.path(), &[&[TONE, &format!("rtp://{to}")], &options[..]].concat());
    assert!(notes.contains("runs on transport-wide feedback"), "{notes}");
    receiver.wait_for_note("the sender has ended");
    receiver.interrupt();
    let (status, _, notes) = receiver.end();
    // The last picture does not wait for another.
    assert!(status.success() && notes.contains("0 freezes"), "{notes}");
    assert_whole(folder.path(), sent_pictures(&report), "opus");
    let file = folder.path().join("got.mp4");
    check_in_step(&with_sound(seconds(&file), &file), &beeps(&file), 6);
}

/// Sends to its end; its report and what it said.
fn send(folder: &Path, arguments: &[&str]) -> (Value, String) {
    let command = seaway(folder, &[&["send"], arguments, &["--json"]].concat());
    let (status, output, notes) = Live::start(command).end();
    assert!(status.success(), "{notes}");
    let report = serde_json::from_str(&output).unwrap();
    check("session", &report);
    (report, notes)
}

fn sent_pictures(report: &Value) -> u64 {
    report["flows"][0]["frames"]["captured"].as_u64().unwrap_or_else(|| panic!("{report}"))
}

/// Nearly all pictures of `report` are in `got.mp4`, and H.264 and sound of this codec.
fn assert_whole(folder: &Path, sent: u64, sound: &str) {
    let file = folder.join("got.mp4");
    let pictures = probed(&file);
    assert!(pictures * 100 >= sent * WANTED && pictures <= sent, "{pictures} of {sent}");
    let tracks = track_durations(&file);
    let codecs: Vec<_> = tracks.iter().map(|(codec, _)| codec.as_str()).collect();
    assert_eq!(codecs, ["h264", sound], "{tracks:?}");
}

pub(crate) fn seconds(file: &Path) -> Vec<f64> {
    shown(file, |luma| read_code(luma).is_some_and(|number| number % 25 == 0))
}

#[test]
fn ffmpeg_records_what_is_sent_by_udp() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let listener = udp_recorder(folder.path(), &format!("udp://127.0.0.1:{port}?timeout=2000000"), port);
    let to = format!("udp://127.0.0.1:{port}");
    let (report, notes) = send(folder.path(), &[TONE, &to, "--duration", "8.5 s", "--rate", "0..2Mbit/s"]);
    let line = format!("nothing comes back from {to}: the rate is 2.00 Mbit/s (--rate)");
    assert!(notes.contains(&line) && !notes.contains("INSECURE"), "{notes}");
    listener.end();
    assert_whole(folder.path(), sent_pictures(&report), "opus");
    let file = folder.path().join("got.mp4");
    check_in_step(&seconds(&file), &beeps(&file), 6);
    let sent = report["sound"]["sent"].as_u64().unwrap();
    assert!((390..=430).contains(&sent), "{sent}");
}

/// With B pictures, to a multicast group on one interface.
#[test]
fn ffmpeg_records_a_copied_stream_of_a_multicast_group() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    make_clip(folder.path(), "clip.ts");
    let group = format!("udp://239.255.7.7:{port}");
    let listener = udp_recorder(folder.path(), &format!("{group}?localaddr=127.0.0.1&timeout=2000000"), port);
    let options = ["--copy", "--interface", "127.0.0.1", "--ttl", "1", "--insecure"];
    let (report, notes) = send(folder.path(), &[&["clip.ts", &group], &options[..]].concat());
    assert!(notes.contains("sound: aac, sent as it is"), "{notes}");
    assert!(notes.contains("INSECURE") && notes.contains("the rate of the coded stream"), "{notes}");
    listener.end();
    assert_whole(folder.path(), sent_pictures(&report), "aac");
    let file = folder.path().join("got.mp4");
    check_in_step(&flashes(&file), &beeps(&file), 4);
}

/// Sends `input`, a file or `-` for the file `piped`, to FFmpeg by UDP; its report and what it said.
fn send_to_recorder(folder: &Path, input: &str, piped: &str, options: &[&str]) -> (Value, String) {
    let port = free_port();
    let listener = udp_recorder(folder, &format!("udp://127.0.0.1:{port}?timeout=2000000"), port);
    let to = format!("udp://127.0.0.1:{port}");
    let command = seaway(folder, &[&["send", input, &to, "--json"], options].concat());
    let (status, output, notes) = if input == "-" {
        let mut pipe = ffmpeg(folder, "-re -i");
        pipe.args([piped, "-c", "copy", "-f", "mpegts", "-"]).stdout(Stdio::piped());
        let mut pipe = pipe.spawn().unwrap();
        let ended = Live::start_with(command, pipe.stdout.take().unwrap().into()).end();
        pipe.wait().unwrap();
        ended
    } else {
        Live::start_with(command, Stdio::null()).end()
    };
    assert!(status.success(), "{notes}");
    listener.end();
    (serde_json::from_str(&output).unwrap(), notes)
}

/// AAC of a file whose pictures are coded anew, in a loop, and of a pipe.
#[test]
fn aac_goes_as_it_is() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), "clip.mp4");
    make_clip(folder.path(), "clip.ts");
    for (input, options) in [("clip.mp4", &["--repeat", "--duration", "12.5 s"][..]), ("-", &["--copy"])] {
        let (report, notes) = send_to_recorder(folder.path(), input, "clip.ts", options);
        assert!(notes.contains("sound: aac, sent as it is"), "{notes}");
        assert_whole(folder.path(), sent_pictures(&report), "aac");
        let file = folder.path().join("got.mp4");
        check_in_step(&flashes(&file), &beeps(&file), 4);
        std::fs::remove_file(file).unwrap();
    }
}

/// Opus of files, also in one channel, and of a pipe, in packets of several durations.
#[test]
fn opus_goes_as_it_is() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let clips = [
        ("clip.mkv", &["-frame_duration", "60"][..], "clip.mkv", &["--copy"][..]),
        ("clip.mp4", &["-frame_duration", "2.5", "-ac", "1"], "clip.mp4", &["--rate", "0..2Mbit/s"]),
        ("clip.ts", &["-frame_duration", "20", "-ac", "2"], "-", &["--copy"]),
    ];
    for (name, opus, input, options) in clips {
        let folder = tempfile::tempdir().unwrap();
        copied_opus::make_clip(folder.path(), name, opus);
        let (report, notes) = send_to_recorder(folder.path(), input, name, options);
        assert!(notes.contains("sound: opus, sent as it is"), "{notes}");
        assert_whole(folder.path(), sent_pictures(&report), "opus");
        check_packets(folder.path(), name);
        let file = folder.path().join("got.mp4");
        check_in_step(&flashes(&file), &beeps(&file), 4);
    }
}

#[test]
fn recv_shows_and_records_what_is_sent_by_udp() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (host, options) in
        [("127.0.0.1", &[][..]), ("239.255.7.8", &["--interface", "127.0.0.1", "--insecure"])]
    {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let url = format!("udp://{host}:{port}");
        let arguments = [&["recv", &url, "-o", "got.mp4", "--stats", "json"], options].concat();
        let mut receiver = Live::start(seaway(folder.path(), &arguments));
        receiver.wait_for("its start", |line| line["type"] == "sample");
        let arguments = [&[TONE, &url, "--duration", "8.5 s"], options].concat();
        let (report, _) = send(folder.path(), &arguments);
        let sent = sent_pictures(&report);
        receiver.wait_for_frames(sent * WANTED / 100);
        receiver.finish();
        assert_whole(folder.path(), sent, "opus");
        let file = folder.path().join("got.mp4");
        check_in_step(&seconds(&file), &beeps(&file), 5);
    }
}

#[test]
fn a_listener_by_srt_records_it() {
    if !srt::is_there() {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let url = |mode: &str| format!("srt://127.0.0.1:{port}?mode={mode}&passphrase=0123456789");
    let listener = recorder(folder.path(), &url("listener"));
    // A caller without a listener ends, in a sentence.
    let mut attempts = (0..20).map(|_| {
        let command = seaway(folder.path(), &["send", TONE, &url("caller"), "--duration", "8.5 s", "--json"]);
        Live::start(command).end()
    });
    let (_, output, notes) = attempts.find(|(status, _, _)| status.success()).unwrap();
    assert!(notes.contains(&format!("nothing comes back from srt://127.0.0.1:{port}:")), "{notes}");
    assert!(!notes.contains("0123456789") && !notes.contains("dropped"), "{notes}");
    listener.end();
    let report: Value = serde_json::from_str(&output).unwrap();
    assert_whole(folder.path(), sent_pictures(&report), "opus");
    let file = folder.path().join("got.mp4");
    check_in_step(&seconds(&file), &beeps(&file), 5);
}

#[test]
fn srt_without_a_listener_or_ffmpeg_ends_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("srt://127.0.0.1:{}", free_port());
    let mut command = seaway(folder.path(), &["send", TONE, &url]);
    command.env("PATH", folder.path());
    let (status, _, notes) = Live::start(command).end();
    assert_eq!(status.code(), Some(2), "{notes}");
    assert!(notes.contains("srt:// needs FFmpeg, which is not installed"), "{notes}");
    if srt::is_there() {
        let (status, _, notes) = Live::start(seaway(folder.path(), &["send", TONE, &url])).end();
        assert_eq!(status.code(), Some(1), "{notes}");
        assert!(notes.contains("FFmpeg has ended: "), "{notes}");
    }
}
