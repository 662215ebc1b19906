//! Bonding: `--via` twice, in two namespaces with an emulated link each.

use super::emulate::Links;
use super::process::{Live, seaway};
use serde_json::Value;
use std::path::Path;

/// Rate of each lane.
const RATE: f64 = 2e6;

fn link(delay: &str) -> String {
    super::lane::link(&format!(
        "rate = \"2 Mbit/s\"\ndelay = \"{delay}\"\nqueue = {{ kind = \"drop-tail\", packets = 100 }}"
    ))
}

/// Two seconds of noise. It takes whatever rate the controllers allow: the synthetic scene is coded with the finest quantiser from 3 Mbit/s on.
pub(crate) fn write_noise(path: &Path) {
    const SIZE: usize = 320 * 180;
    let mut file = b"YUV4MPEG2 W320 H180 F25:1 Ip A1:1 C420\n".to_vec();
    let mut state = 1u32;
    for _ in 0..50 {
        file.extend(b"FRAME\n");
        file.extend((0..SIZE).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            64 + (state >> 25) as u8
        }));
        file.extend([128; SIZE / 2]);
    }
    std::fs::write(path, file).unwrap();
}

/// A keyed session over lanes of 20 and 60 ms, of which the sender uses those of `via`.
fn session(lanes: &Links, via: &[usize]) -> (Live, Live) {
    write_noise(&lanes.path("noise.y4m"));
    let mut receiver = lanes.seaway(1, &["recv", "rtp://0.0.0.0:5004", "--stats", "json"]);
    let url = receiver.wait_for_note("send to rtp://").split_whitespace().last().unwrap().to_owned();
    let key = url.split_once('?').expect("a key").1;
    let to = format!("rtp://{}:5004?{key}", Links::FAR);
    let mut arguments =
        vec!["send", "noise.y4m", &to, "--repeat", "--rate", "0.3..8Mbit/s", "--stats", "json"];
    let devices: Vec<String> = via.iter().map(|lane| lanes.device(0, *lane)).collect();
    devices.iter().for_each(|device| arguments.extend(["--via", device]));
    (receiver, lanes.seaway(0, &arguments))
}

/// The first sample from a time of the process on.
fn sample(live: &mut Live, from: f64) -> Value {
    live.wait_for(&format!("{from} s"), |line| {
        line["type"] == "sample" && line["time"].as_f64().is_some_and(|time| time >= from)
    })
}

/// The mean rate received between two times, bit/s.
fn received(receiver: &mut Live, from: f64, to: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    let mut time = from;
    while time < to {
        let sample = sample(receiver, time);
        sum += sample["received_bps"].as_f64().unwrap_or(0.0);
        count += 1.0;
        time = sample["time"].as_f64().unwrap() + 0.5;
    }
    sum / count
}

#[test]
fn two_lanes_carry_one_video_and_one_may_fail() {
    let Some(lanes) = Links::new(&[link("20 ms"), link("60 ms")]) else { return };
    let (mut receiver, mut sender) = session(&lanes, &[0, 1]);
    receiver.wait_for_frames(100);
    let begin = sample(&mut receiver, 0.0)["time"].as_f64().unwrap();
    let used = received(&mut receiver, begin + 4.0, begin + 12.0);
    assert!(used >= 0.9 * 2.0 * RATE, "{used} bit/s over both");
    let lane = |sender: &mut Live, lane: usize, state: &str| {
        sender.wait_for(&format!("lane {lane} is {state}"), |line| line["lanes"][lane]["state"] == state);
    };
    lanes.set_link(0, false);
    lane(&mut sender, 0, "down");
    let down = receiver.wait_for("the outage", |line| {
        line["received_bps"].as_f64().is_some_and(|rate| (1.0..1.2 * RATE).contains(&rate))
    });
    let down = down["time"].as_f64().unwrap();
    let alone = received(&mut receiver, down + 2.0, down + 9.0);
    assert!((0.8 * RATE..1.1 * RATE).contains(&alone), "{alone} bit/s over one");
    lanes.set_link(0, true);
    lane(&mut sender, 0, "up");
    let again = received(&mut receiver, down + 14.0, down + 18.0);
    assert!(again >= 0.8 * 2.0 * RATE, "{again} bit/s over both again");
    sender.finish_sender();
    let output = receiver.finish();
    let freezes: Vec<&str> = output.lines().filter(|line| line.contains("picture frozen")).collect();
    assert!(freezes.is_empty(), "{freezes:?}");
}

/// The same outage with one lane alone.
#[test]
fn one_lane_alone_freezes() {
    let Some(lanes) = Links::new(&[link("20 ms"), link("60 ms")]) else { return };
    let (mut receiver, sender) = session(&lanes, &[0]);
    let shown = receiver.wait_for_frames(50);
    lanes.set_link(0, false);
    let begin = sample(&mut receiver, 0.0)["time"].as_f64().unwrap();
    let still = sample(&mut receiver, begin + 3.0)["frames_displayed"].as_u64().unwrap();
    let later = sample(&mut receiver, begin + 8.0)["frames_displayed"].as_u64().unwrap();
    assert_eq!(still, later, "after {shown}");
    drop((receiver, sender));
}

/// The route prefers the first.
#[test]
fn an_interface_prevails_over_the_route() {
    let Some(lanes) = Links::new(&[link("20 ms"), link("60 ms")]) else { return };
    let mut receiver = lanes.seaway(1, &["recv", "rtp://0.0.0.0:5004", "--stats", "json"]);
    let url = receiver.wait_for_note("send to rtp://").split_whitespace().last().unwrap().to_owned();
    let to = format!("rtp://{}:5004?{}", Links::FAR, url.split_once('?').expect("a key").1);
    let device = lanes.device(0, 1);
    let mut sender =
        lanes.seaway(0, &["send", "test:320x180@25", &to, "--stats", "json", "--interface", &device]);
    // The way of the second is there and back in 120 ms.
    let rtt = |line: &Value| line["rtt_ms"].as_f64().is_some_and(|rtt| (115.0..300.0).contains(&rtt));
    sender.wait_for("the round-trip time of the second", rtt);
    lanes.set_link(0, false);
    let shown = receiver.wait_for_frames(0);
    receiver.wait_for_frames(shown + 50);
    sender.finish_sender();
    receiver.finish();
}

#[test]
fn wrong_interfaces_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["--interface", "none0"], "there is no interface none0"),
        (&["--interface", "lo", "--via", "lo"], "cannot be used with"),
        (&["--interface", "127.0.0.2", "--bind", "127.0.0.1:0"], "the local address is 127.0.0.1"),
        (&["--via", "none0"], "there is no interface none0"),
        (&["--via", "a/b"], "expected an interface"),
        (&["--via", "192.0.2.1"], "192.0.2.1"),
        (&["--via", "lo", "--via", "lo"], "lo is given twice"),
        (&["--via", "lo", "--via", "127.0.0.1", "--control", "tfrc(count=4)"], "connections of its own"),
        (&["--via", "lo", "--sockets"], "cannot be used with"),
    ];
    let to_receiver = cases.map(|(via, expected)| ("rtp://127.0.0.1:9", via, expected));
    let to_others: [(&str, &[&str], &str); 2] = [
        ("whip+http://127.0.0.1:9/live", &["--via", "lo"], "--via does not apply to a media server"),
        ("rtp://127.0.0.1:9", &["--via", "lo", "--sdp", "-"], "cannot be used with"),
    ];
    for (to, via, expected) in to_receiver.into_iter().chain(to_others) {
        let arguments = [&["send", "test:320x180@25", to][..], via].concat();
        let (status, output, notes) = Live::start(seaway(folder.path(), &arguments)).end();
        assert_eq!((status.code(), output.as_str()), (Some(2), ""), "{via:?}: {notes}");
        assert!(notes.contains(expected), "{via:?}: {notes}");
    }
}

/// Addresses of this host are lanes too; a sender by way of both shows each.
#[test]
fn local_addresses_are_lanes() {
    let (folder, port) = (tempfile::tempdir().unwrap(), super::process::free_port());
    let mut receiver = super::stream::receive(folder.path(), port, &["--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let url = format!("rtp://127.0.0.1:{port}");
    let via = ["--via", "127.0.0.1", "--via", "127.0.0.2", "--rate", "2..4Mbit/s", "--stats", "json"];
    let arguments = [&["send", "test:640x360@25", &url][..], &via].concat();
    let mut sender = Live::start(seaway(folder.path(), &arguments));
    receiver.wait_for_frames(100);
    let both = sender.wait_for("both lanes", |line| {
        let lane = |index: usize| &line["lanes"][index];
        (0..2).all(|index| lane(index)["state"] == "up" && lane(index)["rtt_ms"].is_number())
    });
    assert_eq!(
        (both["lanes"][0]["via"].as_str(), both["lanes"][1]["via"].as_str()),
        (Some("127.0.0.1"), Some("127.0.0.2"))
    );
    sender.finish();
    receiver.finish();
}
