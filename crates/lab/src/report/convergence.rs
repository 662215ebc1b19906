//! When a flow has found its fair share: the first instant after which its rate in bins of one second keeps within a tenth
//! of it for five.
//!
//! The share of a flow is an equal part of each link on its way among the media and TCP flows that are on, of what UDP
//! flows leave, and no more than it may use itself (Reading: the specifications name no share for several bottlenecks).

use crate::build::{QueueRef, World};
use crate::record::FlowRecord;
use crate::scenario::{Flow, FlowKind, OnOffSchedule, Scenario};
use crate::session_config;
use seaway_sim::ElementId;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeMap;

const SECOND: TimeDelta = TimeDelta::from_secs(1);
/// How far from the share a rate may be, and for how many seconds it has to be nearer.
const TOLERANCE: f64 = 0.1;
const STEADY: usize = 5;

/// The rate of each link in the midst of each second.
#[derive(Debug)]
pub(crate) struct Capacities {
    links: BTreeMap<ElementId, Vec<f64>>,
}

impl Capacities {
    /// Nothing seen yet.
    pub(crate) fn new(world: &World) -> Self {
        let links = world.links.iter().filter_map(|(_, queue)| match queue {
            QueueRef::Link(element) => Some((*element, Vec::new())),
            QueueRef::Queue { .. } => None,
        });
        Self { links: links.collect() }
    }

    /// Notes the rates where the run stands in the midst of a second.
    pub(crate) fn look(&mut self, world: &World) {
        let now = world.engine.now().as_nanos();
        if now % SECOND.as_nanos() as u64 != SECOND.as_nanos() as u64 / 2 {
            return;
        }
        for (&element, rates) in &mut self.links {
            let rate = world.engine.link(element).map_or(0.0, |link| link.rate().as_bps_f64());
            rates.push(rate);
        }
    }
}

/// What the flows on a link have of it in each second: how many share, and what UDP takes.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    sharing: u32,
    taken: f64,
}

/// For each flow, how long after its start it had found its share; `None` where it never did, or has none.
pub(super) fn times(scenario: &Scenario, world: &World, capacities: &Capacities) -> Vec<Option<f64>> {
    let seconds = (world.engine.now().as_nanos() / SECOND.as_nanos() as u64) as usize;
    let schedules: Vec<OnOffSchedule> =
        scenario.flows.iter().map(|flow| flow.schedule(scenario.seed, scenario.duration)).collect();
    let ways: Vec<Vec<ElementId>> =
        world.routes.iter().map(|&way| world.engine.elements_of(way).collect()).collect();
    let mut loads: BTreeMap<ElementId, Vec<Load>> = BTreeMap::new();
    for ((flow, schedule), way) in scenario.flows.iter().zip(&schedules).zip(&ways) {
        for second in (0..seconds).filter(|&second| schedule.is_on(middle(second))) {
            for element in way {
                let loads = loads.entry(*element).or_insert_with(|| vec![Load::default(); seconds]);
                match &flow.kind {
                    FlowKind::Udp(udp) => loads[second].taken += udp.rate.as_bps_f64(),
                    FlowKind::Media(_) | FlowKind::Tcp(_) | FlowKind::Window(_) => loads[second].sharing += 1,
                }
            }
        }
    }
    let share = |way: &[ElementId], most: f64, second: usize| {
        way.iter().try_fold(most, |least, element| {
            let capacity = capacities.links.get(element)?.get(second)?;
            let load = loads.get(element)?.get(second)?;
            Some(least.min((capacity - load.taken).max(0.0) / f64::from(load.sharing.max(1))))
        })
    };
    let time = |(index, flow): (usize, &Flow)| {
        let most = most(index, flow)?;
        let record = &world.engine.observer().flows[index];
        let schedule = &schedules[index];
        let is_fair = |second: usize| {
            let Some(share) = share(&ways[index], most, second) else { return false };
            let rate = received(record, second);
            schedule.is_on(middle(second)) && share > 0.0 && (rate / share - 1.0).abs() <= TOLERANCE
        };
        let start = schedule.extent().0.as_secs_f64();
        let mut fair = 0;
        for second in start.ceil() as usize..seconds {
            fair = if is_fair(second) { fair + 1 } else { 0 };
            if fair == STEADY {
                return Some((second + 1 - STEADY) as f64 - start);
            }
        }
        None
    };
    scenario.flows.iter().enumerate().map(time).collect()
}

fn middle(second: usize) -> Timestamp {
    Timestamp::ZERO + SECOND * second as i64 + SECOND / 2
}

/// What a flow could use at most; `None` for one that does not share.
fn most(index: usize, flow: &Flow) -> Option<f64> {
    match &flow.kind {
        FlowKind::Media(media) => Some(session_config::sender(index, media).limits.max.as_bps_f64()),
        FlowKind::Window(window) => Some(window.rate.as_bps_f64()),
        FlowKind::Tcp(_) => Some(f64::INFINITY),
        FlowKind::Udp(_) => None,
    }
}

fn received(record: &FlowRecord, second: usize) -> f64 {
    let wide = (SECOND.as_nanos() as u64 / record.width) as usize;
    record.bins(second * wide..(second + 1) * wide).map(|bin| bin.received as f64 * 8.0).sum()
}
