//! A thread that looks after a session a few times a second.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(20);

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Calls `look` again and again, until it gives false.
    pub(crate) fn start(
        name: &str,
        mut look: impl FnMut() -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let shared = stop.clone();
        let thread = Builder::new().name(name.into()).spawn(move || {
            let (stopped, changed) = &*shared;
            while look() {
                let stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
                let (stopped, _) = changed
                    .wait_timeout_while(stopped, INTERVAL, |stopped| !*stopped)
                    .unwrap_or_else(PoisonError::into_inner);
                if *stopped {
                    break;
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let (stopped, changed) = &*self.stop;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        // It was this thread that dropped the last reference to the element, or it panicked.
        let is_self =
            self.thread.as_ref().is_some_and(|thread| thread.thread().id() == std::thread::current().id());
        if let Some(thread) = self.thread.take().filter(|_| !is_self) {
            let _ = thread.join();
        }
    }
}
