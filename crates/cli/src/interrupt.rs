//! SIGINT and SIGTERM end a command in order; a second signal kills it.

use crate::failure::Failure;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();

/// From now on the first signal is recorded instead of ending the process.
pub(crate) fn install() -> Result<(), Failure> {
    if INSTALLED.set(()).is_err() {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| Failure::running(&format!("signal handler: {error}")))
}

/// Whether a signal arrived.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
