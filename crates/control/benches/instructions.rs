//! For callgrind: `instructions CONTROLLER` runs the work of [`feedback_to_decision`] a thousand times in the steady state, and
//! nothing else under that name. `make cost` counts its instructions; `cargo bench` has nothing to do here.

use seaway_testkit::steady::Steady;
use std::hint::black_box;

/// What one report costs, and how often `cost.py` divides by.
#[inline(never)]
fn feedback_to_decision(steady: &mut Steady, packets: &[seaway_control::SentPacket; 10]) {
    steady.report(packets);
    black_box(steady.outputs());
}

fn main() {
    let Some(spec) = std::env::args().nth(1).filter(|spec| !spec.starts_with('-')) else { return };
    let mut steady = Steady::new(&spec);
    for _ in 0..1000 {
        let packets = steady.send();
        steady.arrive(&packets);
        feedback_to_decision(&mut steady, &packets);
    }
}
