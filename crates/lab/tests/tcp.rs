//! TCP flows of a scenario: goodput, transfers, and sharing with media.

use seaway_lab::scenario::{Override, Scenario, Text};
use seaway_lab::{RunOptions, run};
use seaway_report::summary::{FlowSummary, Summary};
use std::ops::ControlFlow;

/// The comparison's path: 10 Mbit/s, a round trip of 100 ms.
const PATH: &str = r#"
schema = 1
name = "tcp"
duration = "220 s"
warmup = "20 s"
seed = 1

[[link]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "50 ms"
queue = { kind = "drop-tail", packets = 125 }

[[link]]
name = "back"
from = "b"
to = "a"
rate = "10 Mbit/s"
delay = "50 ms"
queue = { kind = "drop-tail", packets = 10000 }

"#;

fn summary(flows: &str, set: &[&str]) -> Summary {
    summary_of(&format!("{PATH}{flows}"), set)
}

fn summary_of(text: &str, set: &[&str]) -> Summary {
    let set: Vec<Override> = set.iter().map(|set| set.parse().expect("key=value")).collect();
    let scenario = Scenario::parse(Text::alone("tcp.toml", text), &set).expect("a valid scenario");
    run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(()))
        .expect("it can be built")
        .summary
}

fn only(summary: Summary) -> FlowSummary {
    summary.flows.into_iter().next().expect("a flow")
}

const NS2_PROFILE: &str = r#"
[[flow]]
name = "tcp"
kind = "tcp"
from = "a"
to = "b"
packet = "1000 B"
min_rto = "200 ms"
initial_window = 2
"#;

#[test]
fn goodput_stands_beside_the_reference_simulator() {
    // Goodput in kbit/s: `docs/models/ns2-profile.md`, section "Acceptance", rule 5.
    for (algorithm, loss, reference, tolerance) in [
        ("reno", 0.01, 864.0, 0.1),
        ("newreno", 0.01, 939.0, 0.1),
        ("sack", 0.01, 936.0, 0.1),
        ("reno", 0.1, 176.0, 0.25),
        ("newreno", 0.1, 199.0, 0.25),
        ("sack", 0.1, 186.0, 0.25),
    ] {
        let set = [
            format!("flow.tcp.algorithm={algorithm}"),
            format!("link.bottleneck.loss={{ kind = \"independent\", rate = {loss} }}"),
            "duration=820 s".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let kbps = only(summary(NS2_PROFILE, &set)).goodput_bps.expect("it was measured") / 1e3;
        assert!(
            (kbps / reference - 1.0).abs() < tolerance,
            "{algorithm} at {loss}: {kbps}, ns-2 {reference}"
        );
    }
}

#[test]
fn an_undisturbed_connection_fills_the_link() {
    let flow = only(summary(NS2_PROFILE, &[]));
    assert!(flow.goodput_bps.expect("measured") > 0.99e7, "{:?}", flow.goodput_bps);
    assert_eq!(flow.control.as_deref(), Some("newreno"));
    let tcp = flow.tcp.expect("what TCP did");
    assert!(tcp.timeouts == 0 && tcp.recoveries > 5 && tcp.transfers.is_none(), "{tcp:?}");
    // Between an empty and a full queue of 100 ms.
    let rtt = flow.rtt_ms.expect("measured");
    assert!(rtt.p50 > 110.0 && rtt.p99 < 205.0, "{rtt:?}");
}

#[test]
fn transfers_come_to_their_end() {
    let once = r#"
[[flow]]
kind = "tcp"
from = "a"
to = "b"
size = "50 kB"
start = "30 s"
"#;
    let flow = only(summary(once, &[]));
    let tcp = flow.tcp.expect("what TCP did");
    assert_eq!(tcp.transfers, Some(1));
    // SYN, then 10, 20 and the last 5 of 35 segments.
    let seconds = tcp.transfer_s.expect("it completed");
    assert!((0.4..0.5).contains(&seconds), "{seconds}");
    assert_eq!(flow.packets.sent, 36);

    let coming_and_going = r#"
[[flow]]
name = "web"
kind = "tcp"
from = "a"
to = "b"
size = { uniform = ["30 kB", "50 kB"] }
idle = "10 s"
starts_idle = true
count = 10
"#;
    let flows = summary(coming_and_going, &[]).flows;
    let offered = flows.iter().filter_map(|flow| flow.goodput_bps).sum::<f64>();
    assert!((0.2e6..0.45e6).contains(&offered), "{offered}");
    let completed: u64 = flows.iter().filter_map(|flow| flow.tcp?.transfers).sum();
    assert!((130..250).contains(&completed), "{completed}");
}

#[test]
fn a_paused_application_sends_nothing() {
    let flow = only(summary(NS2_PROFILE, &["flow.tcp.pause=[[\"50 s\", \"100 s\"]]", "flow.tcp.stop=120 s"]));
    // On for half of the 100 s that are measured.
    let mbps = flow.goodput_bps.expect("measured") / 1e6;
    assert!((4.5..5.2).contains(&mbps), "{mbps}");
    assert_eq!(flow.measured_s, 100.0);
}

/// Rates in Mbit/s of `count` media flows under `control` and of as many TCPs beside them.
fn shared(control: &str, algorithm: &str, packet: &str, count: usize, set: &[&str]) -> (f64, f64, Summary) {
    let flows = format!(
        r#"
[[flow]]
name = "media"
kind = "media"
control = "{control}"
from = "a"
to = "b"
packet = "{packet}"
source = {{ kind = "saturated" }}
count = {count}
start = {{ uniform = ["0 s", "5 s"] }}

[[flow]]
name = "tcp"
kind = "tcp"
algorithm = "{algorithm}"
from = "a"
to = "b"
packet = "{packet}"
min_rto = "200 ms"
initial_window = 2
count = {count}
start = {{ uniform = ["0 s", "5 s"] }}
"#
    );
    let summary = summary(&flows, set);
    let of = |kind: &str| {
        let flows = summary.flows.iter().filter(|flow| flow.kind == kind);
        flows.filter_map(|flow| flow.received_bps).sum::<f64>() / 1e6
    };
    (of("media"), of("tcp"), summary)
}

const RED: &str = "link.bottleneck.queue={ kind = \"red\" }";

#[test]
fn tcp_and_tfrc_share_a_link() {
    let (media, tcp, summary) = shared("tfrc", "sack", "1000 B", 4, &[RED]);
    assert!(media + tcp > 9.8, "media {media}, tcp {tcp}");
    assert!((0.5..2.0).contains(&(media / tcp)), "media {media}, tcp {tcp}");
    assert!(summary.fairness.as_ref().expect("eight flows").jain > 0.8, "{:?}", summary.fairness);
}

/// `docs/models/evaluation.md`, section "Fairness beside TCP": a CTFRC that is worth one connection is a TFRC; UTFRC
/// is one in the long run.
#[test]
fn relatives_of_tfrc_share_a_link() {
    for control in ["ctfrc(max=1)", "multfrc(max=1)", "utfrc", "multfrc(form=weighted, n=1)"] {
        let (media, tcp, _) = shared(control, "sack", "1000 B", 1, &[RED, "link.bottleneck.rate=2 Mbit/s"]);
        assert!((0.5..2.0).contains(&(media / tcp)), "{control}: media {media}, tcp {tcp}");
    }
}

/// `docs/models/window-transport.md`, section "Acceptance", rule 2: beside a Reno with segments of the same size the
/// difference is a fifth at most.
#[test]
fn the_window_is_a_tcp() {
    let path = ["link.bottleneck.rate=1 Mbit/s", "link.back.rate=1 Mbit/s", RED];
    let (media, tcp, _) = shared("window(smss=552 B)", "reno", "552 B", 1, &path);
    assert!(((media - tcp) / tcp).abs() <= 0.2, "window {media}, tcp {tcp}");
}

/// S002's transport whole, beside a Reno with segments of its size: within a fifth of each other, and most of what is
/// shown was repaired where it was lost.
#[test]
fn the_window_on_its_own_wire_is_a_tcp() {
    let flows = r#"
[[flow]]
name = "window"
kind = "window"
from = "a"
to = "b"
rate = "2 Mbit/s"
buffer = "8 s"
fifo = "1 s"

[[flow]]
name = "tcp"
kind = "tcp"
algorithm = "reno"
from = "a"
to = "b"
packet = "550 B"
initial_window = 2
"#;
    let path = ["link.bottleneck.rate=1 Mbit/s", "link.back.rate=1 Mbit/s", RED];
    let summary = summary(flows, &path);
    let rate = |index: usize| summary.flows[index].received_bps.expect("measured") / 1e6;
    let (window, tcp) = (rate(0), rate(1));
    assert!(window + tcp > 0.95, "window {window}, tcp {tcp}");
    assert!(((window - tcp) / tcp).abs() <= 0.2, "window {window}, tcp {tcp}");
    let flow = &summary.flows[0];
    let frames = flow.frames.expect("it has frames");
    assert!(frames.displayed > 700 && frames.lost * 10 < frames.displayed, "{frames:?}");
    assert!(flow.packets.repaired.expect("counted") > 0, "{:?}", flow.packets);
}

/// A CUBIC keeps its queue alike for seconds, and a BBR a few packets of it, which may be no more than is wanted at the least rate: who
/// takes the one for a longer path or the other for flows of its own kind sends next to nothing beside it, for ever.
#[test]
fn a_queue_that_a_tcp_keeps_leaves_room() {
    const LINK: &str = r#"
schema = 1
name = "lan"
duration = "60 s"
warmup = "20 s"

[[link]]
name = "bottleneck"
from = "a"
to = "b"
both = true
rate = "4 Mbit/s"
delay = "0 ms"
queue = { kind = "drop-tail", time = "100 ms" }

[[flow]]
name = "media"
kind = "media"
control = "seaway"
from = "a"
to = "b"
source = { kind = "frames" }
rate = { min = "150 kbit/s", start = "300 kbit/s", max = "8 Mbit/s" }

[[flow]]
name = "tcp"
kind = "tcp"
algorithm = "cubic"
from = "a"
to = "b"
min_rto = "200 ms"
delayed_ack = true
"#;
    let cubic = ["1.3 s", "2 s", "3.1 s", "5 s"].map(|start| ("cubic", "0 ms", "100 ms", start, 0.8));
    let short = [
        ("bbr", "0.05 ms", "100 ms", "0 s", 0.8),
        ("bbr", "0.05 ms", "40 ms", "0 s", 0.7),
        ("sack", "0.05 ms", "40 ms", "0.4 s", 0.8),
    ];
    for (algorithm, delay, queue, start, least) in cubic.into_iter().chain(short) {
        let set =
            [("flow.tcp.algorithm", algorithm), ("flow.tcp.start", start), ("link.bottleneck.delay", delay)];
        let set = set.map(|(key, value)| format!("{key}={value}"));
        let queue = format!("link.bottleneck.queue.time={queue}");
        let summary = summary_of(LINK, &[&set[0], &set[1], &set[2], &queue]);
        let media = summary.flows[0].received_bps.expect("it was measured") / 1e6;
        assert!(media > least, "{algorithm}, {queue}, from {start}: {media} Mbit/s of 4");
    }
}
