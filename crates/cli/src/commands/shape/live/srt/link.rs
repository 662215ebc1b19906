//! The socket and the clock of an SRT endpoint.

use super::address::SrtAddress;
use super::notes::Notes;
use crate::failure::Failure;
use ring::rand::{SecureRandom, SystemRandom};
use seaway_net::{Clock, make_real_time};
use seaway_srt::{Delivery, Direction, Endpoint};
use seaway_units::{TimeDelta, Timestamp};
use serde::Serialize;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Octets of the kernel's buffers: a second at 16 Mbit/s.
const BUFFER: usize = 2 << 20;
/// The longest datagram that there is. One that is too long for SRT is counted.
const DATAGRAM: usize = 1 << 16;
/// The longest wait for a datagram. What another thread sends may have to be sent again before.
const LONGEST_WAIT: TimeDelta = TimeDelta::from_millis(10);
/// A wait of no time would be for ever.
const SHORTEST_WAIT: Duration = Duration::from_micros(100);

/// An endpoint with its socket. One thread drives it; any thread may send.
#[derive(Debug)]
pub(in super::super) struct Link {
    name: String,
    socket: UdpSocket,
    is_connected: bool,
    clock: Clock,
    state: Mutex<State>,
    failure: OnceLock<String>,
}

#[derive(Debug)]
struct State {
    endpoint: Endpoint,
    notes: Notes,
    /// Datagrams that the kernel refused.
    refused: u64,
}

/// Counts of a link.
#[derive(Debug, Clone, Copy, Serialize)]
pub(in super::super) struct SrtReport {
    pub(in super::super) connected: bool,
    pub(in super::super) connections: u64,
    /// Data packets.
    pub(in super::super) packets: u64,
    pub(in super::super) lost: u64,
    pub(in super::super) retransmitted: u64,
    /// Those that were not there in time.
    pub(in super::super) dropped: u64,
    /// Those that came twice or too late.
    pub(in super::super) late: u64,
    /// Those beyond the buffer.
    pub(in super::super) beyond: u64,
    pub(in super::super) undecryptable: u64,
    /// Payloads for which there was no connection.
    pub(in super::super) unsent: u64,
    /// Datagrams that are no SRT, and those that are not of the connection.
    pub(in super::super) malformed: u64,
    pub(in super::super) unrelated: u64,
    pub(in super::super) refused_handshakes: u64,
    pub(in super::super) refused_by_kernel: u64,
    pub(in super::super) rtt_ms: Option<f64>,
    pub(in super::super) latency_ms: Option<f64>,
}

impl Link {
    pub(in super::super) fn open(
        name: &str,
        address: &SrtAddress,
        direction: Direction,
        clock: Clock,
    ) -> Result<Arc<Link>, Failure> {
        let failed = |error: &io::Error| Failure::input(&format!("{name}: {error}"));
        let socket = open(address).map_err(|error| failed(&error))?;
        let mut seed = [0; 32];
        SystemRandom::new().fill(&mut seed).map_err(|_| Failure::running(&"no random numbers"))?;
        let (now, settings) = (clock.now(), address.settings(direction));
        let endpoint = match address.is_listener {
            true => Endpoint::listener(now, settings, &seed),
            false => Endpoint::caller(now, settings, &seed, address.socket),
        };
        let state = State { endpoint, notes: Notes::new(name), refused: 0 };
        Ok(Arc::new(Link {
            name: name.to_owned(),
            socket,
            is_connected: !address.is_listener,
            clock,
            state: Mutex::new(state),
            failure: OnceLock::new(),
        }))
    }

    /// Drives the endpoint until it fails, or `deliver` returns false.
    pub(in super::super) fn run(&self, mut deliver: impl FnMut(Delivery) -> bool) {
        // The thread that sends reports a refusal.
        let _ = make_real_time();
        let mut buffer = vec![0; DATAGRAM];
        while self.failure.get().is_none() {
            let arrived = self.receive(&mut buffer);
            let now = self.clock.now();
            let mut state = self.state();
            match arrived {
                Ok(Some((length, from))) => state.endpoint.on_datagram(now, from, &buffer[..length]),
                Ok(None) => {}
                Err(error) => {
                    let _ = self.failure.set(error.to_string());
                }
            }
            state.endpoint.handle_timeout(now);
            let deliveries: Vec<Delivery> =
                std::iter::from_fn(|| state.endpoint.poll_delivery(now)).collect();
            self.drain(now, &mut state);
            // The channel may be full: others go on meanwhile.
            drop(state);
            if !deliveries.into_iter().all(&mut deliver) {
                return;
            }
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        let due = self.state().endpoint.poll_timeout();
        let wait = due.map_or(LONGEST_WAIT, |due| due.since(self.clock.now()).min(LONGEST_WAIT));
        let wait = Duration::from_nanos(wait.as_nanos().max(0) as u64).max(SHORTEST_WAIT);
        self.socket.set_read_timeout(Some(wait))?;
        match self.socket.recv_from(buffer) {
            Ok(arrived) => Ok(Some(arrived)),
            Err(error) if is_passing(error.kind()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a payload; false where the kernel refused a datagram.
    pub(in super::super) fn push(&self, now: Timestamp, payload: &[u8]) -> bool {
        let mut state = self.state();
        let refused = state.refused;
        // Seven transport packets fit.
        let is_taken = state.endpoint.push(now, payload).is_ok();
        self.drain(now, &mut state);
        is_taken && refused == state.refused
    }

    /// Closes the connection of a listener, which takes the next caller then; false for a caller.
    pub(in super::super) fn drop_caller(&self) -> bool {
        if self.is_connected {
            return false;
        }
        let now = self.clock.now();
        let mut state = self.state();
        state.endpoint.disconnect(now);
        self.drain(now, &mut state);
        true
    }

    /// Says goodbye.
    pub(in super::super) fn close(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        state.endpoint.close(now);
        while state.endpoint.poll_event().is_some() {}
        self.drain(now, &mut state);
    }

    fn drain(&self, now: Timestamp, state: &mut State) {
        while let Some(transmit) = state.endpoint.poll_datagram() {
            let sent = match self.is_connected {
                true => self.socket.send(&transmit.datagram),
                false => self.socket.send_to(&transmit.datagram, transmit.to),
            };
            // A host on which nothing listens refuses by ICMP: the endpoint goes on.
            let is_refused = sent.is_err_and(|error| error.kind() != ErrorKind::ConnectionRefused);
            state.refused += u64::from(is_refused);
        }
        while let Some(event) = state.endpoint.poll_event() {
            if let Some(reason) = state.notes.on_event(now, &event) {
                let _ = self.failure.set(reason);
            }
        }
    }

    /// Why the link is over.
    pub(in super::super) fn check(&self) -> Result<(), Failure> {
        match self.failure.get() {
            Some(reason) => Err(Failure::running(&format!("{}: {reason}", self.name))),
            None => Ok(()),
        }
    }

    pub(in super::super) fn report(&self) -> SrtReport {
        let state = self.state();
        let statistics = state.endpoint.statistics();
        let counts = statistics.counts;
        SrtReport {
            connected: statistics.is_connected,
            connections: statistics.connections,
            packets: counts.packets,
            lost: counts.lost,
            retransmitted: counts.retransmitted,
            dropped: counts.dropped,
            late: counts.late,
            beyond: counts.beyond,
            undecryptable: counts.undecryptable,
            unsent: statistics.unsent,
            malformed: statistics.malformed,
            unrelated: statistics.unrelated,
            refused_handshakes: statistics.refused,
            refused_by_kernel: state.refused,
            rtt_ms: statistics.rtt.map(TimeDelta::as_millis_f64),
            latency_ms: statistics.latency.map(TimeDelta::as_millis_f64),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener's socket is bound to its address, a caller's is connected: then the kernel passes packets of its peer alone.
fn open(address: &SrtAddress) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address.socket), Type::DGRAM, Some(Protocol::UDP))?;
    // A smaller buffer than asked for is acceptable.
    let _ = socket.set_recv_buffer_size(BUFFER);
    let _ = socket.set_send_buffer_size(BUFFER);
    if address.is_listener {
        socket.bind(&SockAddr::from(address.socket))?;
    } else {
        let any: SocketAddr = match address.socket {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        socket.bind(&SockAddr::from(any))?;
        socket.connect(&SockAddr::from(address.socket))?;
    }
    Ok(socket.into())
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::WouldBlock
            | ErrorKind::TimedOut
    )
}
