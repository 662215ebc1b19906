//! SIGINT and SIGTERM end a command in order; a second signal, a little later, kills it.

use crate::failure::{Failure, note};
use seaway_net::Clock;
use seaway_units::{TimeDelta, Timestamp};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

static REQUESTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();
/// Held while [`REQUESTED`] is set and read, so that a waiting thread does not miss it.
static GATE: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

/// A live command must end within this time; it may wait for an input that gives nothing.
const LIVE_END: TimeDelta = TimeDelta::from_secs(2);
/// A second signal within this time is the first once more: `timeout` of coreutils signals the process, and then its group.
const TOGETHER: TimeDelta = TimeDelta::from_millis(200);
/// The exit code after SIGINT, as shells count.
const INTERRUPTED: i32 = 130;

/// As [`install`], for a live command: it ends within two seconds of the first signal, in order or not.
pub(crate) fn install_live() -> Result<(), Failure> {
    set_handler(|| {
        std::thread::spawn(|| {
            let clock = Clock::start();
            clock.sleep_until(clock.now() + LIVE_END);
            note("interrupted, and did not end by itself");
            seaway_media::kill_subprocesses();
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
    let (clock, mut requested) = (Clock::start(), None);
    ctrlc::set_handler(move || {
        let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock.now();
        if now.since(*requested.get_or_insert(now)) > TOGETHER {
            seaway_media::kill_subprocesses();
            std::process::exit(INTERRUPTED);
        }
        if !REQUESTED.swap(true, Ordering::Relaxed) {
            drop(gate);
            CHANGED.notify_all();
            first();
        }
    })
    .map_err(|error| Failure::running(&format!("signal handler: {error}")))
}

/// Waits until `due`, or until a signal arrives.
pub(crate) fn sleep_until(clock: Clock, due: Timestamp) {
    let left = due.since(clock.now()).as_nanos().max(0);
    let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    let left = Duration::from_nanos(left as u64);
    // The holder of the gate only sets a flag.
    drop(CHANGED.wait_timeout_while(gate, left, |()| !requested()));
}

/// Whether a signal arrived.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
