//! RTP sequence numbers: which packet each source gave which number.

use crate::feedback::SequenceLog;
use crate::source_id::SourceId;
use crate::unwrap::nearest;
use seaway_control::PacketId;

/// The RTP sequence numbers of every source.
#[derive(Debug)]
pub(super) struct Numbering {
    /// The first number of each source.
    initial: u16,
    /// By [`SourceId::index`].
    sources: Vec<Option<Box<SequenceLog>>>,
    /// The next number of the source that no feedback covers: none of its packets is looked for.
    unreported: u16,
}

impl Numbering {
    pub(super) fn new(initial: u16) -> Self {
        Self { initial, sources: Vec::new(), unreported: initial }
    }

    /// Gives the next number of `source` to a packet.
    #[inline]
    pub(super) fn assign(&mut self, source: SourceId, packet: PacketId) -> u16 {
        let index = source.index();
        if self.sources.get(index).is_none_or(Option::is_none) {
            self.begin(index);
        }
        let log = self.sources[index].as_mut().unwrap_or_else(|| unreachable!("made above"));
        let number = log.next();
        log.push(packet);
        number as u16
    }

    /// Gives the next number of the source that no feedback covers.
    pub(super) const fn assign_unreported(&mut self) -> u16 {
        let next = self.unreported.wrapping_add(1);
        std::mem::replace(&mut self.unreported, next)
    }

    /// The first packet of a source leaves.
    #[cold]
    fn begin(&mut self, index: usize) {
        if self.sources.len() <= index {
            self.sources.resize_with(index + 1, || None);
        }
        self.sources[index] = Some(Box::new(SequenceLog::starting_at(self.initial.into())));
    }

    /// The send history forgot the packets before `oldest`.
    pub(super) fn forget_before(&mut self, oldest: PacketId) {
        for source in self.sources.iter_mut().flatten() {
            source.forget_before(oldest);
        }
    }

    fn log(&self, source: SourceId) -> Option<&SequenceLog> {
        self.sources.get(source.index())?.as_deref()
    }

    /// The packet with this number.
    pub(super) fn find(&self, source: SourceId, number: u16) -> Option<PacketId> {
        let log = self.log(source)?;
        log.get(nearest::<16>(log.next(), number.into()))
    }

    /// The source gives this number to one of its next `count` packets.
    pub(super) fn is_next(&self, source: SourceId, number: u16, count: u64) -> bool {
        self.log(source).is_some_and(|log| {
            let next = log.next();
            (next..next + count).contains(&nearest::<16>(next, number.into()))
        })
    }

    /// The packets with this number and the following ones, up to `count`, as far as they left one after the other: the
    /// first and how many.
    pub(super) fn find_run(&self, source: SourceId, number: u16, count: usize) -> Option<(PacketId, usize)> {
        let log = self.log(source)?;
        let number = nearest::<16>(log.next(), number.into());
        let (first, after) = log.run_from(number, number + count as u64)?;
        Some((first, (after - number) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{StreamId, Subflow};

    #[test]
    fn packets_are_found_by_their_numbers() {
        const SOURCE: SourceId = SourceId { stream: StreamId(0), subflow: Subflow(0), repair: false };
        let mut numbers = Numbering::new(65_530);
        let unreported: Vec<_> = (0..8).map(|_| numbers.assign_unreported()).collect();
        assert_eq!(unreported, [65_530, 65_531, 65_532, 65_533, 65_534, 65_535, 0, 1], "by itself");
        for id in 0..20 {
            assert_eq!(numbers.assign(SOURCE, PacketId(id)), 65_530u16.wrapping_add(id as u16));
        }
        assert_eq!(numbers.find_run(SOURCE, 65_533, 7), Some((PacketId(3), 7)));
        assert_eq!(numbers.find_run(SOURCE, 10, 7), Some((PacketId(16), 4)), "three are not sent yet");
        assert_eq!(numbers.find_run(SOURCE, 65_529, 7), None);
        assert_eq!(numbers.find(SOURCE, 65_529), None, "before the first");
        let is_next = [13, 14, 17, 18].map(|number| numbers.is_next(SOURCE, number, 4));
        assert_eq!(is_next, [false, true, true, false], "the next is 14");
        numbers.forget_before(PacketId(10));
        assert_eq!((numbers.find(SOURCE, 3), numbers.find(SOURCE, 4)), (None, Some(PacketId(10))));
    }
}
