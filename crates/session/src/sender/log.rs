//! Numbers of a sequence space and the departures they were given to.

use seaway_control::PacketId;
use std::collections::VecDeque;

/// Which departure had which number; numbers are given without a gap.
#[derive(Debug, Clone)]
pub(super) struct SequenceLog {
    /// The number of the first entry.
    first: u64,
    departures: VecDeque<PacketId>,
}

impl SequenceLog {
    /// The next number will be `next`.
    pub(super) fn starting_at(next: u64) -> Self {
        Self { first: next, departures: VecDeque::new() }
    }

    /// The number of the next departure.
    pub(super) fn next(&self) -> u64 {
        self.first + self.departures.len() as u64
    }

    /// The lowest number that is still known.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Gives the next number to `packet`.
    pub(super) fn push(&mut self, packet: PacketId) -> u64 {
        self.departures.push_back(packet);
        self.next() - 1
    }

    /// Who had `number`; `None` where it was not given yet or is forgotten.
    pub(super) fn get(&self, number: u64) -> Option<PacketId> {
        let index = number.checked_sub(self.first)?;
        self.departures.get(usize::try_from(index).ok()?).copied()
    }

    /// Forgets departures before `oldest`.
    pub(super) fn forget_before(&mut self, oldest: PacketId) {
        while self.departures.front().is_some_and(|packet| *packet < oldest) {
            self.departures.pop_front();
            self.first += 1;
        }
    }
}
