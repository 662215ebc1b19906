//! The media thread.

use crate::failure::{Failure, note};
use crate::files::Output;
use seaway_net::{
    Bell, Capture, Clock, Interface, Lateness, Machine, Observed, Reactor, Retired, Socket, make_real_time,
};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Datagrams that may wait to be written to a capture.
const CAPTURE_BACKLOG: usize = 4096;

/// The thread that drives the sockets, before it runs.
pub(crate) struct MediaSetup {
    clock: Clock,
    reactor: Reactor,
    capture: Option<JoinHandle<Result<(), Failure>>>,
}

/// The thread that drives the sockets.
pub(crate) struct MediaThread {
    bell: Bell,
    thread: JoinHandle<std::io::Result<Vec<Retired>>>,
    capture: Option<JoinHandle<Result<(), Failure>>>,
}

impl MediaSetup {
    /// No machine yet.
    pub(crate) fn new(clock: Clock) -> Result<Self, Failure> {
        let reactor = Reactor::new(clock).map_err(|error| Failure::running(&error))?;
        Ok(Self { clock, reactor, capture: None })
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn bell(&self) -> Bell {
        self.reactor.bell()
    }

    /// Adds a machine with its sockets.
    pub(crate) fn add(
        &mut self,
        machine: impl Machine + 'static,
        sockets: Vec<impl Into<Interface>>,
    ) -> Result<(), Failure> {
        self.reactor.add(Box::new(machine), sockets).map_err(|error| Failure::running(&error))
    }

    /// Writes every datagram to a capture file.
    pub(crate) fn capture(&mut self, file: &str) -> Result<(), Failure> {
        #[expect(clippy::disallowed_methods, reason = "a capture counts from the Unix epoch")]
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = epoch.saturating_sub(Duration::from_nanos(self.clock.now().as_nanos()));
        let sink = Output::create(file)?;
        let (tap, observed) = sync_channel(CAPTURE_BACKLOG);
        self.reactor.tap(tap);
        let thread =
            Builder::new().name("capture".into()).spawn(move || write_capture(sink, epoch, &observed));
        self.capture = Some(thread.map_err(|error| Failure::running(&error))?);
        Ok(())
    }

    /// Runs until [`MediaThread::finish`].
    pub(crate) fn start(self) -> Result<MediaThread, Failure> {
        let Self { reactor, capture, .. } = self;
        let bell = reactor.bell();
        let thread = Builder::new().name("media".into()).spawn(move || {
            if let Err(problem) = make_real_time() {
                note(&problem);
            }
            reactor.run(None)
        });
        Ok(MediaThread { bell, thread: thread.map_err(|error| Failure::running(&error))?, capture })
    }
}

impl MediaThread {
    /// Ends it; tells how late it was woken. Whoever waits for news of its machines finds the channel closed.
    pub(crate) fn finish(self) -> Result<Lateness, Failure> {
        let mut lateness = Lateness::new();
        self.retire()?.iter().for_each(|retired| lateness.add(&retired.lateness));
        Ok(lateness)
    }

    /// Ends it; gives its machines back.
    pub(crate) fn retire(self) -> Result<Vec<Retired>, Failure> {
        self.bell.stop();
        let broken = |_| Failure::running(&"the media thread broke off");
        let machines = self.thread.join().map_err(broken)?.map_err(|error| Failure::running(&error))?;
        if let Some(capture) = self.capture {
            capture.join().map_err(|_| Failure::running(&"the capture's thread broke off"))??;
        }
        Ok(machines)
    }
}

/// Binds a socket; an address that cannot be had is the user's to change.
pub(crate) fn bind(address: SocketAddr) -> Result<Socket, Failure> {
    Socket::bind(address).map_err(|error| Failure::input(&format!("{address}: {error}")))
}

fn write_capture(sink: Output, epoch: Duration, observed: &Receiver<Observed>) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(sink);
    let failed = |error: std::io::Error| Failure::running(&error);
    let mut capture = Capture::new(&mut out, epoch).map_err(failed)?;
    while let Ok(datagram) = observed.recv() {
        capture.write(&datagram).map_err(failed)?;
    }
    capture.finish().map_err(failed)?;
    out.flush().map_err(failed)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?.finish()
}
