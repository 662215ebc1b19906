//! The media thread.

use super::stamped::since_1970;
use crate::Error;
use crate::sink::Output;
use seaway_net::{
    Capture, Clock, Finished, Interface, Lateness, Machine, Observed, Reactor, Waker, make_real_time,
};
use std::io::{BufWriter, IntoInnerError, Write};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Datagrams that may wait to be written to a capture.
const CAPTURE_BACKLOG: usize = 4096;

type CaptureThread = JoinHandle<Result<(), Error>>;

/// A thread that drives sockets, before it runs: several senders, receivers and other machines can share it.
pub struct Runtime {
    clock: Clock,
    reactor: Reactor,
    capture: Option<CaptureThread>,
}

/// A thread that drives sockets.
pub struct RunningRuntime {
    waker: Waker,
    thread: JoinHandle<std::io::Result<Vec<Finished>>>,
    capture: Option<CaptureThread>,
    warning: Option<String>,
}

impl Runtime {
    /// A runtime without machines; its clock starts now.
    ///
    /// # Errors
    /// The system grants no event file.
    pub fn new() -> Result<Self, Error> {
        let clock = Clock::start();
        Ok(Self { clock, reactor: Reactor::new(clock)?, capture: None })
    }

    /// The clock of all machines.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Wakes the thread after commands were queued.
    pub fn waker(&self) -> Waker {
        self.reactor.waker()
    }

    /// Adds a machine with its sockets.
    ///
    /// # Errors
    /// A socket has no local address.
    pub fn add(
        &mut self,
        machine: impl Machine + 'static,
        sockets: Vec<impl Into<Interface>>,
    ) -> Result<(), Error> {
        Ok(self.reactor.add(Box::new(machine), sockets)?)
    }

    /// Writes every datagram to a capture file (pcap).
    ///
    /// # Errors
    /// The system grants no thread.
    pub fn capture(&mut self, output: Box<dyn Output>) -> Result<(), Error> {
        let epoch = since_1970().saturating_sub(Duration::from_nanos(self.clock.now().as_nanos()));
        let (tap, observed) = sync_channel(CAPTURE_BACKLOG);
        self.reactor.tap(tap);
        let thread = Builder::new().name("capture".into());
        self.capture =
            Some(thread.spawn(move || write_capture(output, epoch, &observed).map_err(Error::Output))?);
        Ok(())
    }

    /// Starts the thread, with real-time priority where the system grants it.
    ///
    /// # Errors
    /// The system grants no thread.
    pub fn start(self) -> Result<RunningRuntime, Error> {
        let Self { reactor, capture, .. } = self;
        let waker = reactor.waker();
        let (priority, granted) = channel();
        let thread = Builder::new().name("media".into()).spawn(move || {
            let _ = priority.send(make_real_time());
            reactor.run(None)
        })?;
        let warning = granted.recv().ok().and_then(Result::err);
        Ok(RunningRuntime { waker, thread, capture, warning })
    }
}

impl RunningRuntime {
    /// Why the thread has no real-time priority and may be late on a busy machine, in words for the user.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Ends the thread and returns how late its timers ran.
    ///
    /// # Errors
    /// Polling the sockets or writing the capture failed.
    pub fn close(self) -> Result<Lateness, Error> {
        let mut lateness = Lateness::new();
        self.into_machines()?.iter().for_each(|finished| lateness.add(&finished.lateness));
        Ok(lateness)
    }

    /// Ends the thread and returns its machines in the order in which they were added.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    pub fn into_machines(self) -> Result<Vec<Finished>, Error> {
        self.waker.stop();
        let machines = self.thread.join().map_err(|_| Error::Thread("media"))??;
        if let Some(capture) = self.capture {
            capture.join().map_err(|_| Error::Thread("capture"))??;
        }
        Ok(machines)
    }
}

fn write_capture(
    output: Box<dyn Output>,
    epoch: Duration,
    observed: &Receiver<Observed>,
) -> std::io::Result<()> {
    let mut out = BufWriter::new(output);
    let mut capture = Capture::new(&mut out, epoch)?;
    while let Ok(datagram) = observed.recv() {
        capture.write(&datagram)?;
    }
    capture.finish()?;
    out.flush()?;
    out.into_inner().map_err(IntoInnerError::into_error)?.finish()
}
