//! What looks at a run from Python: signals, a progress callback, and the exception of a law.

use pyo3::prelude::*;
use seaway_units::TimeDelta;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls between two looks at Python, where there is no progress to report.
const SELDOM: u64 = 32;

/// The first exception of any part of a run, which ends it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<FailureState>);

#[derive(Debug, Default)]
struct FailureState {
    is_set: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// Notes an exception; the first counts.
    pub(crate) fn set(&self, error: PyErr) {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.0.is_set.store(true, Ordering::Release);
    }

    /// Whether there was one.
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Acquire)
    }

    /// Raises it, if there was one.
    pub(crate) fn raise(&self) -> PyResult<()> {
        match self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Looks at a run.
#[derive(Debug)]
pub(crate) struct Watch {
    progress: Option<Py<PyAny>>,
    failure: Failure,
    calls: AtomicU64,
}

impl Watch {
    /// `progress` is called with the virtual seconds that passed.
    pub(crate) fn new(progress: Option<Py<PyAny>>, failure: Failure) -> Self {
        Self { progress, failure, calls: AtomicU64::new(0) }
    }

    /// So much virtual time passed. Breaks off after an exception or a signal.
    pub(crate) fn passed(&self, by: TimeDelta) -> ControlFlow<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.progress.is_some() || call % SELDOM == SELDOM - 1 {
            let looked = Python::attach(|py| {
                py.check_signals()?;
                self.progress
                    .as_ref()
                    .map_or(Ok(()), |report| report.call1(py, (by.as_secs_f64(),)).map(drop))
            });
            if let Err(error) = looked {
                self.failure.set(error);
            }
        }
        if self.failure.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
