//! Coded video that is sent as it is.

use super::process::{Live, free_port, has, seaway};
use super::stream::{probed, receive};
use seaway_media::h264::{NalType, nal_units};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pictures of the clip: eight seconds.
const PICTURES: u64 = 200;

/// FFmpeg with these arguments, in `folder`.
pub(crate) fn ffmpeg(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-hide_banner", "-loglevel", "error", "-y"]);
    command.args(arguments.split_whitespace());
    command
}

/// A clip of 640x360 at about 1.2 Mbit/s with B pictures that no other needs, and a key frame every two seconds, as MPEG-TS.
fn make_clip(folder: &Path) {
    let scene =
        "-f lavfi -i testsrc2=size=640x360:rate=25 -t 8 -c:v libx264 -preset veryfast -b_strategy 0 -bf 2";
    let rate = "-g 50 -b:v 1200k -maxrate 1200k -bufsize 600k";
    assert!(ffmpeg(folder, &format!("{scene} {rate} clip.ts")).status().unwrap().success());
}

/// The slices and parameter sets of a byte stream or of what FFmpeg takes out of a container.
fn units(folder: &Path, name: &str) -> Vec<Vec<u8>> {
    let output = ffmpeg(folder, &format!("-i {name} -c copy -f h264 -")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let is_coded = |unit: &&[u8]| {
        matches!(NalType::of(unit), Some(NalType::Slice | NalType::IdrSlice | NalType::SequenceParameters))
    };
    nal_units(&output.stdout).filter(is_coded).map(<[u8]>::to_vec).collect()
}

fn as_it_is(input: &str, options: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path());
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["-o", "got.h264", "--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let url = format!("rtp://127.0.0.1:{port}");
    let mut command = seaway(folder.path(), &["send", input, &url, "--copy", "--rate", "4..8Mbit/s"]);
    command.args(["--control", "fixed(rate=6 Mbit/s)", "--start", "6 Mbit/s"]);
    let mut source = (!options.is_empty()).then(|| {
        let mut source = ffmpeg(folder.path(), options);
        source.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    });
    command.stdin(source.as_mut().map_or(Stdio::null(), |source| source.stdout.take().unwrap().into()));
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{notes}");
    source.iter_mut().for_each(|source| assert!(source.wait().unwrap().success()));
    receiver.finish();
    let (sent, received) = (units(folder.path(), "clip.ts"), units(folder.path(), "got.h264"));
    assert!(sent.len() as u64 > PICTURES, "{}", sent.len());
    assert_eq!((sent.len(), notes.contains("left out")), (received.len(), false), "{notes}");
    sent == received
}

/// Bit for bit, by a pipe in real time and from a file.
#[test]
fn coded_video_arrives_as_it_was() {
    if !has("ffmpeg", "-version") {
        return;
    }
    assert!(as_it_is("-", "-re -i clip.ts -c copy -f mpegts -"), "MPEG-TS by a pipe");
    assert!(as_it_is("-", "-re -i clip.ts -c copy -f h264 -"), "a byte stream by a pipe");
    assert!(as_it_is("clip.ts", ""), "a file");
}

/// The last picture of a round is shown for as long as the others.
#[test]
fn a_repeated_file_keeps_its_pace() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let clip = "-f lavfi -i testsrc2=size=320x180:rate=25 -t 2 -c:v libx264 -g 50 clip.ts";
    assert!(ffmpeg(folder.path(), clip).status().unwrap().success());
    let mut receiver = receive(folder.path(), port, &["-o", "got.mp4", "--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let url = format!("rtp://127.0.0.1:{port}");
    let options = ["--copy", "--repeat", "--control", "fixed(rate=6 Mbit/s)"];
    let sender = Live::start(seaway(folder.path(), &[&["send", "clip.ts", &url], &options[..]].concat()));
    receiver.wait_for_frames(145);
    sender.kill();
    receiver.finish();
    let times = times(folder.path(), "got.mp4");
    // Without the last pictures, of which some are missing.
    let steps: Vec<_> = times.windows(2).take(140).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.len() == 140 && steps.iter().all(|step| (0.035..0.045).contains(step)), "{steps:?}");
}

/// What a link of `rate` leaves of the clip: the report, and the times of the pictures that were recorded.
fn squeezed(rate: &str) -> (Value, Vec<f64>) {
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path());
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["-o", "got.mp4", "--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let url = format!("rtp://127.0.0.1:{port}");
    let (control, start) = (format!("fixed(rate={rate})"), ["--start", rate, "--json"]);
    let arguments = [&["send", "clip.ts", &url, "--copy", "--control", &control], start.as_slice()].concat();
    let (status, output, notes) = Live::start(seaway(folder.path(), &arguments)).end();
    assert!(status.success(), "{notes}");
    assert!(notes.contains("the network does not carry the coded pictures"), "{notes}");
    receiver.finish();
    // A decoder has nothing to complain of.
    let times = times(folder.path(), "got.mp4");
    assert_eq!(probed(&folder.path().join("got.mp4")), times.len() as u64);
    (serde_json::from_str(&output).unwrap(), times)
}

fn longest_gap(times: &[f64]) -> f64 {
    times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
}

/// Pictures that no other needs are left out; the recording can be decoded, and no picture stands longer than a group lasts.
#[test]
fn a_squeeze_leaves_out_what_no_other_picture_needs() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let (report, times) = squeezed("1100 kbit/s");
    let count = |name: &str| report["thinned"][name].as_u64().unwrap();
    assert!(count("non_reference") > 15, "{report}");
    assert!(times.len() > 80 && longest_gap(&times) <= 2.05, "{} pictures, {times:?}", times.len());
}

/// Where not even the others fit, the picture stands until the next key frame, and never longer than a group lasts.
#[test]
fn a_hard_squeeze_never_freezes_longer_than_a_group() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let (report, times) = squeezed("400 kbit/s");
    let count = |name: &str| report["thinned"][name].as_u64().unwrap();
    assert!(count("until_key") > 20, "{report}");
    assert!(times.len() >= 4 && longest_gap(&times) <= 2.05, "{} pictures, {times:?}", times.len());
}

/// When the pictures of a file are shown, in seconds.
fn times(folder: &Path, name: &str) -> Vec<f64> {
    let wanted = ["-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0", name];
    let output = Command::new("ffprobe").current_dir(folder).args(wanted).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut times: Vec<f64> =
        text.lines().filter_map(|line| line.trim_end_matches(',').parse().ok()).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The same by a socket: decoded here and coded again.
#[test]
fn a_transport_stream_by_udp_is_sent() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path());
    let (port, input) = (free_port(), format!("udp://127.0.0.1:{}", free_port()));
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    let url = format!("rtp://127.0.0.1:{port}");
    let mut sender = Live::start(seaway(folder.path(), &["send", &input, &url]));
    sender.wait_for_note("has given nothing for 2 s");
    let source = ffmpeg(folder.path(), &format!("-re -i clip.ts -c copy -f mpegts {input}?pkt_size=1316"));
    let source = Live::start(source);
    receiver.wait_for_frames(50);
    source.kill();
    sender.wait_for_note("the input stalls");
    sender.terminate();
    let (status, _, notes) = sender.end();
    assert_eq!(status.code(), Some(3), "{notes}");
    receiver.finish();
}

#[test]
fn what_cannot_be_copied_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("rtp://127.0.0.1:{}", free_port());
    std::fs::write(folder.path().join("raw.y4m"), "YUV4MPEG2 W64 H36 F25:1 C420\n").unwrap();
    for (input, wanted) in [("raw.y4m", "Y4M is no H.264"), ("test:64x48@25", "test:64x48@25")] {
        let (status, _, notes) = Live::start(seaway(folder.path(), &["send", input, &url, "--copy"])).end();
        assert_eq!(status.code(), Some(2), "{notes}");
        assert!(notes.contains(wanted), "{notes}");
    }
}
