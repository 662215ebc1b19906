//! Access units: a coded picture with the headers before it.

use crate::header::{PictureContext, SequenceState};
use crate::picture::Picture;
use crate::startcode::{self, Span, StartCode};

/// A part of a stream with at most one picture: everything from the first header before the picture up to the first
/// header of the next. All units together are the stream, byte for byte.
#[derive(Debug, Clone, Default)]
pub struct AccessUnit {
    /// The bytes.
    pub data: Vec<u8>,
    /// Its start codes, in order; bytes before the first are in no span.
    pub spans: Vec<Span>,
    /// The slices of its picture go on in the next unit.
    pub goes_on: bool,
}

impl AccessUnit {
    /// Reads its headers into `state`; returns the context of its slices, `None` where there are none or the headers are
    /// unreadable.
    pub fn read_headers(&self, state: &mut SequenceState) -> Option<PictureContext> {
        let mut context = None;
        for span in &self.spans {
            match span.code {
                StartCode::Slice(_) if context.is_none() => context = state.picture_context(),
                StartCode::Slice(_) => {}
                _ => state.on_span(span, &self.data),
            }
        }
        context
    }

    /// Parses its slices into `picture`, which is cleared first.
    pub fn read_slices(&self, context: &PictureContext, picture: &mut Picture) {
        picture.clear();
        for span in &self.spans {
            if let StartCode::Slice(_) = span.code {
                picture.read_slice(context, &self.data, span.range.clone());
            }
        }
    }

    /// True where it has a picture header.
    pub fn has_picture(&self) -> bool {
        self.spans.iter().any(|span| span.code == StartCode::Picture)
    }
}

/// Splits a stream that arrives in pieces into access units.
#[derive(Debug, Clone, Default)]
pub struct Splitter {
    buffer: Vec<u8>,
    /// Start of the unit being collected, in `buffer`.
    start: usize,
    /// Start codes were searched up to here.
    scanned: usize,
    /// Start codes of the unit being collected, as offsets in `buffer`.
    codes: Vec<(StartCode, usize)>,
    has_picture: bool,
    finished: bool,
}

/// A longer unit is ended here. No valid unit comes near this size.
const LARGEST_UNIT: usize = 64 << 20;

impl Splitter {
    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            for (_, at) in &mut self.codes {
                *at -= self.start;
            }
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The stream has ended: the remaining bytes are a unit.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Ends the unit being collected; returns it if it is not empty. What follows up to the next picture is a unit of its own.
    pub fn flush(&mut self) -> Option<AccessUnit> {
        (self.buffer.len() > self.start).then(|| self.cut_picture(self.buffer.len()))
    }

    /// Ends the unit being collected ahead of its last slice, where others precede that one in it.
    pub fn flush_slices(&mut self) -> Option<AccessUnit> {
        let [.., (StartCode::Slice(_), _), (last @ StartCode::Slice(_), at)] = self.codes[..] else {
            return None;
        };
        self.codes.pop();
        let unit = self.cut_picture(at);
        self.codes.push((last, at));
        Some(AccessUnit { goes_on: true, ..unit })
    }

    /// Cuts a unit whose picture may go on.
    fn cut_picture(&mut self, end: usize) -> AccessUnit {
        let has_picture = self.has_picture;
        let unit = self.cut(end);
        self.has_picture = has_picture;
        unit
    }

    /// The next complete unit.
    pub fn pull(&mut self) -> Option<AccessUnit> {
        while let Some(at) = startcode::find(&self.buffer, self.scanned) {
            let code = StartCode::from_byte(self.buffer[at + 3]);
            if code.begins_access_unit() && self.has_picture {
                self.scanned = at;
                if at > self.start {
                    return Some(self.cut(at));
                }
                self.has_picture = false;
            }
            self.scanned = at + 4;
            self.has_picture |= code == StartCode::Picture;
            self.codes.push((code, at));
        }
        self.scanned = self.scanned.max(self.buffer.len().saturating_sub(3));
        let waiting = self.buffer.len() - self.start;
        let ends = (self.finished && waiting > 0) || waiting > LARGEST_UNIT;
        ends.then(|| self.cut(self.buffer.len()))
    }

    fn cut(&mut self, end: usize) -> AccessUnit {
        let start = self.start;
        let ends = self.codes.iter().skip(1).map(|&(_, at)| at).chain([end]);
        let spans = self.codes.iter().zip(ends);
        let spans = spans.map(|(&(code, at), end)| Span { code, range: at - start..end - start }).collect();
        let unit = AccessUnit { data: self.buffer[start..end].to_vec(), spans, goes_on: false };
        self.start = end;
        self.scanned = self.scanned.max(end);
        self.codes.clear();
        self.has_picture = false;
        unit
    }
}

#[cfg(test)]
impl AccessUnit {
    /// The units of a whole stream.
    pub(crate) fn all_of(stream: &[u8]) -> Vec<Self> {
        let mut splitter = Splitter::default();
        splitter.push(stream);
        splitter.finish();
        std::iter::from_fn(|| splitter.pull()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn units(data: &[u8], piece: usize) -> Vec<AccessUnit> {
        let mut splitter = Splitter::default();
        let mut units = Vec::new();
        for bytes in data.chunks(piece) {
            splitter.push(bytes);
            units.extend(std::iter::from_fn(|| splitter.pull()));
        }
        splitter.finish();
        units.extend(std::iter::from_fn(|| splitter.pull()));
        units
    }

    #[test]
    fn headers_go_with_the_picture_behind_them() {
        let data = b"\x07\0\0\x01\xb3s\0\0\x01\0p\0\0\x01\x01a\0\0\x01\xb8g\0\0\x01\0q\0\0\x01\xb7";
        let units = units(data, 100);
        assert_eq!(units.len(), 2);
        assert_eq!(units[1].data, data[16..]);
        assert_eq!(units[1].spans.len(), 3);
    }

    #[test]
    fn slices_may_leave_before_their_picture_is_complete() {
        let data = b"\0\0\x01\0p\0\0\x01\x01a\0\0\x01\x02b";
        let mut splitter = Splitter::default();
        splitter.push(&data[..9]);
        assert!(splitter.pull().is_none() && splitter.flush_slices().is_none());
        splitter.push(&data[9..]);
        assert!(splitter.pull().is_none());
        let first = splitter.flush_slices().unwrap();
        assert!(first.goes_on && first.has_picture() && first.data == data[..10]);
        // The rest, and the next picture apart from it.
        splitter.push(b"c\0\0\x01\0q");
        let rest = splitter.pull().unwrap();
        assert_eq!((&rest.data[..], rest.spans.len()), (&b"\0\0\x01\x02bc"[..], 1));
        assert!(!rest.goes_on && !rest.has_picture());
        assert!(splitter.pull().is_none() && splitter.flush().unwrap().has_picture());
    }

    #[test]
    fn a_picture_behind_a_cut_one_is_a_unit_of_its_own() {
        let mut splitter = Splitter::default();
        splitter.push(b"\0\0\x01\0p\0\0\x01\x01a");
        assert!(splitter.pull().is_none() && splitter.flush().unwrap().has_picture());
        splitter.push(b"a\0\0\x01\0q\0\0\x01\x01b");
        assert_eq!(splitter.pull().unwrap().data, b"a");
        assert!(splitter.pull().is_none() && splitter.flush().unwrap().has_picture());
        // One that is cut where it ends leaves nothing.
        splitter.push(b"\0\0\x01\0r");
        assert!(splitter.pull().is_none());
        assert_eq!(splitter.flush().unwrap().data, b"\0\0\x01\0r");
    }

    proptest! {
        #[test]
        fn units_are_the_stream_whatever_the_pieces(
            words in proptest::collection::vec(proptest::sample::select(vec![
                &b"\0\0\x01\0"[..], b"\0\0\x01\xb3", b"\0\0\x01\x05", b"\0", b"\x01\x02",
            ]), 0..40),
            piece in 1usize..20,
        ) {
            let data = words.concat();
            let whole = units(&data, usize::MAX);
            let pieces = units(&data, piece);
            prop_assert_eq!(pieces.iter().flat_map(|unit| unit.data.clone()).collect::<Vec<_>>(), data);
            let shape = |units: &[AccessUnit]| units.iter().map(|unit| unit.spans.clone()).collect::<Vec<_>>();
            prop_assert_eq!(shape(&whole), shape(&pieces));
        }
    }
}
