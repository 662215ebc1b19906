//! The same job on many pictures, on several threads.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// Calls `job` once for each item, in any order, on up to `threads` threads.
pub(crate) fn for_each<T: Send>(threads: NonZeroUsize, items: &mut [T], job: impl Fn(&mut T) + Sync) {
    let threads = threads.get().min(items.len());
    if threads <= 1 {
        items.iter_mut().for_each(job);
        return;
    }
    let queue = Mutex::new(items.iter_mut());
    let work = || {
        while let Some(item) = { queue.lock().unwrap_or_else(PoisonError::into_inner).next() } {
            job(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}
