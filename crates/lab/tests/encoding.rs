//! A run carries messages as they are, or as the octets a socket would see: the summaries are the same bytes.

use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{Encoding, RunOptions, library, run};
use std::ops::ControlFlow;

fn summary(scenario: &Scenario, options: RunOptions) -> String {
    let outcome = run(scenario, options, &mut |_| ControlFlow::Continue(())).unwrap();
    serde_json::to_string_pretty(&outcome.summary).unwrap()
}

fn scenario(name: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    library::find(name).unwrap().parse(&overrides).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn messages_and_octets_give_the_same_summary() {
    for name in ["clean", "lossy-wifi", "squeeze"] {
        for control in ["fixed", "tfrc"] {
            for format in ["native", "ccfb", "twcc"] {
                let control = format!("flow.video.control={control}");
                let format = format!("flow.video.feedback.format={format}");
                let scenario = scenario(name, &[&control, &format, "duration=20 s", "warmup=2 s"]);
                let messages = summary(&scenario, RunOptions::default());
                let octets =
                    summary(&scenario, RunOptions { encoding: Encoding::Wire, ..RunOptions::default() });
                assert_eq!(messages, octets, "{name} {control} {format}");
                assert!(!messages.contains("\"displayed\": 0,"), "there is nothing to compare: {messages}");
            }
        }
    }
}

#[test]
fn readings_over_time_change_nothing() {
    let scenario = scenario("squeeze", &["flow.video.control=tfrc"]);
    let plain = summary(&scenario, RunOptions::default());
    assert_eq!(plain, summary(&scenario, RunOptions { series: true, ..RunOptions::default() }));
}

/// Twice the messages where they come twice as often.
#[test]
fn feedback_comes_at_the_interval_asked_for() {
    let feedback = |control: &str, interval: &str| {
        let control = format!("flow.video.control={control}");
        let interval = format!("flow.video.feedback.interval={interval}");
        let scenario =
            scenario("clean", &[&control, &interval, "flow.video.feedback.size=1000 B", "duration=20 s"]);
        let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
        outcome.summary.flows[0].feedback_bps.unwrap()
    };
    for control in ["fixed(rate=1 Mbit/s)", "nada", "nada(side=sender)", "nada(variant=draft)", "gcc", "lda"]
    {
        let ratio = feedback(control, "40 ms") / feedback(control, "80 ms");
        assert!((1.8..2.1).contains(&ratio), "{control}: {ratio}");
    }
}
