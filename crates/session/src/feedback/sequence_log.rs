//! A sequence-number space: which packet has which number.

use seaway_control::PacketId;
use std::collections::VecDeque;

/// Numbers are given without a gap. Consecutive numbers of consecutive packets, the usual case on a single subflow, take one
/// entry.
#[derive(Debug, Clone)]
pub(crate) struct SequenceLog {
    /// The lowest number that is still known.
    first: u64,
    /// The next number.
    next: u64,
    /// In order; each goes up to the next.
    runs: VecDeque<Run>,
}

/// Consecutive numbers of consecutive packets.
#[derive(Debug, Clone, Copy)]
struct Run {
    number: u64,
    packet: PacketId,
}

impl SequenceLog {
    /// The next number will be `next`.
    pub(crate) fn starting_at(next: u64) -> Self {
        Self { first: next, next, runs: VecDeque::new() }
    }

    /// The next number.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The lowest number that is still known.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Gives the next number to `packet`, which leaves after all that have one.
    #[inline]
    pub(crate) fn push(&mut self, packet: PacketId) {
        let is_next = |run: &Run| run.packet.0 + (self.next - run.number) == packet.0;
        if !self.runs.back().is_some_and(is_next) {
            self.runs.push_back(Run { number: self.next, packet });
        }
        self.next += 1;
    }

    /// The packet with `number`; `None` where it was not given yet or is forgotten.
    pub(crate) fn get(&self, number: u64) -> Option<PacketId> {
        if number < self.first || number >= self.next {
            return None;
        }
        let run = match self.runs.len() {
            1 => 0,
            _ => self.runs.partition_point(|run| run.number <= number).checked_sub(1)?,
        };
        self.runs.get(run).map(|run| PacketId(run.packet.0 + (number - run.number)))
    }

    /// The packets with `number` and the following ones up to `end`, as far as they are consecutive: the first of them and
    /// the number after the last. `None` where `number` is not known.
    pub(crate) fn run_from(&self, number: u64, end: u64) -> Option<(PacketId, u64)> {
        let first = self.get(number)?;
        let run = self.runs.partition_point(|run| run.number <= number);
        let after = self.runs.get(run).map_or(self.next, |next| next.number);
        Some((first, after.min(end)))
    }

    /// The numbers from `number` on, and their packets.
    pub(crate) fn since(&self, number: u64) -> impl Iterator<Item = (u64, PacketId)> + '_ {
        let mut number = number.max(self.first);
        let mut run = self.runs.partition_point(|run| run.number <= number).saturating_sub(1);
        std::iter::from_fn(move || {
            if number >= self.next {
                return None;
            }
            if self.runs.get(run + 1).is_some_and(|next| next.number <= number) {
                run += 1;
            }
            let Run { number: first, packet } = *self.runs.get(run)?;
            let given = (number, PacketId(packet.0 + (number - first)));
            number += 1;
            Some(given)
        })
    }

    /// Forgets packets before `oldest`.
    pub(crate) fn forget_before(&mut self, oldest: PacketId) {
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
                let mut number = log.first();
                while let Some((packet, after)) = log.run_from(number, log.next()) {
                    for (step, number) in (number..after).enumerate() {
                        prop_assert_eq!(log.get(number), Some(PacketId(packet.0 + step as u64)));
                    }
                    prop_assert!(after > number);
                    number = after;
                }
                prop_assert_eq!(number, log.next());
                for from in 0..log.next() + 2 {
                    let given = (from..log.next()).filter_map(|number| Some((number, log.get(number)?)));
                    prop_assert!(log.since(from).eq(given));
                }
                for number in 0..log.next() + 2 {
                    let expected = number.checked_sub(first).and_then(|index| model.get(index as usize)).copied();
                    prop_assert_eq!(log.get(number), expected);
                }
            }
        }
    }
}
