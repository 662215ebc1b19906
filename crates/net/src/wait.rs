//! Waiting for readable files, with the resolution of the kernel.

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use seaway_units::TimeDelta;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of `files` is readable or `longest` has passed; `None` waits without limit. True if one is readable.
///
/// # Errors
/// Polling failed; a signal is no error.
pub(crate) fn wait(files: &[BorrowedFd<'_>], longest: Option<TimeDelta>) -> io::Result<bool> {
    let mut files: Vec<PollFd<'_>> = files.iter().map(|file| PollFd::new(*file, PollFlags::POLLIN)).collect();
    let span = longest.map(|span| Duration::from_nanos(span.as_nanos().max(0) as u64));
    match ppoll(&mut files, span.map(TimeSpec::from), None) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
