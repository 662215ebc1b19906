//! The send queue: frames cut into packets. It is bounded, and drops whole frames. Sound leaves before pictures.

use crate::config::{QueueLimits, Stripe};
use crate::frame::FrameKind;
use crate::payload::Payload;
use seaway_control::{StreamId, Subflow};
use seaway_units::{DataSize, TimeDelta, Timestamp, earlier};
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    pub(super) stream: StreamId,
    /// Counts the stream's frames.
    pub(super) frame: u64,
    /// Counts the packets of the stream's frames.
    pub(super) sequence: u64,
    pub(super) start: bool,
    pub(super) end: bool,
    pub(super) kind: FrameKind,
    pub(super) timestamp: u32,
    pub(super) payload: Payload,
    /// The whole IP datagram.
    pub(super) size: DataSize,
    pub(super) since: Timestamp,
    /// What it is kept together with, where that is more than the packet.
    pub(super) unit: Option<u64>,
    /// The lane by which its unit began to leave.
    pub(super) lane: Option<Subflow>,
}

/// A frame to be queued.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arriving {
    pub(super) stream: StreamId,
    pub(super) kind: FrameKind,
    pub(super) timestamp: u32,
}

/// The counters of a stream.
#[derive(Debug, Clone, Copy, Default)]
struct StreamState {
    next_frame: u64,
    next_sequence: u64,
    /// Groups begun; a key frame begins one.
    groups: u64,
    /// Sequence number after the last packet that left.
    after_sent: u64,
    /// The frame after the last of which a packet left.
    after_begun: u64,
    /// The last unit that began to leave, and its lane.
    bound: Option<(u64, Subflow)>,
    /// A reference was dropped: no frame can be decoded before the next key frame.
    needs_key: bool,
    /// Wire octets that wait.
    waiting: DataSize,
    /// Its frames are those of sound.
    is_audio: bool,
}

/// Frames that were dropped while they waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Pictures.
    pub(super) frames: u64,
    /// Frames of sound.
    pub(super) audio: u64,
    /// The streams, a bit each, that need a key frame.
    pub(super) need_key: u8,
}

/// The packets that wait: one queue a subflow, or one for all subflows where single packets are striped.
#[derive(Debug)]
pub(super) struct SendQueue {
    limits: QueueLimits,
    stripe: Stripe,
    /// Subflows are lanes: all packets wait in one queue until a lane takes them.
    has_lanes: bool,
    subflows: u8,
    queues: Vec<VecDeque<Queued>>,
    /// Packets of sound: they are few, and leave by the first subflow that is due.
    audio: VecDeque<Queued>,
    streams: Vec<StreamState>,
    waiting: DataSize,
    /// Since when the oldest picture waits of which no packet left: only such frames can be dropped.
    unsent: Option<Timestamp>,
}

impl SendQueue {
    /// An empty queue of streams of which each is sound, or not.
    pub(super) fn new(limits: QueueLimits, stripe: Stripe, is_audio: impl Iterator<Item = bool>) -> Self {
        let queues = vec![VecDeque::new()];
        let streams = is_audio.map(|is_audio| StreamState { is_audio, ..StreamState::default() });
        Self {
            limits,
            stripe,
            has_lanes: false,
            subflows: 1,
            queues,
            audio: VecDeque::new(),
            streams: streams.collect(),
            waiting: DataSize::ZERO,
            unsent: None,
        }
    }

    /// Frames that waited longer are dropped from now on.
    pub(super) const fn set_delay(&mut self, delay: Option<TimeDelta>) {
        self.limits.delay = delay;
    }

    /// The same for subflows that are lanes.
    pub(super) fn with_lanes(self, has_lanes: bool) -> Self {
        Self { has_lanes, ..self }
    }

    /// Wire octets that wait.
    pub(super) fn waiting(&self) -> DataSize {
        self.waiting
    }

    /// Wire octets of a stream that wait.
    pub(super) fn waiting_of(&self, stream: StreamId) -> DataSize {
        self.streams.get(usize::from(stream.0)).map_or(DataSize::ZERO, |stream| stream.waiting)
    }

    /// How long the oldest packet has waited.
    pub(super) fn oldest(&self, now: Timestamp) -> TimeDelta {
        self.oldest_since().map_or(TimeDelta::ZERO, |since| now.since(since))
    }

    fn oldest_since(&self) -> Option<Timestamp> {
        let queues = self.queues.iter().chain([&self.audio]);
        queues.filter_map(|queue| queue.front()).map(|queued| queued.since).min()
    }

    /// When the oldest frame will be stale.
    #[inline]
    pub(super) fn stale_at(&self) -> Option<Timestamp> {
        let delay = self.limits.delay?;
        let audio = self.audio.front().map(|queued| queued.since);
        earlier(self.unsent, audio).map(|since| since + delay)
    }

    /// Finds the oldest unsent frame after one left or moved.
    fn note_unsent(&mut self) {
        let (streams, has_lanes) = (&self.streams, self.has_lanes);
        let is_unsent = |queued: &&Queued| match has_lanes {
            true => is_unbegun(streams, queued),
            false => queued.start,
        };
        let first = |queue: &VecDeque<Queued>| Some(queue.iter().find(is_unsent)?.since);
        self.unsent = self.queues.iter().filter_map(first).min();
    }

    /// Whether a frame may be queued. A discardable frame is refused early, in favour of the others.
    pub(super) fn admits(&mut self, now: Timestamp, frame: Arriving) -> bool {
        let oldest = self.oldest(now);
        let Some(stream) = self.streams.get_mut(usize::from(frame.stream.0)) else { return false };
        let starved = stream.needs_key && frame.kind != FrameKind::Key;
        let late =
            frame.kind == FrameKind::Discardable && self.limits.delay.is_some_and(|delay| oldest > delay / 2);
        let admitted = !starved && !late && self.waiting < self.limits.size;
        if !admitted {
            stream.next_frame += 1;
            stream.needs_key |= frame.kind != FrameKind::Discardable;
        }
        admitted
    }

    /// True where there is room for another frame.
    pub(super) fn has_room(&self) -> bool {
        self.waiting < self.limits.size
    }

    /// True where a stream needs a key frame.
    pub(super) fn needs_key(&self, stream: StreamId) -> bool {
        self.streams.get(usize::from(stream.0)).is_some_and(|stream| stream.needs_key)
    }

    /// Queues an admitted frame that was cut into `payloads`, each with its size as an IP datagram.
    pub(super) fn push(
        &mut self,
        now: Timestamp,
        frame: Arriving,
        payloads: impl Iterator<Item = (Payload, DataSize)>,
    ) {
        let stream = &mut self.streams[usize::from(frame.stream.0)];
        if frame.kind == FrameKind::Key {
            stream.groups += 1;
            stream.needs_key = false;
        }
        let unit = match self.stripe {
            _ if !self.has_lanes || stream.is_audio => None,
            Stripe::Packet => None,
            Stripe::Frame => Some(stream.next_frame),
            Stripe::Gop => Some(stream.groups),
        };
        let lane = stream.bound.filter(|(bound, _)| Some(*bound) == unit).map(|(_, lane)| lane);
        let place = match self.stripe {
            _ if self.has_lanes => 0,
            Stripe::Packet => 0,
            Stripe::Frame => least_waiting(&self.queues, stream.next_frame),
            Stripe::Gop => (stream.groups.saturating_sub(1) % u64::from(self.subflows)) as usize,
        };
        let is_audio = stream.is_audio;
        let queue = if is_audio { &mut self.audio } else { &mut self.queues[place] };
        let mut start = true;
        for (payload, size) in payloads {
            self.waiting += size;
            stream.waiting += size;
            queue.push_back(Queued {
                stream: frame.stream,
                frame: stream.next_frame,
                sequence: stream.next_sequence,
                start,
                end: false,
                kind: frame.kind,
                timestamp: frame.timestamp,
                payload,
                size,
                since: now,
                unit,
                lane,
            });
            stream.next_sequence += 1;
            start = false;
        }
        if let Some(last) = queue.back_mut().filter(|_| !start) {
            last.end = true;
            if !is_audio {
                self.unsent.get_or_insert(now);
            }
        }
        stream.next_frame += 1;
    }

    /// Follows the number of subflows; the packets of a subflow that is gone move to another.
    pub(super) fn set_subflows(&mut self, subflows: u8) {
        self.subflows = subflows.max(1);
        let is_single = self.has_lanes || self.stripe == Stripe::Packet;
        let wanted = if is_single { 1 } else { usize::from(self.subflows) };
        let changes = self.queues.len() > wanted;
        while self.queues.len() > wanted {
            let orphans = self.queues.pop().unwrap_or_default();
            if !orphans.is_empty() {
                let home = &mut self.queues[orphans.len() % wanted];
                home.extend(orphans);
                home.make_contiguous().sort_by_key(|queued| (queued.since, queued.stream, queued.sequence));
            }
        }
        self.queues.resize_with(wanted, VecDeque::new);
        if changes {
            self.note_unsent();
        }
    }

    fn queue_of(&self, subflow: Subflow) -> usize {
        if self.queues.len() == 1 { 0 } else { usize::from(subflow.0) }
    }

    /// The next packet of a subflow.
    pub(super) fn front(&self, subflow: Subflow) -> Option<&Queued> {
        self.audio.front().or_else(|| self.queues.get(self.queue_of(subflow))?.front())
    }

    /// Takes the next packet of a subflow.
    pub(super) fn pop(&mut self, subflow: Subflow) -> Option<Queued> {
        let index = self.queue_of(subflow);
        let queue = if self.audio.is_empty() { self.queues.get_mut(index)? } else { &mut self.audio };
        let queued = queue.pop_front()?;
        self.on_popped(&queued);
        Some(queued)
    }

    /// A packet leaves.
    fn on_popped(&mut self, queued: &Queued) {
        self.waiting -= queued.size;
        let stream = &mut self.streams[usize::from(queued.stream.0)];
        stream.waiting -= queued.size;
        stream.after_sent = stream.after_sent.max(queued.sequence + 1);
        let begins = stream.after_begun <= queued.frame;
        stream.after_begun = stream.after_begun.max(queued.frame + 1);
        if (queued.start || begins) && !stream.is_audio {
            self.note_unsent();
        }
    }

    /// The packets that wait for a lane: sound, then pictures.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Queued> {
        self.audio.iter().chain(self.queues.iter().take(1).flatten())
    }

    /// Octets of a unit that wait.
    pub(super) fn size_of_unit(&self, stream: StreamId, unit: u64) -> DataSize {
        let own = |queued: &&Queued| queued.stream == stream && queued.unit == Some(unit);
        self.packets().filter(own).map(|queued| queued.size).sum()
    }

    /// Takes the packet at a place among those that [wait for a lane](Self::packets). The rest of its unit follows by that lane.
    pub(super) fn take(&mut self, place: usize, lane: Subflow) -> Option<Queued> {
        let queued = match place.checked_sub(self.audio.len()) {
            None => self.audio.remove(place)?,
            Some(place) => self.queues.first_mut()?.remove(place)?,
        };
        if let Some(unit) = queued.unit {
            self.streams[usize::from(queued.stream.0)].bound = Some((unit, lane));
            let rest = self.queues.iter_mut().flatten();
            rest.filter(|other| other.stream == queued.stream && other.unit == Some(unit))
                .for_each(|other| other.lane = Some(lane));
        }
        self.on_popped(&queued);
        Some(queued)
    }

    /// Units that began to leave by a lane may go on by others.
    pub(super) fn release(&mut self, lane: Subflow) {
        self.queues.iter_mut().flatten().filter(|queued| queued.lane == Some(lane)).for_each(|queued| {
            queued.lane = None;
        });
        for stream in &mut self.streams {
            stream.bound.take_if(|(_, bound)| *bound == lane);
        }
    }

    /// Drops the sound that waits, whose format is another from now on; gives the number of frames.
    pub(super) fn drop_audio(&mut self) -> u64 {
        let mut frames = 0;
        for queued in std::mem::take(&mut self.audio) {
            self.waiting -= queued.size;
            self.streams[usize::from(queued.stream.0)].waiting -= queued.size;
            frames += u64::from(queued.start);
        }
        frames
    }

    /// Drops the unsent frames where the oldest is stale, so that fresh media do not wait behind old ones. The numbers of
    /// their packets are given again, so that the receiver does not miss them.
    pub(super) fn drop_stale(&mut self, now: Timestamp) -> Dropped {
        let mut dropped = Dropped::default();
        if self.stale_at().is_none_or(|stale| now < stale) {
            return dropped;
        }
        let Some(delay) = self.limits.delay else { return dropped };
        let is_stale = |since: Timestamp| since + delay <= now;
        let stale_pictures = self.unsent.is_some_and(is_stale);
        let stale_audio = self.audio.front().is_some_and(|queued| is_stale(queued.since));
        let (streams, has_lanes) = (&self.streams, self.has_lanes);
        let pictures = self.queues.iter_mut().filter(|_| stale_pictures);
        let mut stale = Vec::new();
        for queue in pictures.chain(stale_audio.then_some(&mut self.audio)) {
            if has_lanes {
                // Packets of several frames may have left, each by a lane of its own.
                let (unsent, begun) = queue.drain(..).partition(|queued| is_unbegun(streams, queued));
                *queue = begun;
                stale.push(unsent);
            } else {
                let unsent = queue.iter().position(|queued| queued.start).unwrap_or(queue.len());
                stale.push(queue.split_off(unsent));
            }
        }
        for queue in stale {
            for queued in queue {
                let stream = &mut self.streams[usize::from(queued.stream.0)];
                self.waiting -= queued.size;
                stream.waiting -= queued.size;
                if queued.start && stream.is_audio {
                    dropped.audio += 1;
                } else if queued.start {
                    dropped.frames += 1;
                    if queued.kind != FrameKind::Discardable {
                        dropped.need_key |= 1 << queued.stream.0;
                        stream.needs_key = true;
                    }
                }
            }
        }
        if stale_pictures {
            self.unsent = None;
        }
        for (index, stream) in self.streams.iter_mut().enumerate() {
            let own = |queued: &&Queued| usize::from(queued.stream.0) == index;
            let kept = self
                .queues
                .iter()
                .chain([&self.audio])
                .flatten()
                .filter(own)
                .map(|queued| queued.sequence + 1)
                .max();
            stream.next_sequence = kept.unwrap_or(0).max(stream.after_sent);
        }
        dropped
    }
}

/// Whether no packet of a packet's frame left, nor of a later one.
fn is_unbegun(streams: &[StreamState], queued: &Queued) -> bool {
    streams.get(usize::from(queued.stream.0)).is_some_and(|stream| stream.after_begun <= queued.frame)
}

/// The queue with the fewest packets, in turn where several have.
fn least_waiting(queues: &[VecDeque<Queued>], turn: u64) -> usize {
    let first = (turn % queues.len() as u64) as usize;
    let in_turn = (0..queues.len()).map(|step| (first + step) % queues.len());
    in_turn.min_by_key(|index| queues[*index].len()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn limits(delay: Option<i64>) -> QueueLimits {
        QueueLimits { delay: delay.map(TimeDelta::from_millis), size: DataSize::from_bytes(20_000) }
    }

    fn push(queue: &mut SendQueue, now: Timestamp, kind: FrameKind, packets: usize) -> bool {
        let frame = Arriving { stream: StreamId(0), kind, timestamp: 0 };
        let admitted = queue.admits(now, frame);
        if admitted {
            queue.push(now, frame, (0..packets).map(|_| (Payload::zeros(1000), DataSize::from_bytes(1000))));
        }
        admitted
    }

    #[test]
    fn stale_frames_go_whole_and_leave_no_gap() {
        let mut queue = SendQueue::new(limits(Some(100)), Stripe::Gop, std::iter::once(false));
        push(&mut queue, at(0), FrameKind::Key, 3);
        assert_eq!(queue.pop(Subflow(0)).map(|queued| (queued.sequence, queued.start)), Some((0, true)));
        push(&mut queue, at(10), FrameKind::Reference, 2);
        push(&mut queue, at(20), FrameKind::Discardable, 1);
        assert_eq!(queue.drop_stale(at(109)), Dropped::default());
        assert_eq!(queue.drop_stale(at(110)), Dropped { frames: 2, audio: 0, need_key: 1 });
        assert_eq!(queue.waiting(), DataSize::from_bytes(2000), "the frame that began to leave goes on");
        assert!(!push(&mut queue, at(111), FrameKind::Reference, 1));
        assert!(push(&mut queue, at(112), FrameKind::Key, 1));
        let rest: Vec<_> =
            std::iter::from_fn(|| queue.pop(Subflow(0))).map(|q| (q.sequence, q.frame)).collect();
        assert_eq!(rest, [(1, 0), (2, 0), (3, 4)], "packets are numbered on, frames show the gap");
    }

    /// Lanes take packets in any order: a frame of which any left goes on, and later ones go without a gap.
    #[test]
    fn what_lanes_began_is_kept() {
        let mut queue =
            SendQueue::new(limits(Some(100)), Stripe::Packet, std::iter::once(false)).with_lanes(true);
        for millis in [0, 10, 20] {
            push(&mut queue, at(millis), FrameKind::Reference, 3);
        }
        assert_eq!(queue.take(4, Subflow(1)).map(|queued| (queued.frame, queued.sequence)), Some((1, 4)));
        assert_eq!(queue.stale_at(), Some(at(120)), "of the last frame nothing left");
        assert_eq!(queue.drop_stale(at(120)), Dropped { frames: 1, audio: 0, need_key: 1 });
        assert_eq!(queue.waiting(), DataSize::from_bytes(5000));
        assert!(push(&mut queue, at(121), FrameKind::Key, 1));
        let rest: Vec<_> =
            std::iter::from_fn(|| queue.take(0, Subflow(0))).map(|queued| queued.sequence).collect();
        assert_eq!(rest, [0, 1, 2, 3, 5, 6]);
    }

    #[test]
    fn a_unit_stays_on_its_lane_until_that_fails() {
        let mut queue =
            SendQueue::new(limits(Some(100)), Stripe::Gop, std::iter::once(false)).with_lanes(true);
        push(&mut queue, at(0), FrameKind::Key, 2);
        assert!(queue.take(0, Subflow(1)).is_some());
        push(&mut queue, at(0), FrameKind::Reference, 1);
        push(&mut queue, at(0), FrameKind::Key, 1);
        let lanes = |queue: &SendQueue| queue.packets().map(|queued| queued.lane).collect::<Vec<_>>();
        assert_eq!(lanes(&queue), [Some(Subflow(1)), Some(Subflow(1)), None]);
        assert_eq!(queue.size_of_unit(StreamId(0), 1), DataSize::from_bytes(2000));
        queue.release(Subflow(1));
        assert_eq!(lanes(&queue), [None; 3]);
    }

    #[test]
    fn discardable_frames_stay_out_early() {
        let mut queue = SendQueue::new(limits(Some(100)), Stripe::Gop, std::iter::once(false));
        push(&mut queue, at(0), FrameKind::Key, 1);
        assert!(!push(&mut queue, at(51), FrameKind::Discardable, 1));
        assert!(push(&mut queue, at(51), FrameKind::Reference, 30), "no reference was lost");
        assert!(!push(&mut queue, at(52), FrameKind::Key, 1), "full");
    }

    #[test]
    fn sound_leaves_first_and_grows_stale_alone() {
        let mut queue = SendQueue::new(limits(Some(100)), Stripe::Packet, [false, true].into_iter());
        let sound = |queue: &mut SendQueue, now| {
            let frame = Arriving { stream: StreamId(1), kind: FrameKind::Key, timestamp: 0 };
            assert!(queue.admits(now, frame));
            queue.push(now, frame, std::iter::once((Payload::zeros(100), DataSize::from_bytes(100))));
        };
        push(&mut queue, at(0), FrameKind::Key, 2);
        sound(&mut queue, at(60));
        let next = |queue: &mut SendQueue| queue.pop(Subflow(0)).map(|queued| queued.stream);
        assert_eq!(next(&mut queue), Some(StreamId(1)), "before the picture that came before");
        sound(&mut queue, at(80));
        assert_eq!(queue.stale_at(), Some(at(100)));
        assert_eq!(queue.drop_stale(at(100)), Dropped { frames: 1, audio: 0, need_key: 1 });
        assert_eq!(queue.stale_at(), Some(at(180)));
        sound(&mut queue, at(170));
        assert_eq!(queue.drop_stale(at(180)), Dropped { frames: 0, audio: 2, need_key: 0 });
        assert_eq!((queue.waiting(), queue.stale_at()), (DataSize::ZERO, None));
        sound(&mut queue, at(190));
        assert_eq!(queue.pop(Subflow(0)).map(|queued| queued.sequence), Some(1), "numbered on");
    }

    /// At exactly half of the delay a discardable frame is admitted yet; at exactly the size none is. A refused reference needs a key frame,
    /// a refused discardable frame does not.
    #[test]
    fn the_bounds_of_what_is_admitted() {
        let mut queue = SendQueue::new(limits(Some(100)), Stripe::Packet, std::iter::once(false));
        push(&mut queue, at(0), FrameKind::Key, 19);
        assert!(queue.has_room());
        assert!(push(&mut queue, at(50), FrameKind::Discardable, 1), "half of the delay");
        assert!(!queue.has_room() && queue.waiting() == DataSize::from_bytes(20_000));
        assert!(!push(&mut queue, at(50), FrameKind::Discardable, 1));
        assert!(!queue.needs_key(StreamId(0)) && !queue.needs_key(StreamId(1)));
        assert!(!push(&mut queue, at(50), FrameKind::Reference, 1));
        assert!(queue.needs_key(StreamId(0)));
        assert!(!push(&mut queue, at(50), FrameKind::Discardable, 1));
        assert!(queue.needs_key(StreamId(0)), "still");
        queue.pop(Subflow(0));
        assert!(queue.has_room());
        assert!(!push(&mut queue, at(50), FrameKind::Reference, 1), "it needs what was refused");
        assert!(push(&mut queue, at(50), FrameKind::Key, 1) && !queue.needs_key(StreamId(0)));
        // Of a stream that does not exist nothing is admitted.
        let other = Arriving { stream: StreamId(1), kind: FrameKind::Key, timestamp: 0 };
        assert!(!queue.admits(at(50), other));
    }

    /// The age is that of the oldest packet of all, sound or not, and a delay that is set anew holds for what waits.
    #[test]
    fn ages_and_a_new_delay() {
        let mut queue = SendQueue::new(limits(None), Stripe::Packet, [false, true].into_iter());
        assert_eq!(queue.oldest(at(70)), TimeDelta::ZERO);
        push(&mut queue, at(10), FrameKind::Key, 1);
        assert_eq!(queue.oldest(at(70)), TimeDelta::from_millis(60));
        let sound = Arriving { stream: StreamId(1), kind: FrameKind::Key, timestamp: 0 };
        queue.push(at(5), sound, std::iter::once((Payload::zeros(100), DataSize::from_bytes(100))));
        assert_eq!(queue.oldest(at(70)), TimeDelta::from_millis(65));
        assert_eq!(queue.drop_stale(at(9000)), Dropped::default());
        queue.set_delay(Some(TimeDelta::from_millis(30)));
        assert_eq!(queue.stale_at(), Some(at(35)));
        assert_eq!(queue.drop_stale(at(39)), Dropped { frames: 0, audio: 1, need_key: 0 });
        assert_eq!(queue.drop_stale(at(40)), Dropped { frames: 1, audio: 0, need_key: 1 });
    }

    /// Which streams need a key frame, a bit each: here the third.
    #[test]
    fn each_stream_needs_its_own_key_frame() {
        let mut queue = SendQueue::new(limits(Some(100)), Stripe::Packet, [false; 3].into_iter());
        let frame = |kind| Arriving { stream: StreamId(2), kind, timestamp: 0 };
        let packet = || std::iter::once((Payload::zeros(100), DataSize::from_bytes(100)));
        queue.push(at(0), frame(FrameKind::Reference), packet());
        assert_eq!(queue.drop_stale(at(100)), Dropped { frames: 1, audio: 0, need_key: 4 });
        assert_eq!([0, 1, 2].map(|stream| queue.needs_key(StreamId(stream))), [false, false, true]);
        queue.push(at(200), frame(FrameKind::Discardable), packet());
        assert_eq!(queue.drop_stale(at(300)), Dropped { frames: 1, audio: 0, need_key: 0 }, "none needs it");
    }

    /// Sound whose format changes goes, and takes nothing of the pictures.
    #[test]
    fn sound_can_be_dropped_alone() {
        let mut queue = SendQueue::new(limits(None), Stripe::Packet, [false, true].into_iter());
        push(&mut queue, at(0), FrameKind::Key, 2);
        assert_eq!(queue.drop_audio(), 0);
        for _ in 0..3 {
            let sound = Arriving { stream: StreamId(1), kind: FrameKind::Key, timestamp: 0 };
            queue.push(at(5), sound, (0..2).map(|_| (Payload::zeros(100), DataSize::from_bytes(100))));
        }
        assert_eq!(queue.waiting(), DataSize::from_bytes(2600));
        assert_eq!(queue.drop_audio(), 3);
        assert_eq!(
            (queue.waiting(), queue.waiting_of(StreamId(1))),
            (DataSize::from_bytes(2000), DataSize::ZERO)
        );
    }

    /// Whole frames go to the queue where least waits, in turn where several have as little.
    #[test]
    fn frames_go_where_least_waits() {
        let mut queue = SendQueue::new(limits(None), Stripe::Frame, std::iter::once(false));
        queue.set_subflows(3);
        for packets in [1, 2, 1, 1] {
            push(&mut queue, at(0), FrameKind::Reference, packets);
        }
        let lengths = |queue: &SendQueue| queue.queues.iter().map(VecDeque::len).collect::<Vec<_>>();
        // The first three in turn, the fourth to the first of those with one packet.
        assert_eq!(lengths(&queue), [2, 2, 1]);
        // The fifth would be the second's turn, and the third has least.
        push(&mut queue, at(0), FrameKind::Reference, 2);
        assert_eq!(lengths(&queue), [2, 2, 3]);
        // The sixth is the third's turn, which has most: the first of the others behind it.
        push(&mut queue, at(0), FrameKind::Reference, 1);
        assert_eq!(lengths(&queue), [3, 2, 3]);
        // In turn where nothing waits at all.
        let mut queue = SendQueue::new(limits(None), Stripe::Frame, std::iter::once(false));
        queue.set_subflows(3);
        let places = [0; 5].map(|_| {
            push(&mut queue, at(0), FrameKind::Reference, 1);
            let place = lengths(&queue).iter().position(|length| *length > 0).expect("a packet");
            queue.pop(Subflow(place as u8));
            place
        });
        assert_eq!(places, [0, 1, 2, 0, 1]);
        // Where packets may leave by any subflow one queue serves all.
        let mut queue = SendQueue::new(limits(None), Stripe::Packet, std::iter::once(false));
        queue.set_subflows(3);
        push(&mut queue, at(0), FrameKind::Reference, 2);
        assert_eq!(queue.queues.len(), 1);
        assert_eq!(queue.front(Subflow(2)).map(|queued| queued.sequence), Some(0));
    }

    /// Lanes share one queue, however many there are, and sound is bound to none.
    #[test]
    fn lanes_share_a_queue() {
        for stripe in [Stripe::Frame, Stripe::Gop] {
            let mut queue = SendQueue::new(limits(None), stripe, [false, true].into_iter()).with_lanes(true);
            queue.set_subflows(2);
            for _ in 0..2 {
                push(&mut queue, at(0), FrameKind::Key, 1);
            }
            let sound = Arriving { stream: StreamId(1), kind: FrameKind::Key, timestamp: 0 };
            queue.push(at(5), sound, std::iter::once((Payload::zeros(100), DataSize::from_bytes(100))));
            let units: Vec<_> = queue.packets().map(|queued| queued.unit.is_some()).collect();
            assert_eq!(units, [false, true, true], "{stripe:?}");
        }
    }

    /// Later frames of a group follow its first one to a lane, until that lane fails.
    #[test]
    fn a_group_stays_bound_until_its_lane_fails() {
        let mut queue = SendQueue::new(limits(None), Stripe::Gop, std::iter::once(false)).with_lanes(true);
        push(&mut queue, at(0), FrameKind::Key, 1);
        assert!(queue.take(0, Subflow(1)).is_some());
        let mut next = |failed| {
            queue.release(Subflow(failed));
            push(&mut queue, at(0), FrameKind::Reference, 1);
            queue.packets().last().and_then(|queued| queued.lane)
        };
        assert_eq!([next(2), next(1)], [Some(Subflow(1)), None]);
    }

    /// A failed lane gives back its own units and no others.
    #[test]
    fn a_lane_gives_back_its_own_units() {
        let mut queue =
            SendQueue::new(limits(None), Stripe::Frame, [false, false].into_iter()).with_lanes(true);
        for stream in [0, 1].map(StreamId) {
            let frame = Arriving { stream, kind: FrameKind::Key, timestamp: 0 };
            queue.push(at(0), frame, (0..3).map(|_| (Payload::zeros(1000), DataSize::from_bytes(1000))));
        }
        assert!(queue.take(0, Subflow(1)).is_some());
        let lanes = |queue: &SendQueue| queue.packets().map(|queued| queued.lane).collect::<Vec<_>>();
        let (first, second) = (Some(Subflow(1)), Some(Subflow(2)));
        assert_eq!(
            lanes(&queue),
            [first, first, None, None, None],
            "the other stream's frame has the same number"
        );
        assert!(queue.take(2, Subflow(2)).is_some());
        queue.release(Subflow(2));
        assert_eq!(lanes(&queue), [first, first, None, None]);
        queue.release(Subflow(1));
        assert!(queue.take(0, Subflow(2)).is_some());
        assert_eq!(lanes(&queue), [second, None, None]);
        assert_eq!(queue.size_of_unit(StreamId(1), 0), DataSize::from_bytes(2000));
    }

    proptest! {
        /// What is counted on the way is what stands there.
        #[test]
        fn sums_and_ages_are_those_of_what_waits(
            steps in prop::collection::vec((0u8..6, 0u8..3, 1usize..5), 1..100),
            stripe in prop::sample::select(vec![Stripe::Packet, Stripe::Frame, Stripe::Gop]),
        ) {
            let mut queue = SendQueue::new(limits(Some(100)), stripe, [false, false].into_iter());
            for (millis, (step, which, packets)) in steps.into_iter().enumerate() {
                let now = at(20 * millis as u64);
                match step {
                    0 => queue.set_subflows(which),
                    1 => { queue.drop_stale(now); }
                    2 | 3 => { queue.pop(Subflow(which)); }
                    _ => {
                        let frame = Arriving { stream: StreamId(which % 2), kind: FrameKind::Key, timestamp: 0 };
                        let payload = || (Payload::zeros(1000), DataSize::from_bytes(1000));
                        queue.push(now, frame, (0..packets).map(|_| payload()));
                    }
                }
                let starts = queue.queues.iter().filter_map(|queue| queue.iter().find(|queued| queued.start));
                prop_assert_eq!(queue.unsent, starts.map(|queued| queued.since).min());
                for stream in [StreamId(0), StreamId(1)] {
                    let own = queue.queues.iter().flatten().filter(|queued| queued.stream == stream);
                    prop_assert_eq!(queue.waiting_of(stream), own.map(|queued| queued.size).sum());
                }
                prop_assert_eq!(queue.waiting(), queue.queues.iter().flatten().map(|queued| queued.size).sum());
            }
        }
    }

    #[test]
    fn groups_go_by_subflows_and_come_home() {
        let mut queue = SendQueue::new(limits(None), Stripe::Gop, std::iter::once(false));
        queue.set_subflows(2);
        for kind in
            [FrameKind::Key, FrameKind::Reference, FrameKind::Key, FrameKind::Reference, FrameKind::Key]
        {
            push(&mut queue, at(0), kind, 1);
        }
        assert_eq!(queue.pop(Subflow(1)).map(|queued| queued.sequence), Some(2));
        queue.set_subflows(1);
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop(Subflow(0))).map(|q| q.sequence).collect();
        assert_eq!(rest, [0, 1, 3, 4]);
        assert_eq!(queue.stale_at(), None);
    }
}
