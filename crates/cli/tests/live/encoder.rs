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
/// says, to a tenth. By picture, because a busy machine has more of them in one second and fewer in the next.
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
    wait(&mut sender, &mut receiver, 5);
    let before = sender.state().source.target.unwrap();
    let changed = sender.now();
    sender.set_control("fixed(rate=800 kbit/s)".parse().unwrap());
    wait(&mut sender, &mut receiver, 6);
    let after = sender.state().source.target.unwrap();
    sender.close().unwrap();
    receiver.close().unwrap();
    assert!(after.as_bps() * 3 < before.as_bps() * 2, "{before} then {after}");
    let frames: Vec<(u64, u64)> = frames.iter().filter_map(|(at, size)| Some((at?, size))).collect();
    let rate = |begin: Timestamp, second: u64| {
        let (begin, second_long) = (begin.as_nanos() + second * 1_000_000_000, 1_000_000_000);
        let within = || frames.iter().filter(|(at, _)| (begin..begin + second_long).contains(at));
        assert!(within().count() >= 12, "{} pictures in a second", within().count());
        25 * within().map(|(_, size)| size * 8).sum::<u64>() / within().count() as u64
    };
    let assert_follows = |begin: Timestamp, seconds: std::ops::Range<u64>, target: Bitrate| {
        let ratios: Vec<f64> =
            seconds.map(|second| rate(begin, second) as f64 / target.as_bps_f64()).collect();
        assert!(ratios.iter().all(|ratio| (0.9..=1.1).contains(ratio)), "{ratios:.3?} of {target}");
    };
    assert_follows(changed - TimeDelta::from_secs(3), 0..2, before);
    assert_follows(changed, 1..5, after);
}

/// Takes events for so many seconds.
fn wait(sender: &mut Sender, receiver: &mut Receiver, seconds: i64) {
    let end = sender.now() + TimeDelta::from_secs(seconds);
    while sender.now() < end {
        while sender.next_event(Duration::from_millis(20)).is_some() {}
        while receiver.poll_event().is_some() {}
    }
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
