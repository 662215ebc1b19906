//! RTP of others with sound beside the pictures, as a session description has them.

use super::plain_rtp::{SENT, WANTED, ffmpeg};
use super::process::{Live, free_port, has};
use super::sound::{beeps, check_in_step, flashes, make_clip, track_durations, with_sound};
use super::stream::receive;
use std::path::Path;

/// Receives the clip from FFmpeg, which sends its sound by `codec`, by its description with `more` behind it. Gives the packets of sound
/// that were played, and what was said.
fn described(folder: &Path, codec: &str, more: &str) -> (u64, String) {
    let (port, sound) = (free_port(), free_port());
    make_clip(folder, "clip.mp4");
    // FFmpeg would shift each output so that its times begin at zero.
    let times = "-avoid_negative_ts disabled";
    let streams = format!(
        "-map 0:v -c:v copy {times} -f rtp rtp://127.0.0.1:{port} \
         -map 0:a {codec} {times} -f rtp rtp://127.0.0.1:{sound} -sdp_file clip.sdp"
    );
    assert!(ffmpeg(folder, &format!("-i clip.mp4 -t 0.1 {streams}")).status().unwrap().success());
    let file = folder.join("clip.sdp");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(folder.join("described.sdp"), text + more).unwrap();
    let options = ["--sdp", "described.sdp", "-o", "got.mp4", "--stats", "json"];
    let mut receiver = receive(folder, port, &options);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let sender = Live::start(ffmpeg(folder, &format!("-re -i clip.mp4 {streams}")));
    let last = receiver
        .wait_for("the pictures", |line| line["frames_displayed"].as_u64() >= Some(SENT * WANTED / 100));
    sender.kill();
    receiver.interrupt();
    let (status, _, notes) = receiver.end();
    assert!(status.success(), "{notes}");
    (last["sound_packets"].as_u64().unwrap_or(0), notes)
}

#[test]
fn sound_is_recorded_in_step_with_the_pictures() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    for (name, codec) in [("opus", "-c:a libopus"), ("aac", "-c:a copy")] {
        let folder = tempfile::tempdir().unwrap();
        let (played, notes) = described(folder.path(), codec, "");
        // FFmpeg puts half a second of AAC into a packet.
        assert!(played > 5 && !notes.contains("not received"), "{name}: {played}, {notes}");
        let recording = folder.path().join("got.mp4");
        assert_eq!(track_durations(&recording)[1].0, name);
        let flashes = with_sound(flashes(&recording), &recording);
        check_in_step(&flashes, &beeps(&recording), 4);
    }
}

/// Pictures are recorded alone, and what is left out is said.
#[test]
fn sound_that_is_not_understood_is_said() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let more = "m=application 9 UDP/BFCP *\r\n";
    let (played, notes) = described(folder.path(), "-c:a pcm_alaw -ar 8000 -ac 1", more);
    assert!(notes.contains("described.sdp: not received: audio as PCMA, m=application"), "{notes}");
    let codecs: Vec<_> =
        track_durations(&folder.path().join("got.mp4")).into_iter().map(|(codec, _)| codec).collect();
    assert_eq!((played, codecs), (0, vec!["h264".to_owned()]));
}
