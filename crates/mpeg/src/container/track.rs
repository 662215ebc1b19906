//! The video elementary stream inside a container, split into coded pictures and joined again from their replacements.
//!
//! Positions are byte offsets in the elementary stream of the input. Byte `n` of a replacement is written where byte
//! `n` of its picture was. So no byte arrives later than before, the decoder's buffer is never fuller than before, and
//! time stamps still belong to the same pictures.

use std::collections::VecDeque;
use std::ops::Range;

use super::error::Error;
use crate::header::SequenceState;
use crate::startcode::StartCode;
use crate::unit::{AccessUnit, Splitter};

/// One picture of the input, in coding order, with the headers before it.
#[derive(Clone, Debug)]
pub struct CodedPicture {
    /// Counts from 0 in coding order; the two fields of a frame count as two.
    pub index: u64,
    /// Its bytes and start codes. Has no picture where the stream was cut.
    pub unit: AccessUnit,
    /// Presentation time stamp, 90 kHz in 33 bits, if the container has one for this picture.
    pub pts: Option<u64>,
    /// Decoding time stamp, likewise; `None` where it equals the presentation time stamp.
    pub dts: Option<u64>,
    /// Bytes of it are missing or wrong: a gap in the continuity counter, or `transport_error_indicator`.
    pub damaged: bool,
    /// It is written unchanged already: its replacement is ignored.
    pub is_written: bool,
}

/// The replacement of a [`CodedPicture`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The picture stays unchanged.
    Kept,
    /// These bytes replace it; at most as many as it had.
    Bytes(Vec<u8>),
}

/// A complete picture of the input and its replacement.
#[derive(Debug)]
struct PendingPicture {
    input: Range<u64>,
    replacement: Option<Replacement>,
    decoding_time: Option<u64>,
}

/// A picture whose packets were all written.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenPicture {
    /// Its bytes in the output.
    pub(super) len: u64,
    /// Its decoding time, 90 kHz in 33 bits, if the container has one.
    pub(super) decoding_time: Option<u64>,
}

impl PendingPicture {
    fn new_len(&self) -> u64 {
        match &self.replacement {
            Some(Replacement::Bytes(bytes)) => bytes.len() as u64,
            _ => self.input.end - self.input.start,
        }
    }
}

/// A time stamp of the first picture that starts at or after its position.
#[derive(Debug)]
struct TimeStamp {
    position: u64,
    pts: u64,
    dts: Option<u64>,
}

/// Splits and joins one video elementary stream. Pictures wait for replacements until [`VideoTrack::copy_pending`].
#[derive(Debug, Default)]
pub(super) struct VideoTrack {
    splitter: Splitter,
    /// Bytes taken so far: the position of the next one.
    pub(super) position: u64,
    /// The first bytes, which identify a stream without pictures.
    head: Vec<u8>,
    time_stamps: VecDeque<TimeStamp>,
    /// Positions behind which bytes are missing.
    damage: VecDeque<u64>,
    ready: VecDeque<CodedPicture>,
    pending: VecDeque<PendingPicture>,
    /// Index of the first pending picture.
    first: u64,
    /// Index of the next picture to be replaced.
    next: u64,
    /// End of the last pending picture.
    end: u64,
    /// Everything before this position may be written: pictures up to here have replacements.
    pub(super) writable: u64,
    /// Pictures copied because their replacement came too late for the memory allowed.
    pub(super) given_up: u64,
    /// A whole picture was read, so this is MPEG video.
    pub(super) pictures_seen: bool,
    sequence: SequenceState,
}

/// Bytes kept for [`VideoTrack::head`].
const HEAD: usize = 64;

impl VideoTrack {
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

    /// Adds the next picture.
    fn take(&mut self, unit: AccessUnit) {
        let input = self.end..self.end + unit.data.len() as u64;
        self.end = input.end;
        let mut headers = unit.spans.iter().filter(|span| span.code.begins_access_unit());
        let begin = headers.next().map_or(input.start, |span| input.start + span.range.start as u64);
        if unit.spans.iter().any(|span| span.code == StartCode::SequenceHeader) {
            unit.read_headers(&mut self.sequence);
        }
        self.pictures_seen |= unit.has_picture();
        let time_stamp = self.take_time_stamp(begin);
        let (pts, dts) = (
            time_stamp.as_ref().map(|time_stamp| time_stamp.pts),
            time_stamp.and_then(|time_stamp| time_stamp.dts),
        );
        let damaged = self.take_damage(&input);
        let index = self.first + self.pending.len() as u64;
        self.pending.push_back(PendingPicture { input, replacement: None, decoding_time: dts.or(pts) });
        self.ready.push_back(CodedPicture { index, unit, pts, dts, damaged, is_written: false });
    }

    /// True where bytes are missing in `input` or right behind it.
    fn take_damage(&mut self, input: &Range<u64>) -> bool {
        let hit = self.damage.iter().any(|at| (input.start..=input.end).contains(at));
        self.damage.retain(|at| *at >= input.end);
        hit
    }

    /// The time stamp of the picture that starts at `start`: the last one at or before that position.
    fn take_time_stamp(&mut self, start: u64) -> Option<TimeStamp> {
        let count = self.time_stamps.iter().take_while(|time_stamp| time_stamp.position <= start).count();
        self.time_stamps.drain(..count).next_back()
    }

    /// Sets the time stamps of the packet that begins at the present position.
    pub(super) fn push_time_stamp(&mut self, pts: u64, dts: Option<u64>) {
        if self.time_stamps.back().is_some_and(|time_stamp| time_stamp.position == self.position) {
            self.time_stamps.pop_back();
        }
        self.time_stamps.push_back(TimeStamp { position: self.position, pts, dts });
    }

    /// Marks bytes at the present position as missing or damaged.
    pub(super) fn mark_damage(&mut self) {
        if self.damage.back() != Some(&self.position) {
            self.damage.push_back(self.position);
        }
    }

    /// Ends the picture that is being collected.
    pub(super) fn close(&mut self) {
        if let Some(unit) = self.splitter.flush() {
            self.take(unit);
        }
    }

    /// Ends the part of a picture that is complete up to its last slice. The rest is a unit of its own.
    pub(super) fn close_slices(&mut self) {
        if let Some(unit) = self.splitter.flush_slices() {
            self.take(unit);
        }
    }

    /// The next coded picture, in order.
    pub(super) fn poll_picture(&mut self) -> Option<CodedPicture> {
        self.ready.pop_front()
    }

    /// Sets the replacement of the oldest picture that has none; false where it was copied already.
    pub(super) fn replace(&mut self, replacement: Replacement) -> Result<bool, Error> {
        if self.next + self.ready.len() as u64 >= self.first + self.pending.len() as u64 {
            return Err(Error::NotPending);
        }
        let mut is_used = false;
        if self.next >= self.first {
            let picture = &mut self.pending[(self.next - self.first) as usize];
            // It has one already after `copy_pending`.
            if picture.replacement.is_none() {
                let before = picture.new_len();
                if let Replacement::Bytes(bytes) = &replacement
                    && bytes.len() as u64 > before
                {
                    let (before, after) = (before as usize, bytes.len());
                    return Err(Error::Grew { picture: self.next, before, after });
                }
                picture.replacement = Some(replacement);
                is_used = true;
            }
        }
        self.next += 1;
        self.advance();
        Ok(is_used)
    }

    fn advance(&mut self) {
        let from = self.pending.partition_point(|picture| picture.input.end <= self.writable);
        for picture in self.pending.range(from..).take_while(|picture| picture.replacement.is_some()) {
            self.writable = picture.input.end;
        }
    }

    /// Copies all pending pictures unchanged, because memory is short. Later replacements for them are ignored.
    pub(super) fn copy_pending(&mut self) {
        self.close();
        self.ready.iter_mut().for_each(|picture| picture.is_written = true);
        for picture in &mut self.pending {
            if picture.replacement.is_none() {
                picture.replacement = Some(Replacement::Kept);
                self.given_up += 1;
            }
        }
        self.advance();
    }

    /// Appends the output for the range `input`, whose bytes were `original`.
    pub(super) fn write(&self, input: &Range<u64>, original: &[u8], into: &mut Vec<u8>) {
        for (picture, part) in self.parts(input) {
            match &picture.replacement {
                Some(Replacement::Bytes(bytes)) => {
                    let within = |position: u64| ((position - picture.input.start) as usize).min(bytes.len());
                    into.extend_from_slice(&bytes[within(part.start)..within(part.end)]);
                }
                _ => {
                    let within = |position: u64| (position - input.start) as usize;
                    into.extend_from_slice(&original[within(part.start)..within(part.end)]);
                }
            }
        }
    }

    /// The number of bytes that [`VideoTrack::write`] gives for `input`.
    pub(super) fn written_len(&self, input: &Range<u64>) -> u64 {
        let kept =
            |picture: &PendingPicture, position: u64| (position - picture.input.start).min(picture.new_len());
        self.parts(input).map(|(picture, part)| kept(picture, part.end) - kept(picture, part.start)).sum()
    }

    /// True where a picture starts in `input`.
    pub(super) fn starts_in(&self, input: &Range<u64>) -> bool {
        self.parts(input).any(|(picture, _)| picture.input.start >= input.start)
    }

    /// True where `position` is inside a picture that became shorter, so that the bytes there have moved.
    pub(super) fn shrunk_before(&self, position: u64) -> bool {
        let inside = |picture: &PendingPicture| {
            picture.input.start < position && picture.new_len() < picture.input.end - picture.input.start
        };
        self.parts(&(position..position + 1)).any(|(picture, _)| inside(picture))
    }

    /// The pending pictures that overlap `input`, each with the overlap.
    fn parts<'a>(&'a self, input: &Range<u64>) -> impl Iterator<Item = (&'a PendingPicture, Range<u64>)> {
        let Range { start, end } = *input;
        let from = self.pending.partition_point(|picture| picture.input.end <= start);
        self.pending
            .range(from..)
            .take_while(move |picture| picture.input.start < end)
            .map(move |picture| (picture, picture.input.start.max(start)..picture.input.end.min(end)))
    }

    /// Drops pictures before `position`, which will not be written again, and calls `written` for each.
    pub(super) fn release(&mut self, position: u64, mut written: impl FnMut(WrittenPicture)) {
        while let Some(picture) = self
            .pending
            .pop_front_if(|picture| picture.replacement.is_some() && picture.input.end <= position)
        {
            self.first += 1;
            written(WrittenPicture { len: picture.new_len(), decoding_time: picture.decoding_time });
        }
    }

    /// `vbv_buffer_size` of the last sequence header, in bytes.
    pub(super) fn buffer_size(&self) -> Option<u64> {
        self.sequence.buffer_bits().map(|bits| bits / 8)
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
    fn a_time_stamp_is_for_the_picture_behind_the_rest_of_another() {
        let mut track = VideoTrack::default();
        track.push(&[0x77; 10]);
        track.push_time_stamp(7, None);
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
        assert_eq!(track.writable, 0);
        track.replace(Replacement::Kept).unwrap();
        let grown = vec![0; lengths[1] + 1];
        assert!(matches!(track.replace(Replacement::Bytes(grown)), Err(Error::Grew { picture: 1, .. })));
        assert_eq!(track.replace(Replacement::Bytes(vec![0xcc; 5])), Ok(true));
        assert_eq!(track.writable, second.end);
        let all = 0..stream.len() as u64;
        track.replace(Replacement::Kept).unwrap();
        assert_eq!(track.replace(Replacement::Kept), Err(Error::NotPending));
        let mut out = Vec::new();
        track.write(&all, &stream, &mut out);
        assert_eq!(out.len(), stream.len() - lengths[1] + 5);
        assert_eq!(track.written_len(&(second.start + 3..second.end)), 2);
        assert_eq!(track.written_len(&(second.start + 5..second.end)), 0);
        assert!(track.starts_in(&second) && !track.starts_in(&(second.start + 1..second.end)));
    }

    #[test]
    fn stamps_go_to_the_first_picture_that_starts_after_them() {
        let stream = stream();
        let mut track = VideoTrack::default();
        track.push_time_stamp(10, None);
        track.push(&stream[..20]); // inside the first picture
        track.push_time_stamp(20, Some(15));
        track.push(&stream[20..]);
        track.close();
        let time_stamps: Vec<_> = pictures(&mut track).iter().map(|p| (p.pts, p.dts)).collect();
        assert_eq!(time_stamps, [(Some(10), None), (Some(20), Some(15)), (None, None)]);
    }

    #[test]
    fn what_was_given_up_ignores_its_replacement() {
        let stream = stream();
        let mut track = VideoTrack::default();
        track.push(&stream[..stream.len() - 1]);
        assert_eq!(pictures(&mut track).len(), 2);
        track.copy_pending();
        assert_eq!((track.given_up, track.writable), (3, stream.len() as u64 - 1));
        track.release(stream.len() as u64 - 1, |_| ());
        assert!(track.poll_picture().is_some());
        for _ in 0..3 {
            assert_eq!(track.replace(Replacement::Bytes(vec![1])), Ok(false));
        }
        assert_eq!(track.replace(Replacement::Kept), Err(Error::NotPending));
    }
}
