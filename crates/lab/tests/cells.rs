//! Flows of every kind across cells.

use seaway_lab::scenario::{Scenario, Text};
use seaway_lab::{RunOptions, run};
use seaway_report::summary::{FlowSummary, Summary};
use seaway_testkit::assert_refused;
use std::ops::ControlFlow;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(Text::alone("test.toml", text), &[]).map_err(|error| error.to_string())
}

fn simulate(text: &str) -> Summary {
    let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap().summary
}

const HEAD: &str = r#"
schema = 1
name = "cells"
duration = "20 s"
warmup = "5 s"

[[link]]
name = "wire"
from = "base"
to = "host"
both = true
rate = "100 Mbit/s"
delay = "5 ms"
queue = { kind = "drop-tail", packets = 200 }
"#;

const WIMAX: &str = r#"
[[wimax]]
name = "air"
base = { name = "base" }
rate = "2 Mbit/s"
station = [{ name = "s0", queue = { packets = 50 } }, { name = "s1" }]
"#;

const CELLULAR: &str = r#"
[[cellular]]
name = "air"
base = { name = "base" }
downlink = "4 Mbit/s"
uplink = "2 Mbit/s"
user = [{ name = "s0" }, { name = "s1", queue = { packets = 50 } }]
"#;

fn flow<'s>(summary: &'s Summary, name: &str) -> &'s FlowSummary {
    summary.flows.iter().find(|flow| flow.name == name).unwrap()
}

#[test]
fn media_tcp_and_udp_share_a_station_by_their_services() {
    let flows = r#"
[[flow]]
name = "video"
kind = "media"
control = "tfrc"
source = { kind = "saturated" }
from = "s0"
to = "host"
service = "rtps"
[[flow]]
name = "file"
kind = "tcp"
from = "s0"
to = "host"
service = "nrtps"
[[flow]]
name = "voice"
kind = "udp"
rate = "64 kbit/s"
packet = "200 B"
from = "s0"
to = "host"
service = "rtps"
[[flow]]
name = "other"
kind = "tcp"
from = "s1"
to = "host"
service = "be"
"#;
    let summary = simulate(&format!("{HEAD}{WIMAX}{flows}"));
    let rate = |name| flow(&summary, name).received_bps.unwrap();
    // Strict order: the file of station 0 gets what the video leaves, station 1 is not touched by either.
    assert!(rate("video") > 1.2e6 && rate("file") < 0.6e6, "{} {}", rate("video"), rate("file"));
    assert!(rate("other") > 1.85e6, "{}", rate("other"));
    assert!((rate("voice") - 64e3).abs() < 7e3, "{}", rate("voice"));
    let names: Vec<&str> = summary.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "wire",
            "wire/back",
            "air/s0/up/rtps",
            "air/s0/up/nrtps",
            "air/s0/down/control",
            "air/s1/up/be",
            "air/s1/down/control"
        ]
    );
    let queue = &summary.links[2];
    assert!(queue.utilisation > 0.6 && queue.queue.max <= 50.0, "{queue:?}");
}

/// Every controller reaches the far end over either cell, up and down.
#[test]
fn every_controller_works_over_every_cell() {
    for cell in [WIMAX, CELLULAR] {
        for control in seaway_control::Registry::builtin().controllers() {
            let media = |name: &str, from: &str, to: &str| {
                let rate = "rate = { min = \"150 kbit/s\", start = \"300 kbit/s\", max = \"1 Mbit/s\" }";
                format!(
                    "[[flow]]\nname = \"{name}\"\nkind = \"media\"\ncontrol = \"{}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{rate}\nsource = {{ kind = \"frames\" }}\n",
                    control.name
                )
            };
            let text = format!("{HEAD}{cell}{}{}", media("up", "s0", "host"), media("down", "host", "s1"));
            let summary = simulate(&text);
            for name in ["up", "down"] {
                let received = flow(&summary, name).received_bps.unwrap();
                assert!(received > 1e5, "{} {name}: {received} over {cell}", control.name);
            }
        }
    }
}

#[test]
fn stations_reach_one_another_through_the_base() {
    let flows = "[[flow]]\nname = \"file\"\nkind = \"tcp\"\nfrom = \"s0\"\nto = \"s1\"\n";
    for cell in [WIMAX, CELLULAR] {
        let summary = simulate(&format!("{HEAD}{cell}{flows}"));
        assert!(flow(&summary, "file").received_bps.unwrap() > 7e5, "{cell}");
    }
}

#[test]
fn mistakes_in_cells_are_named_with_their_place() {
    let wimax =
        format!("{HEAD}{WIMAX}[[flow]]\nkind = \"udp\"\nrate = \"1 Mbit/s\"\nfrom = \"s0\"\nto = \"host\"\n");
    let cellular = wimax.replace(WIMAX, CELLULAR);
    assert_refused(
        &wimax,
        r#"rate = "2 Mbit/s" | raet = "2 Mbit/s" | test.toml:19:1: unknown key `raet`; did you mean rate?
rate = "2 Mbit/s" | ratio = [1, 0] | test.toml:19:9: `ratio`: expected [downlink, uplink]
rate = "2 Mbit/s" | symbols = [11, 35] | `symbols`: expected [downlink, uplink], together at most 47
rate = "2 Mbit/s" | modulation = "qpsk" | unknown value `qpsk`; there are: qpsk-1/2
rate = "2 Mbit/s" | rate = "2 Mbit/s"\ngrants = "dynamic" | `rate`: applies only where grants = "static"
rate = "2 Mbit/s" | polling = { rtps = "5 ms" } | `polling`: applies only where grants = "dynamic"
rate = "2 Mbit/s" | frame = "1 ms" | `frame`: found 1 ms: expected 2 ms to 20 ms
rate = "2 Mbit/s" | rate = "1 kbit/s" | granted 0 B a frame: expected at least 9 B
rate = "2 Mbit/s" | control_slots = 420 | `control_slots`: expected fewer than the 420 slots
rate = "2 Mbit/s" | downlink = "fast" | unknown value `fast`; there are: priority, shared
packets = 50 | packets = 0 | test.toml:20:
packets = 50 | kind = "cod" | unknown value `cod`
name = "s1" | name = "s0" | there are two nodes named `s0` in it
name = "air" | name = "wire" | there are two link or cells named `wire`
kind = "udp" | kind = "udp"\nservice = "rtsp" | unknown value `rtsp`; did you mean rtps
kind = "udp" | kind = "udp"\nservice = "ugs" | expected a rate in `ugs` for what is sent with service"#,
        |text| parse(text).err(),
    );
    assert_refused(
        &cellular,
        r#"kind = "udp" | kind = "udp"\nservice = "ugs" | `service` applies only to a flow whose way crosses a [[wimax]] cell
downlink = "4 Mbit/s"\n |  | `user.0.downlink`: expected a mean rate or a trace here
downlink = "4 Mbit/s" | downlink = 4 | invalid type: integer `4`, expected a rate
name = "s0" | name = "s0", speed = "3" | expected a speed from 0 to 500 such as "3 km/h"
name = "s0" | name = "s0", downlink = { file = "x" } | no file can be read here
downlink = "4 Mbit/s" | harq = { error = 0.9 }\ndownlink = "4 Mbit/s" | `harq.error`: found 0.9: expected 0 to 0.5
downlink = "4 Mbit/s" | background = { intensity = -1.0 }\ndownlink = "4 Mbit/s" | `background.intensity`: found -1: expected at least 0"#,
        |text| parse(text).err(),
    );
}
