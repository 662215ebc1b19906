//! Named places, the hops between them, and shortest paths.

use std::collections::VecDeque;

/// A place where links end and agents live: a host or a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub(crate) u32);

/// A link or a cell of the [engine](crate::Engine).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementId(pub(crate) u32);

/// A step of a route: into `element` by one of its ports, out by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    pub(crate) element: ElementId,
    pub(crate) enter: u16,
    pub(crate) leave: u16,
}

/// The places and how they are joined; `H` is a hop from one to the next.
#[derive(Debug, Clone)]
pub struct Topology<H> {
    names: Vec<String>,
    /// The hops from each place, in the order they were added.
    hops: Vec<Vec<(H, Place)>>,
}

impl<H> Default for Topology<H> {
    fn default() -> Self {
        Self { names: Vec::new(), hops: Vec::new() }
    }
}

impl<H: Copy> Topology<H> {
    /// The place called `name`, made where it is new.
    pub fn place(&mut self, name: &str) -> Place {
        self.find(name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.hops.push(Vec::new());
            Place(self.names.len() as u32 - 1)
        })
    }

    /// The place called `name`, if there is one.
    pub fn find(&self, name: &str) -> Option<Place> {
        self.names.iter().position(|known| known == name).map(|index| Place(index as u32))
    }

    /// All names, in the order they were first used.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Adds a hop.
    pub fn join(&mut self, from: Place, hop: H, to: Place) {
        self.hops[from.0 as usize].push((hop, to));
    }

    /// The path of fewest hops from one place to another; among equals the one added first. `None` where there is none,
    /// empty where `from` is `to`.
    pub fn shortest(&self, from: Place, to: Place) -> Option<Vec<H>> {
        let mut came: Vec<Option<(Place, H)>> = vec![None; self.names.len()];
        let mut reached = vec![false; self.names.len()];
        let mut frontier = VecDeque::from([from]);
        reached[from.0 as usize] = true;
        while let Some(here) = frontier.pop_front() {
            if here == to {
                break;
            }
            for &(hop, next) in &self.hops[here.0 as usize] {
                if !std::mem::replace(&mut reached[next.0 as usize], true) {
                    came[next.0 as usize] = Some((here, hop));
                    frontier.push_back(next);
                }
            }
        }
        if !reached[to.0 as usize] {
            return None;
        }
        let mut hops = Vec::new();
        let mut here = to;
        while let Some((before, hop)) = came[here.0 as usize] {
            hops.push(hop);
            here = before;
        }
        hops.reverse();
        Some(hops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewest_hops_then_first_added() {
        let mut topology = Topology::default();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| topology.place(name));
        let hop = |element| Hop { element: ElementId(element), enter: 0, leave: 1 };
        for (index, (from, to)) in [(a, b), (b, d), (a, c), (c, d), (a, b)].into_iter().enumerate() {
            topology.join(from, hop(index as u32), to);
        }
        let elements = |from, to| {
            topology.shortest(from, to).map(|hops| hops.iter().map(|hop| hop.element.0).collect::<Vec<_>>())
        };
        assert_eq!(elements(a, d), Some(vec![0, 1]));
        assert_eq!(elements(a, a), Some(vec![]));
        assert_eq!(elements(d, a), None);
    }
}
