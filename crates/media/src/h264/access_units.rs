//! Splits a byte stream into access units (ITU-T H.264 section 7.4.1.2.3).

use super::{NalType, append_nal};

/// Collects NAL units until the first unit of the next picture arrives.
#[derive(Debug, Default)]
pub struct AccessUnitSplitter {
    collected: Vec<u8>,
    has_slice: bool,
}

impl AccessUnitSplitter {
    /// Takes one NAL unit without start code. Returns the access unit before it, if it begins a new one.
    pub fn push(&mut self, nal: &[u8]) -> Option<Vec<u8>> {
        let slice = matches!(NalType::of(nal), Some(NalType::Slice | NalType::IdrSlice));
        // first_mb_in_slice is the first field of a slice header; the code of zero is a single set bit.
        let first_of_picture = slice && nal.get(1).is_some_and(|octet| octet & 0x80 != 0);
        let starts = match NalType::of(nal) {
            Some(NalType::Slice | NalType::IdrSlice) => first_of_picture,
            Some(NalType::Other(kind)) => (14..=18).contains(&kind),
            Some(_) => true,
            None => false,
        };
        let finished = if self.has_slice && starts { self.finish() } else { None };
        append_nal(nal, &mut self.collected);
        self.has_slice |= slice;
        finished
    }

    /// The last access unit; `None` where it has no slice.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        let complete = std::mem::take(&mut self.has_slice);
        let unit = std::mem::take(&mut self.collected);
        complete.then_some(unit)
    }

    /// Octets of the access unit being collected.
    pub(crate) fn pending(&self) -> usize {
        self.collected.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_sets_go_with_the_picture_behind_them() {
        let units: [&[u8]; 7] =
            [&[0x67, 1], &[0x68, 1], &[0x65, 0x88], &[0x65, 0x40], &[0x41, 0x9A], &[0x06, 1], &[0x41, 0x9A]];
        let mut splitter = AccessUnitSplitter::default();
        let mut finished: Vec<_> = units.iter().filter_map(|unit| splitter.push(unit)).collect();
        finished.extend(splitter.finish());
        let kinds: Vec<Vec<u8>> =
            finished.iter().map(|unit| super::super::nal_units(unit).map(|nal| nal[0]).collect()).collect();
        assert_eq!(kinds, [vec![0x67, 0x68, 0x65, 0x65], vec![0x41], vec![0x06, 0x41]]);
        assert_eq!(splitter.finish(), None);
    }
}
