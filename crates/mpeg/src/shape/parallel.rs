//! The same job on many items, on the threads of a pool.

use rayon::prelude::*;
use std::num::NonZeroUsize;

/// Calls `job` once for each item, in any order, on the threads of the rayon pool that it is called in.
pub(crate) fn for_each<T: Send>(threads: NonZeroUsize, items: &mut [T], job: impl Fn(&mut T) + Send + Sync) {
    if threads.get() == 1 {
        items.iter_mut().for_each(job);
    } else {
        items.par_iter_mut().with_max_len(1).for_each(job);
    }
}
