//! Packets in any order, frames in theirs, and when each leaves.

use super::*;
use crate::receive::playout::PlayoutRule;
use bytes::Bytes;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

struct Fixture {
    jitter_buffer: JitterBuffer,
    clock: PlayoutClock,
}

impl Fixture {
    fn new() -> Self {
        let rule = PlayoutRule { min: TimeDelta::ZERO, max: TimeDelta::from_millis(100), waits: true };
        let clock = PlayoutClock::new(90_000, rule);
        Self { jitter_buffer: JitterBuffer::new(Format::Opaque), clock }
    }

    /// Frame `frame` at 40 ms a frame has packets `first..=last`; this is packet `sequence` of it.
    fn packet(&mut self, frame: u16, first: u16, last: u16, sequence: u16, kind: FrameKind) -> Inserted {
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
        self.jitter_buffer.insert(now, timestamp, marking, Payload::zeros(100), &self.clock)
    }

    fn all(&mut self) -> Vec<String> {
        let text = |release| match release {
            Released::Frame(frame) => {
                format!("frame {} ({} skipped)", frame.timestamp / 3600, frame.skipped)
            }
            Released::Lost { frames, froze, .. } => {
                format!("lost {frames}{}", if froze { ", froze" } else { "" })
            }
        };
        std::iter::from_fn(|| self.jitter_buffer.release(&self.clock)).map(text).collect()
    }
}

use FrameKind::{Discardable, Key, Reference};

#[test]
fn packets_in_any_order_make_frames() {
    let mut line = Fixture::new();
    let held = |completed| Inserted::Held { completed };
    assert_eq!(line.packet(0, 7, 9, 8, Key), held(false));
    assert_eq!(line.packet(1, 10, 10, 10, Reference), held(true));
    assert_eq!(line.packet(0, 7, 9, 7, Key), held(false));
    assert_eq!(line.packet(0, 7, 9, 7, Key), Inserted::Duplicate);
    assert_eq!(line.packet(0, 7, 9, 9, Key), held(true));
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "frame 1 (0 skipped)"]);
    assert_eq!(line.jitter_buffer.held(), DataSize::ZERO);
    assert_eq!(line.packet(0, 7, 9, 9, Key), Inserted::Late { whole: false });
    assert_eq!(line.packet(2, 20_000, 20_000, 20_000, Key), Inserted::Outside);
}

#[test]
fn what_the_sender_dropped_is_not_lost() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.packet(4, 1, 1, 1, Reference);
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "frame 4 (3 skipped)"]);
}

#[test]
fn a_lost_reference_freezes_until_a_key_frame() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.packet(1, 1, 2, 1, Reference);
    line.packet(2, 3, 3, 3, Reference);
    assert!(!line.jitter_buffer.needs_key());
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1, froze", "lost 1"]);
    assert!(line.jitter_buffer.needs_key());
    assert_eq!(line.packet(1, 1, 2, 2, Reference), Inserted::Late { whole: false }, "its end was not known");
    line.packet(4, 5, 5, 5, Reference);
    line.packet(7, 9, 9, 9, Key);
    line.packet(8, 10, 10, 10, Reference);
    assert_eq!(line.all(), ["lost 2", "lost 2", "frame 7 (0 skipped)", "frame 8 (0 skipped)"]);
}

#[test]
fn a_lost_discardable_frame_harms_no_other() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.packet(1, 1, 3, 1, Discardable);
    line.packet(1, 1, 3, 3, Discardable);
    line.packet(2, 4, 4, 4, Reference);
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1", "frame 2 (0 skipped)"]);
    assert_eq!(line.packet(1, 1, 3, 2, Discardable), Inserted::Late { whole: true });
}

/// Without repair a large frame is given up at its first gap, while most of it is still on its way.
#[test]
fn the_rest_of_a_frame_that_was_given_up_counts_no_more() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.packet(1, 1, 900, 2, Discardable);
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1"]);
    for sequence in 3..=900 {
        assert_eq!(line.packet(1, 1, 900, sequence, Discardable), Inserted::Late { whole: false });
    }
    line.packet(2, 901, 901, 901, Reference);
    assert_eq!(line.all(), ["frame 2 (0 skipped)"]);
}

#[test]
fn the_front_waits_for_a_repair_and_no_longer_than_the_deadline() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    let next = |line: &Fixture, awaited_until| {
        let repair = RepairState {
            recoverable_from: None,
            awaited_until,
            deadline: TimeDelta::from_millis(60),
            subflows: 1,
            abandoned_at: None,
        };
        line.jitter_buffer.next_release(&line.clock, || repair).unwrap()
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

#[test]
fn numbers_that_moved_begin_anew_after_many_and_not_before() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.all();
    // One forged packet of another place is held; what follows the old places is late by then.
    let moved = 20_000;
    for packet in 0..OUT_OF_RANGE as u16 - 1 {
        assert_eq!(line.packet(1, moved + packet, moved, moved + packet, Key), Inserted::Outside);
    }
    // A packet of the old places shows that they are still in force, and begins the count anew.
    assert_eq!(line.packet(1, 1, 1, 1, Reference), Inserted::Held { completed: true });
    assert_eq!(line.all(), ["frame 1 (0 skipped)"]);
    for packet in 0..OUT_OF_RANGE as u16 {
        assert_eq!(line.packet(2, moved + packet, moved, moved + packet, Key), Inserted::Outside);
    }
    assert_eq!(line.packet(2, moved, moved, moved, Key), Inserted::Held { completed: true });
    assert_eq!(line.all(), ["frame 2 (0 skipped)"]);
}

const NO_REPAIR: RepairState = RepairState {
    recoverable_from: None,
    awaited_until: None,
    deadline: TimeDelta::from_millis(60),
    subflows: 1,
    abandoned_at: None,
};

/// Frames of a packet, all at 0 ms, in decoding order; each is presented 40 ms times this number.
fn presented(numbers: &[(u16, u32)]) -> Fixture {
    let mut line = Fixture::new();
    line.clock.on_arrival(at(0), 0);
    for (sequence, number) in numbers {
        let marking = FrameMarking {
            start: true,
            end: true,
            independent: true,
            discardable: false,
            frame: *sequence,
            sequence_number: *sequence,
        };
        line.jitter_buffer.insert(at(0), number * 3600, marking, Payload::zeros(100), &line.clock);
    }
    line
}

/// Of four frames at the front the one that is presented first says when the first of them leaves.
#[test]
fn a_frame_leaves_when_the_first_of_four_is_presented() {
    let leave = |numbers: &[(u16, u32)]| {
        let mut line = presented(numbers);
        let next = |line: &Fixture| line.jitter_buffer.next_release(&line.clock, || NO_REPAIR);
        let mut instants = Vec::new();
        while let Some(instant) = next(&line) {
            instants.push(instant.as_nanos() / 40_000_000);
            line.jitter_buffer.release(&line.clock);
        }
        instants
    };
    assert_eq!(leave(&[(0, 5), (1, 3), (2, 2), (3, 4), (4, 1)]), [2, 1, 1, 1, 1]);
    assert_eq!(leave(&[(0, 2), (1, 3)]), [2, 3]);
    // Two that come last have their places before others.
    assert_eq!(leave(&[(0, 5), (2, 3), (3, 4), (4, 5), (5, 5), (1, 2)]), [2, 2, 3, 4, 5, 5]);
    assert_eq!(leave(&[(0, 5), (1, 3), (2, 4), (3, 5), (5, 5), (4, 2)]), [3, 2, 2, 2, 2, 5]);
}

#[test]
fn a_frame_says_when_it_came() {
    let mut line = Fixture::new();
    line.packet(1, 0, 1, 1, Key);
    line.clock.on_arrival(at(70), 7200);
    let marking = FrameMarking {
        start: true,
        end: false,
        independent: true,
        discardable: false,
        frame: 1,
        sequence_number: 0,
    };
    line.jitter_buffer.insert(at(70), 3600, marking, Payload::zeros(50), &line.clock);
    assert_eq!((line.jitter_buffer.is_empty(), line.jitter_buffer.held().as_bytes()), (false, 150));
    let Some(Released::Frame(frame)) = line.jitter_buffer.release(&line.clock) else { panic!("lost") };
    assert_eq!((frame.first_arrival, frame.completed, frame.data.size().as_bytes()), (at(40), at(70), 150));
    // The second frame came 10 ms sooner than the first.
    assert_eq!((frame.kind, frame.timestamp, frame.due), (Key, 3600, at(30)));
    assert!(line.jitter_buffer.is_empty() && !line.jitter_buffer.is_broken());
}

#[test]
fn a_frame_without_its_end_is_known_by_its_time() {
    let mut line = Fixture::new();
    assert!(line.jitter_buffer.unended().is_none() && line.jitter_buffer.is_broken());
    line.packet(1, 1, 3, 1, Key);
    assert_eq!(line.jitter_buffer.unended(), Some(3600));
    line.packet(1, 1, 3, 3, Key);
    assert_eq!(line.jitter_buffer.unended(), None);
}

/// Packets 1 and 3 of 1 to 5, and the next frame; it is due at 40 ms, and may be repaired until 100 ms.
#[test]
fn what_may_be_recovered_is_waited_for() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.all();
    for sequence in [1, 3] {
        line.packet(1, 1, 5, sequence, Reference);
    }
    line.packet(2, 6, 6, 6, Reference);
    let next = |recoverable_from| {
        let repair = RepairState { recoverable_from, ..NO_REPAIR };
        line.jitter_buffer.next_release(&line.clock, || repair)
    };
    assert_eq!([None, Some(3), Some(4)].map(next), [Some(at(40)); 3], "packet 2 is missing");
    assert_eq!([Some(1), Some(2), Some(0)].map(next), [Some(at(100)); 3]);
}

/// A gap may be a packet of the other subflow that is still on its way, unless one was given up since the frame began.
#[test]
fn with_two_subflows_a_gap_alone_is_no_loss() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.all();
    line.packet(1, 1, 3, 1, Reference);
    line.packet(2, 4, 4, 4, Reference);
    let next = |subflows, abandoned_at| {
        let repair = RepairState { subflows, abandoned_at, ..NO_REPAIR };
        line.jitter_buffer.next_release(&line.clock, || repair)
    };
    assert_eq!(next(2, None), Some(at(240)), "200 ms after its last packet");
    assert_eq!(next(2, Some(at(39))), Some(at(240)));
    assert_eq!([next(2, Some(at(40))), next(1, None)], [Some(at(40)); 2]);
}

#[test]
fn a_frame_is_late_once_all_of_it_came() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    for sequence in [1, 4, 5] {
        line.packet(1, 1, 5, sequence, Discardable);
    }
    line.packet(2, 6, 6, 6, Reference);
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1", "frame 2 (0 skipped)"]);
    let whole = [2, 3, 3].map(|sequence| line.packet(1, 1, 5, sequence, Discardable));
    assert_eq!(whole, [false, true, false].map(|whole| Inserted::Late { whole }));
}

/// Two frames, each without a packet.
#[test]
fn several_frames_can_be_late() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    for sequence in [1, 3, 4, 6] {
        let first: u16 = if sequence < 4 { 1 } else { 4 };
        line.packet(first.div_ceil(3), first, first + 2, sequence, Discardable);
    }
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1", "lost 1"]);
    let late = |whole| Inserted::Late { whole };
    assert_eq!(line.packet(1, 1, 3, 2, Discardable), late(true));
    assert_eq!(line.packet(2, 4, 6, 5, Discardable), late(true));
}

/// It was whole, and lost because of another: a copy of its packet does not make it late.
#[test]
fn a_whole_frame_that_was_not_shown_is_no_late_one() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.packet(1, 2, 2, 2, Reference);
    line.packet(2, 3, 3, 3, Reference);
    assert_eq!(line.all(), ["frame 0 (0 skipped)", "lost 1, froze", "lost 1"], "packet 1 may be a reference");
    assert_eq!(line.packet(2, 3, 3, 3, Reference), Inserted::Late { whole: false });
}

/// A discardable frame behind a gap: what is missing there may be a reference.
#[test]
fn a_gap_before_a_discardable_frame_freezes() {
    let mut whole = Fixture::new();
    whole.packet(0, 0, 0, 0, Key);
    whole.packet(1, 2, 2, 2, Discardable);
    assert_eq!(whole.all(), ["frame 0 (0 skipped)", "lost 1, froze"]);
    let mut part = Fixture::new();
    part.packet(0, 0, 0, 0, Key);
    part.packet(3, 5, 7, 5, Discardable);
    part.packet(3, 5, 7, 7, Discardable);
    assert_eq!(part.all(), ["frame 0 (0 skipped)", "lost 3, froze"]);
}

#[test]
fn a_key_frame_behind_lost_ones_is_still_held() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.packet(3, 5, 5, 5, Key);
    line.jitter_buffer.release(&line.clock);
    let lost = line.jitter_buffer.release(&line.clock);
    assert!(matches!(lost, Some(Released::Lost { frames: 2, froze: false, .. })), "{lost:?}");
    assert_eq!(line.jitter_buffer.held().as_bytes(), 100);
    assert_eq!(line.all(), ["frame 3 (0 skipped)"]);
    assert_eq!(line.jitter_buffer.held(), DataSize::ZERO);
}

#[test]
fn a_key_frame_on_its_way_need_not_be_requested() {
    let mut line = Fixture::new();
    line.packet(0, 0, 2, 0, Reference);
    assert!(line.jitter_buffer.needs_key());
    line.packet(1, 3, 4, 3, Key);
    assert!(!line.jitter_buffer.needs_key());
}

/// Packet 1 before packet 0, and each again.
#[test]
fn octets_are_in_the_order_of_their_packets() {
    let mut line = Fixture::new();
    let mut insert = |sequence_number, timestamp, payload: &'static [u8]| {
        let (start, end) = (sequence_number != 1, sequence_number != 0);
        let marking =
            FrameMarking { start, end, independent: true, discardable: false, frame: 1, sequence_number };
        let payload = Payload::from(Bytes::from_static(payload));
        line.jitter_buffer.insert(at(0), timestamp, marking, payload, &line.clock)
    };
    assert_eq!(insert(1, 3600, b"cd"), Inserted::Held { completed: false });
    assert_eq!(insert(1, 3600, b"cd"), Inserted::Duplicate);
    assert_eq!(insert(0, 3600, b"ab"), Inserted::Held { completed: true });
    assert_eq!(insert(0, 3600, b"ab"), Inserted::Duplicate);
    // The number of a frame and another time stamp: a frame of its own.
    assert_eq!(insert(2, 7200, b"ef"), Inserted::Held { completed: true });
    let Some(Released::Frame(frame)) = line.jitter_buffer.release(&line.clock) else { panic!("lost") };
    assert_eq!(frame.data, FrameData::Coded(Bytes::from_static(b"abcd")));
}

#[test]
fn a_frame_has_so_many_packets_and_no_more() {
    let mut line = Fixture::new();
    let most = PACKETS as u16;
    for sequence in 0..most {
        assert_eq!(line.packet(0, 0, u16::MAX, sequence, Key), Inserted::Held { completed: false });
    }
    assert_eq!(line.packet(0, 0, u16::MAX, most, Key), Inserted::Outside);
    assert_eq!(line.packet(0, 0, u16::MAX, most - 1, Key), Inserted::Duplicate);
}

#[test]
fn packets_are_so_far_ahead_and_no_further() {
    let mut line = Fixture::new();
    line.packet(0, 0, 0, 0, Key);
    line.all();
    let last = 1 + AHEAD as u16;
    assert_eq!(line.packet(1, last + 1, last + 1, last + 1, Key), Inserted::Outside);
    assert_eq!(line.packet(1, last, last, last, Key), Inserted::Held { completed: true });
}

#[test]
fn of_too_many_frames_the_first_leaves_at_once() {
    let mut line = Fixture::new();
    for frame in 1..=FRAMES as u16 {
        line.packet(frame, frame, frame, frame, Key);
    }
    let next = |line: &Fixture| line.jitter_buffer.next_release(&line.clock, || NO_REPAIR);
    assert_eq!(next(&line), Some(at(40)));
    let frame = FRAMES as u16 + 1;
    line.packet(frame, frame, frame, frame, Key);
    assert_eq!(next(&line), Some(Timestamp::ZERO));
}

#[test]
fn no_timestamp_makes_a_frame_wait_for_long() {
    let repair = || RepairState {
        recoverable_from: None,
        awaited_until: Some(at(3_600_000)),
        deadline: TimeDelta::from_secs(60),
        subflows: 1,
        abandoned_at: None,
    };
    // Whole, and not whole: as retransmissions the packets do not move the clock.
    for (first, last) in [(1, 1), (1, 2)] {
        let mut line = Fixture::new();
        line.packet(0, 0, 0, 0, Key);
        line.all();
        let marking = FrameMarking {
            start: true,
            end: first == last,
            independent: false,
            discardable: false,
            frame: 1,
            sequence_number: first,
        };
        let forged = 3600 * 90_000;
        line.jitter_buffer.insert(at(40), forged, marking, Payload::zeros(100), &line.clock);
        let release = line.jitter_buffer.next_release(&line.clock, repair);
        assert_eq!(release, Some(at(40) + line.clock.longest()), "{last}");
    }
}
