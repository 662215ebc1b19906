//! Frame marks for the packets of a sender that writes none.
//!
//! Packets are put in order and gathered into frames by marker and timestamp (RFC 3550 section 5.1), and the kind of a frame
//! is read from its content. A missing packet holds up what is behind it until it is given up.

use super::frame_kind::FrameSyntax;
use crate::config::Format;
use crate::payload::Payload;
use crate::unwrap::SequenceUnwrapper;
use seaway_units::{DataSize, Timestamp};
use seaway_wire::extension::FrameMarking;
use std::collections::{BTreeMap, VecDeque};

/// Packets behind a gap that are held at most; beyond, the gap is given up.
const HELD: usize = 2048;
/// Packets of a frame at most.
const FRAME: usize = 8192;
/// After so many packets in a row out of range the sequence numbers have jumped.
const OUT_OF_RANGE: u32 = 200;

/// A packet with its place.
#[derive(Debug)]
struct Unmarked {
    at: Timestamp,
    timestamp: u32,
    marker: bool,
    payload: Payload,
}

/// A packet with its mark, for the jitter buffer.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) at: Timestamp,
    pub(super) timestamp: u32,
    pub(super) marking: FrameMarking,
    pub(super) payload: Payload,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Held,
    Duplicate,
    /// Behind what was given up, or far from what came so far.
    Outside,
}

/// Puts marks on the packets of one stream.
#[derive(Debug)]
pub(super) struct FrameMarks {
    format: Format,
    /// `None`: each packet is a frame.
    syntax: Option<&'static FrameSyntax>,
    sequence: Option<SequenceUnwrapper<16>>,
    /// The number that continues what is in order.
    next: u64,
    /// Behind a gap.
    waiting: BTreeMap<u64, Unmarked>,
    /// The frame that is not at its end yet, without a gap.
    frame: Vec<(u64, Unmarked)>,
    /// A packet before the frame in hand is missing.
    follows_gap: bool,
    frames: u16,
    ready: VecDeque<Marked>,
    size: DataSize,
    out_of_range: u32,
}

impl FrameMarks {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            syntax: FrameSyntax::of(format),
            sequence: None,
            next: 0,
            waiting: BTreeMap::new(),
            frame: Vec::new(),
            follows_gap: false,
            frames: 0,
            ready: VecDeque::new(),
            size: DataSize::ZERO,
            out_of_range: 0,
        }
    }

    /// Octets that are held.
    pub(super) fn held(&self) -> DataSize {
        self.size
    }

    /// When the first packet behind the first gap came; `None` where none is missing.
    pub(super) fn gap_since(&self) -> Option<Timestamp> {
        self.waiting.first_key_value().map(|(_, packet)| packet.at)
    }

    /// A packet came, for the first time or again.
    pub(super) fn push(
        &mut self,
        at: Timestamp,
        number: u16,
        timestamp: u32,
        marker: bool,
        payload: Payload,
    ) -> Taken {
        let unwrap = self.sequence.get_or_insert_with(|| {
            let first = SequenceUnwrapper::new(number.into());
            self.next = first.highest();
            first
        });
        let sequence = unwrap.peek(number.into());
        if sequence < self.next || sequence > self.next + (1 << 14) {
            self.out_of_range += 1;
            if self.out_of_range == OUT_OF_RANGE {
                *self = Self { frames: self.frames, follows_gap: true, ..Self::new(self.format) };
            }
            return Taken::Outside;
        }
        self.out_of_range = 0;
        unwrap.reach(sequence);
        if self.waiting.contains_key(&sequence) {
            return Taken::Duplicate;
        }
        self.size += DataSize::from_bytes(payload.len() as u64);
        self.waiting.insert(sequence, Unmarked { at, timestamp, marker, payload });
        self.take_in_order();
        if self.waiting.len() > HELD {
            self.give_up_gap();
        }
        Taken::Held
    }

    /// What is missing before the first packet that waits will not come.
    pub(super) fn give_up_gap(&mut self) {
        let Some((&sequence, packet)) = self.waiting.first_key_value() else { return };
        let goes_on = self.frame.last().is_some_and(|(_, last)| last.timestamp == packet.timestamp);
        self.end_frame(false);
        if goes_on {
            // The rest of the same frame keeps its number.
            self.frames = self.frames.wrapping_sub(1);
        }
        if self.syntax.is_none_or(|syntax| syntax.is_short) && !goes_on {
            // Each packet is a frame.
            self.frames = self.frames.wrapping_add((sequence - self.next) as u16);
        }
        (self.follows_gap, self.next) = (true, sequence);
        self.take_in_order();
    }

    /// The next packet with its mark.
    pub(super) fn poll(&mut self) -> Option<Marked> {
        let marked = self.ready.pop_front()?;
        self.size -= DataSize::from_bytes(marked.payload.len() as u64);
        Some(marked)
    }

    fn take_in_order(&mut self) {
        while let Some(packet) = self.waiting.remove(&self.next) {
            let is_other = self.frame.last().is_some_and(|(_, last)| last.timestamp != packet.timestamp);
            if is_other || self.frame.len() == FRAME {
                self.end_frame(true);
            }
            let ends = packet.marker || self.syntax.is_none();
            self.frame.push((self.next, packet));
            self.next += 1;
            if ends {
                self.end_frame(true);
            }
        }
    }

    /// The frame in hand has come to its end, or to a gap.
    fn end_frame(&mut self, is_end: bool) {
        let Some((last, _)) = self.frame.last() else { return };
        let last = *last;
        let mut payloads = self.frame.iter().map(|(_, packet)| &packet.payload);
        let (independent, discardable) =
            self.syntax.map_or((true, false), |syntax| (syntax.kind)(&mut payloads));
        let first = &self.frame[0].1.payload;
        let has_start = !self.follows_gap || self.syntax.is_none_or(|syntax| (syntax.begins)(first));
        let mut start = has_start;
        for (sequence, packet) in self.frame.drain(..) {
            let marking = FrameMarking {
                start,
                end: is_end && sequence == last,
                independent,
                discardable,
                frame: self.frames & 0x0FFF,
                sequence_number: sequence as u16,
            };
            let Unmarked { at, timestamp, payload, .. } = packet;
            self.ready.push_back(Marked { at, timestamp, marking, payload });
            start = false;
        }
        self.frames = self.frames.wrapping_add(1);
        self.follows_gap = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    const SPS: &[u8] = &[0x67, 1];
    const PPS: &[u8] = &[0x68, 1];
    /// A fragment that begins an IDR slice, and one that ends it.
    const IDR: &[u8] = &[0x7C, 0x85, 0x80, 1];
    const IDR_END: &[u8] = &[0x7C, 0x45, 1, 2];
    const SLICE: &[u8] = &[0x41, 0x80, 1];
    const UNUSED: &[u8] = &[0x01, 0x80, 1];

    fn push(
        marks: &mut FrameMarks,
        number: u16,
        timestamp: u32,
        marker: bool,
        payload: &'static [u8],
    ) -> Taken {
        marks.push(Timestamp::ZERO, number, timestamp, marker, Payload::from(Bytes::from_static(payload)))
    }

    /// Number, frame and the letters of the marks.
    fn polled(marks: &mut FrameMarks) -> Vec<(u16, u16, String)> {
        let letters = |marking: FrameMarking| {
            let of = |set, letter| if set { letter } else { "" };
            [
                of(marking.start, "S"),
                of(marking.end, "E"),
                of(marking.independent, "I"),
                of(marking.discardable, "D"),
            ]
            .concat()
        };
        std::iter::from_fn(|| marks.poll())
            .map(|packet| (packet.marking.sequence_number, packet.marking.frame, letters(packet.marking)))
            .collect()
    }

    #[test]
    fn a_key_frame_of_several_packets_and_a_non_reference_picture() {
        let mut marks = FrameMarks::new(Format::H264);
        push(&mut marks, 65_534, 0, false, SPS);
        push(&mut marks, 0, 0, false, IDR);
        push(&mut marks, 65_535, 0, false, PPS);
        assert_eq!(polled(&mut marks), [], "not at its end");
        push(&mut marks, 1, 0, true, IDR_END);
        push(&mut marks, 2, 3000, true, UNUSED);
        let expected = [(65_534, 0, "SI"), (65_535, 0, "I"), (0, 0, "I"), (1, 0, "EI"), (2, 1, "SED")];
        assert_eq!(
            polled(&mut marks),
            expected.map(|(number, frame, text)| (number, frame, text.to_owned()))
        );
        assert_eq!(push(&mut marks, 1, 0, true, IDR_END), Taken::Outside);
    }

    /// As x264 writes the first one.
    #[test]
    fn a_key_frame_may_stand_behind_supplemental_information_in_its_packet() {
        const SEI_AND_IDR: &[u8] = &[0x78, 0, 2, 0x06, 5, 0, 2, 0x65, 0x88];
        let mut marks = FrameMarks::new(Format::H264);
        push(&mut marks, 1, 0, true, SEI_AND_IDR);
        assert_eq!(polled(&mut marks), [(1, 0, "SEI".to_owned())]);
    }

    /// Some senders set no marker: the next timestamp ends a frame.
    #[test]
    fn a_frame_without_marker_ends_with_its_timestamp() {
        let mut marks = FrameMarks::new(Format::H264);
        push(&mut marks, 1, 0, false, SLICE);
        assert_eq!(polled(&mut marks), []);
        push(&mut marks, 2, 3000, false, SLICE);
        assert_eq!(polled(&mut marks), [(1, 0, "SE".to_owned())]);
    }

    #[test]
    fn what_follows_a_lost_packet_waits_until_it_is_given_up() {
        let mut marks = FrameMarks::new(Format::H264);
        push(&mut marks, 1, 0, false, SPS);
        push(&mut marks, 3, 0, true, IDR_END);
        push(&mut marks, 4, 3000, true, SLICE);
        assert_eq!(polled(&mut marks), []);
        assert!(marks.gap_since().is_some());
        marks.give_up_gap();
        let expected = [(1, 0, "SI"), (3, 0, "E"), (4, 1, "SE")];
        let polled = polled(&mut marks);
        assert_eq!(polled.len(), 3);
        for ((number, frame, text), expected) in polled.iter().zip(expected) {
            assert_eq!((*number, *frame), (expected.0, expected.1));
            assert!(text.starts_with(&expected.2[..1]), "{number}: {text}");
        }
        assert_eq!((marks.gap_since(), marks.held()), (None, DataSize::ZERO));
    }

    /// The end of a frame is lost with the beginning of the next one: a fragment in the middle begins nothing.
    #[test]
    fn a_frame_behind_a_gap_begins_where_its_content_does() {
        let mut marks = FrameMarks::new(Format::H264);
        push(&mut marks, 1, 0, true, SLICE);
        push(&mut marks, 4, 6000, true, IDR_END);
        push(&mut marks, 6, 9000, true, SLICE);
        marks.give_up_gap();
        marks.give_up_gap();
        let letters: Vec<_> = polled(&mut marks).into_iter().map(|(_, _, letters)| letters).collect();
        assert_eq!(letters, ["SE", "EI", "SE"]);
    }

    /// Of AAC each packet is a frame as a rule, and the parts of one go together.
    #[test]
    fn frames_of_aac() {
        const WHOLE: &[u8] = &[0, 16, 0, 16, 1, 2];
        const PART: &[u8] = &[0, 16, 0, 32, 1, 2];
        let mut marks = FrameMarks::new(Format::Aac(seaway_wire::aac::Config::parse([0x12, 0x10]).unwrap()));
        push(&mut marks, 1, 0, true, WHOLE);
        push(&mut marks, 2, 1024, false, PART);
        push(&mut marks, 3, 1024, true, PART);
        push(&mut marks, 6, 4096, true, WHOLE);
        marks.give_up_gap();
        let expected = [(1, 0, "SEI"), (2, 1, "SI"), (3, 1, "EI"), (6, 4, "SEI")];
        assert_eq!(
            polled(&mut marks),
            expected.map(|(number, frame, text)| (number, frame, text.to_owned()))
        );
    }

    /// Numbers may be 2^14 ahead. When two hundred in a row are not, they have jumped, and frames are counted on behind a gap.
    #[test]
    fn numbers_that_jump_begin_anew() {
        let mut marks = FrameMarks::new(Format::H264);
        push(&mut marks, 1, 0, true, SLICE);
        assert_eq!(push(&mut marks, 2 + (1 << 14), 3000, true, SLICE), Taken::Held);
        assert_eq!(marks.held(), DataSize::from_bytes(6));
        assert_eq!(polled(&mut marks), [(1, 0, "SE".to_owned())]);
        assert_eq!(marks.held(), DataSize::from_bytes(3));
        for _ in 0..OUT_OF_RANGE - 1 {
            assert_eq!(push(&mut marks, 3 + (1 << 14), 3000, true, SLICE), Taken::Outside);
        }
        assert_eq!(push(&mut marks, 4, 3000, true, SLICE), Taken::Held, "not in a row");
        for _ in 0..OUT_OF_RANGE {
            assert_eq!(push(&mut marks, 30_000, 6000, true, IDR_END), Taken::Outside);
        }
        assert_eq!((marks.held(), marks.gap_since()), (DataSize::ZERO, None));
        assert_eq!(push(&mut marks, 30_000, 6000, true, IDR_END), Taken::Held);
        assert_eq!(polled(&mut marks), [(30_000, 1, "EI".to_owned())]);
    }

    #[test]
    fn a_gap_is_given_up_when_too_much_waits() {
        let mut marks = FrameMarks::new(Format::H264);
        push(&mut marks, 1, 0, true, SLICE);
        let waiting = 3..3 + HELD as u16;
        waiting.clone().for_each(|number| assert_eq!(push(&mut marks, number, 0, true, SLICE), Taken::Held));
        assert_eq!(polled(&mut marks).len(), 1);
        push(&mut marks, waiting.end, 0, true, SLICE);
        assert_eq!(polled(&mut marks).len(), HELD + 1);
    }

    /// How many frames of several packets are lost in a gap is not known.
    #[test]
    fn frames_behind_a_gap_are_counted_on() {
        let mut marks = FrameMarks::new(Format::H264);
        [1, 4, 6].into_iter().for_each(|number| {
            push(&mut marks, number, u32::from(number) * 3000, true, SLICE);
            marks.give_up_gap();
        });
        let frames: Vec<_> = polled(&mut marks).into_iter().map(|(_, frame, _)| frame).collect();
        assert_eq!(frames, [0, 1, 2]);
    }

    proptest! {
        #[test]
        fn any_packets_in_any_order_come_out_once(
            packets in prop::collection::vec((any::<u16>(), 0u32..4, any::<bool>(), prop::collection::vec(any::<u8>(), 0..6)), 0..80),
        ) {
            let mut marks = FrameMarks::new(Format::H264);
            let mut held = 0;
            for (number, timestamp, marker, payload) in packets {
                let payload = Payload::from(Bytes::from(payload));
                held += u64::from(marks.push(Timestamp::ZERO, number % 64, timestamp, marker, payload) == Taken::Held);
            }
            while marks.gap_since().is_some() {
                marks.give_up_gap();
            }
            let left = marks.frame.len() as u64;
            prop_assert_eq!(std::iter::from_fn(|| marks.poll()).count() as u64 + left, held);
        }
    }
}
