//! The receiver reports of all sources, summed up.

use crate::statistics::Reported;
use seaway_wire::rtcp::ReportBlock;
use std::collections::BTreeMap;

/// The last block of each source. Sources are those of the session, so their number is bounded.
#[derive(Debug, Default)]
pub(super) struct Reception {
    blocks: BTreeMap<u32, ReportBlock>,
}

impl Reception {
    /// Adds what is new since the last block of the same source. The first one is where the sums begin.
    pub(super) fn on_block(&mut self, block: &ReportBlock, reported: &mut Reported) {
        reported.reports += 1;
        let Some(before) = self.blocks.insert(block.ssrc, *block) else { return };
        // Negative where the receiver began anew.
        let grown = block.highest_sequence.wrapping_sub(before.highest_sequence) as i32;
        if let Ok(grown) = u64::try_from(grown) {
            reported.expected += grown;
            let lost = i64::from(block.cumulative_lost) - i64::from(before.cumulative_lost);
            reported.lost = reported.lost.saturating_add_signed(lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_grow_with_the_blocks_of_each_source() {
        let (mut reception, mut reported) = (Reception::default(), Reported::default());
        let mut on_block = |ssrc, highest_sequence, cumulative_lost| {
            let block = ReportBlock { ssrc, highest_sequence, cumulative_lost, ..ReportBlock::default() };
            reception.on_block(&block, &mut reported);
            (reported.expected, reported.lost)
        };
        assert_eq!(on_block(1, 65_530, 7), (0, 0));
        assert_eq!(on_block(2, 100, 0), (0, 0));
        assert_eq!(on_block(1, 65_630, 17), (100, 10));
        assert_eq!(on_block(2, 150, 5), (150, 15));
        // What was late came after all.
        assert_eq!(on_block(2, 150, 3), (150, 13));
        // The receiver began anew.
        assert_eq!(on_block(1, 10, 0), (150, 13));
        assert_eq!(on_block(1, 30, 1), (170, 14));
        assert_eq!(reported.reports, 7);
    }
}
