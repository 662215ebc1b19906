//! The table of run-level codes of intra blocks: that with which they take fewer bits, whichever the input has. Levels stay as they are,
//! so the bits that it saves cost no error.

use super::picture::PictureShaper;
use crate::vlc::cheaper_intra_table;

/// One block in so many is sampled; macroblocks have 6, 8 or 12, so these are of all components.
const SAMPLING: usize = 7;
/// Blocks of a picture from which on a sample of them is enough.
const SAMPLED_FROM: usize = 3500;

impl PictureShaper {
    /// Counts the bits of the intra blocks of the input with either table, right behind the parser: later they must come from farther
    /// caches.
    pub(super) fn count_intra_bits(&mut self) {
        let sampling = if self.parsed.blocks.len() < SAMPLED_FROM { 1 } else { SAMPLING };
        self.intra_bits = self.parsed.intra_bits(sampling).map(|bits| sampling as u64 * bits);
    }

    /// Chooses the table with which the intra blocks of the input take fewer bits, where it may change.
    pub(super) fn choose_intra_table(&mut self) {
        let Some(context) = self.context.as_ref().filter(|_| self.may_change_table()) else { return };
        (self.intra_vlc_format, self.saved_by_table) =
            cheaper_intra_table(context.coding.intra_vlc_format, self.intra_bits);
    }

    /// Leaves the table as it is in the input.
    pub(super) fn keep_intra_table(&mut self) {
        if let Some(context) = &self.context {
            (self.intra_vlc_format, self.saved_by_table) = (context.coding.intra_vlc_format, 0);
        }
        self.keeps_table = true;
    }

    /// True where all intra blocks can be written anew: in MPEG-2, where no slice is copied because of its damage.
    pub(super) fn may_change_table(&self) -> bool {
        let mpeg2 = self.context.as_ref().is_some_and(|context| context.mpeg2);
        mpeg2
            && !self.keeps_table
            && self.is_whole()
            && self.is_shapeable()
            && self.report.damaged_slices == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::drift::Drift;
    use super::*;
    use crate::header::{PictureContext, SequenceState};
    use crate::picture::{Code, Picture};
    use crate::startcode::StartCode;
    use crate::unit::AccessUnit;
    use crate::write::rewrite::{Codes, Content};

    const STREAM: &[u8] = include_bytes!("../../tests/fixtures/elementary.m2v");
    const INTERLACED: &[u8] = include_bytes!("../../tests/fixtures/interlaced.m2v");

    /// The smallest lambda: no level is dropped.
    const LEAST: f32 = 1e-6;
    const LAMBDA: f32 = 100.0;

    /// How pictures are written: with scales that are coarser by this factor, or in a closed loop.
    #[derive(Debug, Clone, Copy)]
    enum How {
        Open(f64),
        Closed,
    }

    /// The pictures of a stream, each with its slices.
    fn parsed(stream: &[u8]) -> Vec<(PictureContext, Picture)> {
        let mut state = SequenceState::default();
        let read = |unit: AccessUnit| {
            let (context, mut picture) = (unit.read_headers(&mut state)?, Picture::default());
            unit.read_slices(&context, &mut picture);
            Some((context, picture))
        };
        AccessUnit::all_of(stream).into_iter().filter_map(read).collect()
    }

    /// A picture ahead of its shaping.
    fn opened(unit: AccessUnit, state: &mut SequenceState) -> PictureShaper {
        let mut picture = PictureShaper::default();
        picture.context = unit.read_headers(state);
        picture.unit = unit;
        picture.parse();
        picture.count_intra_bits();
        picture.importance.resize(picture.parsed.macroblocks.len(), 1.0);
        picture
    }

    #[derive(Debug, Default)]
    struct Output {
        stream: Vec<u8>,
        /// Levels and positions of the codes that the open loop keeps, by picture.
        kept: Vec<Vec<(i16, u8)>>,
        distortion: f64,
    }

    impl Output {
        fn cost(&self, lambda: f32) -> f64 {
            self.distortion + f64::from(lambda) * 8.0 * self.stream.len() as f64
        }
    }

    /// The table is chosen, or that of the input.
    fn shaped(stream: &[u8], lambda: f32, how: How, chooses: bool) -> Output {
        let (mut state, mut drift, mut out) = (SequenceState::default(), Drift::default(), Output::default());
        for unit in AccessUnit::all_of(stream) {
            let mut picture = opened(unit, &mut state);
            if chooses {
                picture.choose_intra_table();
            }
            match how {
                How::Closed => picture.write_closed(lambda, &mut drift),
                How::Open(factor) => {
                    picture.factor = factor;
                    picture.recode(lambda, 1);
                    picture.write_recoded();
                    out.kept.push(kept(&picture));
                }
            }
            out.stream.extend_from_slice(picture.writer.bytes());
            out.distortion += picture.report.distortion;
        }
        out
    }

    /// The codes that an open loop keeps.
    fn kept(picture: &PictureShaper) -> Vec<(i16, u8)> {
        let parsed = &picture.parsed;
        let blocks = parsed.macroblocks.iter().enumerate();
        let blocks =
            blocks.flat_map(|(index, macroblock)| macroblock.block_range().map(move |block| (index, block)));
        let codes = |(macroblock, block): (usize, usize)| -> Vec<(i16, u8)> {
            let of_input = parsed.codes_of(&parsed.blocks[block]).iter().enumerate();
            match picture.recoded.codes(macroblock, block) {
                Codes::Edited { kept, lowered } => of_input
                    .filter(|(i, _)| kept >> i & 1 != 0)
                    .map(|(i, code)| {
                        (code.level() - (lowered >> i & 1) as i16 * code.level().signum(), code.position())
                    })
                    .collect(),
                Codes::New(codes) => codes.iter().map(|code| (code.level(), code.position())).collect(),
                Codes::First(_) => unreachable!("no truncation"),
            }
        };
        blocks.flat_map(codes).collect()
    }

    /// Levels and positions of the codes.
    fn codes(picture: &Picture) -> Vec<(i16, u8)> {
        picture.codes.iter().map(|code: &Code| (code.level(), code.position())).collect()
    }

    fn changed(before: &[(PictureContext, Picture)], after: &[(PictureContext, Picture)]) -> usize {
        let format = |(context, _): &(PictureContext, Picture)| context.coding.intra_vlc_format;
        before.iter().zip(after).filter(|(before, after)| format(before) != format(after)).count()
    }

    /// Without a coarser scale all that is not intra is copied bit for bit.
    #[test]
    fn the_open_loop_writes_the_levels_that_it_keeps() {
        for stream in [STREAM, INTERLACED] {
            for (factor, lambda) in [(1.0, LEAST), (1.0, LAMBDA), (1.5, LAMBDA)] {
                let [before, after] =
                    [false, true].map(|chooses| shaped(stream, lambda, How::Open(factor), chooses));
                assert!(after.cost(lambda) < before.cost(lambda));
                let [old, new] = [&before, &after].map(|output| parsed(&output.stream));
                assert!(changed(&old, &new) > 0);
                assert_eq!(new.len(), after.kept.len());
                for ((_, picture), kept) in new.iter().zip(&after.kept) {
                    assert!(picture.slices.iter().all(|slice| slice.damage.is_none()));
                    assert!(codes(picture) == *kept);
                }
            }
        }
    }

    #[test]
    fn expected_bits_are_less_by_those_that_the_table_saves() {
        let mut state = SequenceState::default();
        for unit in AccessUnit::all_of(STREAM) {
            let mut picture = opened(unit, &mut state);
            picture.choose_intra_table();
            picture.recode(LEAST, 1);
            picture.write_recoded();
            // Slices end at octets.
            let miss = picture.expected_bits(1) - picture.written_bits();
            assert!(miss.abs() <= 8.0 * picture.parsed.slices.len() as f64, "{miss}");
        }
    }

    #[test]
    fn the_closed_loop_costs_less() {
        for stream in [STREAM, INTERLACED] {
            let [before, after] = [false, true].map(|chooses| shaped(stream, LAMBDA, How::Closed, chooses));
            let costs = [&before, &after].map(|output| output.cost(LAMBDA));
            // Each picture that is coded has its table chosen again.
            assert!(costs[1] <= costs[0], "{costs:?}");
            let [before, after] = [stream, &after.stream].map(parsed);
            assert!(changed(&before, &after) > 0);
            assert!(
                after.iter().all(|(_, picture)| picture.slices.iter().all(|slice| slice.damage.is_none()))
            );
        }
    }

    #[test]
    fn a_table_that_is_kept_stays() {
        let (mut state, mut drift) = (SequenceState::default(), Drift::default());
        for unit in AccessUnit::all_of(STREAM) {
            let mut picture = opened(unit, &mut state);
            picture.choose_intra_table();
            picture.keep_intra_table();
            assert_eq!(picture.saved_by_table, 0);
            picture.choose_intra_table();
            picture.write_closed(LAMBDA, &mut drift);
            let format = picture.context.as_ref().expect("a picture").coding.intra_vlc_format;
            assert_eq!(picture.intra_vlc_format, format);
        }
    }

    /// A slice that is copied as it is has the table of the input.
    #[test]
    fn a_picture_with_a_damaged_slice_keeps_its_table() {
        let mut stream = STREAM.to_vec();
        let first = AccessUnit::all_of(STREAM).into_iter().next().expect("a picture");
        let slice =
            first.spans.iter().find(|span| matches!(span.code, StartCode::Slice(_))).expect("a slice");
        // No code begins with so many zeros.
        stream[slice.range.start + 12..][..4].copy_from_slice(&[0x00, 0x04, 0x00, 0x04]);
        let before = parsed(&stream);
        assert!(before[0].1.slices[0].damage.is_some());
        for how in [How::Open(1.5), How::Closed] {
            let after = parsed(&shaped(&stream, LAMBDA, how, true).stream);
            assert_eq!(after[0].0.coding, before[0].0.coding);
            assert!(changed(&before, &after) > 0, "others may change");
        }
    }
}
