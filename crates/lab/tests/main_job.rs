//! The main job in virtual time: a real clip, coded live, over the named networks, judged by what the viewer saw.

use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::summary::FlowSummary;
use seaway_lab::{Carriage, Options, library, run};
use std::ops::ControlFlow;

fn scenario(network: &str, duration: &str) -> Scenario {
    let overrides = [
        "flow.video.control=tfrc",
        "flow.video.source={ kind = \"clip\", encoder = { kind = \"openh264\", latency = \"5 ms\" } }",
        "warmup=0 s",
        &format!("duration={duration}"),
    ];
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    library::find(network).unwrap().parse(&overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn flow(network: &str) -> FlowSummary {
    let mut outcome =
        run(&scenario(network, "30 s"), Options::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    let flow = outcome.summary.flows.remove(0);
    println!("{network}: {}", serde_json::to_string_pretty(&flow).unwrap());
    flow
}

#[test]
fn clean() {
    let _flow = flow("clean");
}

#[test]
fn squeeze() {
    let _flow = flow("squeeze");
}

#[test]
fn lossy_wifi() {
    let _flow = flow("lossy-wifi");
}

#[test]
fn runs_repeat_and_octets_change_nothing() {
    let scenario = scenario("lossy-wifi", "4 s");
    let summary = |carriage| {
        let options = Options { carriage, ..Options::default() };
        let outcome = run(&scenario, options, &mut |_| ControlFlow::Continue(())).unwrap();
        serde_json::to_string_pretty(&outcome.summary).unwrap()
    };
    let first = summary(Carriage::Messages);
    assert!(first.contains("\"decoded\""), "nothing was decoded: {first}");
    assert_eq!(first, summary(Carriage::Messages));
    assert_eq!(first, summary(Carriage::Octets));
}
