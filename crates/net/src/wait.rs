//! Sleeping until something is to be read, with the kernel's full resolution.

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use seaway_units::TimeDelta;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Sleeps until one of `files` can be read or `longest` has passed (`None`: as long as it takes). True where
/// something can be read.
///
/// # Errors
/// The kernel's; a signal is not one of them.
pub(crate) fn wait(files: &[BorrowedFd<'_>], longest: Option<TimeDelta>) -> io::Result<bool> {
    let mut files: Vec<PollFd<'_>> = files.iter().map(|file| PollFd::new(*file, PollFlags::POLLIN)).collect();
    let span = longest.map(|span| Duration::from_nanos(span.as_nanos().max(0) as u64));
    match ppoll(&mut files, span.map(TimeSpec::from), None) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
