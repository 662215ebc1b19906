//! SRT by FFmpeg at either end, as the field guide has it.

use super::copy::ffmpeg;
use super::process::{Live, free_port, has, seaway, skip};
use super::stream::probed;
use std::path::Path;
use std::process::{Command, Stdio};

/// FFmpeg with SRT.
pub(crate) fn is_there() -> bool {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return false;
    }
    let output = Command::new("ffmpeg").args(["-hide_banner", "-protocols"]).output().unwrap();
    let has_srt = String::from_utf8_lossy(&output.stdout).lines().any(|line| line.trim() == "srt");
    if !has_srt {
        skip("FFmpeg has no SRT");
    }
    has_srt
}

fn piped(folder: &Path, arguments: &str) -> std::process::Child {
    ffmpeg(folder, arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// An SRT caller, as OBS is one, into `send`; what `recv` gives, by SRT to a player that listens.
#[test]
fn a_caller_is_sent_on_and_a_listener_is_served() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |port: u16, mode: &str| format!("srt://127.0.0.1:{port}?mode={mode}");
    let (port, near, far) = (free_port(), free_port(), free_port());
    let listener = Live::start({
        let mut command = ffmpeg(folder.path(), "-i");
        command.args([&at(far, "listener"), "-c", "copy", "far.mp4"]);
        command
    });
    let listen = format!("rtp://127.0.0.1:{port}");
    let mut receiver = seaway(folder.path(), &["recv", &listen, "-o", "-"]);
    let mut receiver = receiver.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = ffmpeg(folder.path(), "-probesize 50000 -r 25 -f h264 -i - -c copy -f mpegts");
    let mut out = out.arg(at(far, "caller")).stdin(receiver.stdout.take().unwrap()).spawn().unwrap();
    let mut input = piped(folder.path(), &format!("-i {} -c copy -f mpegts -", at(near, "listener")));
    let sender = seaway(folder.path(), &["send", "-", &listen]);
    let sender = Live::start_with(sender, input.stdout.take().unwrap().into());
    let scene = "-re -f lavfi -i testsrc2=size=320x180:rate=25 -f lavfi -i sine -t 12 -c:v libx264 -preset ultrafast -g 25 -bf 0 -c:a aac";
    let mut caller = ffmpeg(folder.path(), &format!("{scene} -f mpegts {}", at(near, "caller")));
    // A caller gives up before the other end listens.
    assert!((0..20).any(|_| caller.status().unwrap().success()));
    let (status, _, notes) = sender.end();
    assert!(status.success() && notes.contains("sound: aac, sent as it is"), "{notes}");
    input.wait().unwrap();
    super::process::signal("INT", receiver.id());
    assert!(receiver.wait().unwrap().success());
    out.wait().unwrap();
    listener.end();
    // FFmpeg looks at the stream for five seconds before it gives any.
    let pictures = probed(&folder.path().join("far.mp4"));
    assert!(pictures >= 100, "{pictures} pictures");
}
