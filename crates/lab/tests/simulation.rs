//! A run that its caller drives.

use seaway_lab::{RunOptions, Simulation, library, run};
use seaway_units::TimeDelta;
use std::ops::ControlFlow;

/// The steps end before, at and between the instants at which a run is sampled.
#[test]
fn a_run_is_the_same_in_one_piece_and_in_many() {
    for (network, series) in [("squeeze", false), ("squeeze", true), ("lossy-wifi", true)] {
        let scenario = library::find(network).unwrap().parse(&[]).unwrap();
        let options = RunOptions { series, ..RunOptions::default() };
        let whole = run(&scenario, options, &mut |_| ControlFlow::Continue(())).unwrap();
        let mut simulation = Simulation::new(&scenario, options).unwrap();
        let step = TimeDelta::from_micros(37_500);
        while !simulation.is_over() {
            simulation.run_until(simulation.now() + step);
        }
        assert_eq!(simulation.finish().unwrap(), whole, "{network}");
    }
}

#[test]
fn a_run_that_ends_early_is_marked() {
    let scenario = library::find("clean").unwrap().parse(&[]).unwrap();
    let mut simulation = Simulation::new(&scenario, RunOptions::default()).unwrap();
    simulation.run_until(TimeDelta::from_secs(3));
    simulation.wake(0);
    let outcome = simulation.finish().unwrap();
    assert!(outcome.interrupted);
    assert_eq!(outcome.summary.simulated_s, 3.0);
}
