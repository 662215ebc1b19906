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

/// Under 64 KiB of state a flow at either end: measured as what a clone takes.
#[test]
fn state_is_small() {
    for info in CONTROLLERS {
        let steady = Steady::new(info.name);
        let (mut controller, mut source) = (None, None);
        let sender = allocation_counter::measure(|| controller = Some(steady.controller.clone()));
        let receiver = allocation_counter::measure(|| source = Some(steady.source.clone()));
        for (half, taken) in [("sender", sender.bytes_total), ("receiver", receiver.bytes_total)] {
            assert!(taken < 65_536, "{}, {half}: {taken} B", info.name);
        }
    }
}
