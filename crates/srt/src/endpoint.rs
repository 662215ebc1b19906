//! One end: a caller or a listener, with its connection.

use crate::caller::{Call, Progress};
use crate::connection::Connection;
use crate::listener::{Answer, Listener};
use crate::random::Random;
use crate::receive::Delivery;
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::{Content, Control, Disconnection, Error, Event, MAX_PAYLOAD, Packet};
use seaway_units::{TimeDelta, Timestamp, earlier};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// From the end of a connection, or a refusal, to the next call.
const CALL_AGAIN: TimeDelta = TimeDelta::from_secs(1);
/// Events that are kept. A later one is left out.
const EVENTS: usize = 64;

/// A datagram, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// The peer.
    pub to: SocketAddr,
    /// The datagram.
    pub datagram: Vec<u8>,
}

/// One end of a connection: a machine without clock and socket.
///
/// A caller calls until it is answered, and calls again when the connection is over. A listener has one connection at a time and
/// takes the next caller when that is over.
///
/// After each input ([`on_datagram`](Self::on_datagram), [`push`](Self::push), [`handle_timeout`](Self::handle_timeout),
/// [`disconnect`](Self::disconnect), [`close`](Self::close)) drain every `poll_*` until it is empty. Time never runs back.
#[derive(Debug)]
pub struct Endpoint {
    settings: Settings,
    random: Random,
    role: Role,
    connection: Option<Box<Connection>>,
    /// Of connections that are over, and of what is none.
    statistics: Statistics,
    out: VecDeque<Transmit>,
    events: VecDeque<Event>,
    is_closed: bool,
}

#[derive(Debug)]
enum Role {
    Listener(Box<Listener>),
    Caller {
        peer: SocketAddr,
        call: Option<Box<Call>>,
        /// When to call where there is no call.
        call_at: Option<Timestamp>,
    },
}

impl Endpoint {
    /// An end that calls `peer`. The seed is secret.
    pub fn caller(now: Timestamp, settings: Settings, seed: &[u8; 32], peer: SocketAddr) -> Self {
        let role = Role::Caller { peer, call: None, call_at: Some(now) };
        let mut endpoint = Self::new(settings, Random::new(seed), role);
        endpoint.handle_timeout(now);
        endpoint
    }

    /// An end that is called. The seed is secret.
    pub fn listener(now: Timestamp, settings: Settings, seed: &[u8; 32]) -> Self {
        let mut random = Random::new(seed);
        let listener = Box::new(Listener::new(now, &mut random));
        Self::new(settings, random, Role::Listener(listener))
    }

    fn new(settings: Settings, random: Random, role: Role) -> Self {
        Self {
            settings,
            random,
            role,
            connection: None,
            statistics: Statistics::default(),
            out: VecDeque::new(),
            events: VecDeque::new(),
            is_closed: false,
        }
    }

    /// What was counted so far.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = self.statistics;
        if let Some(connection) = &self.connection {
            statistics.counts += connection.counts();
            connection.describe(&mut statistics);
        }
        statistics
    }

    /// A datagram has arrived.
    pub fn on_datagram(&mut self, now: Timestamp, from: SocketAddr, datagram: &[u8]) {
        let Ok(packet) = Packet::parse(datagram) else {
            self.statistics.malformed += 1;
            return;
        };
        let is_of_connection =
            self.connection.as_mut().is_some_and(|connection| connection.on_packet(now, from, &packet));
        if !is_of_connection && !self.on_other(now, from, &packet) {
            self.statistics.unrelated += 1;
        }
        self.look_after_connection(now);
    }

    /// A packet that is not of the connection; false where it is a handshake neither.
    fn on_other(&mut self, now: Timestamp, from: SocketAddr, packet: &Packet<'_>) -> bool {
        let Packet::Control(control) = packet else { return false };
        if self.is_closed || !matches!(control.content, Content::Handshake(_)) {
            return false;
        }
        match &self.role {
            Role::Listener(_) => self.on_request(now, from, control),
            Role::Caller { peer, .. } => *peer == from && self.on_answer(now, control),
        }
    }

    fn on_request(&mut self, now: Timestamp, from: SocketAddr, control: &Control<'_>) -> bool {
        let Role::Listener(listener) = &mut self.role else { return false };
        let (settings, connection) = (&self.settings, self.connection.as_deref());
        let answer = listener.on_handshake(now, from, control, settings, connection, &mut self.random);
        let datagram = match answer {
            Answer::Silence => return false,
            Answer::Datagram(datagram) => datagram,
            Answer::Refused(datagram, refusal) => {
                self.statistics.refused += 1;
                self.event(Event::CallerRefused { peer: from, refusal });
                datagram
            }
            Answer::Connected(datagram, connection, stream_id) => {
                self.drop_connection(Disconnection::Silence);
                self.connect(connection, stream_id);
                datagram
            }
        };
        self.out.push_back(Transmit { to: from, datagram });
        true
    }

    fn on_answer(&mut self, now: Timestamp, control: &Control<'_>) -> bool {
        let Role::Caller { call, call_at, .. } = &mut self.role else { return false };
        let Some(progress) =
            call.as_mut().and_then(|call| call.on_answer(now, control, &self.settings, &mut self.random))
        else {
            return false;
        };
        match progress {
            Progress::Pending => self.call(now),
            Progress::Connected(connection) => {
                *call = None;
                self.connect(connection, self.settings.stream_id.clone());
            }
            Progress::Refused(refusal) => {
                *call = None;
                *call_at = (!refusal.is_final()).then_some(now + CALL_AGAIN);
                self.statistics.refused += 1;
                self.event(Event::Refused(refusal));
            }
        }
        true
    }

    fn connect(&mut self, connection: Box<Connection>, stream_id: Option<String>) {
        self.statistics.connections += 1;
        let mut agreed = Statistics::default();
        connection.describe(&mut agreed);
        self.event(Event::Connected {
            peer: connection.peer(),
            latency: agreed.latency.unwrap_or(TimeDelta::ZERO),
            is_encrypted: self.settings.passphrase.is_some(),
            stream_id,
        });
        self.connection = Some(connection);
    }

    fn drop_connection(&mut self, cause: Disconnection) {
        let Some(connection) = self.connection.take() else { return };
        self.statistics.counts += connection.counts();
        self.event(Event::Disconnected { peer: connection.peer(), cause });
    }

    fn look_after_connection(&mut self, now: Timestamp) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(datagram) = connection.poll_datagram() {
            self.out.push_back(Transmit { to: connection.peer(), datagram });
        }
        let Some(cause) = connection.ended(now) else { return };
        // What is left of the stream is delivered when it is due, and then the connection is over.
        if connection.holds_stream() {
            return;
        }
        self.end_connection(now, cause);
    }

    fn end_connection(&mut self, now: Timestamp, cause: Disconnection) {
        self.drop_connection(cause);
        if let Role::Caller { call_at, .. } = &mut self.role {
            *call_at = Some(now + CALL_AGAIN);
        }
    }

    fn event(&mut self, event: Event) {
        if self.events.len() < EVENTS {
            self.events.push_back(event);
        }
    }

    /// Sends a payload. Without a connection it is counted and dropped.
    pub fn push(&mut self, now: Timestamp, payload: &[u8]) -> Result<(), Error> {
        if payload.is_empty() || payload.len() > MAX_PAYLOAD {
            return Err(Error::Payload(payload.len()));
        }
        match &mut self.connection {
            Some(connection) => connection.push(now, payload),
            None => self.statistics.unsent += 1,
        }
        self.look_after_connection(now);
        Ok(())
    }

    /// Closes the connection alone; what waits for its delivery is dropped. A listener takes the next caller then, and a caller
    /// calls again.
    pub fn disconnect(&mut self, now: Timestamp) {
        let Some(connection) = &mut self.connection else { return };
        connection.close(now);
        while let Some(datagram) = connection.poll_datagram() {
            self.out.push_back(Transmit { to: connection.peer(), datagram });
        }
        self.end_connection(now, Disconnection::Closed);
    }

    /// Closes the connection and makes no other.
    pub fn close(&mut self, now: Timestamp) {
        self.is_closed = true;
        if let Some(connection) = &mut self.connection {
            connection.close(now);
        }
        self.look_after_connection(now);
        self.drop_connection(Disconnection::Shutdown);
        if let Role::Caller { call, call_at, .. } = &mut self.role {
            (*call, *call_at) = (None, None);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let connection = self.connection.as_ref().and_then(|connection| connection.poll_timeout());
        let call = match &self.role {
            Role::Listener(_) => None,
            Role::Caller { call, call_at, .. } => {
                earlier(call.as_ref().map(|call| call.poll_timeout()), *call_at)
            }
        };
        earlier(connection, call)
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.look_after_connection(now);
        self.call(now);
    }

    fn call(&mut self, now: Timestamp) {
        let Role::Caller { peer, call, call_at } = &mut self.role else { return };
        let mut is_unanswered = false;
        if call.as_ref().is_some_and(|call| call.is_over(now)) {
            is_unanswered = true;
            (*call, *call_at) = (None, Some(now));
        }
        if call_at.is_some_and(|at| at <= now) {
            *call_at = None;
            *call = Some(Box::new(Call::new(now, *peer, &mut self.random)));
        }
        if let Some(datagram) = call.as_mut().and_then(|call| call.poll_request(now)) {
            self.out.push_back(Transmit { to: *peer, datagram });
        }
        if is_unanswered {
            self.event(Event::Unanswered);
        }
    }

    /// The next datagram to send.
    pub fn poll_datagram(&mut self) -> Option<Transmit> {
        self.out.pop_front()
    }

    /// The next payload that is due.
    pub fn poll_delivery(&mut self, now: Timestamp) -> Option<Delivery> {
        let delivery = self.connection.as_mut()?.poll_delivery(now);
        if delivery.is_none() {
            self.look_after_connection(now);
        }
        delivery
    }

    /// The next thing that has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
