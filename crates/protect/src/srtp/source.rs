//! Packet indices of one source of RTP (RFC 3711 section 3.3.1).

use crate::replay::ReplayWindow;

/// Sequence numbers until they begin again.
const CYCLE: u64 = 1 << 16;

/// Packets that one key protects (RFC 3711 section 9.2).
pub(super) const MOST: u64 = 1 << 48;

/// Which packets of a source came or left: the index of the next is known from its sequence number. Of the newest 64 `WORDS` each is
/// known.
#[derive(Debug, Default)]
pub(super) struct Source<const WORDS: usize> {
    window: ReplayWindow<WORDS>,
}

/// Packets that come, in whatever order the path gives them.
pub(super) type Incoming = Source<16>;
/// Packets that leave, in their order but for few: so small that a packet finds its source by one read of memory.
pub(super) type Outgoing = Source<1>;

impl<const WORDS: usize> Source<WORDS> {
    /// The index of the packet with this sequence number: the one nearest to the newest. Of the first packet it is in the first
    /// cycle of sequence numbers.
    pub(super) fn index(&self, number: u16) -> u64 {
        let Some(newest) = self.window.newest() else { return u64::from(number) };
        let ahead = number.wrapping_sub(newest as u16) as i16;
        // None is before the first cycle.
        newest.checked_add_signed(i64::from(ahead)).unwrap_or(u64::from(number))
    }

    /// What it is instead where so many packets were lost that the sequence numbers began again unseen.
    pub(super) fn index_after_loss(&self, number: u16) -> u64 {
        self.index(number) + CYCLE
    }

    pub(super) fn is_fresh(&self, index: u64) -> bool {
        self.window.is_fresh(index)
    }

    pub(super) fn accept(&mut self, index: u64) {
        self.window.accept(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(newest: u64) -> Incoming {
        let mut source = Incoming::default();
        source.accept(newest);
        source
    }

    #[test]
    fn the_index_is_the_nearest_to_the_newest() {
        let last = CYCLE - 1;
        for (newest, number, index) in [
            (7, 7, 7),
            (7, 32_774, 32_774),
            (65_000, 3, CYCLE + 3),
            (CYCLE + 3, 65_000, 65_000),
            (CYCLE + 40_000, 8_000, CYCLE + 8_000),
            (CYCLE + 40_000, 7_000, 2 * CYCLE + 7_000),
            // None is before the first.
            (3, last as u16, last),
        ] {
            assert_eq!(source(newest).index(number), index, "{number} after {newest}");
        }
        assert_eq!(Incoming::default().index(40_000), 40_000);
        assert_eq!(Incoming::default().index_after_loss(3), CYCLE + 3);
        assert_eq!(source(7).index_after_loss(40_000), CYCLE + 40_000);
    }
}
