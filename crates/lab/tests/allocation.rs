//! In the steady state a run allocates nothing for a packet, dropped or delivered: what twice the time takes beyond
//! once the time is the growth of a few tables.

use seaway_lab::scenario::{Override, Scenario, Text};
use seaway_lab::{RunOptions, run};
use seaway_report::Summary;
use std::ops::ControlFlow;

const LINK: &str = r#"
schema = 1
name = "drops"
duration = "10 s"

[[link]]
name = "bottleneck"
from = "a"
to = "b"
both = true
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "drop-tail", packets = 50 }

[[flow]]
name = "media"
kind = "media"
control = "tfrc(profile=ns2)"
from = "a"
to = "b"
source = { kind = "saturated" }

[[flow]]
name = "tcp"
kind = "tcp"
algorithm = "sack"
from = "a"
to = "b"

[[flow]]
name = "udp"
kind = "udp"
from = "a"
to = "b"
rate = "11 Mbit/s"
packet = "1000 B"
"#;

const CELL: &str = r#"
schema = 1
name = "drops"
duration = "10 s"

[[wlan]]
name = "cell"
standard = "802.11ac"
mcs = 4
ap = { name = "a", at = ["0 m", "0 m"] }
station = [{ name = "b", at = ["5 m", "0 m"] }, { name = "c", at = ["49 m", "0 m"] }]

[[flow]]
name = "near"
kind = "udp"
from = "a"
to = "b"
rate = "30 Mbit/s"
packet = "1000 B"

[[flow]]
name = "far"
kind = "udp"
from = "a"
to = "c"
rate = "30 Mbit/s"
packet = "1000 B"
"#;

/// Allocations of a run, and the summary.
fn allocations(text: &str, changes: &[&str], duration: &str) -> (u64, Summary) {
    let duration = format!("duration={duration}");
    let changes = changes.iter().copied().chain([duration.as_str()]);
    let changes: Vec<Override> = changes.map(|text| text.parse().unwrap()).collect();
    let scenario = Scenario::parse(Text::alone("drops", text), &changes).unwrap();
    let mut outcome = None;
    let counted = allocation_counter::measure(|| {
        outcome = Some(run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap());
    });
    (counted.count_total, outcome.unwrap().summary)
}

/// Allocations, packets sent and packets lost of ten seconds in the steady state.
fn steady(text: &str, changes: &[&str]) -> (u64, u64, u64) {
    // Boxes that a former run has left are taken again.
    allocations(text, changes, "20 s");
    let (once, before) = allocations(text, changes, "10 s");
    let (twice, after) = allocations(text, changes, "20 s");
    let sent = |summary: &Summary| summary.flows.iter().map(|flow| flow.packets.sent).sum::<u64>();
    let lost = |summary: &Summary| {
        summary.flows.iter().map(|flow| flow.packets.lost_queue + flow.packets.lost_channel).sum::<u64>()
    };
    (twice.saturating_sub(once), sent(&after) - sent(&before), lost(&after) - lost(&before))
}

#[test]
fn packets_that_are_dropped_take_no_allocation() {
    let queue = |queue: &str| format!("link.bottleneck.queue={queue}");
    let without_media = "flow.media.stop=2 s".to_owned();
    for (text, change) in [
        (LINK, queue("{ kind = \"drop-tail\", packets = 50 }")),
        (LINK, queue("{ kind = \"red\" }")),
        (LINK, queue("{ kind = \"codel\" }")),
        (LINK, queue("{ kind = \"fq-codel\" }")),
        (LINK, queue("{ kind = \"pie\" }")),
        (LINK, queue("{ kind = \"dualpi2\" }")),
        (LINK, "link.bottleneck.loss={ kind = \"independent\", rate = 0.05 }".to_owned()),
        (CELL, "seed=2".to_owned()),
    ] {
        let mut changes = vec![change.as_str()];
        changes.extend(Some(without_media.as_str()).filter(|_| text == LINK));
        let (allocations, sent, lost) = steady(text, &changes);
        assert!(lost > 100, "{change}: {lost} of {sent} packets are lost: there is nothing to see");
        assert!(allocations < lost / 20, "{change}: {allocations} for {sent} packets, {lost} of them lost");
    }
}

/// A station of the cell walks out of reach, is given up, comes back and associates anew.
#[test]
fn stations_that_walk_and_associate_take_no_allocation() {
    let path = "wlan.cell.station.c.path=[{ time = \"11 s\", at = [\"49 m\", \"0 m\"] }, { time = \"13 s\", at = [\"60 m\", \"0 m\"] }, { time = \"16 s\", at = [\"49 m\", \"0 m\"] }]";
    let (allocations, sent, lost) = steady(CELL, &["wlan.cell.assoc=frames", path]);
    assert!(lost > 100, "{lost} of {sent} packets are lost: there is nothing to see");
    assert!(allocations < lost / 20, "{allocations} for {sent} packets, {lost} of them lost");
}

/// A media flow's messages of feedback take a few, its packets none.
#[test]
fn lost_packets_of_media_take_no_allocation() {
    for change in ["seed=2", "link.bottleneck.loss={ kind = \"independent\", rate = 0.05 }"] {
        let (allocations, sent, lost) = steady(LINK, &[change, "flow.media.control=tfrc"]);
        assert!(lost > 100, "{change}: {lost} of {sent} packets are lost: there is nothing to see");
        assert!(allocations < sent / 50, "{change}: {allocations} for {sent} packets, {lost} of them lost");
    }
}
