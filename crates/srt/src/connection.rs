//! A connection that is made: data one way, control packets both ways.

use crate::crypto::Crypto;
use crate::receive::{Delivery, Reception};
use crate::rtt::Rtt;
use crate::send::{SendBuffer, Sent};
use crate::statistics::{Counts, Statistics};
use crate::{
    Acknowledgement, Content, Control, Data, Disconnection, FullAcknowledgement, KeyFlag, LossList, Packet,
    Sequence,
};
use seaway_units::{TimeDelta, Timestamp, earlier};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Acknowledgements and reports are looked at so often (section 4.8.1).
const TICK: TimeDelta = TimeDelta::from_millis(10);
/// Data packets from one light acknowledgement to the next (section 4.8.1).
const LIGHT_EVERY: u32 = 64;
/// A connection without other packets has one each second.
const KEEP_ALIVE: TimeDelta = TimeDelta::from_secs(1);
/// A peer that is silent for so long is gone, as in libsrt.
const IDLE: TimeDelta = TimeDelta::from_secs(5);
/// Acknowledgements whose answer may still come.
const UNANSWERED: usize = 64;

/// What a handshake has agreed on.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) peer: SocketAddr,
    pub(crate) peer_socket: u32,
    pub(crate) socket: u32,
    /// Our timestamps count from here.
    pub(crate) origin: Timestamp,
    pub(crate) latency: TimeDelta,
    pub(crate) crypto: Option<Crypto>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    agreed: Agreed,
    stream: Stream,
    rtt: Rtt,
    /// The last packet of the peer, and our last one.
    arrived: Timestamp,
    sent: Timestamp,
    /// Why it is over. What has come is still delivered.
    over: Option<Disconnection>,
    undecryptable: u64,
    out: VecDeque<Vec<u8>>,
}

#[derive(Debug)]
enum Stream {
    Send { buffer: SendBuffer, message: u32 },
    Receive { reception: Box<Reception>, acknowledgements: Acknowledgements },
}

#[derive(Debug)]
struct Acknowledgements {
    next_tick: Timestamp,
    /// Counts full ones.
    number: u32,
    /// Those without answer: number, instant, first missing packet.
    unanswered: VecDeque<(u32, Timestamp, Sequence)>,
    /// What the peer knows.
    confirmed: Sequence,
    /// Data packets since the last one.
    since: u32,
}

impl Connection {
    pub(crate) fn sending(now: Timestamp, agreed: Agreed, first: Sequence) -> Self {
        let buffer = SendBuffer::new(now, first, agreed.latency);
        Self::new(now, agreed, Stream::Send { buffer, message: 0 })
    }

    pub(crate) fn receiving(now: Timestamp, agreed: Agreed, first: Sequence, reception: Reception) -> Self {
        let acknowledgements = Acknowledgements {
            next_tick: now + TICK,
            number: 0,
            unanswered: VecDeque::new(),
            confirmed: first,
            since: 0,
        };
        Self::new(now, agreed, Stream::Receive { reception: Box::new(reception), acknowledgements })
    }

    fn new(now: Timestamp, agreed: Agreed, stream: Stream) -> Self {
        Self {
            agreed,
            stream,
            rtt: Rtt::new(),
            arrived: now,
            sent: now,
            over: None,
            undecryptable: 0,
            out: VecDeque::new(),
        }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.agreed.peer
    }

    /// Whether it was made with this socket.
    pub(crate) fn is_with(&self, peer: SocketAddr, socket: u32) -> bool {
        (self.agreed.peer, self.agreed.peer_socket) == (peer, socket)
    }

    /// Time since the last packet of the peer.
    pub(crate) fn silence(&self, now: Timestamp) -> TimeDelta {
        now.since(self.arrived)
    }

    /// Whether packets wait for their delivery.
    pub(crate) fn holds_stream(&self) -> bool {
        self.next_due().is_some()
    }

    fn next_due(&self) -> Option<Timestamp> {
        match &self.stream {
            Stream::Send { .. } => None,
            Stream::Receive { reception, .. } => reception.next_due(),
        }
    }

    /// Why the connection is over.
    pub(crate) fn ended(&mut self, now: Timestamp) -> Option<Disconnection> {
        if self.over.is_none() && self.silence(now) >= IDLE {
            self.over = Some(Disconnection::Silence);
        }
        self.over
    }

    pub(crate) fn counts(&self) -> Counts {
        let counts = match &self.stream {
            Stream::Send { buffer, .. } => buffer.counts,
            Stream::Receive { reception, .. } => reception.counts,
        };
        Counts { undecryptable: self.undecryptable, ..counts }
    }

    pub(crate) fn describe(&self, statistics: &mut Statistics) {
        statistics.is_connected = true;
        statistics.rtt = self.rtt.measured();
        statistics.latency = Some(self.agreed.latency);
    }

    /// False for a packet that is not of this connection.
    pub(crate) fn on_packet(&mut self, now: Timestamp, from: SocketAddr, packet: &Packet<'_>) -> bool {
        let destination = match packet {
            Packet::Data(data) => data.destination,
            Packet::Control(control) => control.destination,
        };
        if self.over.is_some() || from != self.agreed.peer || destination != self.agreed.socket {
            return false;
        }
        match packet {
            Packet::Data(data) => {
                if !self.on_data(now, data) {
                    return false;
                }
            }
            Packet::Control(control) => self.on_control(now, control),
        }
        self.arrived = now;
        true
    }

    fn on_data(&mut self, now: Timestamp, data: &Data<'_>) -> bool {
        let Stream::Receive { reception, acknowledgements } = &mut self.stream else { return false };
        if !reception.is_wanted(data.sequence) {
            reception.on_unwanted(data.sequence);
            return true;
        }
        let mut payload = data.payload.to_vec();
        let is_plain = match (&mut self.agreed.crypto, data.key) {
            (None, KeyFlag::Plain) => true,
            (None, _) | (Some(_), KeyFlag::Plain) => false,
            (Some(crypto), flag) => crypto.decrypt(flag, data.sequence, &mut payload),
        };
        if !is_plain {
            self.undecryptable += 1;
            return true;
        }
        let lost = reception.on_packet(now, data.sequence, data.timestamp, data.retransmitted, payload);
        acknowledgements.since += 1;
        let light = acknowledgements.since >= LIGHT_EVERY;
        let next = reception.next();
        if let Some(range) = lost {
            let list = LossList::write([range]);
            self.control(now, Content::LossReport(LossList::of(&list)));
        }
        if light {
            self.reset_light();
            let report = Acknowledgement { next, full: None };
            self.control(now, Content::Acknowledgement { number: 0, report });
        }
        true
    }

    fn reset_light(&mut self) {
        if let Stream::Receive { acknowledgements, .. } = &mut self.stream {
            acknowledgements.since = 0;
        }
    }

    fn on_control(&mut self, now: Timestamp, control: &Control<'_>) {
        match &control.content {
            Content::Acknowledgement { number, report } => self.on_acknowledgement(now, *number, report),
            Content::LossReport(list) => self.on_loss_report(now, *list),
            Content::AcknowledgementReceived(number) => self.on_answer(now, *number, control.timestamp),
            Content::DropRequest { first, last } => {
                if let Stream::Receive { reception, .. } = &mut self.stream {
                    reception.on_drop_request(*first, *last);
                }
            }
            Content::Shutdown => self.over = Some(Disconnection::Shutdown),
            Content::KeyMaterial { is_response, data } => self.on_keys(now, *is_response, data),
            Content::Handshake(_) | Content::KeepAlive | Content::Other(_) => {}
        }
    }

    fn on_acknowledgement(&mut self, now: Timestamp, number: u32, report: &Acknowledgement) {
        let Stream::Send { buffer, .. } = &mut self.stream else { return };
        buffer.on_acknowledgement(now, report.next);
        if let Some(full) = &report.full {
            self.rtt.on_report(full.rtt_us, full.rtt_variation_us);
            self.control(now, Content::AcknowledgementReceived(number));
        }
    }

    fn on_loss_report(&mut self, now: Timestamp, list: LossList<'_>) {
        let Stream::Send { buffer, .. } = &mut self.stream else { return };
        let (chosen, is_gone) = buffer.on_loss_report(now, self.rtt.smoothed(), list);
        if is_gone {
            // Everything before what is kept: one request for whatever was named.
            let first = list.ranges().next().map_or(buffer.next(), |(first, _)| first);
            let last = buffer.first() + (u32::MAX >> 1);
            if last.since(first) >= 0 {
                self.control(now, Content::DropRequest { first, last });
            }
        }
        self.repeat(now, &chosen);
    }

    /// An acknowledgement came back: a round trip.
    fn on_answer(&mut self, now: Timestamp, number: u32, timestamp: u32) {
        let Stream::Receive { reception, acknowledgements } = &mut self.stream else { return };
        let place = acknowledgements.unanswered.iter().position(|(sent, ..)| *sent == number);
        let Some((_, at, next)) =
            place.and_then(|place| acknowledgements.unanswered.drain(..=place).next_back())
        else {
            return;
        };
        acknowledgements.confirmed = next;
        self.rtt.on_sample(now.since(at));
        reception.clock().on_sample(now, timestamp, self.rtt.smoothed());
    }

    fn on_keys(&mut self, now: Timestamp, is_response: bool, material: &[u8]) {
        let Some(crypto) = &mut self.agreed.crypto else { return };
        if is_response {
            crypto.on_response(material);
        } else if crypto.on_request(now, material) {
            self.control(now, Content::KeyMaterial { is_response: true, data: material });
        }
    }

    /// Sends a payload of 1 to 1456 octets.
    pub(crate) fn push(&mut self, now: Timestamp, payload: &[u8]) {
        let Stream::Send { buffer, message } = &mut self.stream else { return };
        buffer.drop_late(now);
        *message = *message % LAST_MESSAGE + 1;
        let sequence = buffer.next();
        let mut payload = payload.to_vec();
        let key = match &mut self.agreed.crypto {
            Some(crypto) => crypto.encrypt(now, sequence, &mut payload),
            None => KeyFlag::Plain,
        };
        let timestamp = timestamp(self.agreed.origin, now);
        buffer.push(now, Sent::new(now, key, *message, timestamp, payload));
        self.emit_data(now, sequence, false);
    }

    fn repeat(&mut self, now: Timestamp, chosen: &[Sequence]) {
        chosen.iter().for_each(|&sequence| self.emit_data(now, sequence, true));
    }

    fn emit_data(&mut self, now: Timestamp, sequence: Sequence, retransmitted: bool) {
        let Stream::Send { buffer, .. } = &self.stream else { return };
        let Some(packet) = buffer.get(sequence) else { return };
        let data = Data {
            sequence,
            key: packet.key,
            retransmitted,
            message: packet.message,
            timestamp: packet.timestamp,
            destination: self.agreed.peer_socket,
            payload: &packet.payload,
        };
        self.out.push_back(Packet::Data(data).emit());
        self.sent = now;
    }

    fn control(&mut self, now: Timestamp, content: Content<'_>) {
        let timestamp = timestamp(self.agreed.origin, now);
        let control = Control { timestamp, destination: self.agreed.peer_socket, content };
        self.out.push_back(Packet::Control(control).emit());
        self.sent = now;
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self, now: Timestamp) {
        self.control(now, Content::Shutdown);
        self.over = Some(Disconnection::Shutdown);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        if self.over.is_some() {
            return self.next_due();
        }
        let idle = Some((self.arrived + IDLE).min(self.sent + KEEP_ALIVE));
        let stream = match &self.stream {
            Stream::Send { buffer, .. } => {
                let announcement = self.agreed.crypto.as_ref().and_then(Crypto::poll_timeout);
                earlier(buffer.timeout(self.rtt.bound()), announcement)
            }
            Stream::Receive { reception, acknowledgements } => {
                let has_news = reception.next() != acknowledgements.confirmed || reception.has_losses();
                let tick = has_news.then_some(acknowledgements.next_tick);
                earlier(tick, reception.next_due())
            }
        };
        earlier(idle, stream)
    }

    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if self.over.is_some() {
            return;
        }
        match &mut self.stream {
            Stream::Send { .. } => self.on_send_timeout(now),
            Stream::Receive { acknowledgements, .. } => {
                if acknowledgements.next_tick <= now {
                    acknowledgements.next_tick = now + TICK;
                    self.on_tick(now);
                }
            }
        }
        if now.since(self.sent) >= KEEP_ALIVE {
            self.control(now, Content::KeepAlive);
        }
    }

    fn on_send_timeout(&mut self, now: Timestamp) {
        let Stream::Send { buffer, .. } = &mut self.stream else { return };
        buffer.drop_late(now);
        let bound = self.rtt.bound();
        let again = match buffer.timeout(bound) {
            Some(due) if due <= now => buffer.on_timeout(now, bound),
            _ => Vec::new(),
        };
        self.repeat(now, &again);
        let announcement =
            self.agreed.crypto.as_mut().and_then(|crypto| crypto.poll_announcement(now, self.rtt.smoothed()));
        if let Some(data) = announcement {
            self.control(now, Content::KeyMaterial { is_response: false, data: &data });
        }
    }

    /// A full acknowledgement where there is something to acknowledge, and a report of what is still missing.
    fn on_tick(&mut self, now: Timestamp) {
        let Stream::Receive { reception, acknowledgements } = &mut self.stream else { return };
        let next = reception.next();
        let report = reception.poll_loss_report(now, self.rtt.bound());
        let last = acknowledgements.unanswered.back();
        let is_new = last.is_none_or(|&(_, at, sent)| sent != next || now.since(at) >= self.rtt.bound());
        if next != acknowledgements.confirmed && is_new {
            acknowledgements.number = acknowledgements.number.wrapping_add(1).max(1);
            let number = acknowledgements.number;
            if acknowledgements.unanswered.len() == UNANSWERED {
                acknowledgements.unanswered.pop_front();
            }
            acknowledgements.unanswered.push_back((number, now, next));
            acknowledgements.since = 0;
            let micros = |time: TimeDelta| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
            let full = FullAcknowledgement {
                rtt_us: micros(self.rtt.smoothed()),
                rtt_variation_us: micros(self.rtt.variation()),
                available: reception.available() as u32,
                ..FullAcknowledgement::default()
            };
            let report = Acknowledgement { next, full: Some(full) };
            self.control(now, Content::Acknowledgement { number, report });
        }
        if let Some(list) = report {
            self.control(now, Content::LossReport(LossList::of(&list)));
        }
    }

    pub(crate) fn poll_delivery(&mut self, now: Timestamp) -> Option<Delivery> {
        match &mut self.stream {
            Stream::Send { .. } => None,
            Stream::Receive { reception, .. } => reception.poll_delivery(now),
        }
    }

    pub(crate) fn poll_datagram(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }
}

/// The last number of a message: 26 bits; the first one is 1.
const LAST_MESSAGE: u32 = 0x03ff_ffff;

/// Microseconds since the origin, modulo 2^32.
pub(crate) fn timestamp(origin: Timestamp, now: Timestamp) -> u32 {
    now.since(origin).as_micros() as u32
}
