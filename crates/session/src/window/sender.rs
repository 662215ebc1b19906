//! The sending half: FIFO, window and answers.

use super::{MOST_OUT, Numbers};
use bytes::Bytes;
use seaway_control::window::{Window, WindowConfig};
use seaway_control::{
    Content, Decision, Fate, Feedback, FlowConfig, PacketId, PacketReport, PeerReport, RateController,
    SentPacket, StreamId, Subflow,
};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use seaway_wire::window::{Acknowledgement, DataHeader, Message};
use std::collections::{BTreeMap, VecDeque};

/// A packet is lost after so many later ones.
const LATER: u8 = 3;

/// Configuration of a [`WindowSender`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSenderConfig {
    /// The window; its segment is a whole datagram.
    pub window: WindowConfig,
    /// Octets of the IP and UDP headers.
    pub overhead: DataSize,
    /// What the FIFO holds at most (`b_max`); a frame that does not fit is refused.
    pub queue: DataSize,
    /// The first sequence number.
    pub first: u16,
}

impl WindowSenderConfig {
    /// S002's segments of 512 octets over IPv4.
    pub fn new(queue: DataSize) -> Self {
        let overhead = crate::OVERHEAD_IPV4;
        Self { window: WindowConfig::new(Self::flow(overhead)), overhead, queue, first: 0 }
    }

    /// The flow of a window whose segments have IP and UDP headers of `overhead` octets.
    pub fn flow(overhead: DataSize) -> FlowConfig {
        let datagram = DataSize::from_bytes((DataHeader::LEN + DataHeader::MAX_PAYLOAD) as u64);
        FlowConfig { packet: overhead + datagram, ecn: Ecn::NotEct }
    }

    /// Of a rate on the wire, what full payloads take.
    pub fn payload_rate(&self, rate: Bitrate) -> Bitrate {
        let (payload, packet) = (DataHeader::MAX_PAYLOAD as f64, Self::flow(self.overhead).packet);
        Bitrate::from_bps_f64(rate.as_bps_f64() * payload / packet.as_bytes_f64())
    }
}

/// Counters of a [`WindowSender`] since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowSenderStatistics {
    /// Datagrams that left, repairs among them.
    pub sent: u64,
    /// Their octets on the wire.
    pub size: DataSize,
    /// Of them, retransmissions.
    pub repaired: u64,
    /// Their octets on the wire.
    pub repair_size: DataSize,
    /// Datagrams that the client acknowledged.
    pub acknowledged: u64,
    /// Frames that came into the FIFO.
    pub queued_frames: u64,
    /// Frames that the FIFO had no room for.
    pub refused_frames: u64,
    /// Frames of which the first packet left.
    pub begun_frames: u64,
    /// How long they waited for it, in all.
    pub waited: TimeDelta,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Malformed answers.
    pub malformed: u64,
}

/// Sends frames as the window permits. It retransmits only what the client requests.
#[derive(Debug)]
pub struct WindowSender {
    config: WindowSenderConfig,
    window: Window,
    queue: VecDeque<Piece>,
    queued: DataSize,
    /// Numbers to send again, before the FIFO's head.
    repairs: VecDeque<u64>,
    numbers: Numbers,
    /// The next new number; `None` before the first.
    next: u64,
    departures: u64,
    out: BTreeMap<u64, Outstanding>,
    given_up: u16,
    /// Smoothed, for the header.
    rtt: Option<TimeDelta>,
    reports: Vec<PacketReport>,
    /// Time of presentation of the newest frame.
    newest: TimeDelta,
    statistics: WindowSenderStatistics,
}

/// What one datagram carries.
#[derive(Debug, Clone)]
struct Piece {
    presentation_ms: u32,
    /// When its frame came into the FIFO; of its first piece alone.
    since: Option<Timestamp>,
    payload: Bytes,
}

#[derive(Debug)]
struct Outstanding {
    piece: Piece,
    packet: SentPacket,
    sent: Timestamp,
    /// It was sent more than once, so it gives no sample of the round-trip time (Karn).
    repeated: bool,
    state: State,
    /// Packets that left later and were acknowledged.
    later: u8,
}

impl Outstanding {
    /// A retransmission whose fate is not known.
    fn is_repair_out(&self) -> bool {
        self.repeated && self.state == State::Out
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    Lost,
    Acknowledged,
}

impl WindowSender {
    /// Nothing sent yet.
    pub fn new(config: WindowSenderConfig) -> Self {
        let numbers = Numbers::new(config.first.into());
        Self {
            window: Window::new(config.window),
            queue: VecDeque::new(),
            queued: DataSize::ZERO,
            repairs: VecDeque::new(),
            next: numbers.highest(),
            numbers,
            departures: 0,
            out: BTreeMap::new(),
            given_up: 0,
            rtt: None,
            reports: Vec::new(),
            newest: TimeDelta::ZERO,
            statistics: WindowSenderStatistics::default(),
            config,
        }
    }

    /// Counters since the start.
    pub const fn statistics(&self) -> WindowSenderStatistics {
        self.statistics
    }

    /// Octets in the FIFO without headers, the input of the PD policy.
    pub const fn occupancy(&self) -> DataSize {
        self.queued
    }

    /// The configuration.
    pub const fn config(&self) -> &WindowSenderConfig {
        &self.config
    }

    /// The window, for inspection.
    pub const fn controller(&self) -> &Window {
        &self.window
    }

    /// The smoothed round-trip time, as the header has it.
    pub const fn rtt(&self) -> Option<TimeDelta> {
        self.rtt
    }

    /// What the window did since the last call, oldest first.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        self.window.poll_decision()
    }

    /// Changes what the FIFO holds at most; what is in it stays.
    pub fn set_queue(&mut self, queue: DataSize) {
        self.config.queue = queue;
    }

    /// True where nothing waits, and all that left was acknowledged or is taken for lost.
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.repairs.is_empty() && self.window.flight().is_zero()
    }

    /// No frame follows: an empty payload signals to the client that the last one is complete.
    pub fn finish(&mut self) {
        // One tick later, so that it is no part of that frame.
        let presentation_ms = (self.newest.as_millis() + 1) as u32;
        self.queue.push_back(Piece { presentation_ms, since: None, payload: Bytes::new() });
    }

    /// Drops the frames of which nothing left yet, and finishes.
    pub fn abandon(&mut self) {
        if let Some(next) = self.queue.iter().position(|piece| piece.since.is_some()) {
            self.queue.truncate(next);
        }
        self.queued = self.queue.iter().map(|piece| DataSize::of(&piece.payload)).sum();
        self.finish();
    }

    /// A frame to be displayed at `presentation`. False where the FIFO has no room for it.
    pub fn on_frame(&mut self, now: Timestamp, presentation: TimeDelta, data: &Bytes) -> bool {
        let size = DataSize::from_bytes(data.len() as u64);
        if self.queued + size > self.config.queue {
            self.statistics.refused_frames += 1;
            return false;
        }
        // Modulo 2^32, as the header counts.
        let presentation_ms = presentation.as_millis() as u32;
        self.newest = presentation;
        self.statistics.queued_frames += 1;
        for start in (0..data.len()).step_by(DataHeader::MAX_PAYLOAD) {
            let end = data.len().min(start + DataHeader::MAX_PAYLOAD);
            let since = (start == 0).then_some(now);
            self.queue.push_back(Piece { presentation_ms, since, payload: data.slice(start..end) });
        }
        self.queued += size;
        true
    }

    /// A datagram came from the client.
    pub fn handle_answer(&mut self, now: Timestamp, datagram: &[u8]) {
        match Message::parse(datagram) {
            Ok(Message::Acknowledgement(acknowledgement)) => self.on_acknowledgement(now, acknowledgement),
            Ok(Message::RetransmissionRequest(sequences)) => self.on_request(now, sequences.iter()),
            Err(_) => self.statistics.malformed += 1,
        }
    }

    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come. What was out is given up; nothing is sent again.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.window.handle_timeout(now);
    }

    /// When the sender wants to be woken.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.window.poll_timeout()
    }

    /// Appends the octets of the datagram that leaves now to `buffer`, and gives its size on the wire.
    pub fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<DataSize> {
        while self.repairs.front().is_some_and(|number| !self.is_wanted(*number)) {
            self.repairs.pop_front();
        }
        let repair = self.repairs.front().copied();
        let piece = match repair {
            Some(number) => self.out.get(&number)?.piece.clone(),
            None => self.queue.front().filter(|_| self.out.len() < MOST_OUT as usize)?.clone(),
        };
        let len = DataHeader::LEN + piece.payload.len();
        let size = self.config.overhead + DataSize::from_bytes(len as u64);
        if self.window.allowance(Subflow(0)).window.is_some_and(|window| size > window) {
            return None;
        }
        let number = match repair {
            Some(number) => {
                self.repairs.pop_front();
                self.statistics.repaired += 1;
                self.statistics.repair_size += size;
                number
            }
            None => {
                self.queue.pop_front();
                self.queued = self.queued.saturating_sub(DataSize::from_bytes(piece.payload.len() as u64));
                if let Some(since) = piece.since {
                    self.statistics.begun_frames += 1;
                    self.statistics.waited += now.since(since);
                }
                let number = self.next;
                self.next += 1;
                self.numbers.next(number as u16 as u32);
                number
            }
        };
        let header = DataHeader {
            sequence_number: number as u16,
            presentation_ms: piece.presentation_ms,
            rtt: self.rtt,
        };
        let start = buffer.len();
        buffer.resize(start + DataHeader::LEN, 0);
        header.emit(&mut buffer[start..]).ok()?;
        buffer.extend_from_slice(&piece.payload);
        self.depart(now, number, piece, size, repair.is_some());
        Some(size)
    }

    fn depart(&mut self, now: Timestamp, number: u64, piece: Piece, size: DataSize, repeated: bool) {
        let stream = StreamId(0);
        let packet = SentPacket {
            id: PacketId(self.departures),
            subflow: Subflow(0),
            sequence: self.departures,
            size,
            content: if repeated { Content::Retransmission(stream) } else { Content::Media(stream) },
            probe: None,
            backlog: self.queued,
        };
        self.departures += 1;
        self.statistics.sent += 1;
        self.statistics.size += size;
        self.window.on_sent(now, &packet);
        let record = Outstanding { piece, packet, sent: now, repeated, state: State::Out, later: 0 };
        self.out.insert(number, record);
    }

    /// Whether a retransmission of `number` is still of use.
    fn is_wanted(&self, number: u64) -> bool {
        self.out.get(&number).is_some_and(|record| record.state != State::Acknowledged)
    }

    fn on_acknowledgement(&mut self, now: Timestamp, acknowledgement: Acknowledgement) {
        let packet = self.numbers.peek(acknowledgement.packet.into());
        let cumulative = self.numbers.peek(acknowledgement.cumulative.into());
        if packet >= self.next || cumulative >= self.next {
            // About packets that were never sent.
            self.statistics.malformed += 1;
            return;
        }
        let record = self.out.get(&packet);
        let sample = record.filter(|record| !record.repeated && record.state != State::Acknowledged);
        let rtt = sample.map(|record| now - record.sent);
        if let Some(rtt) = rtt {
            self.rtt = Some(self.rtt.map_or(rtt, |known| known + (rtt - known) / 8));
        }
        self.acknowledge(packet);
        for ahead in (1..=32).filter(|ahead| acknowledgement.bitmap >> (32 - ahead) & 1 == 1) {
            self.acknowledge(cumulative + ahead);
        }
        self.pass(cumulative, acknowledgement.given_up);
        self.count_later();
        self.report(now, rtt, &[]);
        let repairs = &self.repairs;
        let passed = self.out.range(..=cumulative).filter(|(number, record)| {
            // The client requested it and waits for it, whatever it acknowledges meanwhile.
            !record.is_repair_out() && !repairs.contains(number)
        });
        let passed: Vec<u64> = passed.map(|(number, _)| *number).collect();
        for number in passed {
            self.out.remove(&number);
        }
    }

    /// The client received `number`.
    fn acknowledge(&mut self, number: u64) {
        let Some(record) = self.out.get_mut(&number).filter(|record| record.state != State::Acknowledged)
        else {
            return;
        };
        let fate = match record.state {
            State::Lost => Fate::Late { at: None },
            _ => Fate::Received { at: None, ecn: Ecn::NotEct },
        };
        record.state = State::Acknowledged;
        self.statistics.acknowledged += 1;
        self.reports.push(PacketReport { packet: record.packet, sent: record.sent, fate });
    }

    /// All up to `cumulative` was received or given up. Of those not acknowledged before, the first are the given up ones.
    fn pass(&mut self, cumulative: u64, given_up: u16) {
        let newly_given_up = given_up.wrapping_sub(self.given_up);
        // An answer that was overtaken has a lower count.
        let mut gone = if newly_given_up <= u16::MAX / 2 { newly_given_up } else { 0 };
        if newly_given_up <= u16::MAX / 2 {
            self.given_up = given_up;
        }
        let passed: Vec<u64> = self.out.range(..=cumulative).map(|(number, _)| *number).collect();
        for number in passed {
            let is_open =
                |record: &&mut Outstanding| record.state != State::Acknowledged && !record.is_repair_out();
            let Some(record) = self.out.get_mut(&number).filter(is_open) else { continue };
            if gone == 0 {
                self.acknowledge(number);
            } else {
                gone -= 1;
                Self::lose(record, &mut self.reports, &mut self.statistics);
            }
        }
    }

    fn lose(
        record: &mut Outstanding,
        reports: &mut Vec<PacketReport>,
        statistics: &mut WindowSenderStatistics,
    ) {
        if record.state == State::Out {
            record.state = State::Lost;
            statistics.lost += 1;
            reports.push(PacketReport { packet: record.packet, sent: record.sent, fate: Fate::Lost });
        }
    }

    /// A packet is lost once three packets that left later were acknowledged, requested or not.
    fn count_later(&mut self) {
        let acknowledged: Vec<PacketId> = self
            .reports
            .iter()
            .filter(|report| matches!(report.fate, Fate::Received { .. }))
            .map(|report| report.packet.id)
            .collect();
        for record in self.out.values_mut().filter(|record| record.state == State::Out) {
            let later = acknowledged.iter().filter(|id| **id > record.packet.id).count();
            record.later = record.later.saturating_add(later.min(LATER.into()) as u8);
            if record.later >= LATER {
                Self::lose(record, &mut self.reports, &mut self.statistics);
            }
        }
    }

    fn on_request(&mut self, now: Timestamp, sequences: impl Iterator<Item = u16>) {
        let mut requested = Vec::new();
        for sequence in sequences {
            let number = self.numbers.peek(sequence.into());
            let Some(record) = self.out.get_mut(&number).filter(|record| record.state != State::Acknowledged)
            else {
                continue;
            };
            if self.repairs.contains(&number) {
                continue;
            }
            requested.push(record.packet.id);
            Self::lose(record, &mut self.reports, &mut self.statistics);
            self.repairs.push_back(number);
        }
        self.report(now, None, &requested);
    }

    fn report(&mut self, now: Timestamp, rtt: Option<TimeDelta>, requested: &[PacketId]) {
        let mut packets = std::mem::take(&mut self.reports);
        packets.sort_unstable_by_key(|report| report.packet.id);
        let peer = PeerReport::default();
        self.window
            .on_feedback(now, &Feedback { subflow: Subflow(0), rtt, packets: &packets, requested, peer });
        packets.clear();
        self.reports = packets;
    }
}
