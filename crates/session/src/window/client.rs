//! The receiving half: acknowledgements, requests by deadline, frames when they are due.

use super::Numbers;
use crate::unwrap::nearest;
use bytes::Bytes;
use seaway_units::{DataSize, TimeDelta, Timestamp};
use seaway_wire::List;
use seaway_wire::window::{Acknowledgement, DataHeader, Message};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Later packets after which a hole is a loss.
const LATER: u8 = 3;
/// Numbers after a hole that an acknowledgement has bits for.
const NAMED: u64 = 32;
/// Numbers that are remembered at most; a longer hole is given up whole.
const CAPACITY: u64 = 4096;
/// Payloads that wait to be shown at most: 64 MiB, or ten seconds at 50 Mbit/s.
const MOST_HELD: usize = 1 << 17;
/// Answers and frames that wait to be read at most.
const WAITING: usize = 4096;

/// Configuration of a [`WindowClient`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientConfig {
    /// From the arrival of the first packet to its display.
    pub buffer: TimeDelta,
    /// A request needs this much more time than the round-trip, as a part of it; S002: none.
    pub margin: f64,
    /// How long a hole may be reordering where fewer than three later packets came.
    pub reorder: TimeDelta,
}

impl ClientConfig {
    /// S002's deadline test, 10 ms for reordering.
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
    /// When the first of its packets came, and the last.
    pub arrived: (Timestamp, Timestamp),
    /// When it was to be shown.
    pub due: Timestamp,
}

/// Counters of a [`WindowClient`] since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientStatistics {
    /// Packets that came for the first time.
    pub received: u64,
    /// Packets that came again.
    pub duplicates: u64,
    /// Packets that were missing when others had come behind them.
    pub missing: u64,
    /// Packets that were requested.
    pub requested: u64,
    /// Of those, packets that came.
    pub repaired: u64,
    /// Packets that came too late to be shown.
    pub late: u64,
    /// Packets that there was no room for.
    pub overflow: u64,
    /// Packets that were given up.
    pub given_up: u64,
    /// Frames delivered whole.
    pub shown: u64,
    /// Their octets.
    pub octets: u64,
    /// Frames that were incomplete when due, and dropped.
    pub concealed: u64,
    /// Malformed datagrams.
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
    /// Payloads not delivered yet.
    held: BTreeMap<u64, Held>,
    held_size: DataSize,
    /// How many of them have each time of presentation.
    times: BTreeMap<u64, u32>,
    /// Numbers above `cumulative` that arrived, whether their payload is still held or not.
    arrived: BTreeSet<u64>,
    holes: BTreeMap<u64, Hole>,
    /// Requested numbers that acknowledgements have passed and that may still come in time, with their deadlines.
    awaited: BTreeMap<u64, Timestamp>,
    /// All up to here was delivered or dropped.
    consumed: Option<u64>,
    /// The first packet: its arrival and its time of presentation, unwrapped.
    origin: Option<(Timestamp, u64)>,
    newest_ms: u64,
    rtt: Option<TimeDelta>,
    outgoing: VecDeque<Bytes>,
    frames: VecDeque<ClientFrame>,
    /// What the sender said it had was shown.
    has_ended: bool,
    statistics: ClientStatistics,
}

#[derive(Debug)]
struct Held {
    at: Timestamp,
    presentation: u64,
    payload: Bytes,
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    since: Timestamp,
    later: u8,
    /// When the missing packet is to be displayed.
    deadline: Timestamp,
    state: HoleState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HoleState {
    New,
    Requested,
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
            held_size: DataSize::ZERO,
            times: BTreeMap::new(),
            arrived: BTreeSet::new(),
            holes: BTreeMap::new(),
            awaited: BTreeMap::new(),
            consumed: None,
            origin: None,
            newest_ms: 0,
            rtt: None,
            outgoing: VecDeque::new(),
            frames: VecDeque::new(),
            has_ended: false,
            statistics: ClientStatistics::default(),
        }
    }

    /// Counters since the start.
    pub const fn statistics(&self) -> ClientStatistics {
        self.statistics
    }

    /// True once the sender's last frame was shown, or dropped where it was not whole.
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The round-trip time as the sender last said.
    pub const fn rtt(&self) -> Option<TimeDelta> {
        self.rtt
    }

    /// Octets that wait to be shown.
    pub const fn held(&self) -> DataSize {
        self.held_size
    }

    /// Whether a datagram can come from a sender.
    pub fn is_data(datagram: &[u8]) -> bool {
        DataHeader::parse(datagram).is_ok()
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
        self.store(now, number, Held { at: now, presentation, payload });
        self.check_holes(now);
        self.advance();
        self.acknowledge(header.sequence_number);
    }

    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.check_holes(now);
        self.advance();
        self.show(now);
    }

    /// When the client wants to be woken.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let hole = self.holes.values().filter_map(|hole| match hole.state {
            HoleState::New => Some(hole.since + self.config.reorder),
            HoleState::Requested => Some(hole.deadline),
            HoleState::GivenUp => None,
        });
        let due = self.times.first_key_value().map(|(presentation, _)| self.display(*presentation));
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
        // Presentation times stay within 49 days of the first packet.
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
            self.holes.insert(missing, Hole { since: now, later: 0, deadline, state: HoleState::New });
        }
        for hole in self.holes.range_mut(..number).map(|(_, hole)| hole) {
            hole.later = hole.later.saturating_add(1);
        }
        number
    }

    /// After an outage its packets are too late to be displayed.
    fn give_up_all(&mut self, up_to: u64) {
        let lost = up_to - self.cumulative - self.arrived.len() as u64;
        self.statistics.given_up += lost;
        self.statistics.missing += lost;
        self.given_up = self.given_up.wrapping_add(lost as u16);
        self.cumulative = up_to;
        self.arrived.clear();
        self.holes.clear();
        self.awaited.clear();
    }

    fn store(&mut self, now: Timestamp, number: u64, held: Held) {
        let hole = self.holes.remove(&number);
        let is_awaited = self.awaited.remove(&number).is_some();
        if !is_awaited && (number <= self.cumulative || self.arrived.contains(&number)) {
            self.statistics.duplicates += 1;
            return;
        }
        self.statistics.received += 1;
        let is_repair = is_awaited || hole.is_some_and(|hole| hole.state == HoleState::Requested);
        self.statistics.repaired += u64::from(is_repair);
        if number > self.cumulative {
            self.arrived.insert(number);
        }
        if self.display(held.presentation) < now || self.consumed.is_some_and(|consumed| number <= consumed) {
            self.statistics.late += 1;
        } else if self.held.len() == MOST_HELD {
            self.statistics.overflow += 1;
        } else {
            self.hold(number, held);
        }
    }

    fn hold(&mut self, number: u64, held: Held) {
        *self.times.entry(held.presentation).or_default() += 1;
        self.held_size += DataSize::of(&held.payload);
        self.held.insert(number, held);
    }

    fn release(&mut self, number: u64) {
        let Some(held) = self.held.remove(&number) else { return };
        self.held_size = self.held_size.saturating_sub(DataSize::of(&held.payload));
        if let Some(count) = self.times.get_mut(&held.presentation) {
            *count -= 1;
            if *count == 0 {
                self.times.remove(&held.presentation);
            }
        }
    }

    /// Requests the packets that can be there before they are displayed, and gives up the others (S002 section 3.4).
    fn check_holes(&mut self, now: Timestamp) {
        let highest = self.numbers.map_or(0, |numbers| numbers.highest());
        let needed = self.rtt.map(|rtt| rtt.mul_f64(1.0 + self.config.margin));
        let mut requests: Vec<u16> = Vec::new();
        for (number, hole) in &mut self.holes {
            let is_real = hole.later >= LATER || now >= hole.since + self.config.reorder;
            if hole.state == HoleState::New && is_real {
                let in_time = needed.is_some_and(|needed| hole.deadline - now > needed);
                hole.state = if in_time { HoleState::Requested } else { HoleState::GivenUp };
                self.statistics.missing += 1;
                if in_time {
                    requests.push(*number as u16);
                }
            }
            // Acknowledgements name no more numbers behind a hole; what was requested may come all the same.
            let is_passed = highest > number + NAMED;
            if is_passed && hole.state == HoleState::Requested {
                self.awaited.insert(*number, hole.deadline);
            }
            if hole.deadline <= now || is_passed {
                hole.state = HoleState::GivenUp;
            }
        }
        self.awaited.retain(|_, deadline| *deadline > now);
        self.statistics.requested += requests.len() as u64;
        for numbers in requests.chunks(255) {
            self.send(&Message::RetransmissionRequest(List::from(numbers)));
        }
    }

    /// Passes the packets that arrived, and those that were given up in at least three answers.
    fn advance(&mut self) {
        loop {
            let next = self.cumulative + 1;
            if !self.arrived.remove(&next) {
                let hole = self.holes.get(&next);
                if hole.is_none_or(|hole| hole.state != HoleState::GivenUp || hole.later < LATER) {
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
        let after = self.arrived.range(self.cumulative + 1..=self.cumulative + NAMED);
        let bitmap = after.fold(0, |bits, number| bits | 1 << (NAMED - (number - self.cumulative)));
        let (cumulative, given_up) = (self.cumulative as u16, self.given_up);
        self.send(&Message::Acknowledgement(Acknowledgement { packet, cumulative, bitmap, given_up }));
    }

    fn send(&mut self, message: &Message<'_>) {
        let mut octets = vec![0; message.buffer_len()];
        if self.outgoing.len() < WAITING && message.emit(&mut octets).is_ok() {
            self.outgoing.push_back(octets.into());
        }
    }

    /// Delivers the frames that are due in order of sending: a frame with a later display time that was sent before one that is
    /// due goes with it.
    fn show(&mut self, now: Timestamp) {
        if self.times.first_key_value().is_none_or(|(first, _)| self.display(*first) > now) {
            return;
        }
        let due = |held: &Held| self.display(held.presentation) <= now;
        let Some(last) = self.held.iter().rev().find(|(_, held)| due(held)).map(|(number, _)| *number) else {
            return;
        };
        while self.held.first_key_value().is_some_and(|(number, _)| *number <= last) {
            self.show_first();
        }
    }

    /// Delivers the first run of packets with one time of presentation. No packet is marked as a frame's first or last, so a
    /// frame is whole where the numbers before and behind it are there too.
    fn show_first(&mut self) {
        let Some((&first, held)) = self.held.first_key_value() else { return };
        let presentation = held.presentation;
        let mut data = Vec::new();
        let mut next = first;
        let mut arrived = (held.at, held.at);
        while let Some(held) = self.held.get(&next).filter(|held| held.presentation == presentation) {
            data.extend_from_slice(&held.payload);
            arrived = (arrived.0.min(held.at), arrived.1.max(held.at));
            next += 1;
        }
        let begins = self.consumed.is_none_or(|consumed| consumed + 1 == first);
        (first..next).for_each(|number| self.release(number));
        let ends = self.held.contains_key(&next);
        // The rest of a frame behind a hole is dropped.
        let rest: Vec<u64> = self
            .held
            .iter()
            .take_while(|(_, held)| held.presentation == presentation)
            .map(|(number, _)| *number)
            .collect();
        for number in &rest {
            self.release(*number);
        }
        self.consumed = Some(rest.last().map_or(next - 1, |last| *last));
        if data.is_empty() && rest.is_empty() {
            // The end of what the sender has.
            self.has_ended = true;
            return;
        }
        self.has_ended = false;
        if begins && ends && rest.is_empty() && self.frames.len() < WAITING {
            self.statistics.shown += 1;
            self.statistics.octets += data.len() as u64;
            let (presentation_ms, due) = (presentation as u32, self.display(presentation));
            self.frames.push_back(ClientFrame { presentation_ms, data: data.into(), arrived, due });
        } else {
            self.statistics.concealed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// A buffer of 100 ms.
    fn client() -> WindowClient {
        WindowClient::new(ClientConfig::new(TimeDelta::from_millis(100)))
    }

    /// Packet `number`, to be presented at `ms`, with this round-trip time in ms.
    fn packet(number: u16, ms: u32, rtt: Option<i64>, payload: &[u8]) -> Bytes {
        let rtt = rtt.map(TimeDelta::from_millis);
        let header = DataHeader { sequence_number: number, presentation_ms: ms, rtt };
        let mut octets = vec![0; DataHeader::LEN];
        header.emit(&mut octets).unwrap();
        octets.extend_from_slice(payload);
        octets.into()
    }

    /// What the client answered: packet, cumulative number, bitmap and given-up packets of each acknowledgement; and the requests.
    fn answers(client: &mut WindowClient) -> (Vec<[u32; 4]>, Vec<u16>) {
        let (mut acknowledged, mut requested) = (Vec::new(), Vec::new());
        while let Some(answer) = client.poll_answer() {
            match Message::parse(&answer).unwrap() {
                Message::Acknowledgement(of) => {
                    acknowledged.push([
                        of.packet.into(),
                        of.cumulative.into(),
                        of.bitmap,
                        of.given_up.into(),
                    ]);
                }
                Message::RetransmissionRequest(numbers) => requested.extend(numbers.iter()),
            }
        }
        (acknowledged, requested)
    }

    /// The highest bit is for the number after the hole's, the lowest for the 32nd after the cumulative one.
    #[test]
    fn an_acknowledgement_names_what_came_behind_a_hole() {
        let mut client = client();
        for number in [1, 3, 4, 34, 33] {
            client.handle_datagram(at(0), &packet(number, 0, Some(10), b"x"));
        }
        let two = 1 << 30 | 1 << 29;
        let expected =
            [[1, 1, 0, 0], [3, 1, 1 << 30, 0], [4, 1, two, 0], [34, 1, two, 0], [33, 1, two | 1, 0]];
        assert_eq!(answers(&mut client).0, expected);
    }

    /// 4096 numbers behind the newest are holes; from 4097 on all of them are given up.
    #[test]
    fn an_outage_is_given_up_whole() {
        for (number, given_up) in [(4099, 0), (4100, 4097)] {
            let mut client = client();
            for number in [1, 3, number] {
                client.handle_datagram(at(0), &packet(number, 0, None, b"x"));
            }
            let statistics = client.statistics();
            assert_eq!((statistics.given_up, statistics.missing), (given_up, given_up));
            let last = answers(&mut client).0.pop().unwrap();
            let cumulative = if given_up > 0 { number.into() } else { 1 };
            assert_eq!((last[1], last[3]), (cumulative, given_up as u32));
        }
    }

    /// Packet 2 is missed at 20 ms, and may be reordering until 30 ms; it is displayed at 140 ms.
    #[test]
    fn what_can_be_there_in_time_is_requested() {
        for (rtt, margin, requests) in
            [(109, 0.0, &[2][..]), (110, 0.0, &[]), (70, 0.5, &[2]), (100, 0.5, &[])]
        {
            let config = ClientConfig { margin, ..ClientConfig::new(TimeDelta::from_millis(100)) };
            let mut client = WindowClient::new(config);
            client.handle_datagram(at(0), &packet(1, 0, Some(rtt), b"x"));
            client.handle_datagram(at(20), &packet(3, 40, None, b"x"));
            assert_eq!(
                (client.poll_timeout(), client.rtt()),
                (Some(at(30)), Some(TimeDelta::from_millis(rtt)))
            );
            client.handle_timeout(at(29));
            assert_eq!(answers(&mut client).1, []);
            client.handle_timeout(at(30));
            assert_eq!(answers(&mut client).1, requests, "{rtt} ms");
            let statistics = client.statistics();
            assert_eq!((statistics.missing, statistics.requested), (1, requests.len() as u64));
            assert_eq!(client.poll_timeout(), Some(at(100)), "the first packet is displayed");
        }
    }

    /// Packet 2 is given up at 10 ms: answers pass it once three later packets came. It is not waited for afterwards.
    #[test]
    fn what_was_given_up_is_passed_after_three_packets() {
        let mut client = client();
        for number in [1, 3] {
            client.handle_datagram(at(0), &packet(number, 0, None, b"x"));
        }
        client.handle_timeout(at(10));
        for number in [4, 5] {
            client.handle_datagram(at(10), &packet(number, 0, None, b"x"));
        }
        let acknowledged = answers(&mut client).0;
        assert_eq!(acknowledged[2..], [[4, 1, 1 << 30 | 1 << 29, 0], [5, 5, 0, 1]]);
        for number in (6..=40).chain([2, 40]) {
            client.handle_datagram(at(20), &packet(number, 0, None, b"x"));
        }
        let statistics = client.statistics();
        assert_eq!((statistics.received, statistics.duplicates, statistics.repaired), (39, 2, 0));
    }

    #[test]
    fn a_packet_is_late_once_its_time_is_past() {
        let mut client = client();
        client.handle_datagram(at(0), &packet(1, 1000, None, b"abcd"));
        client.handle_datagram(at(100), &packet(2, 1000, None, b"ef"));
        assert_eq!((client.statistics().late, client.held().as_bytes()), (0, 6));
        client.handle_datagram(at(101), &packet(3, 1000, None, b"gh"));
        // 10 ms before the first.
        client.handle_datagram(at(91), &packet(4, 990, None, b"ij"));
        assert_eq!((client.statistics().late, client.held().as_bytes()), (2, 6));
    }

    /// Frames of two packets and of one, and the end. The first is displayed at 100 ms, each other 40 ms later.
    #[test]
    fn frames_are_shown_when_they_are_due() {
        let mut client = client();
        for (number, ms, payload) in [(1, 0, &b"ab"[..]), (2, 0, b"cd"), (3, 40, b"e"), (4, 80, b"")] {
            client.handle_datagram(at(u64::from(number)), &packet(number, ms, None, payload));
        }
        assert_eq!((client.poll_timeout(), client.held().as_bytes()), (Some(at(101)), 5));
        client.handle_timeout(at(100));
        assert_eq!(client.poll_frame(), None);
        client.handle_timeout(at(101));
        let data = Bytes::from_static(b"abcd");
        let frame = ClientFrame { presentation_ms: 0, data, arrived: (at(1), at(2)), due: at(101) };
        assert_eq!((client.poll_frame(), client.poll_frame()), (Some(frame), None));
        assert_eq!((client.poll_timeout(), client.held().as_bytes()), (Some(at(141)), 1));
        client.handle_timeout(at(141));
        assert!(client.poll_frame().is_some() && !client.has_ended());
        client.handle_timeout(at(181));
        assert!(client.poll_frame().is_none() && client.has_ended());
        let statistics = client.statistics();
        assert_eq!((statistics.shown, statistics.octets, statistics.concealed), (2, 5, 0));
        assert_eq!((client.poll_timeout(), client.held()), (None, DataSize::ZERO));
    }

    /// Packets 2 and 5 are missing, of the first and of the second frame.
    #[test]
    fn frames_that_are_not_whole_are_dropped() {
        let mut client = client();
        for (number, ms) in [(1, 0), (3, 0), (4, 40), (6, 80), (7, 120)] {
            client.handle_datagram(at(0), &packet(number, ms, None, b"x"));
        }
        client.handle_timeout(at(180));
        assert_eq!(
            (client.statistics().concealed, client.statistics().shown),
            (3, 0),
            "what 5 was is not known"
        );
    }

    #[test]
    fn what_is_no_datagram_of_a_sender_counts_as_malformed() {
        let mut client = client();
        let data = packet(1, 0, None, b"x");
        assert!(WindowClient::is_data(&data) && !WindowClient::is_data(&data[..9]));
        client.handle_datagram(at(0), &data.slice(..9));
        assert_eq!(
            (client.statistics().malformed, client.poll_answer(), client.poll_timeout()),
            (1, None, None)
        );
    }
}
