//! An external encoder.

use super::process::{Live, free_port, has, seaway, skip};
use super::stream::{INPUT, receive};
use seaway_media::input::open;
use seaway_session::Limits;
use seaway_stream::sink::Displayed;
use seaway_stream::{Receiver, Sender};
use seaway_units::{Bitrate, RemoteTimestamp, TimeDelta, Timestamp};
use std::process::Command;
use std::time::Duration;

/// The helper in `examples` with x264; `None` where GStreamer or its Python side is not there.
fn x264() -> Option<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/gstreamer_encoder.py");
    let test = "import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst";
    let has_python = Command::new("/usr/bin/python3").args(["-c", test]).output();
    if !has("gst-launch-1.0", "--version") || !has_python.is_ok_and(|output| output.status.success()) {
        skip("no GStreamer in Python");
        return None;
    }
    let encoder = "x264enc tune=zerolatency speed-preset=superfast key-int-max=250 vbv-buf-capacity=100";
    Some(format!("/usr/bin/python3 {script} --correct '{encoder}' 'bitrate={{kbps}}'"))
}

/// From 1.5 Mbit/s to 800 kbit/s: the pictures of each of two seconds before, and of four from a second after on, have what the target
/// says in that second, to a tenth. By picture, because a busy machine has more of them in one second and fewer in the next, and that second's
/// target, because what a busy machine loses is repaired at its expense.
#[test]
fn an_external_encoder_follows_within_a_tenth() {
    let Some(command) = x264() else { return };
    let (send_frame, frames) = std::sync::mpsc::channel();
    let receiver = Receiver::builder("127.0.0.1:0".parse().unwrap()).without_decoder();
    let mut receiver = receiver
        .sink(move |displayed: &Displayed<'_>| {
            let captured = displayed.frame.captured.map(RemoteTimestamp::as_nanos);
            let _ = send_frame.send((captured, displayed.frame.data.size().as_bytes()));
        })
        .start()
        .unwrap();
    let rate = Bitrate::from_kbps(1500);
    let limits = Limits { min: Bitrate::from_kbps(150), start: rate, max: Bitrate::from_mbps(4) };
    let pictures = (open("test:640x360@25").unwrap(), false);
    let mut sender = Sender::builder(receiver.local_address())
        .control("fixed(rate=1500 kbit/s)".parse().unwrap())
        .limits(limits)
        .external_encoder(command, Some(pictures))
        .start()
        .unwrap();
    let mut targets = wait(&mut sender, &mut receiver, 5);
    let changed = sender.now();
    sender.set_control("fixed(rate=800 kbit/s)".parse().unwrap());
    targets.extend(wait(&mut sender, &mut receiver, 6));
    sender.close().unwrap();
    receiver.close().unwrap();
    let frames: Vec<(u64, u64)> = frames.iter().filter_map(|(at, size)| Some((at?, size))).collect();
    let ratio = |begin: Timestamp, second: i64| {
        let begin = begin + TimeDelta::from_secs(second);
        let second = begin..begin + TimeDelta::from_secs(1);
        let nanos = second.start.as_nanos()..second.end.as_nanos();
        let sizes: Vec<u64> =
            frames.iter().filter(|(at, _)| nanos.contains(at)).map(|(_, size)| *size).collect();
        assert!(sizes.len() >= 12, "{} pictures in a second", sizes.len());
        let targets = targets.iter().filter(|(at, _)| second.contains(at));
        let (sum, count) =
            targets.fold((0.0, 0.0), |(sum, count), (_, target)| (sum + target.as_bps_f64(), count + 1.0));
        25.0 * 8.0 * sizes.iter().sum::<u64>() as f64 / sizes.len() as f64 / (sum / count)
    };
    let ratios: Vec<f64> = [-3, -2, 1, 2, 3, 4].map(|second| ratio(changed, second)).into();
    assert!(ratios.iter().all(|ratio| (0.9..=1.1).contains(ratio)), "{ratios:.3?} of {targets:?}");
    // What was lost may have lowered it just before the change.
    let before =
        targets.iter().filter(|(at, _)| *at < changed).map(|(_, target)| target.as_bps()).max().unwrap();
    let after = targets.last().unwrap().1.as_bps();
    assert!(after * 3 < before * 2 && after > 600_000, "{before} then {after}");
}

/// Takes events for so many seconds; the targets of the encoder in that time.
fn wait(sender: &mut Sender, receiver: &mut Receiver, seconds: i64) -> Vec<(Timestamp, Bitrate)> {
    let (end, mut targets) = (sender.now() + TimeDelta::from_secs(seconds), Vec::new());
    while sender.now() < end {
        while sender.next_event(Duration::from_millis(20)).is_some() {}
        while receiver.poll_event().is_some() {}
        targets.extend(sender.state().source.target.map(|target| (sender.now(), target)));
    }
    targets
}

/// By the command line: pictures of an input, and those of the encoder's own camera.
#[test]
fn the_command_line_runs_another_encoder() {
    let Some(command) = x264() else { return };
    let camera = "videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=180,framerate=25/1";
    for (input, command) in [(INPUT, command.clone()), ("none", format!("{command} '{camera}'"))] {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
        let url = format!("rtp://127.0.0.1:{port}");
        let sender = Live::start(seaway(folder.path(), &["send", input, &url, "--encoder", &command]));
        receiver.wait_for_frames(50);
        sender.finish();
        receiver.finish();
    }
}

#[test]
fn an_encoder_that_fails_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let receiver = receive(folder.path(), port, &[]);
    let url = format!("rtp://127.0.0.1:{port}");
    let arguments = ["send", INPUT, &url, "--encoder", "exit 7"];
    let (status, _, notes) = Live::start(seaway(folder.path(), &arguments)).end();
    receiver.finish_empty();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(notes.contains("exit status: 7: exit 7"), "{notes}");
}
