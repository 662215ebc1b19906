//! Bonding: `--via` twice, in two namespaces with an emulated link each.

use super::emulate::Links;
use super::process::{Live, seaway};
use serde_json::Value;

/// Rate of each lane.
const RATE: f64 = 2e6;

fn link(delay: &str) -> String {
    super::lane::link(&format!(
        "rate = \"2 Mbit/s\"\ndelay = \"{delay}\"\nqueue = {{ kind = \"drop-tail\", packets = 100 }}"
    ))
}

/// A keyed session over lanes of 20 and 60 ms, of which the sender uses those of `via`.
fn session(lanes: &Links, via: &[usize]) -> (Live, Live) {
    let mut receiver = lanes.seaway(1, &["recv", "rtp://0.0.0.0:5004", "--stats", "json"]);
    let url = receiver.wait_for_note("send to rtp://").split_whitespace().last().unwrap().to_owned();
    let key = url.split_once('?').expect("a key").1;
    let to = format!("rtp://{}:5004?{key}", Links::FAR);
    let mut arguments = vec!["send", "test:1280x720@25", &to, "--rate", "0.3..8Mbit/s", "--stats", "json"];
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

/// The mean of what the controllers of all lanes allow together over the next samples, bit/s.
fn allowed(sender: &mut Live) -> f64 {
    let rates = (0..40).map(|_| {
        let sample = sender.wait_for("both lanes", |line| line["lanes"].is_array());
        let lanes = sample["lanes"].as_array().unwrap();
        lanes.iter().map(|lane| lane["allowance_bps"].as_f64().unwrap()).sum::<f64>()
    });
    rates.sum::<f64>() / 40.0
}

#[test]
fn two_lanes_carry_one_video_and_one_may_fail() {
    let Some(lanes) = Links::new(&[link("20 ms"), link("60 ms")]) else { return };
    let (mut receiver, mut sender) = session(&lanes, &[0, 1]);
    receiver.wait_for_frames(100);
    let begin = sample(&mut receiver, 0.0)["time"].as_f64().unwrap();
    let used = received(&mut receiver, begin, begin + 8.0);
    // The encoder leaves a sixth of its target unused, on one link of 4 Mbit/s too.
    assert!(used >= 1.4 * RATE, "{used} bit/s over both");
    sender.wait_for("8 s", |line| line["time"].as_f64() >= Some(8.0));
    let allowed = allowed(&mut sender);
    assert!(allowed >= 0.9 * 2.0 * RATE, "{allowed} bit/s allowed");
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
    assert!((0.6 * RATE..1.1 * RATE).contains(&alone), "{alone} bit/s over one");
    lanes.set_link(0, true);
    lane(&mut sender, 0, "up");
    let again = received(&mut receiver, down + 14.0, down + 18.0);
    assert!(again >= 1.4 * RATE, "{again} bit/s over both again");
    sender.interrupt();
    // On a busy machine the encoder may be too slow.
    let (status, _, notes) = sender.end();
    assert!(matches!(status.code(), Some(0 | 3)), "{notes}");
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

#[test]
fn wrong_interfaces_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 6] = [
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
