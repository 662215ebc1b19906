//! How much virtual time a second of processor time buys.

use seaway_lab::scenario::{Override, Scenario, Text};
use seaway_lab::{RunOptions, library, run};
use std::ops::ControlFlow;

fn main() {
    divan::main();
}

/// One saturated TFRC flow at 15 Mbit/s and 100 ms, 60 s of it.
const ALONE: &str = r#"
schema = 1
name = "alone"
duration = "60 s"
link = [{ name = "bottleneck", from = "a", to = "b", both = true, rate = "15 Mbit/s", delay = "50 ms", queue = { kind = "drop-tail", packets = 50 } }]
flow = [{ name = "video", kind = "media", control = "tfrc", packet = "1000 B", from = "a", to = "b", source = { kind = "saturated" } }]
"#;

fn simulate(bencher: divan::Bencher<'_, '_>, scenario: &Scenario) {
    bencher.bench(|| {
        run(scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).map(|run| run.summary)
    });
}

#[divan::bench(args = ["fixed(rate=14 Mbit/s)", "tfrc"], sample_count = 10)]
fn one_saturated_flow(bencher: divan::Bencher<'_, '_>, control: &str) {
    let control: Override = format!("flow.video.control={control}").parse().expect("a key and a value");
    simulate(bencher, &Scenario::parse(Text::alone("alone", ALONE), &[control]).expect("a valid scenario"));
}

#[divan::bench(args = ["rfc8867-5.4", "lossy-wifi"], sample_count = 10)]
fn library_scenario(bencher: divan::Bencher<'_, '_>, name: &str) {
    simulate(
        bencher,
        &library::find(name)
            .and_then(|entry| entry.parse(&[]).map_err(|error| error.to_string()))
            .expect("a valid scenario"),
    );
}
