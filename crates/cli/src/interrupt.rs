//! SIGINT and SIGTERM end a command in order; a second signal kills it.

use crate::failure::{Failure, note};
use seaway_net::Clock;
use seaway_units::TimeDelta;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();

/// The time that a live command has to end: it may wait for an input that stays silent.
const LIVE_END: TimeDelta = TimeDelta::from_secs(2);
/// The exit code after SIGINT, as shells count.
const INTERRUPTED: i32 = 130;

/// As [`install`], for a live command: it ends within two seconds of the first signal, in order or not.
pub(crate) fn install_live() -> Result<(), Failure> {
    set_handler(|| {
        std::thread::spawn(|| {
            let clock = Clock::start();
            clock.sleep_until(clock.now() + LIVE_END);
            note("interrupted, and did not end by itself");
            std::process::exit(INTERRUPTED);
        });
    })
}

/// From now on the first signal is recorded instead of ending the process.
pub(crate) fn install() -> Result<(), Failure> {
    set_handler(|| {})
}

fn set_handler(first: impl Fn() + Send + 'static) -> Result<(), Failure> {
    if INSTALLED.set(()).is_err() {
        return Ok(());
    }
    ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        first();
    })
    .map_err(|error| Failure::running(&format!("signal handler: {error}")))
}

/// Whether a signal arrived.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
