//! Independent runs on all cores. Each run is single-threaded.

use crate::build::BuildError;
use crate::options::RunOptions;
use crate::run::{Outcome, run};
use crate::scenario::Scenario;
use seaway_units::TimeDelta;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs all scenarios and returns their outcomes in order. `progress` is called with the virtual time that passed since
/// its last call for the same run, and may interrupt all runs; runs that had not begun by then are absent.
///
/// # Errors
/// The first scenario that cannot be built.
pub fn sweep(
    scenarios: &[Scenario],
    options: RunOptions,
    progress: &(dyn Fn(TimeDelta) -> ControlFlow<()> + Sync),
) -> Result<Vec<Outcome>, BuildError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<Outcome, BuildError>)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..cores.min(scenarios.len()) {
            scope.spawn(|| {
                while let Some((index, scenario)) = take(scenarios, &next) {
                    let mut last = TimeDelta::ZERO;
                    let result = run(scenario, options, &mut |now| {
                        let passed = now - last;
                        last = now;
                        progress(passed)
                    });
                    let stop = result.as_ref().is_ok_and(|outcome| outcome.interrupted);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                    if stop {
                        break;
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take<'s>(scenarios: &'s [Scenario], next: &AtomicUsize) -> Option<(usize, &'s Scenario)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, scenarios.get(index)?))
}
