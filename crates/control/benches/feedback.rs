//! From a report of ten packets to the decision, for every entry of the registry and its variants.

use seaway_testkit::steady::Steady;
use seaway_testkit::variants;
use std::cell::RefCell;

fn main() {
    divan::main();
}

/// The sending half: matched feedback in, allowance and target out.
#[divan::bench(args = variants::all())]
fn feedback_to_decision(bencher: divan::Bencher<'_, '_>, spec: &str) {
    let steady = RefCell::new(Steady::new(spec));
    let arrived = || {
        let mut steady = steady.borrow_mut();
        let packets = steady.send();
        steady.arrive(&packets);
        steady.outputs();
        packets
    };
    bencher.with_inputs(arrived).bench_local_refs(|packets| {
        let mut steady = steady.borrow_mut();
        steady.report(packets);
        steady.outputs()
    });
}

/// The receiving half: ten arrivals in, reports out.
#[divan::bench(args = variants::all())]
fn arrivals_to_report(bencher: divan::Bencher<'_, '_>, spec: &str) {
    let steady = RefCell::new(Steady::new(spec));
    let sent = || steady.borrow_mut().send();
    bencher.with_inputs(sent).bench_local_refs(|packets| steady.borrow_mut().arrive(packets));
}
