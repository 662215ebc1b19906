//! The receiving half: acknowledgements, requests by deadline, frames when they are due.

use super::Numbers;
use crate::unwrap::nearest;
use bytes::Bytes;
use seaway_units::{TimeDelta, Timestamp};
use seaway_wire::List;
use seaway_wire::window::{Acknowledgement, DataHeader, Message};
use std::collections::{BTreeMap, VecDeque};

/// Later packets that make a hole more than reordering.
const LATER: u8 = 3;
/// Numbers after a hole that an acknowledgement can name.
const NAMED: u64 = 32;
/// Numbers that are remembered at most; a longer hole is given up whole.
const CAPACITY: u64 = 4096;
/// Answers and frames that wait to be read at most.
const WAITING: usize = 4096;

/// What a [`WindowClient`] is told once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientConfig {
    /// From the arrival of the first packet to its display.
    pub buffer: TimeDelta,
    /// A request needs this much more time than the round-trip, as a part of it; S002: none.
    pub margin: f64,
    /// How long a hole may be mere reordering where fewer than three later packets came.
    pub reorder: TimeDelta,
}

impl ClientConfig {
    /// S002's test of the deadline, 10 ms for reordering.
    pub const fn new(buffer: TimeDelta) -> Self {
        Self { buffer, margin: 0.0, reorder: TimeDelta::from_millis(10) }
    }
}

/// A whole frame, at the time it is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFrame {
    /// Modulo 2^32.
    pub presentation_ms: u32,
    /// The frame's octets.
    pub data: Bytes,
}

/// What a [`WindowClient`] did since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientStatistics {
    /// Packets that came for the first time.
    pub received: u64,
    /// Packets that came once more.
    pub duplicates: u64,
    /// Packets that were asked for.
    pub requested: u64,
    /// Of those, packets that came.
    pub repaired: u64,
    /// Packets that came too late to be shown.
    pub late: u64,
    /// Packets that were given up.
    pub given_up: u64,
    /// Frames given out whole.
    pub shown: u64,
    /// Their octets.
    pub octets: u64,
    /// Frames of which something was missing when they were due: dropped whole.
    pub concealed: u64,
    /// Datagrams that made no sense.
    pub malformed: u64,
}

/// Receives from a [`WindowSender`](super::WindowSender).
#[derive(Debug)]
pub struct WindowClient {
    config: ClientConfig,
    numbers: Option<Numbers>,
    /// All up to here came or was given up.
    cumulative: u64,
    given_up: u16,
    /// Payloads not given out yet.
    held: BTreeMap<u64, Held>,
    /// True where a number above `cumulative` came, whether its payload is still held or not.
    came: BTreeMap<u64, ()>,
    holes: BTreeMap<u64, Hole>,
    /// All up to here was given out or dropped.
    consumed: Option<u64>,
    /// The first packet: its arrival and its time of presentation, unwrapped.
    origin: Option<(Timestamp, u64)>,
    newest_ms: u64,
    ended: bool,
    rtt: Option<TimeDelta>,
    outgoing: VecDeque<Bytes>,
    frames: VecDeque<ClientFrame>,
    statistics: ClientStatistics,
}

#[derive(Debug)]
struct Held {
    presentation: u64,
    payload: Bytes,
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    since: Timestamp,
    later: u8,
    /// When what is missing must be shown.
    deadline: Timestamp,
    fate: Judged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    NotYet,
    Asked,
    GivenUp,
}

impl WindowClient {
    /// Nothing came yet.
    pub fn new(config: ClientConfig) -> Self {
        Self {
            config,
            numbers: None,
            cumulative: 0,
            given_up: 0,
            held: BTreeMap::new(),
            came: BTreeMap::new(),
            holes: BTreeMap::new(),
            consumed: None,
            origin: None,
            newest_ms: 0,
            ended: false,
            rtt: None,
            outgoing: VecDeque::new(),
            frames: VecDeque::new(),
            statistics: ClientStatistics::default(),
        }
    }

    /// What it did since the start.
    pub const fn statistics(&self) -> ClientStatistics {
        self.statistics
    }

    /// A datagram came from the sender.
    pub fn handle_datagram(&mut self, now: Timestamp, datagram: &Bytes) {
        let Ok((header, payload)) = DataHeader::parse(datagram) else {
            self.statistics.malformed += 1;
            return;
        };
        let payload = datagram.slice_ref(payload);
        self.rtt = header.rtt.or(self.rtt);
        let presentation = match self.origin {
            Some(_) => nearest::<32>(self.newest_ms, header.presentation_ms),
            None => (1 << 32) + u64::from(header.presentation_ms),
        };
        self.newest_ms = self.newest_ms.max(presentation);
        self.origin.get_or_insert((now, presentation));
        let number = self.arrive(now, header.sequence_number, presentation);
        self.store(now, number, Held { presentation, payload });
        self.judge(now);
        self.advance();
        self.acknowledge(header.sequence_number);
    }

    /// The stream is over: the last frame is whole where nothing behind it is missing.
    pub fn on_end(&mut self) {
        self.ended = true;
    }

    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.judge(now);
        self.advance();
        self.show(now);
    }

    /// When the client wants to be woken.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let hole = self.holes.values().filter_map(|hole| match hole.fate {
            Judged::NotYet => Some(hole.since + self.config.reorder),
            Judged::Asked => Some(hole.deadline),
            Judged::GivenUp => None,
        });
        let due = self.held.values().map(|held| self.display(held.presentation));
        hole.chain(due).min()
    }

    /// The next datagram for the sender.
    pub fn poll_answer(&mut self) -> Option<Bytes> {
        self.outgoing.pop_front()
    }

    /// The next frame that is to be shown now.
    pub fn poll_frame(&mut self) -> Option<ClientFrame> {
        self.frames.pop_front()
    }

    fn display(&self, presentation: u64) -> Timestamp {
        let Some((first, origin)) = self.origin else { return Timestamp::ZERO };
        let ahead = presentation.wrapping_sub(origin) as i64;
        // Nothing is shown days away from the first packet.
        const LONGEST: i64 = 1 << 32;
        first + self.config.buffer + TimeDelta::from_millis(ahead.clamp(-LONGEST, LONGEST))
    }

    /// Opens the holes that `sequence` shows, and closes its own.
    fn arrive(&mut self, now: Timestamp, sequence: u16, presentation: u64) -> u64 {
        let first = Numbers::new(sequence.into());
        if self.numbers.is_none() {
            self.cumulative = first.highest() - 1;
        }
        let numbers = self.numbers.get_or_insert(first);
        let before = numbers.highest();
        let number = numbers.next(sequence.into());
        if number > before + CAPACITY {
            self.give_up_all(number - 1);
        }
        let deadline = self.display(presentation);
        for missing in (before + 1).max(self.cumulative + 1)..number {
            self.holes.insert(missing, Hole { since: now, later: 0, deadline, fate: Judged::NotYet });
        }
        for hole in self.holes.range_mut(..number).map(|(_, hole)| hole) {
            hole.later = hole.later.saturating_add(1);
        }
        number
    }

    /// An outage: nobody would show what was lost in it.
    fn give_up_all(&mut self, up_to: u64) {
        let lost = up_to - self.cumulative - self.came.len() as u64;
        self.statistics.given_up += lost;
        self.given_up = self.given_up.wrapping_add(lost as u16);
        self.cumulative = up_to;
        self.came.clear();
        self.holes.clear();
    }

    fn store(&mut self, now: Timestamp, number: u64, held: Held) {
        let hole = self.holes.remove(&number);
        if number <= self.cumulative || self.came.contains_key(&number) {
            self.statistics.duplicates += 1;
            return;
        }
        self.statistics.received += 1;
        self.statistics.repaired += u64::from(hole.is_some_and(|hole| hole.fate == Judged::Asked));
        self.came.insert(number, ());
        if self.display(held.presentation) < now || self.consumed.is_some_and(|consumed| number <= consumed) {
            self.statistics.late += 1;
        } else {
            self.held.insert(number, held);
        }
    }

    /// Asks for what can be there before it is shown, and gives up the rest (S002 section 3.4).
    fn judge(&mut self, now: Timestamp) {
        let highest = self.numbers.map_or(0, |numbers| numbers.highest());
        let needed = self.rtt.map(|rtt| rtt.mul_f64(1.0 + self.config.margin));
        let mut ask: Vec<u16> = Vec::new();
        for (number, hole) in &mut self.holes {
            let is_real = hole.later >= LATER || now >= hole.since + self.config.reorder;
            if hole.fate == Judged::NotYet && is_real {
                let in_time = needed.is_some_and(|needed| hole.deadline - now > needed);
                hole.fate = if in_time { Judged::Asked } else { Judged::GivenUp };
                if in_time {
                    ask.push(*number as u16);
                }
            }
            if hole.deadline <= now || highest > number + NAMED {
                hole.fate = Judged::GivenUp;
            }
        }
        self.statistics.requested += ask.len() as u64;
        for numbers in ask.chunks(255) {
            self.send(&Message::RetransmissionRequest(List::from(numbers)));
        }
    }

    /// Passes what came, and what was given up and the sender has had three chances to see.
    fn advance(&mut self) {
        loop {
            let next = self.cumulative + 1;
            if self.came.remove(&next).is_none() {
                let hole = self.holes.get(&next);
                if hole.is_none_or(|hole| hole.fate != Judged::GivenUp || hole.later < LATER) {
                    break;
                }
                self.holes.remove(&next);
                self.given_up = self.given_up.wrapping_add(1);
                self.statistics.given_up += 1;
            }
            self.cumulative = next;
        }
    }

    fn acknowledge(&mut self, packet: u16) {
        let after = self.came.range(self.cumulative + 1..=self.cumulative + NAMED);
        let bitmap = after.fold(0, |bits, (number, ())| bits | 1 << (NAMED - (number - self.cumulative)));
        let (cumulative, given_up) = (self.cumulative as u16, self.given_up);
        self.send(&Message::Acknowledgement(Acknowledgement { packet, cumulative, bitmap, given_up }));
    }

    fn send(&mut self, message: &Message<'_>) {
        let mut octets = vec![0; message.buffer_len()];
        if self.outgoing.len() < WAITING && message.emit(&mut octets).is_ok() {
            self.outgoing.push_back(octets.into());
        }
    }

    /// Gives out the frames that are due, in the order in which they were sent: a frame that is shown later but was sent
    /// before one that is due goes with it.
    fn show(&mut self, now: Timestamp) {
        let due = |held: &Held| self.display(held.presentation) <= now;
        let Some(last) = self.held.iter().rev().find(|(_, held)| due(held)).map(|(number, _)| *number) else {
            return;
        };
        while self.held.first_key_value().is_some_and(|(number, _)| *number <= last) {
            self.show_first();
        }
    }

    /// The first run of packets with one time of presentation: a frame is whole where the numbers before and behind it
    /// are there too, since no packet says that it is a frame's first or last.
    fn show_first(&mut self) {
        let Some((&first, held)) = self.held.first_key_value() else { return };
        let presentation = held.presentation;
        let mut data = Vec::new();
        let mut next = first;
        while let Some(held) = self.held.get(&next).filter(|held| held.presentation == presentation) {
            data.extend_from_slice(&held.payload);
            self.held.remove(&next);
            next += 1;
        }
        let begins = self.consumed.is_none_or(|consumed| consumed + 1 == first);
        let highest = self.numbers.map_or(0, |numbers| numbers.highest());
        let ends = self.held.contains_key(&next) || (self.ended && next > highest);
        // What is left of a frame behind a hole is no frame.
        let rest: Vec<u64> = self
            .held
            .iter()
            .take_while(|(_, held)| held.presentation == presentation)
            .map(|(number, _)| *number)
            .collect();
        for number in &rest {
            self.held.remove(number);
        }
        self.consumed = Some(rest.last().map_or(next - 1, |last| *last));
        if begins && ends && rest.is_empty() && self.frames.len() < WAITING {
            self.statistics.shown += 1;
            self.statistics.octets += data.len() as u64;
            self.frames.push_back(ClientFrame { presentation_ms: presentation as u32, data: data.into() });
        } else {
            self.statistics.concealed += 1;
        }
    }
}
