//! From a report of ten packets to the decision, for every entry of the registry.

use seaway_control::registry::CONTROLLERS;
use seaway_testkit::steady::Steady;

fn main() {
    divan::main();
}

fn names() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|info| info.name)
}

/// The sending half: matched feedback in, allowance and target out.
#[divan::bench(args = names())]
fn feedback_to_decision(bencher: divan::Bencher<'_, '_>, name: &str) {
    let steady = Steady::new(name);
    bencher
        .with_inputs(|| {
            let mut steady = steady.clone();
            let packets = steady.send();
            steady.arrive(&packets);
            steady.ask();
            (steady, packets)
        })
        .bench_local_refs(|(steady, packets)| {
            steady.report(packets);
            steady.ask()
        });
}

/// The receiving half: ten arrivals in, reports out.
#[divan::bench(args = names())]
fn arrivals_to_report(bencher: divan::Bencher<'_, '_>, name: &str) {
    let steady = Steady::new(name);
    bencher
        .with_inputs(|| {
            let mut steady = steady.clone();
            let packets = steady.send();
            (steady, packets)
        })
        .bench_local_refs(|(steady, packets)| steady.arrive(packets));
}
