//! The links of a flow, for a relay that hosts them in real time.

use crate::build::{BuildError, back_name};
use crate::scenario::{Direction, Flow, Scenario};
use seaway_link::Link;
use seaway_sim::Topology;

/// The links that a flow's packets cross, in order.
#[derive(Debug)]
pub struct Path<P> {
    /// From the sender to the receiver.
    pub forth: Vec<(String, Link<P>)>,
    /// And back.
    pub back: Vec<(String, Link<P>)>,
}

impl<P> Path<P> {
    /// The links between the ends of `flow`, drawn from the scenario's seed as in the simulator.
    ///
    /// # Errors
    /// No way there or back, or a link that cannot be set up.
    pub fn of(scenario: &Scenario, flow: &Flow) -> Result<Self, BuildError> {
        let mut topology = Topology::default();
        let mut links: Vec<(String, &Direction)> = Vec::new();
        for link in &scenario.links {
            let (from, to) = (topology.place(&link.from), topology.place(&link.to));
            topology.join(from, links.len(), to);
            links.push((link.name.clone(), &link.forward));
            if let Some(backward) = &link.backward {
                topology.join(to, links.len(), from);
                links.push((back_name(&link.name), backward));
            }
        }
        let (from, to) = (topology.place(&flow.from), topology.place(&flow.to));
        let way = |from, to| -> Result<Vec<(String, Link<P>)>, BuildError> {
            let way = topology
                .shortest(from, to)
                .ok_or_else(|| BuildError::new(format!("flow {}: no way there and back", flow.name)))?;
            way.into_iter().map(|index| named_link(&links[index], scenario.seed)).collect()
        };
        Ok(Self { forth: way(from, to)?, back: way(to, from)? })
    }
}

fn named_link<P>(link: &(String, &Direction), seed: u64) -> Result<(String, Link<P>), BuildError> {
    let (name, direction) = link;
    let refused = |error: seaway_link::Error| BuildError::new(format!("link {name}: {error}"));
    let link = Link::new(&direction.plan, seed, name).map_err(refused)?;
    Ok((name.clone(), link))
}
