//! Every scenario of the library gives the numbers that it gave before, wherever it runs: ten seconds from when its
//! last flow may begin, in the key numbers of the summary.
//!
//! What a change was meant to change is blessed with `SEAWAY_BLESS=1 cargo test -p seaway-lab --test golden`, and read
//! in the difference of `golden.json` before it is kept.

use seaway_lab::scenario::Scenario;
use seaway_lab::{RunOptions, library, sweep};
use seaway_quality::statistics::Distribution;
use seaway_report::Summary;
use seaway_report::summary::{FlowSummary, LinkSummary};
use seaway_units::TimeDelta;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

const BLESS: &str = "SEAWAY_BLESS";

#[test]
fn the_library_gives_the_numbers_it_gave() {
    let scenarios: Vec<Scenario> =
        library::entries().iter().map(|entry| shortened(entry.parse(&[]).unwrap())).collect();
    let outcomes = sweep(&scenarios, RunOptions::default(), &|_| ControlFlow::Continue(())).unwrap();
    let numbers =
        outcomes.iter().map(|outcome| (outcome.summary.scenario.clone(), numbers(&outcome.summary)));
    let found: Map<String, Value> = numbers.collect();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.json");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, text(&found)).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
    let golden: Map<String, Value> = serde_json::from_str(&golden).unwrap();
    let mut changes = String::new();
    for name in golden.keys().chain(found.keys().filter(|name| !golden.contains_key(*name))) {
        note_changes(name, golden.get(name), found.get(name), &mut changes);
    }
    assert!(
        changes.is_empty(),
        "other numbers than before:\n{changes}wanted? {BLESS}=1, and read the difference"
    );
}

/// Until ten seconds from when its last flow may begin, all of which count.
fn shortened(mut scenario: Scenario) -> Scenario {
    let last = scenario.flows.iter().map(|flow| flow.start.latest()).max().unwrap_or(TimeDelta::ZERO);
    scenario.duration = scenario.duration.min(last + TimeDelta::from_secs(10));
    scenario.warmup = TimeDelta::ZERO;
    scenario.expect.clear();
    for flow in &mut scenario.flows {
        flow.stop = flow.stop.map(|stop| stop.min(scenario.duration));
    }
    scenario
}

fn numbers(summary: &Summary) -> Value {
    let flows = summary.flows.iter().map(|flow| (flow.name.clone(), of_flow(flow)));
    let links = summary.links.iter().map(|link| (link.name.clone(), of_link(link)));
    json!({ "flows": Map::from_iter(flows), "links": Map::from_iter(links) })
}

/// Packets sent, received, lost in queues and on channels; octets a second; mean waiting and round-trip time in us.
fn of_flow(flow: &FlowSummary) -> Value {
    let mean = |spread: Option<Distribution>| spread.map(|spread| (spread.mean * 1e3).round() as u64);
    let goodput = flow.goodput_bps.map(|bps| (bps / 8.0).round() as u64);
    let packets = flow.packets;
    json!([
        [packets.sent, packets.received, packets.lost_queue, packets.lost_channel],
        goodput,
        mean(flow.queue_delay_ms),
        mean(flow.rtt_ms),
    ])
}

/// Utilisation in millionths; drops by the full queue, its manager and the channel; marks; most packets waiting.
fn of_link(link: &LinkSummary) -> Value {
    let drops = link.drops;
    json!([
        (link.utilisation * 1e6).round() as u64,
        [drops.queue, drops.aqm, drops.channel],
        link.marks,
        link.queue.max as u64,
    ])
}

/// One row a scenario, so that a difference shows which scenarios changed.
fn text(found: &Map<String, Value>) -> String {
    let rows: Vec<String> = found.iter().map(|(name, numbers)| format!("{name:?}: {numbers}")).collect();
    format!("{{\n{}\n}}\n", rows.join(",\n"))
}

fn note_changes(path: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut String) {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            for key in before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))) {
                note_changes(&format!("{path} {key}"), before.get(key), after.get(key), changes);
            }
        }
        _ if before == after => {}
        _ => {
            let shown = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
            let _ = writeln!(changes, "  {path}: {} -> {}", shown(before), shown(after));
        }
    }
}
