//! Watching without Seaway: FFmpeg by the session description.

use super::process::{Live, free_port, has};
use super::stream::send;
use seaway_net::Clock;
use seaway_units::TimeDelta;
use std::process::Command;

#[test]
fn ffmpeg_plays_by_the_session_description() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = ["--control", "fixed(rate=1 Mbit/s)", "--key-every", "1 s", "--sdp", "stream.sdp"];
    let sender = send(folder.path(), free_port(), &options);
    let description = folder.path().join("stream.sdp");
    let clock = Clock::start();
    while !description.exists() {
        assert!(
            clock.now().since(seaway_units::Timestamp::ZERO) < TimeDelta::from_secs(30),
            "no description"
        );
        clock.sleep_until(clock.now() + TimeDelta::from_millis(20));
    }
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder.path()).args(["-hide_banner", "-protocol_whitelist", "file,udp,rtp"]);
    command.args(["-i", "stream.sdp", "-frames:v", "30", "-progress", "-", "-f", "null", "-"]);
    let (status, output, notes) = Live::start(command).end();
    assert!(status.success(), "{notes}");
    let frames = output.lines().filter_map(|line| line.strip_prefix("frame=")).next_back().unwrap();
    assert_eq!(frames.trim(), "30", "{notes}");
    assert!(notes.contains("320x180"), "{notes}");
    sender.finish();
}
