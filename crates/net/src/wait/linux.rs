//! ppoll and an event file: one system call a wait.

use crate::interface::Interface;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use seaway_units::TimeDelta;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Waits for interfaces.
#[derive(Debug)]
pub(crate) struct Waiter(Notifier);

/// Ends the wait from another thread.
#[derive(Debug, Clone)]
pub(crate) struct Notifier(Arc<EventFd>);

impl Notifier {
    /// The present wait ends, or else the next.
    pub(crate) fn notify(&self) {
        // It fails only if the counter of the event file overflows: 2^64 unread wake-ups.
        let _ = self.0.write(1);
    }
}

impl Waiter {
    /// # Errors
    /// The kernel grants no event file.
    pub(crate) fn new() -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Self(Notifier(Arc::new(event))))
    }

    /// What ends a wait.
    pub(crate) fn notifier(&self) -> Notifier {
        self.0.clone()
    }

    /// Waits until one of `interfaces` is readable, it was notified or `longest` has passed; `None` waits without limit. Writes to
    /// `ready` which are readable; true if it was notified.
    ///
    /// # Errors
    /// Polling failed; a signal is no error.
    pub(crate) fn wait<'a>(
        &mut self,
        interfaces: impl Iterator<Item = &'a Interface>,
        longest: Option<TimeDelta>,
        ready: &mut Vec<bool>,
    ) -> io::Result<bool> {
        let Self(Notifier(event)) = self;
        let readable = |file| PollFd::new(file, PollFlags::POLLIN);
        let mut files: Vec<PollFd<'_>> = interfaces.map(|interface| readable(interface.as_fd())).collect();
        files.push(readable(event.as_fd()));
        ready.clear();
        let span = longest.map(|span| Duration::from_nanos(span.as_nanos().max(0) as u64));
        match ppoll(&mut files, span.map(TimeSpec::from), None) {
            Ok(_) => ready.extend(files.iter().map(|file| file.any().unwrap_or(true))),
            Err(nix::errno::Errno::EINTR) => ready.resize(files.len(), false),
            Err(error) => return Err(error.into()),
        }
        Ok(ready.pop() == Some(true) && event.read().is_ok())
    }
}
