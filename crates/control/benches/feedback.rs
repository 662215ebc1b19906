//! From a report of ten packets to the decision, for every entry of the registry and its variants.

use seaway_testkit::steady::Steady;
use seaway_testkit::variants;

fn main() {
    divan::main();
}

/// The sending half: matched feedback in, allowance and target out.
#[divan::bench(args = variants::all())]
fn feedback_to_decision(bencher: divan::Bencher<'_, '_>, spec: &str) {
    let steady = Steady::new(spec);
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
#[divan::bench(args = variants::all())]
fn arrivals_to_report(bencher: divan::Bencher<'_, '_>, spec: &str) {
    let steady = Steady::new(spec);
    bencher
        .with_inputs(|| {
            let mut steady = steady.clone();
            let packets = steady.send();
            (steady, packets)
        })
        .bench_local_refs(|(steady, packets)| steady.arrive(packets));
}
