//! Packets in any order become frames in decoding order.

use super::playout::PlayoutClock;
use crate::config::Format;
use crate::frame::{FrameData, FrameKind};
use crate::packetise;
use crate::payload::Payload;
use crate::unwrap::SequenceUnwrapper;
use seaway_units::{DataSize, TimeDelta, Timestamp};
use seaway_wire::extension::FrameMarking;
use std::collections::VecDeque;

/// Frames that are held at most; beyond, the oldest is given up.
const FRAMES: usize = 1024;
/// Packets of a frame at most.
const PACKETS: usize = 8192;
/// Packets may run ahead of what was released by so many.
const AHEAD: u64 = 16_384;
/// So many packets in a row that do not fit mean that the numbers have moved.
const MISFITS: u32 = 200;
/// With bidirectional prediction a later frame of the line may be due first: one of so many.
const PREDICTED: usize = 4;
/// Given-up frames that are remembered, to know late ones.
const GIVEN_UP: usize = 64;

/// The frames of one stream on their way.
#[derive(Debug)]
pub(super) struct Assembly {
    format: Format,
    sequence: Option<SequenceUnwrapper<16>>,
    numbers: SequenceUnwrapper<12>,
    /// In decoding order.
    frames: VecDeque<Entry>,
    /// The least media time of the first [`PREDICTED`] of them.
    first_shown: TimeDelta,
    /// Number after the last packet that was released or given up.
    next_sequence: Option<u64>,
    next_frame: Option<u64>,
    /// A reference is missing: nothing can be shown before a key frame.
    broken: bool,
    held: DataSize,
    given_up: VecDeque<GivenUp>,
    /// Packets in a row that did not fit.
    misfits: u32,
    /// Emptied lists of packets, for new frames.
    spare: Vec<Vec<Piece>>,
}

#[derive(Debug)]
struct Entry {
    timestamp: u32,
    media_time: TimeDelta,
    frame: u64,
    kind: FrameKind,
    /// By sequence number.
    pieces: Vec<Piece>,
    start: Option<u64>,
    end: Option<u64>,
    /// Every packet between its ends is there.
    is_whole: bool,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
    size: DataSize,
}

#[derive(Debug)]
struct Piece {
    sequence: u64,
    payload: Payload,
}

/// A frame that was given up although both its ends were known: it may come whole too late.
#[derive(Debug)]
struct GivenUp {
    first: u64,
    last: u64,
    missing: u64,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is held; where it made its frame whole, with the frame's timestamp.
    Held { completed: bool },
    /// Its frame was released or given up; where it made that whole, the frame is late, not lost.
    Late { whole: bool },
    /// It is held already.
    Duplicate,
    /// It does not fit what came so far.
    Outside,
}

/// How long the front of the line may wait for what is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Until when a repair may still come.
    pub(super) hope: Option<Timestamp>,
    /// How long after its earliest instant a frame may be repaired.
    pub(super) repair: TimeDelta,
    /// Several lanes overtake one another: a gap may be no loss.
    pub(super) lanes: usize,
    /// When a packet was last given up.
    pub(super) abandoned: Option<Timestamp>,
}

/// What the front of the line amounts to.
#[derive(Debug)]
pub(super) enum Release {
    /// A frame that can be shown.
    Frame(Assembled),
    /// Frames that cannot, and how many the sender dropped itself; true where pictures freeze from here on.
    Lost { frames: u64, skipped: u64, froze: bool },
}

/// A whole frame.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) timestamp: u32,
    pub(super) kind: FrameKind,
    pub(super) data: FrameData,
    pub(super) first_arrival: Timestamp,
    pub(super) completed: Timestamp,
    pub(super) due: Timestamp,
    /// Frames between it and the one before that the sender dropped.
    pub(super) skipped: u64,
}

impl Entry {
    /// Whether it is whole with the packet that came last.
    fn becomes_whole(&self) -> bool {
        match (self.start, self.end) {
            (Some(start), Some(end)) => end >= start && self.pieces.len() as u64 == end - start + 1,
            _ => false,
        }
    }

    fn first(&self) -> u64 {
        self.start.or_else(|| self.pieces.first().map(|piece| piece.sequence)).unwrap_or(0)
    }

    fn after_last(&self) -> u64 {
        self.end.or_else(|| self.pieces.last().map(|piece| piece.sequence)).map_or(0, |last| last + 1)
    }
}

impl Assembly {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            sequence: None,
            numbers: SequenceUnwrapper::new(0),
            frames: VecDeque::new(),
            first_shown: TimeDelta::ZERO,
            next_sequence: None,
            next_frame: None,
            broken: true,
            held: DataSize::ZERO,
            given_up: VecDeque::new(),
            misfits: 0,
            spare: Vec::new(),
        }
    }

    /// True where nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Coded octets that are held.
    pub(super) fn held(&self) -> DataSize {
        self.held
    }

    /// True where nothing can be shown before a key frame, and none is on its way.
    pub(super) fn needs_key(&self) -> bool {
        self.broken && !self.frames.iter().any(|entry| entry.kind == FrameKind::Key)
    }

    /// A packet of a frame arrived, in whichever way.
    pub(super) fn insert(
        &mut self,
        at: Timestamp,
        timestamp: u32,
        marking: FrameMarking,
        payload: Payload,
        clock: &PlayoutClock,
    ) -> Placed {
        let placed = self.place(at, timestamp, marking, payload, clock);
        match placed {
            Placed::Held { .. } => self.misfits = 0,
            Placed::Late { .. } | Placed::Outside => self.misfits += 1,
            Placed::Duplicate => {}
        }
        if self.misfits == MISFITS {
            *self = Self::new(self.format);
        }
        placed
    }

    #[inline]
    fn place(
        &mut self,
        at: Timestamp,
        timestamp: u32,
        marking: FrameMarking,
        payload: Payload,
        clock: &PlayoutClock,
    ) -> Placed {
        let unwrap = self.sequence.get_or_insert_with(|| {
            self.numbers = SequenceUnwrapper::new(marking.frame.into());
            SequenceUnwrapper::new(marking.sequence_number.into())
        });
        let sequence = unwrap.peek(marking.sequence_number.into());
        if self.next_sequence.is_some_and(|next| sequence < next) {
            return self.insert_late(sequence);
        }
        let floor = self.next_sequence.or_else(|| self.frames.front().map(Entry::first)).unwrap_or(sequence);
        if sequence > floor.saturating_add(AHEAD) {
            return Placed::Outside;
        }
        unwrap.reach(sequence);
        let frame = self.numbers.next(marking.frame.into());
        // Mostly one more of the last.
        let is_of_last =
            self.frames.back().is_some_and(|last| last.frame == frame && last.timestamp == timestamp);
        let index = if is_of_last {
            self.frames.len() - 1
        } else {
            self.entry_index(at, timestamp, frame, sequence, marking, clock)
        };
        let entry = &mut self.frames[index];
        let size = DataSize::from_bytes(payload.len() as u64);
        if entry.pieces.len() < PACKETS && entry.pieces.last().is_none_or(|last| last.sequence < sequence) {
            entry.pieces.push(Piece { sequence, payload });
        } else {
            let place = match entry.pieces.binary_search_by_key(&sequence, |piece| piece.sequence) {
                Ok(_) => return Placed::Duplicate,
                Err(_) if entry.pieces.len() == PACKETS => return Placed::Outside,
                Err(place) => place,
            };
            entry.pieces.insert(place, Piece { sequence, payload });
        }
        entry.start = if marking.start { Some(sequence) } else { entry.start };
        entry.end = if marking.end { Some(sequence) } else { entry.end };
        entry.last_arrival = at;
        entry.size += size;
        self.held += size;
        entry.is_whole = entry.becomes_whole();
        Placed::Held { completed: entry.is_whole }
    }

    /// The entry of a frame, made where it is new.
    fn entry_index(
        &mut self,
        at: Timestamp,
        timestamp: u32,
        frame: u64,
        sequence: u64,
        marking: FrameMarking,
        clock: &PlayoutClock,
    ) -> usize {
        let is_it = |entry: &Entry| entry.frame == frame && entry.timestamp == timestamp;
        if let Some(index) = self.frames.iter().rposition(is_it) {
            return index;
        }
        let index =
            self.frames.iter().rposition(|entry| entry.first() < sequence).map_or(0, |before| before + 1);
        let kind = match (marking.independent, marking.discardable) {
            (true, _) => FrameKind::Key,
            (false, true) => FrameKind::Discardable,
            (false, false) => FrameKind::Reference,
        };
        let media_time = clock.media_time(timestamp);
        let entry = Entry {
            timestamp,
            media_time,
            frame,
            kind,
            pieces: self.spare.pop().unwrap_or_default(),
            start: None,
            end: None,
            is_whole: false,
            first_arrival: at,
            last_arrival: at,
            size: DataSize::ZERO,
        };
        self.frames.insert(index, entry);
        if self.frames.len() == 1 {
            self.first_shown = media_time;
        } else if self.frames.len() <= PREDICTED {
            self.first_shown = self.first_shown.min(media_time);
        } else if index < PREDICTED {
            self.note_first_shown();
        }
        index
    }

    /// The front of the line is another.
    fn note_first_shown(&mut self) {
        let first = self.frames.iter().take(PREDICTED).map(|entry| entry.media_time).min();
        self.first_shown = first.unwrap_or_default();
    }

    fn insert_late(&mut self, sequence: u64) -> Placed {
        let given_up =
            self.given_up.iter_mut().find(|given_up| (given_up.first..=given_up.last).contains(&sequence));
        let whole = given_up.is_some_and(|given_up| {
            given_up.missing = given_up.missing.saturating_sub(1);
            given_up.missing == 0
        });
        if whole {
            self.given_up.retain(|given_up| given_up.missing > 0);
        }
        Placed::Late { whole }
    }

    /// True where this frame, at the front, is whole and follows what was released.
    fn is_next(&self, front: &Entry) -> bool {
        front.is_whole && self.next_sequence.is_none_or(|next| front.start == Some(next))
    }

    /// When something is to be done with the front of the line: a whole frame is due, or what is missing is
    /// given up. That is at the deadline, or sooner where packets are known to be lost and there is no `hope`.
    #[inline]
    pub(super) fn next_release(
        &self,
        clock: &PlayoutClock,
        patience: impl FnOnce() -> Patience,
    ) -> Option<Timestamp> {
        let front = self.frames.front()?;
        if self.frames.len() > FRAMES {
            return Some(Timestamp::ZERO);
        }
        // Nothing waits longer than the longest delay, whatever its timestamp says.
        let bound = front.last_arrival + clock.longest();
        if self.is_next(front) {
            return Some(clock.due(self.first_shown).min(bound));
        }
        // While packets of it keep coming it is not given up: that would only cost the pictures after it.
        if self.is_arriving(front) {
            return Some(bound);
        }
        let patience = patience();
        let nothing_lost = patience.abandoned.is_none_or(|abandoned| abandoned < front.first_arrival);
        if patience.lanes > 1 && nothing_lost {
            return Some(bound);
        }
        let due = clock.due(self.first_shown).min(bound);
        let deadline = clock.deadline(front.timestamp, patience.repair).min(bound);
        Some(patience.hope.map_or(due, |hope| hope.max(due)).min(deadline))
    }

    /// True where nothing is known to be missing: the front frame goes on from what was released, without a
    /// hole, and nothing behind it came yet.
    fn is_arriving(&self, front: &Entry) -> bool {
        let begun = front.start.is_some() && self.next_sequence.is_none_or(|next| front.start == Some(next));
        // Forged marks may end a frame before its start.
        let spanned = front.after_last().checked_sub(front.first());
        self.frames.len() == 1 && begun && spanned == Some(front.pieces.len() as u64)
    }

    /// Takes the front of the line, which is due.
    pub(super) fn release(&mut self, clock: &PlayoutClock) -> Option<Release> {
        let front = self.frames.front()?;
        let (whole, contiguous) = (front.is_whole, self.is_next(front));
        let entry = self.frames.pop_front()?;
        self.note_first_shown();
        self.held -= entry.size;
        // Frames whose numbers are absent: the sender dropped them, unless packets are missing too.
        let absent = self.next_frame.map_or(0, |next| entry.frame.saturating_sub(next));
        let first_ever = self.next_sequence.is_none();
        let gap = !first_ever && self.next_sequence != entry.start;
        let (missed, skipped) = if gap { (absent, 0) } else { (0, absent) };
        self.next_sequence = Some(entry.after_last());
        self.next_frame = Some(entry.frame + 1);
        let usable = whole && (entry.kind == FrameKind::Key || contiguous && !self.broken);
        if usable && missed == 0 {
            return Some(Release::Frame(self.assemble(entry, clock, skipped)));
        }
        // A gap may hide a reference; a known frame breaks the chain only if others need it.
        let was_broken = self.broken;
        let hidden = gap && (whole || missed > 0);
        self.broken |= hidden || entry.kind != FrameKind::Discardable;
        if usable {
            // A key frame behind lost ones: report those, then give it out.
            self.broken = false;
            self.next_sequence = entry.start;
            self.next_frame = Some(entry.frame);
            self.held += entry.size;
            self.frames.push_front(entry);
            self.note_first_shown();
            return Some(Release::Lost { frames: missed, skipped, froze: false });
        }
        self.remember(&entry);
        self.recycle(entry.pieces);
        Some(Release::Lost { frames: missed + 1, skipped, froze: self.broken && !was_broken })
    }

    fn assemble(&mut self, entry: Entry, clock: &PlayoutClock, skipped: u64) -> Assembled {
        self.broken &= entry.kind != FrameKind::Key;
        let data = packetise::join(self.format, entry.pieces.iter().map(|piece| &piece.payload));
        let assembled = Assembled {
            timestamp: entry.timestamp,
            kind: entry.kind,
            // A frame that cannot be put together is the peer's doing; what is in it is handed on.
            data: data.unwrap_or(FrameData::Synthetic(entry.size)),
            first_arrival: entry.first_arrival,
            completed: entry.last_arrival,
            due: clock.due(entry.media_time),
            skipped,
        };
        self.recycle(entry.pieces);
        assembled
    }

    fn remember(&mut self, entry: &Entry) {
        let (Some(first), Some(last)) = (entry.start, entry.end) else { return };
        let missing = (last + 1).saturating_sub(first).saturating_sub(entry.pieces.len() as u64);
        if missing > 0 {
            if self.given_up.len() == GIVEN_UP {
                self.given_up.pop_front();
            }
            self.given_up.push_back(GivenUp { first, last, missing });
        }
    }

    fn recycle(&mut self, mut pieces: Vec<Piece>) {
        pieces.clear();
        if self.spare.len() < 16 {
            self.spare.push(pieces);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    struct Line {
        assembly: Assembly,
        clock: PlayoutClock,
    }

    impl Line {
        fn new() -> Self {
            let clock = PlayoutClock::new(TimeDelta::ZERO, TimeDelta::from_millis(100));
            Self { assembly: Assembly::new(Format::Opaque), clock }
        }

        /// Frame `frame` at 40 ms a frame has packets `first..=last`; this is packet `sequence` of it.
        fn packet(&mut self, frame: u16, first: u16, last: u16, sequence: u16, kind: FrameKind) -> Placed {
            let marking = FrameMarking {
                start: sequence == first,
                end: sequence == last,
                independent: kind == FrameKind::Key,
                discardable: kind == FrameKind::Discardable,
                frame,
                sequence_number: sequence,
            };
            let timestamp = u32::from(frame) * 3600;
            let now = at(u64::from(frame) * 40);
            self.clock.on_arrival(now, timestamp);
            self.assembly.insert(now, timestamp, marking, Payload::zeros(100), &self.clock)
        }

        fn all(&mut self) -> Vec<String> {
            let tell = |release| match release {
                Release::Frame(frame) => {
                    format!("frame {} ({} skipped)", frame.timestamp / 3600, frame.skipped)
                }
                Release::Lost { frames, froze, .. } => {
                    format!("lost {frames}{}", if froze { ", froze" } else { "" })
                }
            };
            std::iter::from_fn(|| self.assembly.release(&self.clock)).map(tell).collect()
        }
    }

    use FrameKind::{Discardable, Key, Reference};

    #[test]
    fn packets_in_any_order_make_frames() {
        let mut line = Line::new();
        let held = |completed| Placed::Held { completed };
        assert_eq!(line.packet(0, 7, 9, 8, Key), held(false));
        assert_eq!(line.packet(1, 10, 10, 10, Reference), held(true));
        assert_eq!(line.packet(0, 7, 9, 7, Key), held(false));
        assert_eq!(line.packet(0, 7, 9, 7, Key), Placed::Duplicate);
        assert_eq!(line.packet(0, 7, 9, 9, Key), held(true));
        assert_eq!(line.all(), ["frame 0 (0 skipped)", "frame 1 (0 skipped)"]);
        assert_eq!(line.assembly.held(), DataSize::ZERO);
        assert_eq!(line.packet(0, 7, 9, 9, Key), Placed::Late { whole: false });
        assert_eq!(line.packet(2, 20_000, 20_000, 20_000, Key), Placed::Outside);
    }

    #[test]
    fn what_the_sender_dropped_is_not_lost() {
        let mut line = Line::new();
        line.packet(0, 0, 0, 0, Key);
        line.packet(4, 1, 1, 1, Reference);
        assert_eq!(line.all(), ["frame 0 (0 skipped)", "frame 4 (3 skipped)"]);
    }

    #[test]
    fn a_lost_reference_freezes_until_a_key_frame() {
        let mut line = Line::new();
        line.packet(0, 0, 0, 0, Key);
        line.packet(1, 1, 2, 1, Reference);
        line.packet(2, 3, 3, 3, Reference);
        assert!(!line.assembly.needs_key());
        assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1, froze", "lost 1"]);
        assert!(line.assembly.needs_key());
        assert_eq!(
            line.packet(1, 1, 2, 2, Reference),
            Placed::Late { whole: false },
            "its end was not known"
        );
        line.packet(4, 5, 5, 5, Reference);
        line.packet(7, 9, 9, 9, Key);
        line.packet(8, 10, 10, 10, Reference);
        assert_eq!(line.all(), ["lost 2", "lost 2", "frame 7 (0 skipped)", "frame 8 (0 skipped)"]);
    }

    #[test]
    fn a_lost_discardable_frame_harms_nobody() {
        let mut line = Line::new();
        line.packet(0, 0, 0, 0, Key);
        line.packet(1, 1, 3, 1, Discardable);
        line.packet(1, 1, 3, 3, Discardable);
        line.packet(2, 4, 4, 4, Reference);
        assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1", "frame 2 (0 skipped)"]);
        assert_eq!(line.packet(1, 1, 3, 2, Discardable), Placed::Late { whole: true });
    }

    #[test]
    fn the_line_waits_for_hope_and_no_longer_than_the_deadline() {
        let mut line = Line::new();
        line.packet(0, 0, 0, 0, Key);
        let next = |line: &Line, hope| {
            let patience = Patience { hope, repair: TimeDelta::from_millis(60), lanes: 1, abandoned: None };
            line.assembly.next_release(&line.clock, || patience).unwrap()
        };
        assert_eq!(next(&line, None), at(0));
        line.all();
        line.packet(1, 1, 2, 1, Reference);
        assert_eq!(next(&line, None), at(240), "the rest of it is on its way");
        line.packet(1, 1, 2, 2, Reference);
        line.all();
        line.packet(2, 4, 4, 4, Reference);
        assert_eq!(next(&line, None), at(80), "given up when the frame behind the gap is due");
        assert_eq!(next(&line, Some(at(120))), at(120));
        assert_eq!(next(&line, Some(at(300))), at(140));
    }
}
