//! Opus of the input goes to the receiver as it is.

use super::process::{Live, free_port, has, seaway};
use super::sound::{beeps, check_in_step, clip, flashes};
use super::stream::receive;
use std::path::Path;
use std::process::{Command, Stdio};

/// Six seconds with a flash and a beep each second, and Opus by these options.
pub(crate) fn make_clip(folder: &Path, name: &str, opus: &[&str]) {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-v", "error"]).args(clip(25)).args(["-c:a", "libopus"]);
    assert!(command.args(opus).arg(name).status().unwrap().success());
}

/// Time stamps and hashes of the packets of sound.
pub(crate) fn packets(folder: &Path, name: &str) -> Vec<(i64, String)> {
    let mut command = Command::new("ffprobe");
    command.current_dir(folder).args(["-v", "error", "-select_streams", "a", "-show_data_hash", "sha256"]);
    command.args(["-show_entries", "packet=pts,data_hash", "-of", "compact=p=0"]);
    let output = command.arg(name).output().unwrap();
    assert!(output.status.success());
    // Side data may stand between the two, on a line of its own.
    let (mut packets, mut time) = (Vec::new(), None);
    for field in String::from_utf8(output.stdout).unwrap().split(['|', '\n']) {
        match field.split_once('=') {
            Some(("pts", pts)) => time = pts.parse().ok(),
            Some(("data_hash", hash)) => packets.extend(time.take().map(|time| (time, hash.to_owned()))),
            _ => {}
        }
    }
    packets
}

/// Sends `input`; gives what the sender said.
pub(crate) fn send(folder: &Path, input: &str, stdin: Stdio, options: &[&str]) -> String {
    let port = free_port();
    let receiver = receive(folder, port, &["-o", "got.mp4", "--json"]);
    let url = format!("rtp://127.0.0.1:{port}");
    let sender = Live::start_with(seaway(folder, &[&["send", input, &url], options].concat()), stdin);
    let (status, _, notes) = sender.end();
    assert!(status.success(), "{notes}");
    receiver.finish();
    notes
}

/// The recording has the packets of `name`, each as long as `samples`, and their beeps in step.
pub(crate) fn check(folder: &Path, name: &str, samples: i64) {
    let got = check_packets(folder, name);
    let steps: Vec<_> = got.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(steps.iter().all(|step| *step == samples), "{name}: {steps:?}");
    let recording = folder.join("got.mp4");
    check_in_step(&flashes(&recording), &beeps(&recording), 4);
}

/// The recording has packets of `name`, as they are there; gives them.
pub(crate) fn check_packets(folder: &Path, name: &str) -> Vec<(i64, String)> {
    let (wanted, got) = (packets(folder, name), packets(folder, "got.mp4"));
    let hashes = |packets: &[(i64, String)]| packets.iter().map(|(_, hash)| hash.clone()).collect::<Vec<_>>();
    let (wanted, hashes) = (hashes(&wanted), hashes(&got));
    // Those before the first picture of the recording are not in it.
    assert!(hashes.len() * 10 >= wanted.len() * 7, "{} of {}", hashes.len(), wanted.len());
    assert!(wanted.windows(hashes.len()).any(|window| window == hashes), "{name}: {wanted:?}, {hashes:?}");
    got
}

#[test]
fn packets_of_a_file_arrive_as_they_are() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    // 2.5 ms are 400 packets a second, whose headers take more than the pictures.
    let copied = ["--copy", "--control", "fixed(rate=2 Mbit/s)"];
    let files = [("clip.mkv", "60", 2_880, &[][..]), ("clip.mp4", "2.5", 120, &copied)];
    for (name, duration, samples, options) in files {
        let folder = tempfile::tempdir().unwrap();
        make_clip(folder.path(), name, &["-frame_duration", duration]);
        let notes = send(folder.path(), name, Stdio::null(), options);
        assert!(notes.contains("sound: opus, sent as it is") && !notes.contains("left out"), "{notes}");
        check(folder.path(), name, samples);
    }
}

#[test]
fn packets_of_a_pipe_arrive_as_they_are() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), "clip.ts", &["-frame_duration", "20"]);
    let mut source = Command::new("ffmpeg");
    source.current_dir(folder.path()).args(["-v", "error", "-re", "-i", "clip.ts", "-c", "copy"]);
    let mut source = source.args(["-f", "mpegts", "-"]).stdout(Stdio::piped()).spawn().unwrap();
    let pipe = source.stdout.take().unwrap();
    let notes = send(folder.path(), "-", pipe.into(), &["--copy"]);
    source.wait().unwrap();
    assert!(notes.contains("sound: opus, sent as it is"), "{notes}");
    check(folder.path(), "clip.ts", 960);
}

/// A repeated file begins again with its first packet.
#[test]
fn a_repeated_file_stays_in_step() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), "clip.mp4", &["-frame_duration", "60"]);
    send(folder.path(), "clip.mp4", Stdio::null(), &["--repeat", "--duration", "12.5 s"]);
    let recording = folder.path().join("got.mp4");
    check_in_step(&flashes(&recording), &beeps(&recording), 9);
}

/// More than two channels are coded again, and so are packets that do not fit into a datagram.
#[test]
fn what_cannot_go_as_it_is_is_coded_again() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), "surround.mkv", &["-ac", "6"]);
    let notes = send(folder.path(), "surround.mkv", Stdio::null(), &["--duration", "2 s"]);
    assert!(notes.contains("sound: opus, sent as Opus"), "{notes}");
    let large = ["-frame_duration", "60", "-b:a", "256k", "-vbr", "off"];
    make_clip(folder.path(), "large.mkv", &large);
    std::fs::remove_file(folder.path().join("got.mp4")).unwrap();
    let notes = send(folder.path(), "large.mkv", Stdio::null(), &[]);
    assert!(notes.contains("a packet of Opus has 1.92 kB"), "{notes}");
    let recording = folder.path().join("got.mp4");
    check_in_step(&flashes(&recording), &beeps(&recording), 4);
}
