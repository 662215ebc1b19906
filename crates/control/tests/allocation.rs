//! In the steady state nothing is allocated, and a flow takes little room: at 100 Mbit/s, in every form.

use seaway_testkit::steady::Steady;
use seaway_testkit::variants;

#[test]
fn steady_state_allocates_nothing() {
    for spec in variants::all() {
        let mut steady = Steady::new(spec);
        let allocations = allocation_counter::measure(|| {
            for _ in 0..2000 {
                steady.round();
                steady.outputs();
            }
        });
        assert_eq!(allocations.count_total, 0, "{spec}: {} B", allocations.bytes_total);
    }
}

/// Under 64 KiB of state a flow at either end: what each half gives back when it is dropped.
#[test]
#[expect(clippy::print_stdout, reason = "`make cost` reads it")]
fn state_is_small() {
    for spec in variants::all() {
        let Steady { controller, source, .. } = Steady::new(spec);
        let sender = allocation_counter::measure(|| drop(controller));
        let receiver = allocation_counter::measure(|| drop(source));
        let taken = [-sender.bytes_current, -receiver.bytes_current];
        assert!(taken.iter().all(|taken| *taken < 65_536), "{spec}: {taken:?} B");
        println!("state {spec}: {} + {} B", taken[0], taken[1]);
    }
}
