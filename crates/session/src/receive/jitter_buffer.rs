//! The jitter buffer: packets in any order become frames in decoding order.

use super::playout::PlayoutClock;
use crate::config::Format;
use crate::frame::{FrameData, FrameKind};
use crate::packetise;
use crate::payload::Payload;
use crate::unwrap::{SequenceUnwrapper, nearest};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use seaway_wire::extension::FrameMarking;
use std::collections::VecDeque;

/// Frames that are held at most; beyond, the oldest is given up.
const FRAMES: usize = 1024;
/// Packets of a frame at most.
const PACKETS: usize = 8192;
/// Packets may be ahead of the released ones by so many.
const AHEAD: u64 = 16_384;
/// After so many packets in a row out of range the sequence numbers have jumped: the buffer starts anew.
const OUT_OF_RANGE: u32 = 200;
/// With bidirectional prediction any of so many frames at the front may be presented first.
const PREDICTED: usize = 4;
/// Given-up frames that are remembered, to know late ones.
const GIVEN_UP: usize = 64;

/// The frames of one stream that are not complete or not due yet.
#[derive(Debug)]
pub(super) struct JitterBuffer {
    format: Format,
    sequence: Option<SequenceUnwrapper<16>>,
    numbers: SequenceUnwrapper<12>,
    /// In decoding order.
    frames: VecDeque<PartialFrame>,
    /// The least media time of the first [`PREDICTED`] of them.
    first_presented: TimeDelta,
    /// Number after the last packet that was released or given up.
    next_sequence: Option<u64>,
    next_frame: Option<u64>,
    /// A reference is missing: nothing can be shown before a key frame.
    broken: bool,
    held: DataSize,
    given_up: VecDeque<GivenUp>,
    /// Number and time stamp of the frame that was given up last: more of its packets may still come.
    unfinished: Option<(u64, u32)>,
    /// Packets in a row that were out of range.
    out_of_range: u32,
    /// Emptied lists of packets, reused for new frames.
    spare: Vec<Vec<Fragment>>,
}

#[derive(Debug)]
struct PartialFrame {
    timestamp: u32,
    media_time: TimeDelta,
    frame: u64,
    kind: FrameKind,
    /// By sequence number.
    fragments: Vec<Fragment>,
    start: Option<u64>,
    end: Option<u64>,
    /// Every packet between its ends is there.
    is_whole: bool,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
    size: DataSize,
}

#[derive(Debug)]
struct Fragment {
    sequence: u64,
    payload: Payload,
}

/// A frame that was given up with both ends known: its missing packets may still come, too late.
#[derive(Debug)]
struct GivenUp {
    first: u64,
    last: u64,
    missing: u64,
}

/// What an inserted packet did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It is held; whether it completed its frame.
    Held { completed: bool },
    /// Its frame was released or given up; whether it completed that: then the frame is late, not lost.
    Late { whole: bool },
    /// It is held already.
    Duplicate,
    /// It is out of range.
    Outside,
}

/// How long the front frame may wait for missing packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct RepairState {
    /// Until when a repair may still come.
    pub(super) awaited_until: Option<Timestamp>,
    /// Of the packets from this number on, those that are missing may still be recovered, whether they are requested or
    /// not.
    pub(super) recoverable_from: Option<u16>,
    /// How long after its earliest instant a frame may be repaired.
    pub(super) deadline: TimeDelta,
    /// With more than one subflow packets overtake one another, so a gap may be no loss.
    pub(super) subflows: usize,
    /// When a packet was last given up.
    pub(super) abandoned_at: Option<Timestamp>,
}

/// What the front frame gives.
#[derive(Debug)]
pub(super) enum Released {
    /// A frame that can be shown.
    Frame(Assembled),
    /// Frames that cannot, how many the sender itself dropped, and whether the video freezes from here on.
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
    /// Frames before it that the sender itself dropped.
    pub(super) skipped: u64,
}

impl PartialFrame {
    /// Whether every packet between its ends is there.
    fn becomes_whole(&self) -> bool {
        match (self.start, self.end) {
            (Some(start), Some(end)) => end >= start && self.fragments.len() as u64 == end - start + 1,
            _ => false,
        }
    }

    fn first(&self) -> u64 {
        self.start.or_else(|| self.fragments.first().map(|fragment| fragment.sequence)).unwrap_or(0)
    }

    fn after_last(&self) -> u64 {
        self.end
            .or_else(|| self.fragments.last().map(|fragment| fragment.sequence))
            .map_or(0, |last| last + 1)
    }
}

impl JitterBuffer {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            sequence: None,
            numbers: SequenceUnwrapper::new(0),
            frames: VecDeque::new(),
            first_presented: TimeDelta::ZERO,
            next_sequence: None,
            next_frame: None,
            broken: true,
            held: DataSize::ZERO,
            given_up: VecDeque::new(),
            unfinished: None,
            out_of_range: 0,
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

    /// The time stamp of the newest frame, where its end has not come.
    pub(super) fn unended(&self) -> Option<u32> {
        self.frames.back().filter(|newest| newest.end.is_none()).map(|newest| newest.timestamp)
    }

    /// True where nothing can be shown before a key frame.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// True where nothing can be shown before a key frame, and none is on its way.
    pub(super) fn needs_key(&self) -> bool {
        self.broken && !self.frames.iter().any(|entry| entry.kind == FrameKind::Key)
    }

    /// A packet of a frame arrived, by itself or by retransmission.
    #[inline]
    pub(super) fn insert(
        &mut self,
        at: Timestamp,
        timestamp: u32,
        marking: FrameMarking,
        payload: Payload,
        clock: &PlayoutClock,
    ) -> Inserted {
        let placed = self.place(at, timestamp, marking, payload, clock);
        match placed {
            Inserted::Held { .. } => self.out_of_range = 0,
            Inserted::Late { .. } | Inserted::Outside => self.out_of_range += 1,
            Inserted::Duplicate => {}
        }
        if self.out_of_range == OUT_OF_RANGE {
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
    ) -> Inserted {
        let unwrap = self.sequence.get_or_insert_with(|| {
            self.numbers = SequenceUnwrapper::new(marking.frame.into());
            SequenceUnwrapper::new(marking.sequence_number.into())
        });
        let sequence = unwrap.peek(marking.sequence_number.into());
        if self.next_sequence.is_some_and(|next| sequence < next) {
            return self.insert_late(sequence);
        }
        let floor =
            self.next_sequence.or_else(|| self.frames.front().map(PartialFrame::first)).unwrap_or(sequence);
        if sequence > floor.saturating_add(AHEAD) {
            return Inserted::Outside;
        }
        unwrap.reach(sequence);
        let frame = self.numbers.next(marking.frame.into());
        if self.unfinished == Some((frame, timestamp)) {
            return self.pass_over(sequence);
        }
        // Usually the packet belongs to the last frame.
        let is_of_last =
            self.frames.back().is_some_and(|last| last.frame == frame && last.timestamp == timestamp);
        let index = if is_of_last {
            self.frames.len() - 1
        } else {
            self.entry_index(at, timestamp, frame, sequence, marking, clock)
        };
        let entry = &mut self.frames[index];
        let size = DataSize::from_bytes(payload.len() as u64);
        if entry.fragments.len() < PACKETS
            && entry.fragments.last().is_none_or(|last| last.sequence < sequence)
        {
            entry.fragments.push(Fragment { sequence, payload });
        } else {
            let place = match entry.fragments.binary_search_by_key(&sequence, |fragment| fragment.sequence) {
                Ok(_) => return Inserted::Duplicate,
                Err(_) if entry.fragments.len() == PACKETS => return Inserted::Outside,
                Err(place) => place,
            };
            entry.fragments.insert(place, Fragment { sequence, payload });
        }
        entry.start = if marking.start { Some(sequence) } else { entry.start };
        entry.end = if marking.end { Some(sequence) } else { entry.end };
        entry.last_arrival = at;
        entry.size += size;
        self.held += size;
        entry.is_whole = entry.becomes_whole();
        Inserted::Held { completed: entry.is_whole }
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
        let is_it = |entry: &PartialFrame| entry.frame == frame && entry.timestamp == timestamp;
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
        let entry = PartialFrame {
            timestamp,
            media_time,
            frame,
            kind,
            fragments: self.spare.pop().unwrap_or_default(),
            start: None,
            end: None,
            is_whole: false,
            first_arrival: at,
            last_arrival: at,
            size: DataSize::ZERO,
        };
        self.frames.insert(index, entry);
        if self.frames.len() == 1 {
            self.first_presented = media_time;
        } else if self.frames.len() <= PREDICTED {
            self.first_presented = self.first_presented.min(media_time);
        } else if index < PREDICTED {
            self.update_first_presented();
        }
        index
    }

    /// The front frames changed.
    fn update_first_presented(&mut self) {
        let first = self.frames.iter().take(PREDICTED).map(|entry| entry.media_time).min();
        self.first_presented = first.unwrap_or_default();
    }

    /// More of a frame that was given up while it arrived: it is lost already.
    fn pass_over(&mut self, sequence: u64) -> Inserted {
        self.out_of_range = 0;
        // What waits already came after it.
        if self.frames.is_empty() {
            self.next_sequence = Some(sequence + 1);
        }
        Inserted::Late { whole: false }
    }

    fn insert_late(&mut self, sequence: u64) -> Inserted {
        let given_up =
            self.given_up.iter_mut().find(|given_up| (given_up.first..=given_up.last).contains(&sequence));
        let whole = given_up.is_some_and(|given_up| {
            given_up.missing = given_up.missing.saturating_sub(1);
            given_up.missing == 0
        });
        if whole {
            self.given_up.retain(|given_up| given_up.missing > 0);
        }
        Inserted::Late { whole }
    }

    /// True where this frame, at the front, is whole and follows what was released.
    fn is_next(&self, front: &PartialFrame) -> bool {
        front.is_whole && self.next_sequence.is_none_or(|next| front.start == Some(next))
    }

    /// When the front frame is released or given up: at its playout deadline, or sooner where its packets are known to be
    /// lost and no repair is awaited.
    #[inline]
    pub(super) fn next_release(
        &self,
        clock: &PlayoutClock,
        repair: impl FnOnce() -> RepairState,
    ) -> Option<Timestamp> {
        let front = self.frames.front()?;
        if self.frames.len() > FRAMES {
            return Some(Timestamp::ZERO);
        }
        // A frame never waits longer than the longest delay, whatever its timestamp.
        let bound = front.last_arrival + clock.longest();
        if self.is_next(front) {
            return Some(clock.release(front.last_arrival, self.first_presented).min(bound));
        }
        // A frame whose packets keep coming is not given up, which would cost the frames that depend on it.
        if self.is_arriving(front) {
            return Some(bound);
        }
        let repair = repair();
        let nothing_lost = repair.abandoned_at.is_none_or(|abandoned_at| abandoned_at < front.first_arrival);
        if repair.subflows > 1 && nothing_lost {
            return Some(bound);
        }
        let due = clock.due(self.first_presented).min(bound);
        let deadline = clock.deadline(front.timestamp, repair.deadline).min(bound);
        if repair.recoverable_from.is_some_and(|first| self.misses_only_from(first, front)) {
            return Some(deadline.max(due));
        }
        Some(repair.awaited_until.map_or(due, |awaited_until| awaited_until.max(due)).min(deadline))
    }

    /// True where every packet of the front frame before this number came.
    fn misses_only_from(&self, first: u16, front: &PartialFrame) -> bool {
        let begin = self.next_sequence.unwrap_or_else(|| front.first());
        let first = nearest::<16>(begin, first.into());
        let before = front.fragments.iter().take_while(|fragment| fragment.sequence < first).count() as u64;
        before >= first.saturating_sub(begin)
    }

    /// True where no packet is known to be missing: the front frame continues the released ones without a hole, and no
    /// later frame has begun.
    fn is_arriving(&self, front: &PartialFrame) -> bool {
        let begun = front.start.is_some() && self.next_sequence.is_none_or(|next| front.start == Some(next));
        // Forged marks may end a frame before its start.
        let spanned = front.after_last().checked_sub(front.first());
        self.frames.len() == 1 && begun && spanned == Some(front.fragments.len() as u64)
    }

    /// Takes the front frame, which is due.
    pub(super) fn release(&mut self, clock: &PlayoutClock) -> Option<Released> {
        let front = self.frames.front()?;
        let (whole, contiguous) = (front.is_whole, self.is_next(front));
        let entry = self.frames.pop_front()?;
        self.update_first_presented();
        self.held -= entry.size;
        // Absent frame numbers without a gap in the packets: the sender itself dropped the frames.
        let absent = self.next_frame.map_or(0, |next| entry.frame.saturating_sub(next));
        let first_ever = self.next_sequence.is_none();
        let gap = !first_ever && self.next_sequence != entry.start;
        let (missed, skipped) = if gap { (absent, 0) } else { (0, absent) };
        self.next_sequence = Some(entry.after_last());
        self.next_frame = Some(entry.frame + 1);
        let usable = whole && (entry.kind == FrameKind::Key || contiguous && !self.broken);
        if usable && missed == 0 {
            return Some(Released::Frame(self.assemble(entry, clock, skipped)));
        }
        // A gap may hide a reference; a known frame freezes the video only if others need it.
        let was_broken = self.broken;
        let hidden = gap && (whole || missed > 0);
        self.broken |= hidden || entry.kind != FrameKind::Discardable;
        if usable {
            // A key frame behind lost frames: those are reported first.
            self.broken = false;
            self.next_sequence = entry.start;
            self.next_frame = Some(entry.frame);
            self.held += entry.size;
            self.frames.push_front(entry);
            self.update_first_presented();
            return Some(Released::Lost { frames: missed, skipped, froze: false });
        }
        self.remember(&entry);
        self.unfinished = entry.end.is_none().then_some((entry.frame, entry.timestamp));
        self.recycle(entry.fragments);
        Some(Released::Lost { frames: missed + 1, skipped, froze: self.broken && !was_broken })
    }

    fn assemble(&mut self, entry: PartialFrame, clock: &PlayoutClock, skipped: u64) -> Assembled {
        self.broken &= entry.kind != FrameKind::Key;
        let data = packetise::join(self.format, entry.fragments.iter().map(|fragment| &fragment.payload));
        let assembled = Assembled {
            timestamp: entry.timestamp,
            kind: entry.kind,
            // A frame that the peer packetised wrongly is delivered by its size.
            data: data.unwrap_or(FrameData::Synthetic(entry.size)),
            first_arrival: entry.first_arrival,
            completed: entry.last_arrival,
            due: clock.release(entry.last_arrival, entry.media_time),
            skipped,
        };
        self.recycle(entry.fragments);
        assembled
    }

    fn remember(&mut self, entry: &PartialFrame) {
        let (Some(first), Some(last)) = (entry.start, entry.end) else { return };
        let missing = (last + 1).saturating_sub(first).saturating_sub(entry.fragments.len() as u64);
        if missing > 0 {
            if self.given_up.len() == GIVEN_UP {
                self.given_up.pop_front();
            }
            self.given_up.push_back(GivenUp { first, last, missing });
        }
    }

    fn recycle(&mut self, mut fragments: Vec<Fragment>) {
        fragments.clear();
        if self.spare.len() < 16 {
            self.spare.push(fragments);
        }
    }
}

#[cfg(test)]
mod tests;
