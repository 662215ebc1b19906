//! The video elementary stream inside a container: cut into coded pictures, and put together again from
//! their replacements.
//!
//! Everything is told by positions in the old elementary stream. A replacement keeps its picture's first
//! byte where it was and the rest in the same order behind it, so that byte `n` of a shaped picture travels
//! where byte `n` of the old one did: no byte arrives later than before, the decoder's buffer is never
//! fuller than before, and a time stamp still belongs to the picture it was written for.

use std::collections::VecDeque;
use std::ops::Range;

use super::error::Error;
use crate::header::SequenceState;
use crate::startcode::StartCode;
use crate::unit::{AccessUnit, Splitter};

/// One picture in coding order with the headers before it, as it stood in the input.
#[derive(Clone, Debug)]
pub struct CodedPicture {
    /// Counts from 0 in coding order; the two fields of a frame count as two.
    pub index: u64,
    /// Its bytes and start codes. Without a picture where the stream was cut.
    pub unit: AccessUnit,
    /// Presentation time stamp, 90 kHz in 33 bits, where the container gives this picture one.
    pub pts: Option<u64>,
    /// Decoding time stamp, likewise; absent where it equals the presentation time stamp.
    pub dts: Option<u64>,
    /// Bytes of it are known to be missing: a gap in the continuity count, an error flag of the demodulator.
    pub damaged: bool,
}

/// What becomes of a [`CodedPicture`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Its bytes stay as they are.
    Kept,
    /// These bytes stand in its place; never more than there were.
    Bytes(Vec<u8>),
}

/// A closed picture of the old elementary stream and its fate.
#[derive(Debug)]
struct Slot {
    old: Range<u64>,
    fate: Option<Replacement>,
    decoding_time: Option<u64>,
}

/// A picture all of whose packets were written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departed {
    /// Its bytes in the new elementary stream.
    pub(super) len: u64,
    /// When it is decoded, 90 kHz in 33 bits, where the container said it.
    pub(super) decoding_time: Option<u64>,
}

impl Slot {
    fn new_len(&self) -> u64 {
        match &self.fate {
            Some(Replacement::Bytes(bytes)) => bytes.len() as u64,
            _ => self.old.end - self.old.start,
        }
    }
}

/// A time stamp waiting for the first picture that starts at or after it.
#[derive(Debug)]
struct Stamp {
    position: u64,
    pts: u64,
    dts: Option<u64>,
}

/// Cuts and mends one video elementary stream. Bounded: pictures wait at most until [`VideoTrack::give_up`].
#[derive(Debug, Default)]
pub(super) struct VideoTrack {
    splitter: Splitter,
    /// Bytes taken so far: the position of the next one.
    position: u64,
    /// The first bytes, to tell what a stream without pictures is.
    head: Vec<u8>,
    stamps: VecDeque<Stamp>,
    /// Positions behind which bytes are missing.
    damage: VecDeque<u64>,
    ready: VecDeque<CodedPicture>,
    slots: VecDeque<Slot>,
    /// Index of the picture in the first slot.
    first: u64,
    /// Index of the next picture to be replaced.
    next: u64,
    /// End of the last slot, and of the last before which all have their fate.
    cut: u64,
    resolved: u64,
    /// Pictures whose shaping came too late for the memory allowed.
    pub(super) given_up: u64,
    pictures_seen: bool,
    sequence: SequenceState,
}

/// Bytes kept for [`VideoTrack::head`].
const HEAD: usize = 64;

impl VideoTrack {
    /// Bytes taken so far: the position of the next one.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// All before this position may be rendered.
    pub(super) fn resolved(&self) -> u64 {
        self.resolved
    }

    /// A whole picture was seen: this is MPEG video.
    pub(super) fn pictures_seen(&self) -> bool {
        self.pictures_seen
    }

    /// The first bytes of the stream.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Takes the next bytes of the elementary stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.position += bytes.len() as u64;
        self.splitter.push(bytes);
        while let Some(unit) = self.splitter.pull() {
            self.take(unit);
        }
    }

    /// Takes note of the next picture.
    fn take(&mut self, unit: AccessUnit) {
        let old = self.cut..self.cut + unit.data.len() as u64;
        self.cut = old.end;
        let mut headers = unit.spans.iter().filter(|span| span.code.begins_access_unit());
        let begin = headers.next().map_or(old.start, |span| old.start + span.range.start as u64);
        if unit.spans.iter().any(|span| span.code == StartCode::SequenceHeader) {
            unit.read_headers(&mut self.sequence);
        }
        self.pictures_seen |= unit.has_picture();
        let stamp = self.take_stamp(begin);
        let (pts, dts) = (stamp.as_ref().map(|stamp| stamp.pts), stamp.and_then(|stamp| stamp.dts));
        let damaged = self.take_damage(&old);
        let index = self.first + self.slots.len() as u64;
        self.slots.push_back(Slot { old, fate: None, decoding_time: dts.or(pts) });
        self.ready.push_back(CodedPicture { index, unit, pts, dts, damaged });
    }

    /// Bytes are missing in `old` or right behind it.
    fn take_damage(&mut self, old: &Range<u64>) -> bool {
        let hit = self.damage.iter().any(|at| (old.start..=old.end).contains(at));
        self.damage.retain(|at| *at >= old.end);
        hit
    }

    /// The stamp of the picture that starts at `start`: the last one written at or before it.
    fn take_stamp(&mut self, start: u64) -> Option<Stamp> {
        let count = self.stamps.iter().take_while(|stamp| stamp.position <= start).count();
        self.stamps.drain(..count).next_back()
    }

    /// The next byte taken is the first of a packet with these time stamps.
    pub(super) fn stamp(&mut self, pts: u64, dts: Option<u64>) {
        if self.stamps.back().is_some_and(|stamp| stamp.position == self.position) {
            self.stamps.pop_back();
        }
        self.stamps.push_back(Stamp { position: self.position, pts, dts });
    }

    /// Bytes are missing or doubtful at the present position.
    pub(super) fn mark_damage(&mut self) {
        if self.damage.back() != Some(&self.position) {
            self.damage.push_back(self.position);
        }
    }

    /// The picture that is being collected ends here.
    pub(super) fn close(&mut self) {
        if let Some(unit) = self.splitter.flush() {
            self.take(unit);
        }
    }

    /// The next coded picture, in order.
    pub(super) fn poll_picture(&mut self) -> Option<CodedPicture> {
        self.ready.pop_front()
    }

    /// Gives the oldest picture without a fate its own.
    pub(super) fn replace(&mut self, replacement: Replacement) -> Result<(), Error> {
        if self.next + self.ready.len() as u64 >= self.first + self.slots.len() as u64 {
            return Err(Error::NotPending);
        }
        if self.next >= self.first {
            let slot = &mut self.slots[(self.next - self.first) as usize];
            // Given up: it has left, or stays as it is.
            if slot.fate.is_none() {
                let before = slot.new_len();
                if let Replacement::Bytes(bytes) = &replacement
                    && bytes.len() as u64 > before
                {
                    let (before, after) = (before as usize, bytes.len());
                    return Err(Error::Grew { picture: self.next, before, after });
                }
                slot.fate = Some(replacement);
            }
        }
        self.next += 1;
        self.advance();
        Ok(())
    }

    fn advance(&mut self) {
        let from = self.slots.partition_point(|slot| slot.old.end <= self.resolved);
        for slot in self.slots.range(from..).take_while(|slot| slot.fate.is_some()) {
            self.resolved = slot.old.end;
        }
    }

    /// Keeps everything taken so far as it is: memory is short. Replacements that still come for it are
    /// ignored.
    pub(super) fn give_up(&mut self) {
        self.close();
        for slot in &mut self.slots {
            if slot.fate.is_none() {
                slot.fate = Some(Replacement::Kept);
                self.given_up += 1;
            }
        }
        self.advance();
    }

    /// Appends what became of `old`, whose bytes were `original`.
    pub(super) fn render(&self, old: &Range<u64>, original: &[u8], into: &mut Vec<u8>) {
        for (slot, part) in self.parts(old) {
            match &slot.fate {
                Some(Replacement::Bytes(bytes)) => {
                    let within = |position: u64| ((position - slot.old.start) as usize).min(bytes.len());
                    into.extend_from_slice(&bytes[within(part.start)..within(part.end)]);
                }
                _ => {
                    let within = |position: u64| (position - old.start) as usize;
                    into.extend_from_slice(&original[within(part.start)..within(part.end)]);
                }
            }
        }
    }

    /// The bytes that [`VideoTrack::render`] would give for `old`.
    pub(super) fn rendered_len(&self, old: &Range<u64>) -> u64 {
        let kept = |slot: &Slot, position: u64| (position - slot.old.start).min(slot.new_len());
        self.parts(old).map(|(slot, part)| kept(slot, part.end) - kept(slot, part.start)).sum()
    }

    /// A picture starts in `old`.
    pub(super) fn starts_in(&self, old: &Range<u64>) -> bool {
        self.parts(old).any(|(slot, _)| slot.old.start >= old.start)
    }

    /// `position` stands inside a picture that became shorter: what was there is somewhere else now.
    pub(super) fn shrunk_before(&self, position: u64) -> bool {
        let inside =
            |slot: &Slot| slot.old.start < position && slot.new_len() < slot.old.end - slot.old.start;
        self.parts(&(position..position + 1)).any(|(slot, _)| inside(slot))
    }

    /// The slots that overlap `old`, each with the part of it.
    fn parts<'a>(&'a self, old: &Range<u64>) -> impl Iterator<Item = (&'a Slot, Range<u64>)> {
        let Range { start, end } = *old;
        let from = self.slots.partition_point(|slot| slot.old.end <= start);
        self.slots
            .range(from..)
            .take_while(move |slot| slot.old.start < end)
            .map(move |slot| (slot, slot.old.start.max(start)..slot.old.end.min(end)))
    }

    /// Nothing before `position` will be rendered again: gives the pictures that are done with.
    pub(super) fn release(&mut self, position: u64, mut departed: impl FnMut(Departed)) {
        while let Some(slot) = self.slots.pop_front_if(|slot| slot.fate.is_some() && slot.old.end <= position)
        {
            self.first += 1;
            departed(Departed { len: slot.new_len(), decoding_time: slot.decoding_time });
        }
    }

    /// `vbv_buffer_size` of the last sequence header (ISO/IEC 13818-2, 6.3.3), in bytes.
    pub(super) fn buffer_size(&self) -> Option<u64> {
        let high = self.sequence.extension().map_or(0, |extension| extension.vbv_buffer_size_extension);
        let low = self.sequence.sequence()?.vbv_buffer_size;
        Some((u64::from(high) << 10 | u64::from(low)) * 2048)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequence header, group, I picture; P picture; group, I picture, in code only.
    fn stream() -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, body) in [
            (0xb3, 8),
            (0xb8, 4),
            (0x00, 5),
            (0x01, 30),
            (0x02, 9),
            (0x00, 5),
            (0x01, 21),
            (0xb8, 4),
            (0xb2, 3),
            (0x00, 4),
            (0x01, 12),
            (0xb7, 0),
        ] {
            bytes.extend([0, 0, 1, code]);
            bytes.extend(std::iter::repeat_n(0x80 | code, body));
        }
        bytes
    }

    fn pictures(track: &mut VideoTrack) -> Vec<CodedPicture> {
        std::iter::from_fn(|| track.poll_picture()).collect()
    }

    #[test]
    fn pictures_begin_with_their_headers_however_the_bytes_arrive() {
        let stream = stream();
        for chunk in [1, 2, 3, 7, stream.len()] {
            let mut track = VideoTrack::default();
            stream.chunks(chunk).for_each(|chunk| track.push(chunk));
            track.close();
            let pictures = pictures(&mut track);
            let heads: Vec<u8> = pictures.iter().map(|picture| picture.unit.data[3]).collect();
            assert_eq!(heads, [0xb3, 0x00, 0xb8], "chunk {chunk}");
            assert_eq!(pictures.concat_data(), stream);
        }
    }

    trait ConcatData {
        fn concat_data(&self) -> Vec<u8>;
    }
    impl ConcatData for Vec<CodedPicture> {
        fn concat_data(&self) -> Vec<u8> {
            self.iter().flat_map(|picture| picture.unit.data.clone()).collect()
        }
    }

    #[test]
    fn a_stamp_is_for_the_picture_behind_the_rest_of_another() {
        let mut track = VideoTrack::default();
        track.push(&[0x77; 10]);
        track.stamp(7, None);
        track.push(&stream());
        track.close();
        let pictures = pictures(&mut track);
        assert_eq!(pictures.iter().map(|p| p.pts).collect::<Vec<_>>(), [Some(7), None, None]);
    }

    #[test]
    fn zero_bytes_before_the_first_header_belong_to_it() {
        let mut track = VideoTrack::default();
        track.push(&[0, 0, 0, 0]);
        track.push(&stream());
        track.close();
        assert_eq!(pictures(&mut track).len(), 3);
    }

    #[test]
    fn bytes_of_a_shorter_picture_stay_where_they_were() {
        let stream = stream();
        let mut track = VideoTrack::default();
        track.push(&stream);
        track.close();
        let lengths: Vec<usize> =
            pictures(&mut track).iter().map(|picture| picture.unit.data.len()).collect();
        let second = lengths[0] as u64..(lengths[0] + lengths[1]) as u64;
        assert_eq!(track.resolved(), 0);
        track.replace(Replacement::Kept).unwrap();
        let grown = vec![0; lengths[1] + 1];
        assert!(matches!(track.replace(Replacement::Bytes(grown)), Err(Error::Grew { picture: 1, .. })));
        track.replace(Replacement::Bytes(vec![0xcc; 5])).unwrap();
        assert_eq!(track.resolved(), second.end);
        let all = 0..stream.len() as u64;
        track.replace(Replacement::Kept).unwrap();
        assert_eq!(track.replace(Replacement::Kept), Err(Error::NotPending));
        let mut out = Vec::new();
        track.render(&all, &stream, &mut out);
        assert_eq!(out.len(), stream.len() - lengths[1] + 5);
        assert_eq!(track.rendered_len(&(second.start + 3..second.end)), 2);
        assert_eq!(track.rendered_len(&(second.start + 5..second.end)), 0);
        assert!(track.starts_in(&second) && !track.starts_in(&(second.start + 1..second.end)));
    }

    #[test]
    fn stamps_go_to_the_first_picture_that_starts_after_them() {
        let stream = stream();
        let mut track = VideoTrack::default();
        track.stamp(10, None);
        track.push(&stream[..20]); // inside the first picture
        track.stamp(20, Some(15));
        track.push(&stream[20..]);
        track.close();
        let stamps: Vec<_> = pictures(&mut track).iter().map(|p| (p.pts, p.dts)).collect();
        assert_eq!(stamps, [(Some(10), None), (Some(20), Some(15)), (None, None)]);
    }

    #[test]
    fn what_was_given_up_ignores_its_replacement() {
        let stream = stream();
        let mut track = VideoTrack::default();
        track.push(&stream[..stream.len() - 1]);
        assert_eq!(pictures(&mut track).len(), 2);
        track.give_up();
        assert_eq!((track.given_up, track.resolved()), (3, stream.len() as u64 - 1));
        track.release(stream.len() as u64 - 1, |_| ());
        assert!(track.poll_picture().is_some());
        for _ in 0..3 {
            track.replace(Replacement::Bytes(vec![1])).unwrap();
        }
        assert_eq!(track.replace(Replacement::Kept), Err(Error::NotPending));
    }
}
