//! Numbers of a sequence space and the departures they were given to.

use seaway_control::PacketId;
use std::collections::VecDeque;

/// Which departure had which number; numbers are given without a gap.
///
/// Where departures follow one another in it, as they do on a lane that is alone, a number costs no memory.
#[derive(Debug, Clone)]
pub(super) struct SequenceLog {
    /// The lowest number that is still known.
    first: u64,
    /// The number of the next departure.
    next: u64,
    /// In order; each goes up to the next.
    runs: VecDeque<Run>,
}

/// Consecutive numbers that were given to consecutive departures.
#[derive(Debug, Clone, Copy)]
struct Run {
    number: u64,
    packet: PacketId,
}

impl SequenceLog {
    /// The next number will be `next`.
    pub(super) fn starting_at(next: u64) -> Self {
        Self { first: next, next, runs: VecDeque::new() }
    }

    /// The number of the next departure.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The lowest number that is still known.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Gives the next number to `packet`, which leaves after all that have one.
    #[inline]
    pub(super) fn push(&mut self, packet: PacketId) {
        let is_next = |run: &Run| run.packet.0 + (self.next - run.number) == packet.0;
        if !self.runs.back().is_some_and(is_next) {
            self.runs.push_back(Run { number: self.next, packet });
        }
        self.next += 1;
    }

    /// Who had `number`; `None` where it was not given yet or is forgotten.
    pub(super) fn get(&self, number: u64) -> Option<PacketId> {
        if number < self.first || number >= self.next {
            return None;
        }
        let run = match self.runs.len() {
            1 => 0,
            _ => self.runs.partition_point(|run| run.number <= number).checked_sub(1)?,
        };
        self.runs.get(run).map(|run| PacketId(run.packet.0 + (number - run.number)))
    }

    /// Forgets departures before `oldest`.
    pub(super) fn forget_before(&mut self, oldest: PacketId) {
        while let Some(run) = self.runs.front_mut().filter(|run| run.packet < oldest) {
            let end = self.next;
            let left = oldest.0 - run.packet.0;
            let (number, packet) = (run.number + left, run.packet.0 + left);
            *run = Run { number, packet: PacketId(packet) };
            let end = self.runs.get(1).map_or(end, |next| next.number);
            if number >= end {
                self.runs.pop_front();
            }
            self.first = number.min(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_as_a_list(steps in prop::collection::vec((0u64..3, 0u64..4, any::<bool>()), 1..100)) {
            let (mut log, mut model) = (SequenceLog::starting_at(7), VecDeque::new());
            let (mut first, mut id) = (7, 0);
            for (skipped, back, forgets) in steps {
                id += skipped;
                log.push(PacketId(id));
                model.push_back(PacketId(id));
                id += 1;
                if forgets {
                    let oldest = PacketId(id.saturating_sub(back));
                    log.forget_before(oldest);
                    while model.front().is_some_and(|packet| *packet < oldest) {
                        model.pop_front();
                        first += 1;
                    }
                }
                prop_assert_eq!((log.first(), log.next()), (first, first + model.len() as u64));
                for number in 0..log.next() + 2 {
                    let expected = number.checked_sub(first).and_then(|index| model.get(index as usize)).copied();
                    prop_assert_eq!(log.get(number), expected);
                }
            }
        }
    }
}
