//! The receiving end: cumulative and selective acknowledgements, at once or delayed.

use super::ranges::Ranges;
use super::segment::{HEADERS, SackBlocks, Segment, SegmentKind};
use seaway_link::Packet;
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

/// How a [`Receiver`] answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Answer every second full segment, or after this long (RFC 5681 section 4.2: at most 0.5 s). `None`: answer
    /// every segment.
    pub delayed_ack: Option<TimeDelta>,
    /// Say what has arrived out of order (RFC 2018).
    pub sack: bool,
    /// How marks are echoed.
    pub echo: EcnEcho,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self { delayed_ack: None, sack: true, echo: EcnEcho::Latched }
    }
}

/// How a receiver echoes CE marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnEcho {
    /// On every acknowledgement until the sender has answered with CWR (RFC 3168 section 6.1.3).
    Latched,
    /// On those acknowledgements that cover marked segments (RFC 8257 section 3.2).
    Exact,
}

/// What a [`Receiver`] has taken so far, all connections together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Segments delivered in order, each once.
    pub segments: u64,
    /// Their payload.
    pub payload: DataSize,
    /// Segments that had arrived before.
    pub duplicates: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}

/// Receives the segments of one connection after the other.
#[derive(Debug, Clone)]
pub struct Receiver {
    config: ReceiverConfig,
    connection: u32,
    /// The lowest segment that has not arrived.
    next: u64,
    /// What has arrived beyond it.
    held: Ranges,
    /// A segment of each block, the one reported last first.
    recent: Vec<u64>,
    /// Payload of all segments but the last.
    full_length: u32,
    /// The last segment, once known, and its payload.
    last: Option<(u64, u32)>,
    /// Segments in order that no acknowledgement has covered.
    unanswered: u32,
    answer: Option<SegmentKind>,
    ack_due: Option<Timestamp>,
    echo: bool,
    statistics: ReceiverStatistics,
}

/// Blocks remembered beyond those that fit: some will have been filled when it comes to reporting them.
const REMEMBERED: usize = 2 * SackBlocks::MAX;

impl Receiver {
    /// A receiver that waits for a first connection.
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            connection: 0,
            next: 0,
            held: Ranges::default(),
            recent: Vec::with_capacity(REMEMBERED + 1),
            full_length: 0,
            last: None,
            unanswered: 0,
            answer: None,
            ack_due: None,
            echo: false,
            statistics: ReceiverStatistics::default(),
        }
    }

    /// What it has taken so far.
    pub const fn statistics(&self) -> ReceiverStatistics {
        self.statistics
    }

    /// A segment of a newer connection ends the one before it.
    fn open(&mut self, connection: u32) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.clear();
        let Self { config, statistics, .. } = *self;
        *self = Self { connection, statistics, recent, ..Self::new(config) };
    }

    fn on_data(&mut self, now: Timestamp, number: u64, is_marked: bool) {
        self.note_mark(is_marked);
        let was_held = !self.held.is_empty();
        let is_new = number >= self.next && self.held.containing(number).is_none();
        if !is_new {
            self.statistics.duplicates += 1;
        } else if number == self.next {
            self.advance(number);
        } else {
            self.held.insert(number..number + 1);
            self.recent.retain(|&other| other != number);
            self.recent.insert(0, number);
            self.recent.truncate(REMEMBERED);
        }
        let in_order = is_new && number < self.next && !was_held;
        self.unanswered += 1;
        match self.config.delayed_ack {
            // At once for what is out of order, a duplicate, or fills a hole (RFC 5681 section 4.2).
            Some(delay) if in_order && self.unanswered < 2 => self.ack_due = Some(now + delay),
            _ => self.acknowledge(),
        }
    }

    /// Delivers `number`, which is the next, and all that follows it.
    fn advance(&mut self, number: u64) {
        self.next = self.held.first_gap(number + 1);
        self.held.remove_below(self.next);
        let segments = self.next - number;
        let mut payload = u64::from(self.full_length) * segments;
        if let Some((last, length)) = self.last
            && (number..self.next).contains(&last)
        {
            payload = u64::from(self.full_length) * (segments - 1) + u64::from(length);
        }
        self.statistics.segments += segments;
        self.statistics.payload += DataSize::from_bytes(payload);
    }

    fn note_mark(&mut self, is_marked: bool) {
        match self.config.echo {
            EcnEcho::Latched => self.echo |= is_marked,
            EcnEcho::Exact => {
                // What came before a change is answered by itself (RFC 8257 section 3.2).
                if self.echo != is_marked && self.unanswered > 0 {
                    self.acknowledge();
                }
                self.echo = is_marked;
            }
        }
    }

    fn acknowledge(&mut self) {
        let sacked = if self.held.is_empty() { SackBlocks::default() } else { self.blocks() };
        self.answer = Some(SegmentKind::Ack { next: self.next, echo: self.echo, sacked });
        self.unanswered = 0;
        self.ack_due = None;
    }

    /// The block of the segment that came last, then those reported before it.
    fn blocks(&mut self) -> SackBlocks {
        if !self.config.sack {
            return SackBlocks::default();
        }
        let Self { recent, held, next, .. } = self;
        recent.retain(|number| number >= next);
        let mut reported: [Option<std::ops::Range<u64>>; SackBlocks::MAX] = Default::default();
        let mut count = 0;
        for &number in recent.iter() {
            let is_reported = reported.iter().flatten().any(|block| block.contains(&number));
            if let Some(block) = held.containing(number).filter(|_| !is_reported && count < SackBlocks::MAX) {
                reported[count] = Some(block);
                count += 1;
            }
        }
        SackBlocks::new(*next, reported.into_iter().flatten())
    }
}

impl Receiver {
    /// A segment arrives in a packet with this ECN codepoint.
    pub fn handle_segment(&mut self, now: Timestamp, ecn: Ecn, segment: &Segment) {
        let Segment { connection, kind } = *segment;
        if connection > self.connection {
            self.open(connection);
        } else if connection < self.connection {
            return;
        }
        match kind {
            SegmentKind::Syn => self.answer = Some(SegmentKind::SynAck),
            SegmentKind::Data { number, length, is_last, cwr } => {
                if is_last {
                    self.last = Some((number, length));
                } else {
                    self.full_length = length;
                }
                self.echo &= !cwr || self.config.echo == EcnEcho::Exact;
                self.on_data(now, number, ecn == Ecn::Ce);
            }
            SegmentKind::SynAck | SegmentKind::Ack { .. } => {}
        }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.ack_due.is_some_and(|due| due <= now) {
            self.acknowledge();
        }
    }

    /// The next acknowledgement that leaves now.
    pub fn poll_transmit(&mut self) -> Option<Packet<Segment>> {
        let kind = self.answer.take()?;
        let size = match &kind {
            SegmentKind::Ack { sacked, .. } => HEADERS + sacked.size(),
            _ => HEADERS,
        };
        self.statistics.acks += 1;
        let segment = Segment { connection: self.connection, kind };
        Some(Packet::new(size, Ecn::NotEct, segment))
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub const fn poll_timeout(&self) -> Option<Timestamp> {
        self.ack_due
    }
}
