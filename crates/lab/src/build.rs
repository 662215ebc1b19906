//! From a scenario to a world that can run.

use crate::activity::Activity;
use crate::agent::{Agent, PORT, UdpSink, UdpSource};
use crate::cargo::Cargo;
use crate::record::{Recorder, Tag};
use crate::scenario::{Flow, FlowKind, Scenario};
use seaway_link::{Link, LinkConfig};
use seaway_sim::{AgentId, ElementId, Engine};
use seaway_units::Timestamp;

/// A scenario set up in the simulator, at time zero.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine<Cargo, Agent, Recorder>,
    /// In the order of [`link_names`].
    pub(crate) links: Vec<(String, ElementId)>,
    /// Sender and receiver of each flow.
    pub(crate) ends: Vec<(AgentId, AgentId)>,
}

impl World {
    /// Sets `scenario` up with `seed`.
    ///
    /// # Errors
    /// What the scenario's own checks cannot see.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, BuildError> {
        let activities: Vec<Activity> =
            scenario.flows.iter().map(|flow| Activity::new(flow, seed, scenario.duration)).collect();
        let warm = Timestamp::ZERO + scenario.warmup;
        let windows: Vec<_> = activities
            .iter()
            .map(|activity| {
                let (first, last) = activity.whole();
                (first.max(warm), last.max(warm))
            })
            .collect();
        let mut world = Self {
            engine: Engine::new(Recorder::new(&windows, scenario.duration)),
            links: Vec::new(),
            ends: Vec::new(),
        };
        for link in &scenario.links {
            world.lay(&link.name, [&link.from, &link.to], &link.forward, seed)?;
            if let Some(backward) = &link.backward {
                world.lay(&back_name(&link.name), [&link.to, &link.from], backward, seed)?;
            }
        }
        for (index, (flow, activity)) in scenario.flows.iter().zip(activities).enumerate() {
            world.add_flow(index, flow, activity)?;
        }
        Ok(world)
    }

    fn lay(
        &mut self,
        name: &str,
        [from, to]: [&str; 2],
        config: &LinkConfig,
        seed: u64,
    ) -> Result<(), BuildError> {
        let refused = |error: seaway_link::Error| BuildError(format!("link {name}: {error}"));
        let plan = config.plan().map_err(refused)?;
        let link = Link::new(&plan, seed, name).map_err(refused)?;
        let topology = self.engine.topology();
        let (from, to) = (topology.place(from), topology.place(to));
        let element = self.engine.add_link(from, to, link);
        self.links.push((name.to_owned(), element));
        Ok(())
    }

    fn add_flow(&mut self, index: usize, flow: &Flow, activity: Activity) -> Result<(), BuildError> {
        let there = Tag { flow: index, is_back: false };
        let (sender, receiver) = match &flow.kind {
            FlowKind::Udp(udp) => {
                (Agent::UdpSource(UdpSource::new(there, *udp, activity)), Agent::UdpSink(UdpSink))
            }
            FlowKind::Media(_) | FlowKind::Tcp(_) => {
                return Err(BuildError(format!("flow {}: not available in this version", flow.name)));
            }
        };
        let (sender, receiver) = (self.engine.add_agent(sender), self.engine.add_agent(receiver));
        let topology = self.engine.topology();
        let (from, to) = (topology.place(&flow.from), topology.place(&flow.to));
        let (sending, receiving) = ((sender, PORT, from), (receiver, PORT, to));
        let no_way = || BuildError(format!("flow {}: no way there and back", flow.name));
        self.engine.connect(sending, receiving).ok_or_else(no_way)?;
        self.engine.connect(receiving, sending).ok_or_else(no_way)?;
        self.ends.push((sender, receiver));
        Ok(())
    }
}

/// The names of the links in the summary: a link that goes both ways is two, the way back `name/back`.
pub(crate) fn link_names(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for link in &scenario.links {
        names.push(link.name.clone());
        if link.backward.is_some() {
            names.push(back_name(&link.name));
        }
    }
    names
}

fn back_name(link: &str) -> String {
    format!("{link}/back")
}

/// A scenario that cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(String);

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}
