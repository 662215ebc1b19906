//! A run that its caller drives.

use crate::agent::{Agent, DecoderSink};
use crate::build::{BuildError, World};
use crate::options::RunOptions;
use crate::pcap::Capture;
use crate::record::BIN;
use crate::report::{self, Capacities};
use crate::run::{Outcome, Recording, ShownFrame};
use crate::sampler::Sampler;
use crate::scenario::{Flow, Scenario};
use crate::source::LiveSource;
use seaway_control::Decision;
use seaway_sim::AgentId;
use seaway_units::{TimeDelta, Timestamp};

/// The time between two samples of the capacities.
const SECOND: TimeDelta = TimeDelta::from_secs(1);

/// A scenario in the simulator, driven step by step. [`run`](crate::run()) drives one to its end.
///
/// Where the caller stops has no effect on the outcome: a run is the same in one piece and in many.
#[derive(Debug)]
pub struct Simulation {
    scenario: Scenario,
    options: RunOptions,
    world: World,
    capacities: Capacities,
    sampler: Option<Sampler>,
}

impl Simulation {
    /// The scenario at time zero.
    ///
    /// # Errors
    /// What cannot be built, such as a clip that is not there.
    pub fn new(scenario: &Scenario, options: RunOptions) -> Result<Self, BuildError> {
        let world = World::new(scenario, options)?;
        let capacities = Capacities::new(&world);
        let sampler = options.series.then(|| Sampler::new(scenario, &world));
        Ok(Self { scenario: scenario.clone(), options, world, capacities, sampler })
    }

    /// Writes the packets that pass the sending hosts to `capture` from now on.
    pub(crate) fn capture(&mut self, capture: Capture) {
        self.world.engine.keep_order();
        self.world.engine.observer_mut().capture = Some(capture);
    }

    /// Virtual time since the beginning.
    pub fn now(&self) -> TimeDelta {
        self.world.engine.now() - Timestamp::ZERO
    }

    /// How long the whole run is.
    pub const fn duration(&self) -> TimeDelta {
        self.scenario.duration
    }

    /// Whether the run has come to its end.
    pub fn is_over(&self) -> bool {
        self.now() >= self.scenario.duration
    }

    /// Goes on to `until`, or to the end of the run if that is earlier.
    pub fn run_until(&mut self, until: TimeDelta) {
        let until = until.min(self.scenario.duration);
        while self.now() < until {
            self.step(until);
        }
    }

    /// Goes on to the instant of the next sample, or to `until` if that is earlier. Returns the virtual time then.
    pub(crate) fn step(&mut self, until: TimeDelta) -> TimeDelta {
        let world = &mut self.world;
        let now = world.engine.now();
        let (warm, end) = (Timestamp::ZERO + self.scenario.warmup, Timestamp::ZERO + self.scenario.duration);
        let mut sample = next_sample(now, self.options.series).min(end);
        if now < warm {
            sample = sample.min(warm);
        }
        let next = sample.min(Timestamp::ZERO + until);
        world.engine.run_until(next);
        if next == sample {
            if next == warm {
                restart_statistics(world, warm);
            }
            self.capacities.look(world);
            if let Some(sampler) = &mut self.sampler
                && next.as_nanos().is_multiple_of(BIN.as_nanos() as u64)
            {
                world.engine.observer_mut().catch_up();
                sampler.take(world);
            }
        }
        next - Timestamp::ZERO
    }

    /// The controller of flow `flow` was changed by its owner, outside the run: its next timeout is read again.
    pub fn wake(&mut self, flow: usize) {
        if let Some((sender, _)) = self.world.endpoints.get(flow) {
            self.world.engine.agent_mut(*sender);
        }
    }

    /// Ends the run here.
    ///
    /// # Errors
    /// A codec or the capture failed.
    pub fn finish(self) -> Result<Outcome, BuildError> {
        let Self { scenario, options, mut world, capacities, sampler } = self;
        if cfg!(debug_assertions) {
            world.assert_conservation();
        }
        world.engine.observer_mut().catch_up();
        finish_display(&mut world);
        check_media(&scenario, &world)?;
        if let Some(capture) = world.engine.observer_mut().capture.take() {
            capture.finish().map_err(|error| BuildError::new(format!("capture: {error}")))?;
        }
        let summary = report::summary(&scenario, &world, &capacities);
        let series = sampler.map(|sampler| sampler.series).unwrap_or_default();
        let recording = take_recording(&mut world, options)?;
        let (decisions, shown) = (decisions(&scenario, &world), shown(&scenario, &world));
        let interrupted = world.engine.now() - Timestamp::ZERO < scenario.duration;
        Ok(Outcome { recording, summary, series, decisions, shown, interrupted })
    }
}

/// Scores the frames that were due on the screen until now: no later arrival would.
fn finish_display(world: &mut World) {
    let now = world.engine.now();
    let receivers: Vec<AgentId> = world.endpoints.iter().map(|ends| ends.1).collect();
    for receiver in receivers {
        if let Agent::MediaReceiver(receiver) = world.engine.agent_mut(receiver) {
            receiver.finish_display(now);
        }
    }
}

fn take_recording(world: &mut World, options: RunOptions) -> Result<Option<Recording>, BuildError> {
    let Some(receiver) =
        options.record.and_then(|recording| world.endpoints.get(recording.flow)).map(|ends| ends.1)
    else {
        return Ok(None);
    };
    let end = world.engine.now();
    let recording = match world.engine.agent_mut(receiver) {
        Agent::MediaReceiver(receiver) => receiver.decoder_mut().map(|sink| sink.take_recording(end)),
        _ => None,
    };
    let recording =
        recording.transpose().map_err(|error| BuildError::new(format!("recording: {error}")))?.flatten();
    Ok(recording.map(|(mp4, scores)| Recording { mp4, scores }))
}

/// Fails if a codec failed: the numbers of its flow would be meaningless.
fn check_media(scenario: &Scenario, world: &World) -> Result<(), BuildError> {
    for (flow, ends) in scenario.flows.iter().zip(&world.endpoints) {
        let failure = match (world.engine.agent(ends.0), world.engine.agent(ends.1)) {
            (Agent::MediaSender(sender), Agent::MediaReceiver(receiver)) => {
                let source = sender.live().and_then(LiveSource::failure).map(ToString::to_string);
                source.or_else(|| receiver.decoder().and_then(DecoderSink::failure).map(ToString::to_string))
            }
            _ => None,
        };
        if let Some(failure) = failure {
            return Err(BuildError::new(format!("flow {}: {failure}", flow.name)));
        }
    }
    Ok(())
}

fn decisions(scenario: &Scenario, world: &World) -> Vec<(String, Vec<Decision>)> {
    let of = |(flow, ends): (&Flow, &(AgentId, AgentId))| match world.engine.agent(ends.0) {
        Agent::MediaSender(sender) if !sender.decisions().is_empty() => {
            Some((flow.name.clone(), sender.decisions().to_vec()))
        }
        _ => None,
    };
    scenario.flows.iter().zip(&world.endpoints).filter_map(of).collect()
}

fn shown(scenario: &Scenario, world: &World) -> Vec<(String, Vec<ShownFrame>)> {
    let of = |(flow, ends): (&Flow, &(AgentId, AgentId))| match world.engine.agent(ends.1) {
        Agent::MediaReceiver(receiver) if !receiver.shown().is_empty() => {
            Some((flow.name.clone(), receiver.shown().to_vec()))
        }
        _ => None,
    };
    scenario.flows.iter().zip(&world.endpoints).filter_map(of).collect()
}

/// The instant of the next sample: the end of a bin of the series, or the middle of a second without series. Each stop
/// limits the engine's lookahead.
fn next_sample(now: Timestamp, series: bool) -> Timestamp {
    let (every, first) = if series { (BIN, TimeDelta::ZERO) } else { (SECOND, SECOND / 2) };
    let (every, first) = (every.as_nanos() as u64, first.as_nanos() as u64);
    let stops = (now.as_nanos() + every - first) / every;
    Timestamp::from_nanos(stops * every + first)
}

fn restart_statistics(world: &mut World, now: Timestamp) {
    // All queues of a cell are one element.
    let mut elements: Vec<_> = world.links.iter().map(|(_, queue)| queue.element()).collect();
    elements.dedup();
    for element in elements {
        if let Some(link) = world.engine.link_mut(element) {
            link.restart_statistics(now);
        } else if let Some(cell) = world.engine.cell_mut(element) {
            cell.restart_statistics(now);
        }
    }
}
