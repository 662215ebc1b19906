//! The media thread: sockets and sans-I/O machines, driven by the wall clock.

use crate::clock::Clock;
use crate::interface::Interface;
use crate::lateness::Lateness;
use crate::socket::Incoming;
use crate::wait::wait;
use nix::sys::eventfd::{EfdFlags, EventFd};
use seaway_units::{Ecn, TimeDelta, Timestamp};
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// A machine with sockets or devices. The driving contract is that of crate `control`; the machine's sockets are counted
/// from 0 as they were given to [`Reactor::add`].
pub trait Machine: Send + Any {
    /// A datagram came in.
    fn handle_datagram(&mut self, now: Timestamp, socket: usize, datagram: &Incoming<'_>);
    /// Nothing will come in by this socket any more, and nothing go out.
    fn handle_gone(&mut self, _now: Timestamp, _socket: usize) {}
    /// Somebody rang: there may be mail from another thread.
    fn handle_mail(&mut self, _now: Timestamp) {}
    /// The instant named by `poll_timeout` has come.
    fn handle_timeout(&mut self, now: Timestamp);
    /// When it wants to be woken.
    fn poll_timeout(&self) -> Option<Timestamp>;
    /// The next datagram that leaves now; its content goes to `buffer`, which is empty.
    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing>;
}

/// Where a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// By which of the machine's sockets.
    pub socket: usize,
    /// To whom.
    pub to: SocketAddr,
    /// With which codepoint.
    pub ecn: Ecn,
}

/// A datagram as a socket saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// When it came or went.
    pub at: Timestamp,
    /// Who sent it.
    pub from: SocketAddr,
    /// To whom.
    pub to: SocketAddr,
    /// With which codepoint.
    pub ecn: Ecn,
    /// Its content.
    pub data: Vec<u8>,
}

/// A machine after the reactor's run.
pub struct Retired {
    /// The machine.
    pub machine: Box<dyn Machine>,
    /// How late it was woken.
    pub lateness: Lateness,
    /// How long packets waited to be read.
    pub reading: Lateness,
    /// What the kernel did not take, interface by interface.
    pub unsent: Vec<u64>,
}

/// Wakes a [`Reactor`] from another thread.
#[derive(Debug, Clone)]
pub struct Bell {
    event: Arc<EventFd>,
    stop: Arc<AtomicBool>,
}

impl Bell {
    /// Has every machine look into its mail.
    pub fn ring(&self) {
        // It fails only where it rings 2^64 times unheard.
        let _ = self.event.write(1);
    }

    /// Ends the reactor's run.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.ring();
    }
}

/// Drives machines on the calling thread until told to stop.
pub struct Reactor {
    clock: Clock,
    bell: Bell,
    machines: Vec<Driven>,
    buffer: Vec<u8>,
    tap: Option<mpsc::SyncSender<Observed>>,
}

struct Driven {
    machine: Box<dyn Machine>,
    sockets: Vec<Interface>,
    /// Where each socket is.
    local: Vec<SocketAddr>,
    lateness: Lateness,
}

impl Reactor {
    /// No machine yet.
    ///
    /// # Errors
    /// The kernel gives no event file.
    pub fn new(clock: Clock) -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let bell = Bell { event: Arc::new(event), stop: Arc::new(AtomicBool::new(false)) };
        Ok(Self { clock, bell, machines: Vec::new(), buffer: Vec::with_capacity(2048), tap: None })
    }

    /// What wakes it.
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Adds a machine with its sockets.
    ///
    /// # Errors
    /// A socket that does not know where it is.
    pub fn add<I: Into<Interface>>(&mut self, machine: Box<dyn Machine>, sockets: Vec<I>) -> io::Result<()> {
        let sockets: Vec<Interface> = sockets.into_iter().map(Into::into).collect();
        let local = sockets.iter().map(Interface::local_address).collect::<io::Result<_>>()?;
        self.machines.push(Driven { machine, sockets, local, lateness: Lateness::new() });
        Ok(())
    }

    /// Gives a copy of every datagram from now on to `tap`; what it has no room for is left out.
    pub fn tap(&mut self, tap: mpsc::SyncSender<Observed>) {
        self.tap = Some(tap);
    }

    /// Drives everything until [`Bell::stop`] or until `end`; gives back the machines.
    ///
    /// # Errors
    /// The kernel's, from waiting.
    pub fn run(mut self, end: Option<Timestamp>) -> io::Result<Vec<Retired>> {
        loop {
            let now = self.clock.now();
            if self.bell.stop.load(Ordering::Acquire) || end.is_some_and(|end| end <= now) {
                break;
            }
            for driven in &mut self.machines {
                driven.wake(&self.clock, &mut self.buffer, self.tap.as_ref());
            }
            self.sleep(end)?;
            let has_mail = self.bell.event.read().is_ok();
            for driven in &mut self.machines {
                driven.read(&self.clock, has_mail, &mut self.buffer, self.tap.as_ref());
            }
        }
        Ok(self.machines.into_iter().map(Driven::retire).collect())
    }

    fn sleep(&self, end: Option<Timestamp>) -> io::Result<()> {
        let timeouts = self.machines.iter().filter_map(|driven| driven.machine.poll_timeout());
        let next = timeouts.chain(end).min();
        let span: Option<TimeDelta> = next.map(|next| next.since(self.clock.now()));
        let sockets = self.machines.iter().flat_map(|driven| &driven.sockets);
        // What is gone would wake us again and again.
        let there = sockets.filter(|socket| !socket.is_gone()).map(AsFd::as_fd);
        let files: Vec<_> = there.chain([self.bell.event.as_fd()]).collect();
        wait(&files, span).map(|_| ())
    }
}

/// Where copies of datagrams go.
type Tap<'a> = Option<&'a mpsc::SyncSender<Observed>>;

impl Driven {
    fn retire(self) -> Retired {
        let unsent = self.sockets.iter().map(Interface::unsent).collect();
        let mut reading = Lateness::new();
        self.sockets.iter().for_each(|socket| reading.add(socket.reading()));
        Retired { machine: self.machine, lateness: self.lateness, reading, unsent }
    }

    /// Does what is due.
    fn wake(&mut self, clock: &Clock, buffer: &mut Vec<u8>, tap: Tap<'_>) {
        let now = clock.now();
        if let Some(due) = self.machine.poll_timeout().filter(|&due| due <= now) {
            self.lateness.note(due, now);
            self.machine.handle_timeout(now);
            self.write(clock, buffer, tap);
        }
    }

    /// Takes in what has come.
    fn read(&mut self, clock: &Clock, has_mail: bool, buffer: &mut Vec<u8>, tap: Tap<'_>) {
        let there = self.sockets.iter_mut().enumerate().filter(|(_, socket)| !socket.is_gone());
        for (index, socket) in there {
            let (machine, local) = (&mut self.machine, self.local[index]);
            socket.receive(clock, |datagram| {
                if let Some(tap) = tap {
                    let Incoming { from, at, ecn, data } = datagram;
                    // A capture that cannot follow has gaps; the session goes on.
                    let _ = tap.try_send(Observed { at, from, to: local, ecn, data: data.to_vec() });
                }
                machine.handle_datagram(clock.now(), index, &datagram);
            });
            if socket.is_gone() {
                self.machine.handle_gone(clock.now(), index);
            }
        }
        if has_mail {
            self.machine.handle_mail(clock.now());
        }
        self.write(clock, buffer, tap);
    }

    /// Sends what leaves now.
    fn write(&mut self, clock: &Clock, buffer: &mut Vec<u8>, tap: Tap<'_>) {
        loop {
            buffer.clear();
            let now = clock.now();
            let Some(outgoing) = self.machine.poll_datagram(now, buffer) else { break };
            let Outgoing { to, ecn, .. } = outgoing;
            if let (Some(tap), Some(&from)) = (tap, self.local.get(outgoing.socket)) {
                let _ = tap.try_send(Observed { at: now, from, to, ecn, data: buffer.clone() });
            }
            if let Some(socket) = self.sockets.get_mut(outgoing.socket) {
                socket.send(to, ecn, buffer);
            }
        }
    }
}
