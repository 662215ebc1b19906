//! Independent runs on all cores. Each run is single-threaded.

use crate::build::BuildError;
use crate::options::RunOptions;
use crate::run::{Outcome, run};
use crate::scenario::Scenario;
use seaway_units::TimeDelta;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    let results: Mutex<Vec<(usize, Result<Outcome, BuildError>)>> = Mutex::new(Vec::new());
    sweep_each(
        scenarios.len(),
        None,
        options,
        &|index| Ok(scenarios[index].clone()),
        progress,
        &|index, result| {
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            ControlFlow::Continue(())
        },
    );
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs so many scenarios on `threads` threads, all cores by default. Each is made by `scenario` when its turn comes and
/// given to `done` with its number when it ends, so that few are in memory at once. `progress`, as of [`sweep`], and
/// `done` may end the sweep.
pub fn sweep_each(
    count: usize,
    threads: Option<NonZeroUsize>,
    options: RunOptions,
    scenario: &(dyn Fn(usize) -> Result<Scenario, String> + Sync),
    progress: &(dyn Fn(TimeDelta) -> ControlFlow<()> + Sync),
    done: &(dyn Fn(usize, Result<Outcome, BuildError>) -> ControlFlow<()> + Sync),
) {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.map_or_else(cores, NonZeroUsize::get).min(count);
    let (next, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        while !ends.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            let mut last = TimeDelta::ZERO;
            let result = scenario(index).map_err(BuildError::new).and_then(|scenario| {
                run(&scenario, options, &mut |now| {
                    let passed = now - last;
                    last = now;
                    progress(passed)
                })
            });
            let is_interrupted = result.as_ref().is_ok_and(|outcome| outcome.interrupted);
            if done(index, result).is_break() || is_interrupted {
                ends.store(true, Ordering::Relaxed);
            }
        }
    };
    // A browser has no threads.
    if threads <= 1 {
        return work();
    }
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}
