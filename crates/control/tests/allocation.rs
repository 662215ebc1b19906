//! In the steady state nothing is allocated.

use seaway_control::registry::CONTROLLERS;
use seaway_testkit::steady::Steady;

#[test]
fn steady_state_allocates_nothing() {
    for info in CONTROLLERS {
        let mut steady = Steady::new(info.name);
        let allocations = allocation_counter::measure(|| {
            for _ in 0..2000 {
                steady.round();
                steady.ask();
            }
        });
        assert_eq!(allocations.count_total, 0, "{}: {} B", info.name, allocations.bytes_total);
    }
}

/// Under 64 KiB of state a flow: measured as what a clone of both halves takes.
#[test]
fn state_is_small() {
    for info in CONTROLLERS {
        let steady = Steady::new(info.name);
        let mut copy = None;
        let allocations =
            allocation_counter::measure(|| copy = Some((steady.controller.clone(), steady.source.clone())));
        assert!(allocations.bytes_total < 65_536, "{}: {} B", info.name, allocations.bytes_total);
    }
}
