//! The links of a flow, for a relay that hosts them in real time.

use crate::build::{BuildError, back_name};
use crate::network::{Network, Way};
use crate::scenario::{Flow, Scenario};
use seaway_link::Link;

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
        let network = Network::new(&scenario.links, &scenario.cells);
        let way = |from: &str, to: &str| -> Result<Vec<(String, Link<P>)>, BuildError> {
            let way = network
                .way(from, to)
                .ok_or_else(|| BuildError::new(format!("flow {}: no way there and back", flow.name)))?;
            way.into_iter().map(|way| link(scenario, flow, way)).collect()
        };
        Ok(Self { forth: way(&flow.from, &flow.to)?, back: way(&flow.to, &flow.from)? })
    }
}

fn link<P>(scenario: &Scenario, flow: &Flow, way: Way) -> Result<(String, Link<P>), BuildError> {
    let (name, direction) = match way {
        Way::Link { link, is_back: false } => {
            let link = &scenario.links[link];
            (link.name.clone(), Some(&link.forward))
        }
        Way::Link { link, is_back: true } => {
            let link = &scenario.links[link];
            (back_name(&link.name), link.backward.as_ref())
        }
        Way::Cell { cell, .. } => (scenario.cells[cell].name.clone(), None),
    };
    let no_link = || {
        BuildError::new(format!("flow {}: its way crosses the cell {name}, here are links alone", flow.name))
    };
    let direction = direction.ok_or_else(no_link)?;
    let refused = |error: seaway_link::Error| BuildError::new(format!("link {name}: {error}"));
    let link = Link::new(&direction.plan, scenario.seed, &name).map_err(refused)?;
    Ok((name, link))
}
