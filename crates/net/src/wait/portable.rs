//! kqueue on macOS and the BSDs, completion ports on Windows, by crate `polling`. A wait registers what it waits for and
//! takes it back at its end, so that nothing closed stays registered.

#![expect(unsafe_code, reason = "what is registered must be taken back before it is closed")]

use crate::interface::Interface;
use polling::{Event, Events, Poller};
use seaway_units::TimeDelta;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Waits for interfaces.
#[derive(Debug)]
pub(crate) struct Waiter {
    notifier: Notifier,
    events: Events,
}

/// Ends the wait from another thread.
#[derive(Debug, Clone)]
pub(crate) struct Notifier(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    poller: Poller,
    is_notified: AtomicBool,
}

impl Notifier {
    /// The present wait ends, or else the next.
    pub(crate) fn notify(&self) {
        self.0.is_notified.store(true, Ordering::Release);
        // It fails only where the poller is at its end, and with it the thread that would wake.
        let _ = self.0.poller.notify();
    }
}

/// What a wait registered, taken back at its end.
struct Registered<'a> {
    poller: &'a Poller,
    interfaces: Vec<&'a Interface>,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        for interface in &self.interfaces {
            // An interface that the system has closed is registered no more.
            let _ = self.poller.delete(interface.source());
        }
    }
}

impl Waiter {
    /// # Errors
    /// The system grants no poller.
    pub(crate) fn new() -> io::Result<Self> {
        let shared = Shared { poller: Poller::new()?, is_notified: AtomicBool::new(false) };
        Ok(Self { notifier: Notifier(Arc::new(shared)), events: Events::new() })
    }

    /// What ends a wait.
    pub(crate) fn notifier(&self) -> Notifier {
        self.notifier.clone()
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
        let Self { notifier: Notifier(shared), events } = self;
        let mut registered = Registered { poller: &shared.poller, interfaces: Vec::new() };
        for (key, interface) in interfaces.enumerate() {
            // SAFETY: it is borrowed for longer than `registered`, which takes it back when it is dropped.
            unsafe { shared.poller.add(interface.source(), Event::readable(key)) }?;
            registered.interfaces.push(interface);
        }
        ready.clear();
        ready.resize(registered.interfaces.len(), false);
        events.clear();
        let span = longest.map(|span| Duration::from_nanos(span.as_nanos().max(0) as u64));
        match shared.poller.wait(events, span) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => events.iter().filter(|event| event.readable).for_each(|event| ready[event.key] = true),
        }
        Ok(shared.is_notified.swap(false, Ordering::Acquire))
    }
}
