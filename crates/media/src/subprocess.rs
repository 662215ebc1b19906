//! Subprocesses, none of which outlives the work of this process.

use std::io;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Those that run. A thread may be blocked in reading one when the process ends.
static RUNNING: Mutex<Vec<Weak<Mutex<Child>>>> = Mutex::new(Vec::new());

/// Variables of the environment that hold secrets: the session's key, and the tokens of a media server and of the page. A program that
/// reads hostile input has no use for them.
const SECRETS: [&str; 3] = ["SEAWAY_KEY", "SEAWAY_TOKEN", "SEAWAY_WEB_TOKEN"];

/// Leaves them out.
pub(crate) fn hide_secrets(command: &mut Command) -> &mut Command {
    for name in SECRETS {
        command.env_remove(name);
    }
    command
}

/// A subprocess with all that it starts, killed on drop.
#[derive(Debug)]
pub(crate) struct Subprocess(Arc<Mutex<Child>>);

impl Subprocess {
    /// Starts it without our secrets, in a process group of its own: a signal of the terminal reaches only this process, which ends the
    /// other.
    ///
    /// # Errors
    /// The command does not exist, or the system grants no process.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = Arc::new(Mutex::new(hide_secrets(command).spawn()?));
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|child| child.strong_count() > 0);
        running.push(Arc::downgrade(&child));
        Ok(Self(child))
    }

    /// Its handle, to take the pipes from.
    pub(crate) fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it.
    pub(crate) fn kill(&self) {
        kill(&mut self.child());
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends every subprocess of inputs and encoders, also those that another thread waits for.
pub fn kill_subprocesses() {
    let running = std::mem::take(&mut *RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
    for child in running.iter().filter_map(Weak::upgrade) {
        kill(&mut child.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn kill(child: &mut Child) {
    // Whose end was waited for has lost its number, which may be another's now.
    if matches!(child.try_wait(), Ok(None)) {
        kill_group(child);
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[cfg(unix)]
fn kill_group(child: &Child) {
    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;
    if let Ok(group) = i32::try_from(child.id()) {
        // It may have ended by itself.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_child: &Child) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Stdio;

    #[test]
    fn a_subprocess_has_no_secrets() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo \"$SEAWAY_KEY$SEAWAY_TOKEN$SEAWAY_WEB_TOKEN$SEAWAY_TARGET\""]);
        for name in SECRETS.into_iter().chain(["SEAWAY_TARGET"]) {
            shell.env(name, name);
        }
        let process = Subprocess::spawn(shell.stdout(Stdio::piped())).unwrap();
        let mut said = String::new();
        let mut pipe = process.child().stdout.take().unwrap();
        pipe.read_to_string(&mut said).unwrap();
        assert_eq!(said, "SEAWAY_TARGET\n");
    }
}
