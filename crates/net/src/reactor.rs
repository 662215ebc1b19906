//! The media thread: sockets and sans-I/O machines, driven by the wall clock.

use crate::clock::Clock;
use crate::interface::Interface;
use crate::lateness::{Deadline, Lateness};
use crate::socket::Incoming;
use crate::train::Train;
use crate::wait::{Notifier, Waiter};
use seaway_units::{Ecn, TimeDelta, Timestamp};
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// A sans-I/O machine with sockets or devices. Its sockets are numbered from 0 in the order given to [`Reactor::add`].
pub trait Machine: Send + Any {
    /// A datagram arrived.
    fn handle_datagram(&mut self, now: Timestamp, socket: usize, datagram: &Incoming<'_>);
    /// The socket is closed: it neither receives nor sends any more.
    fn handle_closed(&mut self, _now: Timestamp, _socket: usize) {}
    /// A [`Waker`] was used: another thread may have queued commands.
    fn handle_wake(&mut self, _now: Timestamp) {}
    /// The instant named by `poll_timeout` has come.
    fn handle_timeout(&mut self, now: Timestamp);
    /// When [`handle_timeout`](Self::handle_timeout) is due.
    fn poll_timeout(&self) -> Option<Timestamp>;
    /// The next datagram to send now; its payload is written to `buffer`, which is empty.
    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing>;
}

/// Where a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// Index of the machine's socket.
    pub socket: usize,
    /// Destination.
    pub to: SocketAddr,
    /// ECN codepoint to set.
    pub ecn: Ecn,
}

/// A datagram that a socket received or sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Arrival or departure.
    pub at: Timestamp,
    /// Source.
    pub from: SocketAddr,
    /// Destination.
    pub to: SocketAddr,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// UDP payload.
    pub data: Vec<u8>,
}

/// A machine after [`Reactor::run`] returned.
pub struct Finished {
    /// The machine.
    pub machine: Box<dyn Machine>,
    /// How late its timers ran.
    pub lateness: Lateness,
    /// How long packets waited to be read.
    pub reading: Lateness,
    /// Datagrams the kernel refused to send, per interface.
    pub unsent: Vec<u64>,
}

/// Wakes a [`Reactor`] from another thread.
#[derive(Debug, Clone)]
pub struct Waker {
    notifier: Notifier,
    stop: Arc<AtomicBool>,
}

impl Waker {
    /// Calls [`Machine::handle_wake`] of every machine.
    pub fn wake(&self) {
        self.notifier.notify();
    }

    /// Ends the reactor's run.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }
}

/// Datagrams that a machine sends before others have their turn.
const MOST_WRITTEN: usize = 256;

/// Drives machines on the calling thread until it is stopped.
pub struct Reactor {
    clock: Clock,
    waiter: Waiter,
    waker: Waker,
    machines: Vec<Driven>,
    scratch: Scratch,
    tap: Option<mpsc::SyncSender<Observed>>,
}

/// Memory that is used again.
#[derive(Default)]
struct Scratch {
    /// One datagram.
    datagram: Vec<u8>,
    train: Train,
}

struct Driven {
    machine: Box<dyn Machine>,
    sockets: Vec<Interface>,
    /// Local address of each socket.
    local: Vec<SocketAddr>,
    deadline: Deadline,
    lateness: Lateness,
}

impl Reactor {
    /// A reactor without machines.
    ///
    /// # Errors
    /// The system grants no means to wake it.
    pub fn new(clock: Clock) -> io::Result<Self> {
        let waiter = Waiter::new()?;
        let waker = Waker { notifier: waiter.notifier(), stop: Arc::new(AtomicBool::new(false)) };
        Ok(Self { clock, waiter, waker, machines: Vec::new(), scratch: Scratch::default(), tap: None })
    }

    /// Wakes it from another thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Adds a machine with its sockets.
    ///
    /// # Errors
    /// A socket has no local address.
    pub fn add<I: Into<Interface>>(&mut self, machine: Box<dyn Machine>, sockets: Vec<I>) -> io::Result<()> {
        let sockets: Vec<Interface> = sockets.into_iter().map(Into::into).collect();
        let local = sockets.iter().map(Interface::local_address).collect::<io::Result<_>>()?;
        self.machines.push(Driven {
            machine,
            sockets,
            local,
            deadline: Deadline::default(),
            lateness: Lateness::new(),
        });
        Ok(())
    }

    /// Copies every datagram from now on to `tap`; drops copies while `tap` is full.
    pub fn tap(&mut self, tap: mpsc::SyncSender<Observed>) {
        self.tap = Some(tap);
    }

    /// Runs until [`Waker::stop`] or until `end`; returns the machines.
    ///
    /// # Errors
    /// Polling the sockets failed.
    pub fn run(mut self, end: Option<Timestamp>) -> io::Result<Vec<Finished>> {
        // Which of the open sockets of all machines can be read.
        let mut ready = Vec::new();
        loop {
            let now = self.clock.now();
            if self.waker.stop.load(Ordering::Acquire) || end.is_some_and(|end| end <= now) {
                break;
            }
            for driven in &mut self.machines {
                driven.run_timers(&self.clock, &mut self.scratch, self.tap.as_ref());
            }
            let is_woken = self.sleep(end, &mut ready)?;
            let mut ready = ready.iter().copied();
            for driven in &mut self.machines {
                driven.read(&self.clock, &mut ready, is_woken, &mut self.scratch, self.tap.as_ref());
            }
        }
        Ok(self.machines.into_iter().map(Driven::finish).collect())
    }

    /// Sleeps until there is something to do; true if the waker was used.
    fn sleep(&mut self, end: Option<Timestamp>, ready: &mut Vec<bool>) -> io::Result<bool> {
        let timeouts = self.machines.iter().filter_map(|driven| driven.machine.poll_timeout());
        let next = timeouts.chain(end).min();
        let span: Option<TimeDelta> = next.map(|next| next.since(self.clock.now()));
        let sockets = self.machines.iter().flat_map(|driven| &driven.sockets);
        // A closed device stays readable and would wake the thread for ever.
        self.waiter.wait(sockets.filter(|socket| !socket.is_closed()), span, ready)
    }
}

/// Receives copies of datagrams.
type Tap<'a> = Option<&'a mpsc::SyncSender<Observed>>;

impl Driven {
    fn finish(self) -> Finished {
        let unsent = self.sockets.iter().map(Interface::unsent).collect();
        let mut reading = Lateness::new();
        self.sockets.iter().for_each(|socket| reading.add(socket.reading()));
        Finished { machine: self.machine, lateness: self.lateness, reading, unsent }
    }

    /// Runs the timer that is due.
    fn run_timers(&mut self, clock: &Clock, scratch: &mut Scratch, tap: Tap<'_>) {
        let now = clock.now();
        if let Some(due) = self.machine.poll_timeout().filter(|&due| due <= now) {
            self.lateness.note(self.deadline.late_from(due), now);
            self.machine.handle_timeout(now);
            self.write(clock, scratch, tap);
            self.deadline.set(self.machine.poll_timeout(), Timestamp::ZERO);
        }
    }

    /// Reads what has arrived, at the open sockets that the next of `ready` say.
    fn read(
        &mut self,
        clock: &Clock,
        ready: &mut impl Iterator<Item = bool>,
        is_woken: bool,
        scratch: &mut Scratch,
        tap: Tap<'_>,
    ) {
        let began = clock.now();
        let mut has_input = is_woken;
        let there = self.sockets.iter_mut().enumerate().filter(|(_, socket)| !socket.is_closed());
        for ((index, socket), is_ready) in there.zip(ready) {
            if !is_ready {
                continue;
            }
            has_input = true;
            let (machine, local) = (&mut self.machine, self.local[index]);
            socket.receive(clock, |datagram| {
                if let Some(tap) = tap {
                    let Incoming { from, at, ecn, data } = datagram;
                    // A capture that is too slow has gaps; the session continues.
                    let _ = tap.try_send(Observed { at, from, to: local, ecn, data: data.to_vec() });
                }
                machine.handle_datagram(clock.now(), index, &datagram);
            });
            if socket.is_closed() {
                self.machine.handle_closed(clock.now(), index);
            }
        }
        if is_woken {
            self.machine.handle_wake(clock.now());
        }
        if has_input {
            self.write(clock, scratch, tap);
            self.deadline.set(self.machine.poll_timeout(), began);
        }
    }

    /// Sends what leaves now: in trains, and so much at most before other machines and arrivals have their turn.
    fn write(&mut self, clock: &Clock, scratch: &mut Scratch, tap: Tap<'_>) {
        let mut now = clock.now();
        for _ in 0..MOST_WRITTEN {
            scratch.datagram.clear();
            let Some(outgoing) = self.machine.poll_datagram(now, &mut scratch.datagram) else { break };
            let Some(socket) = self.sockets.get(outgoing.socket) else { continue };
            if let (Some(tap), Some(&from)) = (tap, self.local.get(outgoing.socket)) {
                let (Outgoing { to, ecn, .. }, data) = (outgoing, scratch.datagram.clone());
                let _ = tap.try_send(Observed { at: now, from, to, ecn, data });
            }
            let longest = socket.longest_train();
            if !scratch.train.push(outgoing, &scratch.datagram, longest) {
                self.dispatch(&mut scratch.train);
                now = clock.now();
                scratch.train.push(outgoing, &scratch.datagram, longest);
            }
        }
        self.dispatch(&mut scratch.train);
    }

    fn dispatch(&mut self, train: &mut Train) {
        if let Some(Outgoing { socket, to, ecn }) = train.way()
            && let Some(socket) = self.sockets.get_mut(socket)
        {
            socket.send(to, ecn, train.octets(), train.segment());
        }
        train.clear();
    }
}
