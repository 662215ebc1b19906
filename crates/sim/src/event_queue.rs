//! The event queue: the next event of each node, in a tournament tree.

use seaway_units::Timestamp;

/// The next event of each of a set of nodes.
///
/// Events at one instant come in the order of their nodes' numbers. To set one replays only the matches whose winner may
/// change: O(log n), without allocation once every node has been set.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventQueue {
    /// The winner of match `i` is the earlier of `2i` and `2i + 1`. The upper half holds the nodes themselves in the order
    /// of their numbers, so that the left one of two has the lower number. The first place is empty.
    winners: Vec<Entry>,
}

/// The next event of a node in nanoseconds; `NEVER` where it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    at: u64,
    node: u32,
}

/// No event.
const NEVER: u64 = u64::MAX;

impl EventQueue {
    /// The earliest event and its node.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Timestamp, u32)> {
        let &Entry { at, node } = self.winners.get(1)?;
        (at != NEVER).then(|| (Timestamp::from_nanos(at), node))
    }

    /// The next event of `node`.
    pub(crate) fn get(&self, node: u32) -> Option<Timestamp> {
        let entry = self.winners.get(self.winners.len() / 2 + node as usize)?;
        (entry.at != NEVER).then(|| Timestamp::from_nanos(entry.at))
    }

    /// The earliest event of all nodes but `node`.
    pub(crate) fn first_except(&self, node: u32) -> Option<Timestamp> {
        let mut place = self.winners.len() / 2 + node as usize;
        let mut first = NEVER;
        while place > 1 {
            first = first.min(self.winners.get(place ^ 1).map_or(NEVER, |other| other.at));
            place /= 2;
        }
        (first != NEVER).then(|| Timestamp::from_nanos(first))
    }

    /// Sets, moves or (with `None`) cancels the event of `node`.
    #[inline]
    pub(crate) fn set(&mut self, node: u32, at: Option<Timestamp>) {
        let at = at.map_or(NEVER, Timestamp::as_nanos);
        let place = self.winners.len() / 2 + node as usize;
        match self.winners.get(place) {
            Some(known) if known.at == at => {}
            Some(_) => self.replay(place, Entry { at, node }),
            None => {
                self.grow(node as usize + 1);
                self.replay(self.winners.len() / 2 + node as usize, Entry { at, node });
            }
        }
    }

    /// Makes room for `nodes` nodes, at least two.
    fn grow(&mut self, nodes: usize) {
        let players = nodes.next_power_of_two().max(2);
        let known = self.winners.split_off(self.winners.len() / 2);
        let new = (known.len()..players).map(|node| Entry { at: NEVER, node: node as u32 });
        self.winners = vec![Entry { at: NEVER, node: 0 }; players];
        self.winners.extend(known.into_iter().chain(new));
        for game in (1..players).rev() {
            let (left, right) = (self.winners[2 * game], self.winners[2 * game + 1]);
            self.winners[game] = if right.at < left.at { right } else { left };
        }
    }

    /// Puts `entry` in its place and plays its matches up to the final, or to one whose winner stays as it was.
    fn replay(&mut self, mut place: usize, entry: Entry) {
        self.winners[place] = entry;
        let mut winner = entry;
        while place > 1 {
            let other = self.winners[place ^ 1];
            // Of equals the left one wins.
            let is_right = (place & 1) as u64;
            if other.at < winner.at.saturating_add(is_right) {
                winner = other;
            }
            place /= 2;
            if self.winners[place] == winner {
                return;
            }
            self.winners[place] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn at(nanos: u64) -> Option<Timestamp> {
        Some(Timestamp::from_nanos(nanos))
    }

    #[test]
    fn equal_instants_come_in_the_order_of_nodes() {
        let mut queue = EventQueue::default();
        queue.set(2, at(5));
        queue.set(0, at(5));
        queue.set(1, at(4));
        queue.set(2, at(5));
        let mut order = Vec::new();
        while let Some((_, node)) = queue.first() {
            order.push(node);
            queue.set(node, None);
        }
        assert_eq!(order, [1, 0, 2]);
    }

    proptest! {
        #[test]
        fn behaves_as_an_ordered_map(steps in prop::collection::vec((0..20u32, prop::option::of(0..50u64)), 1..300)) {
            let mut queue = EventQueue::default();
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            for (node, nanos) in steps {
                queue.set(node, nanos.map(Timestamp::from_nanos));
                match nanos {
                    None => { model.remove(&node); }
                    Some(nanos) => { model.insert(node, nanos); }
                }
                let expected = model.iter().map(|(node, nanos)| (*nanos, *node)).min();
                let expected = expected.map(|(nanos, node)| (Timestamp::from_nanos(nanos), node));
                prop_assert_eq!(queue.first(), expected);
                prop_assert_eq!(queue.get(node), nanos.map(Timestamp::from_nanos));
                let except = model.iter().filter(|(other, _)| **other != node).map(|(_, nanos)| *nanos).min();
                prop_assert_eq!(queue.first_except(node), except.map(Timestamp::from_nanos));
            }
        }
    }
}
