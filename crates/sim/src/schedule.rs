//! Who is woken next: a tournament with one player a node.

use seaway_units::Timestamp;

/// Wake-ups of a set of nodes, each at most once.
///
/// Two that fall on one instant come in the order of their numbers. Setting plays again only the matches that a node is
/// in: O(log n), without a search, and once every node has been set without allocation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schedule {
    /// When each node is woken, in nanoseconds; `NEVER` where it is not.
    times: Vec<u64>,
    /// Who won each match: match `i` is between the winners of `2i` and `2i + 1`, of which those from the number of
    /// players on are the players themselves. The left side has the lower numbers.
    winners: Vec<u32>,
}

/// No clock comes so far.
const NEVER: u64 = u64::MAX;

impl Schedule {
    /// The earliest wake-up and its node.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Timestamp, u32)> {
        let &node = self.winners.get(1)?;
        let at = self.times[node as usize];
        (at != NEVER).then(|| (Timestamp::from_nanos(at), node))
    }

    /// Sets, moves or (with `None`) cancels the wake-up of `node`.
    #[inline]
    pub(crate) fn set(&mut self, node: u32, at: Option<Timestamp>) {
        let at = at.map_or(NEVER, Timestamp::as_nanos);
        if node as usize >= self.times.len() {
            self.grow(node as usize + 1);
        }
        let known = &mut self.times[node as usize];
        if *known != at {
            *known = at;
            self.replay(node);
        }
    }

    /// Makes room for so many nodes, at least two.
    fn grow(&mut self, nodes: usize) {
        let players = nodes.next_power_of_two().max(2);
        self.times.resize(players, NEVER);
        self.winners = vec![0; players];
        for first in (0..players).step_by(2) {
            self.replay(first as u32);
        }
    }

    /// Plays the matches that `node` is in, from the first to the final or to one that it loses as before.
    fn replay(&mut self, node: u32) {
        let players = self.winners.len();
        let left = node & !1;
        let mut winner = self.better(left, left + 1);
        let mut game = (players + node as usize) / 2;
        loop {
            let before = std::mem::replace(&mut self.winners[game], winner);
            if game == 1 || before == winner && winner != node {
                // Who won before wins again, and nothing about it has changed.
                return;
            }
            let other = self.winners[game ^ 1];
            winner = if game & 1 == 0 { self.better(winner, other) } else { self.better(other, winner) };
            game /= 2;
        }
    }

    /// Who of two is woken first; of equals the left one.
    #[inline]
    fn better(&self, left: u32, right: u32) -> u32 {
        if self.times[right as usize] < self.times[left as usize] { right } else { left }
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
        let mut schedule = Schedule::default();
        schedule.set(2, at(5));
        schedule.set(0, at(5));
        schedule.set(1, at(4));
        schedule.set(2, at(5));
        let mut order = Vec::new();
        while let Some((_, node)) = schedule.first() {
            order.push(node);
            schedule.set(node, None);
        }
        assert_eq!(order, [1, 0, 2]);
    }

    proptest! {
        #[test]
        fn behaves_as_an_ordered_map(steps in prop::collection::vec((0..20u32, prop::option::of(0..50u64)), 1..300)) {
            let mut schedule = Schedule::default();
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            for (node, nanos) in steps {
                schedule.set(node, nanos.map(Timestamp::from_nanos));
                match nanos {
                    None => { model.remove(&node); }
                    Some(nanos) => { model.insert(node, nanos); }
                }
                let expected = model.iter().map(|(node, nanos)| (*nanos, *node)).min();
                let expected = expected.map(|(nanos, node)| (Timestamp::from_nanos(nanos), node));
                prop_assert_eq!(schedule.first(), expected);
            }
        }
    }
}
