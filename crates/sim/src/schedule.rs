//! Who is woken next: an indexed heap with at most one entry a node.

use seaway_units::Timestamp;

/// Wake-ups of a fixed set of nodes, each at most once.
///
/// Two that fall on one instant come in the order of their numbers. Setting costs O(log n) and, once every node has
/// been set, no allocation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schedule {
    heap: Vec<Entry>,
    /// Where each node stands in `heap`; `ABSENT` where it does not.
    places: Vec<u32>,
}

/// An instant and a node in one number, which compares without a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const fn new(at: Timestamp, node: u32) -> Self {
        Self((at.as_nanos() as u128) << 32 | node as u128)
    }

    const fn at(self) -> Timestamp {
        Timestamp::from_nanos((self.0 >> 32) as u64)
    }

    const fn node(self) -> u32 {
        self.0 as u32
    }
}

const ABSENT: u32 = u32::MAX;
/// Children a heap node has: four share a cache line better than two.
const ARITY: usize = 4;

impl Schedule {
    /// The earliest wake-up and its node.
    pub(crate) fn first(&self) -> Option<(Timestamp, u32)> {
        self.heap.first().map(|entry| (entry.at(), entry.node()))
    }

    /// Sets, moves or (with `None`) cancels the wake-up of `node`.
    pub(crate) fn set(&mut self, node: u32, at: Option<Timestamp>) {
        if node as usize >= self.places.len() {
            self.places.resize(node as usize + 1, ABSENT);
        }
        let place = self.places[node as usize];
        match (place, at) {
            (ABSENT, None) => {}
            (ABSENT, Some(at)) => {
                self.heap.push(Entry::new(at, node));
                self.rise(self.heap.len() - 1);
            }
            (place, None) => self.remove(place as usize),
            (place, Some(at)) => self.replace(place as usize, Entry::new(at, node)),
        }
    }

    fn remove(&mut self, place: usize) {
        self.places[self.heap[place].node() as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            self.replace(place, last);
        }
    }

    /// Puts `entry` in the place of another and moves it to where it belongs.
    fn replace(&mut self, place: usize, entry: Entry) {
        let before = std::mem::replace(&mut self.heap[place], entry);
        if entry < before {
            self.rise(place);
        } else if entry > before {
            self.sink(place);
        }
    }

    /// Moves the entry at `place` towards the root.
    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves the entry at `place` towards the leaves.
    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * ARITY + 1;
            let Some(children) = self.heap.get(first..self.heap.len().min(first + ARITY)) else { break };
            let (mut least, mut next) = (entry, place);
            for (offset, child) in children.iter().enumerate() {
                if *child < least {
                    (least, next) = (*child, first + offset);
                }
            }
            if next == place {
                break;
            }
            self.put(place, least);
            place = next;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry.node() as usize] = place as u32;
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
