//! The routes of packets through links and cells, computed before the network is built.

use crate::scenario::cell::Cell;
use crate::scenario::link::Link;
use seaway_link::Port;
use seaway_sim::Topology;

/// The graph of a scenario's nodes. Edges are added in the simulator's order, so that both choose the same one of
/// several shortest routes.
#[derive(Debug)]
pub(crate) struct RoutingGraph {
    topology: Topology<Hop>,
}

/// An edge from a node to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hop {
    /// Over a link of the scenario.
    Link { link: usize, is_reverse: bool },
    /// Through the air of a cell of the scenario, in by one of its ports and out by another.
    Cell { cell: usize, enter: Port, leave: Port },
}

impl RoutingGraph {
    pub(crate) fn new(links: &[Link], cells: &[Cell]) -> Self {
        let mut topology = Topology::default();
        for (index, link) in links.iter().enumerate() {
            let (from, to) = (topology.place(&link.from), topology.place(&link.to));
            topology.join(from, Hop::Link { link: index, is_reverse: false }, to);
            if link.backward.is_some() {
                topology.join(to, Hop::Link { link: index, is_reverse: true }, from);
            }
        }
        for (index, cell) in cells.iter().enumerate() {
            let places: Vec<_> = cell.nodes().map(|node| topology.place(node)).collect();
            for (enter, leave) in pairs(cell) {
                let hop = Hop::Cell { cell: index, enter, leave };
                topology.join(places[usize::from(enter.0)], hop, places[usize::from(leave.0)]);
            }
        }
        Self { topology }
    }

    /// The names of all nodes, each once.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &str> {
        self.topology.names()
    }

    /// The hops from one node to another; `None` if there is no route.
    pub(crate) fn route(&self, from: &str, to: &str) -> Option<Vec<Hop>> {
        self.topology.shortest(self.topology.find(from)?, self.topology.find(to)?)
    }
}

/// Which ports of a cell are connected: the base with each station, both ways.
pub(crate) fn pairs(cell: &Cell) -> Vec<(Port, Port)> {
    let ports = (1..=cell.stations.len()).map(|port| Port(u16::try_from(port).unwrap_or(u16::MAX)));
    ports.flat_map(|port| [(port, Port(0)), (Port(0), port)]).collect()
}
