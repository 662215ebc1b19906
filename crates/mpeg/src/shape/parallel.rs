//! The same job on many items, on the threads of a pool.

use rayon::prelude::*;
use std::num::NonZeroUsize;

/// Takes jobs that begin others; each runs on any thread of the rayon pool, or with one thread at once.
pub(crate) struct Scope<'s, 'env>(Option<&'s rayon::Scope<'env>>);

/// Calls `act` with a scope; returns once all its jobs are done. To be called on a thread of the rayon pool.
pub(crate) fn scope<'env>(threads: NonZeroUsize, act: impl FnOnce(&Scope<'_, 'env>) + Send) {
    if threads.get() == 1 { act(&Scope(None)) } else { rayon::scope(|scope| act(&Scope(Some(scope)))) }
}

impl<'env> Scope<'_, 'env> {
    /// Begins a job.
    pub(crate) fn spawn(&self, job: impl FnOnce(&Scope<'_, 'env>) + Send + 'env) {
        match self.0 {
            Some(scope) => scope.spawn(|scope| job(&Scope(Some(scope)))),
            None => job(self),
        }
    }
}

/// Calls `job` once for each item, in any order, on the threads of the rayon pool that it is called in.
pub(crate) fn for_each<T: Send>(threads: NonZeroUsize, items: &mut [T], job: impl Fn(&mut T) + Send + Sync) {
    if threads.get() == 1 {
        items.iter_mut().for_each(job);
    } else {
        items.par_iter_mut().with_max_len(1).for_each(job);
    }
}
