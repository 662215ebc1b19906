//! Waiting for readable files, with the resolution of the kernel.

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use seaway_units::TimeDelta;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of `files` is readable or `longest` has passed; `None` waits without limit. Writes to `ready` which are
/// readable.
///
/// # Errors
/// Polling failed; a signal is no error.
pub(crate) fn wait<'a>(
    files: impl Iterator<Item = BorrowedFd<'a>>,
    longest: Option<TimeDelta>,
    ready: &mut Vec<bool>,
) -> io::Result<()> {
    let mut files: Vec<PollFd<'_>> = files.map(|file| PollFd::new(file, PollFlags::POLLIN)).collect();
    ready.clear();
    let span = longest.map(|span| Duration::from_nanos(span.as_nanos().max(0) as u64));
    match ppoll(&mut files, span.map(TimeSpec::from), None) {
        Ok(_) => ready.extend(files.iter().map(|file| file.any().unwrap_or(true))),
        Err(nix::errno::Errno::EINTR) => ready.resize(files.len(), false),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
